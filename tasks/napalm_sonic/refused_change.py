"""What the switch answers about a change that it did not apply, in words for people."""

from collections.abc import Collection, Mapping
from typing import Any

from napalm.base.exceptions import CommitError

from napalm_sonic.codec import error_of, some
from napalm_sonic.program import rejected_of
from napalm_sonic.reading import status_of
from railweave.secrets import shown_text
from railweave.sonic.delta.rejected import rejected_place


def ending_text(answer: Mapping[str, Any], secrets: Collection[str]) -> str:
    """Describe what runs on the switch after a change that was not applied, and what to do; ``secrets`` are hidden."""
    status = answer.get("status")
    if answer.get("outcome") == "reverted":
        return _restored_text(status)
    if answer.get("outcome") == "failed" and answer.get("missing"):
        missing = some([shown_text(str(name), secrets) for name in answer["missing"]])
        return f"the earlier configuration could not be restored, missing: {missing}; rollback() tries again"
    # Refused because another transaction is pending.
    if status and status_of(status).pending and answer.get("code") == "pending":
        return "confirm_commit() keeps it, rollback() undoes it"
    return "nothing was applied"


def _restored_text(status: Mapping[str, Any] | None) -> str:
    """Describe a switch whose change was reverted, with the daemons that the change ended."""
    broken = ""
    if status:
        broken = status_of(status).broken
    if broken:
        return f"the earlier configuration is restored, but {broken}"
    return "the earlier configuration is restored"


def rejected_rows_text(answer: Mapping[str, Any], secrets: Collection[str]) -> str:
    """Describe the rows that the switch's YANG models reject, without ``secrets``."""
    rows = []
    for rejected in rejected_of(answer):
        *_, reason = rejected
        rows.append(f"{rejected_place(rejected)}: {shown_text(reason, secrets)}")
    return f"the switch's YANG models refuse {some(rows)}"


def raise_unsaved(hostname: str, answer: Mapping[str, Any]) -> None:
    """Raise CommitError if a confirmed commit could not be saved."""
    if answer.get("error"):
        raise CommitError(f"{hostname}: the new configuration runs but could not be saved: {error_of(answer)}")
