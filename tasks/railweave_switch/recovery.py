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
from railweave_switch.state import Stage, State, guarded, read_document, read_state, remove, report, stand_in
from railweave_switch.state_forms import DamagedError, VersionError

HEALTHY = frozenset({Stage.NONE, Stage.CONFIRMED, Stage.REVERTED})


def recover(host: SwitchHost, asked: Mapping[str, object]) -> Answer:
    """Repair a damaged state, and end an interrupted transaction: revert it, or with ``accept`` keep what runs.

    In the answer ``found`` is the status before, ``restored`` and ``missing`` are rows and lines of FRR.
    """
    with locked(host, asked):
        before = report(host)
        nothing: Answer = {"found": before, "restored": [], "missing": [], "error": ""}
        state, damage = _readable(host, accept=bool(asked.get("accept")))
        with contextlib.suppress(*DEVICE_ERRORS):
            settle(host, state)
        failure: Answer = {"error": state.error}
        if state.unsaved and state.status == Stage.CONFIRMED:
            failure = save(host, state)
        with contextlib.suppress(*DEVICE_ERRORS):
            finish(host, state)
        status = state.now(host)
        # If a reverted change is in the startup files, the next boot would apply it again.
        would_boot = status == Stage.REVERTED and state.unsaved
        if not damage and not would_boot and status not in (Stage.EXPIRED, Stage.FAILED):
            outcome = "healthy" if status in HEALTHY else status
            return answer_of(host, outcome, **{**nothing, **failure})
        with contextlib.suppress(DamagedError):
            document = read_document(host)
            if not asked.get("accept"):
                if damage:
                    state = stand_in(host, document.id, host.now_s())
                return {**revert_to(host, state, document, "recover"), "found": before}
        if not asked.get("accept"):
            raise RequestRefusedError(
                f"{damage or state.describe(host)}; without a rollback document nothing can be restored: compare what "
                f"runs with what is intended, then keep it by `recover` with --accept-running",
                "damaged",
            )
        if damage:
            state = stand_in(host, "unknown", host.now_s())
        accepted: dict[str, Any] = {"reason": "what runs was accepted", "missing": [], "error": "", "worker": None}
        state.write(host, status=Stage.REVERTED, **accepted)
        remove(host, "pending.json")
        return answer_of(host, "accepted", **nothing)


def _readable(host: SwitchHost, *, accept: bool) -> tuple[State, str]:
    """Return the state, and the fault of its file; raises RequestRefusedError for a file of another version."""
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
