"""What a restart of the switch ends: it boots its startup configuration, so a change that was never saved is gone.

A transaction that was open then is closed, and neither blocks the next one nor is reverted a second time. It stays
open where something of it runs all the same: a warm restart keeps CONFIG_DB, and somebody may have saved before it.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

from railweave_switch import frr
from railweave_switch.host import BusyError, CommandError, DatabaseError, SwitchHost
from railweave_switch.restoring import frr_difference, frr_undone, missing_of, restore
from railweave_switch.rows import remains, unmet
from railweave_switch.saving import JOURNAL, finish, install, journal_of, replaced, startup_digests, startup_files
from railweave_switch.state import (
    ENDED,
    OPEN,
    RollbackDocument,
    Stage,
    State,
    TransactionKind,
    read_document,
    read_state,
    remove,
)
from railweave_switch.state_forms import DamagedError, VersionError
from railweave_switch.steps import StepError, frr_away, frr_text

_NONE = State("", "", Stage.NONE)
_MIDWAY = frozenset({Stage.APPLYING, Stage.REVERTING, Stage.FAILED})
"""Steps were under way, or some of them failed."""
RESTARTED = "the switch restarted and booted its startup configuration"


def settle(host: SwitchHost, state: State) -> None:
    """Finish what the last transaction left to be done, under the lock; changes nothing while its guard is at work.

    Raises DatabaseError, StepError, OSError, for instance while the switch still starts.
    """
    journal = journal_of(host, state)
    if journal is not None and journal.get("alone") and not _saved_alone(host, state, journal):
        return
    if state.boot_id == host.boot_id():
        if state.status in ENDED and not host.alive(state.worker):
            finish(host, state)
        return
    journal = journal_of(host, state)
    if journal is not None and replaced(host, journal):
        document = next(iter(_documents(host, state)), None)
        ignored = document.frr_ignored if document else ""
        if journal["frr"] is None or _runs_saved_frr(host, state, journal["frr"], ignored):
            install(host, state)
            if state.status in OPEN:  # it was restored before it was saved
                rolled_back = document if state.kind == TransactionKind.ROLLBACK else None
                generation = rolled_back.generation_back(state) if rolled_back else state.generation
                changes = {"status": Stage.REVERTED, "kept": _without(state), "generation": generation}
                state.write(host, **changes, worker=None, drain="", reason=RESTARTED)
            finish(host, state)
    elif state.status in OPEN or state.unsaved:
        _close(host, state)
    else:
        finish(host, state)


def settle_if_free(host: SwitchHost) -> None:
    """Do the same where no other process holds the lock and the switch answers; else leave it to the next call."""
    with contextlib.suppress(
        BusyError, CommandError, DamagedError, DatabaseError, OSError, StepError, ValueError, VersionError
    ):
        if _is_due(host, read_state(host) or _NONE):
            with host.lock(0.0):
                settle(host, read_state(host) or _NONE)


def _is_due(host: SwitchHost, state: State) -> bool:
    """Tell whether a restart, or a save that was cut off, left something to be done."""
    if state.boot_id != host.boot_id() and (state.status in OPEN or state.unsaved):
        return True
    journal = journal_of(host, state)
    return journal is not None and bool(journal.get("alone"))


def _saved_alone(host: SwitchHost, state: State, journal: dict[str, Any]) -> bool:
    """Finish a save that was cut off, or after a restart give it up where nothing of it was in place; tell whether
    that is done."""
    if journal["boot_id"] != host.boot_id():
        if not replaced(host, journal):
            remove(host, JOURNAL)
            return True
        if journal["frr"] is not None and not _runs_saved_frr(host, state, journal["frr"], journal["frr_ignored"]):
            return False
    install(host, state)
    return True


def _runs_saved_frr(host: SwitchHost, state: State, text: str, ignored: str) -> bool:
    """Bring FRR to what its startup file is to be: it booted the one before. Raises StepError while FRR is silent."""
    if away := frr_away(host, frr.lines_of(text, ignored), frr_text(host)):
        raise StepError("FRR", ", ".join(away))
    missing = restore(host, RollbackDocument(state.id, [], {}, {}, frr=text, frr_ignored=ignored), None).missing
    if missing and state.id:
        state.write(host, error=f"FRR does not run its startup configuration: {', '.join(missing[:5])}")
    return not missing


def _documents(host: SwitchHost, state: State) -> list[RollbackDocument]:
    found = []
    for name in ("pending.json", f"{state.id}.rollback.json"):
        with contextlib.suppress(DamagedError):
            found.append(read_document(host, name))
    return [one for one in found if one.id == state.id]


def _close(host: SwitchHost, state: State) -> None:
    documents = _documents(host, state)
    if not documents:
        return  # nobody knows what it changed: ``recover`` says what to do
    document, rolls_back = documents[0], state.kind == TransactionKind.ROLLBACK
    runs, whole = _still_runs(host, state, document), _runs_whole(host, state, document)
    changes: dict[str, Any] = {"unsaved": False, "worker": None, "error": "", "missing": [], "reason": RESTARTED}
    if rolls_back and not whole and not runs:
        # What the commit was is so again: saved, and then it is what booted, or not.
        unsaved, kept = state.unsaved and state.status in OPEN, sorted({*state.kept, state.rolls_back})
        changes.update(
            id=state.rolls_back, kind=TransactionKind.COMMIT, status=Stage.CONFIRMED, kept=kept, unsaved=unsaved
        )
        if state.status == Stage.REVERTED and document.generation:
            changes.update(generation={**document.generation, "number": state.number + 1})
    elif whole if rolls_back else not runs:
        changes.update(status=Stage.REVERTED, kept=_without(state), drain="")
        if state.status in (OPEN if rolls_back else {Stage.CONFIRMED}):
            changes.update(generation=document.generation_back(state))
    elif state.status in OPEN:
        return
    elif state.status == Stage.REVERTED or not whole:
        changes.update(error="the switch restarted before it was saved, and runs a part of it")
        changes.update(status=Stage.FAILED if state.status == Stage.REVERTED else state.status)
    state.write(host, **changes)
    if state.unsaved:
        _close(host, state)
    else:
        finish(host, state)


def _without(state: State) -> list[str]:
    """Return the commits that can be rolled back when this transaction is not kept, or has rolled one back."""
    return [one for one in state.kept if one not in (state.id, state.rolls_back)]


def _runs_whole(host: SwitchHost, state: State, document: RollbackDocument) -> bool:
    """Tell whether all that a transaction is to leave is there."""
    if state.kind == TransactionKind.ROLLBACK:
        return not missing_of(host, document, state.frr_added)
    if frr_undone(host, document.frr_ignored, state.frr_added, state.frr_removed):
        return False
    return not unmet(document.after, host.rows("CONFIG_DB"))


def _still_runs(host: SwitchHost, state: State, document: RollbackDocument) -> bool:
    """Tell whether something of a transaction is there that the startup files of its beginning do not explain."""
    back, there = document.rows, document.after
    if state.kind == TransactionKind.ROLLBACK:
        back, there = there, back
    now = startup_digests(host)
    config_db, frr_file = startup_files(host)
    if now[config_db] == document.startup.get(config_db):
        back = json.loads(host.read_file(config_db).decode())
    if remains(there, back, host.rows("CONFIG_DB"), midway=state.status in _MIDWAY):
        return True
    if now[frr_file] == document.startup.get(frr_file):
        return False
    return state.kind == TransactionKind.ROLLBACK or any(frr_difference(host, document, state.frr_added))
