"""Recovering: what was found, what is restored and what is missing, whatever the state files look like."""

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
    """Repair a state that is damaged, and end what nobody continues: restore, or with ``accept`` keep what runs.

    ``found`` is the status before, ``restored`` and ``missing`` are rows and lines of FRR.
    """
    with locked(host, asked):
        found = report(host)
        nothing: Answer = {"found": found, "restored": [], "missing": [], "error": ""}
        state, damage = _readable(host, accept=bool(asked.get("accept")))
        with contextlib.suppress(*DEVICE_ERRORS):
            settle(host, state)
        failure = save(host, state) if state.unsaved and state.status == Stage.CONFIRMED else {"error": state.error}
        with contextlib.suppress(*DEVICE_ERRORS):
            finish(host, state)
        status = state.now(host)
        booting = status == Stage.REVERTED and state.unsaved  # what was reverted would boot
        if not damage and not booting and status not in (Stage.EXPIRED, Stage.FAILED):
            return answer_of(host, "healthy" if status in HEALTHY else status, **{**nothing, **failure})
        with contextlib.suppress(DamagedError):
            document = read_document(host)
            if not asked.get("accept"):
                known = stand_in(host, document.id, host.now_s()) if damage else state
                return {**revert_to(host, known, document, "recover"), "found": found}
        if not asked.get("accept"):
            raise RequestRefusedError(
                f"{damage or state.describe(host)}; without a rollback document nothing can be restored: compare what "
                f"runs with what is intended, then keep it by `recover` with --accept-running",
                "damaged",
            )
        known = stand_in(host, "unknown", host.now_s()) if damage else state
        accepted: dict[str, Any] = {"reason": "what runs was accepted", "missing": [], "error": "", "worker": None}
        known.write(host, status=Stage.REVERTED, **accepted)
        remove(host, "pending.json")
        return answer_of(host, "accepted", **nothing)


def _readable(host: SwitchHost, *, accept: bool) -> tuple[State, str]:
    """Return the state, and what is wrong with its file; raises RequestRefusedError for one of another version."""
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
