"""Recover a switch whose transaction was interrupted or whose state files are damaged."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from railweave_switch.answers import DEVICE_ERRORS, Answer, RequestRefusedError, answer_of, locked
from railweave_switch.host import SwitchHost
from railweave_switch.restart import settle
from railweave_switch.reverting import revert_to
from railweave_switch.saving import finish, save
from railweave_switch.state import RollbackDocument, Stage, State, guarded, read_document, read_state, remove, stand_in
from railweave_switch.state_forms import DamagedError, VersionError
from railweave_switch.status_report import report

HEALTHY = frozenset({Stage.NONE, Stage.CONFIRMED, Stage.REVERTED})


def recover(host: SwitchHost, request: Mapping[str, object]) -> Answer:
    """Repair a damaged state and end an interrupted transaction: revert it, or with ``accept`` keep what runs.

    In the answer, ``found`` is the status before, and ``restored`` and ``missing`` name rows and FRR lines. Raises
    RequestRefusedError if another version wrote the state, or if nothing can be restored.
    """
    accept = bool(request.get("accept"))
    with locked(host, request):
        before = report(host)
        unchanged: Answer = {"found": before, "restored": [], "missing": [], "error": ""}
        state, damage = _state_or_damage(host, accept=accept)
        failure = _finish_last(host, state)
        status = state.now(host)
        if not damage and not _is_interrupted(state, status):
            outcome = "healthy" if status in HEALTHY else status
            return answer_of(host, outcome, **{**unchanged, **failure})
        document = _readable_document(host)
        if accept:
            _accept_running(host, state, damage)
            return answer_of(host, "accepted", **unchanged)
        if document is None:
            raise RequestRefusedError(
                f"{damage or state.describe(host)}; without a rollback document nothing can be restored: compare what "
                f"runs with what is intended, then keep it by `recover` with --accept-running",
                "damaged",
            )
        if damage:
            # The state cannot be read, but the document names the transaction to revert.
            state = stand_in(host, document.id, host.now_s())
        return {**revert_to(host, state, document, "recover"), "found": before}


def _finish_last(host: SwitchHost, state: State) -> Answer:
    """Finish what the last transaction left open, and save a confirmed commit; return its error for the answer."""
    with contextlib.suppress(*DEVICE_ERRORS):
        settle(host, state)
    failure: Answer = {"error": state.error}
    if state.unsaved and state.status == Stage.CONFIRMED:
        failure = save(host, state)
    with contextlib.suppress(*DEVICE_ERRORS):
        finish(host, state)
    return failure


def _is_interrupted(state: State, status: str) -> bool:
    """Tell whether a transaction with this actual status was not ended, or would be applied again by the next boot."""
    if status in (Stage.EXPIRED, Stage.FAILED):
        return True
    # The startup files still have the reverted change.
    return status == Stage.REVERTED and state.unsaved


def _readable_document(host: SwitchHost) -> RollbackDocument | None:
    """Return the rollback document, None if it is missing or damaged."""
    try:
        return read_document(host)
    except DamagedError:
        return None


def _accept_running(host: SwitchHost, state: State, damage: str) -> None:
    """End the last transaction without restoring anything; ``damage`` says that its state cannot be read."""
    if damage:
        state = stand_in(host, "unknown", host.now_s())
    changes: dict[str, Any] = {"reason": "what runs was accepted", "missing": [], "error": "", "worker": None}
    state.write(host, status=Stage.REVERTED, **changes)
    remove(host, "pending.json")


def _state_or_damage(host: SwitchHost, *, accept: bool) -> tuple[State, str]:
    """Return the state and no damage, or the state ``none`` and what is wrong with its file.

    Raises RequestRefusedError for a file of another version, unless what runs is accepted and no guard runs.
    """
    none = State("", "", Stage.NONE)
    try:
        return read_state(host) or none, ""
    except DamagedError as error:
        return none, str(error)
    except VersionError as error:
        if accept and not guarded(host):
            return none, str(error)
        raise RequestRefusedError(
            f"{error}; end what is pending with that version, or keep what runs by `recover` with --accept-running",
            "damaged",
        ) from error
