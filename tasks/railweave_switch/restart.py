"""Close transactions that a restart of the switch has ended: it boots without changes that were never saved.

A closed transaction neither blocks the next one nor is reverted a second time. It stays open if a part of it still
runs: a warm restart keeps CONFIG_DB, and somebody may have saved before the restart.
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
# Statuses in which some of the steps may not have been carried out.
_MIDWAY = frozenset({Stage.APPLYING, Stage.REVERTING, Stage.FAILED})
RESTARTED = "the switch restarted and booted its startup configuration"
Fields = dict[str, Any]
"""Changed fields of a state."""


def settle(host: SwitchHost, state: State) -> None:
    """Finish what the last transaction left open, under the lock; changes nothing while its guard is running.

    Raises DatabaseError, StepError, OSError, for instance while the switch is starting.
    """
    journal = journal_of(host, state)
    if journal is not None and journal.get("alone"):
        is_saved = _finish_save_alone(host, state, journal)
        if not is_saved:
            return
    if state.boot_id != host.boot_id():
        _settle_after_restart(host, state)
    elif state.status in ENDED and not host.alive(state.worker):
        finish(host, state)


def _settle_after_restart(host: SwitchHost, state: State) -> None:
    """Finish a transaction that began before the last boot."""
    journal = journal_of(host, state)
    if journal is not None and replaced(host, journal):
        _finish_save(host, state, journal)
    elif state.status in OPEN or state.unsaved:
        _close(host, state)
    else:
        finish(host, state)


def _finish_save(host: SwitchHost, state: State, journal: dict[str, Any]) -> None:
    """Finish a save whose first file was replaced before the restart, once FRR runs what was saved."""
    document = next(iter(_documents(host, state)), None)
    ignored = ""
    if document is not None:
        ignored = document.frr_ignored
    if journal["frr"] is not None and not _apply_saved_frr(host, state, journal["frr"], ignored):
        # The next call tries again.
        return
    install(host, state)
    if state.status in OPEN:
        # An open transaction is saved only after its rows and lines were restored.
        generation = state.generation
        if document is not None and state.kind == TransactionKind.ROLLBACK:
            generation = document.generation_back(state)
        changes = {"status": Stage.REVERTED, "kept": _without(state), "generation": generation}
        state.write(host, **changes, worker=None, drain="", reason=RESTARTED)
    finish(host, state)


def settle_if_free(host: SwitchHost) -> None:
    """Call ``settle`` if it is needed, no other process holds the lock, and the switch answers.

    Otherwise a later call of this program does it.
    """
    with contextlib.suppress(
        BusyError, CommandError, DamagedError, DatabaseError, OSError, StepError, ValueError, VersionError
    ):
        if _is_due(host, read_state(host) or _NONE):
            with host.lock(0.0):
                settle(host, read_state(host) or _NONE)


def _is_due(host: SwitchHost, state: State) -> bool:
    """Tell whether a restart of the switch, or an interrupted save, left something to finish."""
    if state.boot_id != host.boot_id() and (state.status in OPEN or state.unsaved):
        return True
    journal = journal_of(host, state)
    return journal is not None and bool(journal.get("alone"))


def _finish_save_alone(host: SwitchHost, state: State, journal: dict[str, Any]) -> bool:
    """Finish an interrupted save outside a transaction; return False if FRR does not run yet what was saved."""
    if journal["boot_id"] != host.boot_id():
        if not replaced(host, journal):
            # The switch booted the files of before, so its running configuration is no longer that of the journal.
            remove(host, JOURNAL)
            return True
        if journal["frr"] is not None and not _apply_saved_frr(host, state, journal["frr"], journal["frr_ignored"]):
            return False
    install(host, state)
    return True


def _apply_saved_frr(host: SwitchHost, state: State, text: str, ignored: str) -> bool:
    """Apply the new startup text to FRR, which has booted the old one; return whether FRR runs it now.

    ``ignored`` is the pattern of lines that are never compared. Raises StepError while FRR does not answer.
    """
    faults = frr_away(host, frr.lines_of(text, ignored), frr_text(host))
    if faults:
        raise StepError("FRR", ", ".join(faults))
    missing = restore(host, RollbackDocument(state.id, [], {}, {}, frr=text, frr_ignored=ignored), None).missing
    if missing and state.id:
        state.write(host, error=f"FRR does not run its startup configuration: {', '.join(missing[:5])}")
    return not missing


def _documents(host: SwitchHost, state: State) -> list[RollbackDocument]:
    """Return the rollback documents of the last transaction that can be read: as pending, and as confirmed commit."""
    documents = []
    for name in ("pending.json", f"{state.id}.rollback.json"):
        with contextlib.suppress(DamagedError):
            documents.append(read_document(host, name))
    return [document for document in documents if document.id == state.id]


def _close(host: SwitchHost, state: State) -> None:
    """Close a transaction after a restart, depending on the part of it that still runs.

    A transaction that runs in part, or whose rollback document is lost, may stay open.
    """
    documents = _documents(host, state)
    if not documents:
        # Its changes are unknown; the status names `recover`.
        return
    document = documents[0]
    is_left = _still_runs(host, state, document)
    is_whole = _runs_whole(host, state, document)
    if state.kind == TransactionKind.ROLLBACK:
        changes = _closed_rollback(state, document, is_left=is_left, is_whole=is_whole)
    else:
        changes = _closed_change(state, document, is_left=is_left, is_whole=is_whole)
    if changes is None:
        return
    closed: Fields = {"unsaved": False, "worker": None, "error": "", "missing": [], "reason": RESTARTED}
    state.write(host, **{**closed, **changes})
    if state.unsaved:
        # The commit that an interrupted rollback left in force is not saved yet.
        _close(host, state)
    else:
        finish(host, state)


def _closed_rollback(state: State, document: RollbackDocument, *, is_left: bool, is_whole: bool) -> Fields | None:
    """Return the fields of the state that close the rollback of a confirmed commit, None if the rollback stays open.

    ``is_left``: a part of its result runs; ``is_whole``: its whole result runs.
    """
    if is_whole:
        changes = _reverted(state)
        # A rollback that has ended has set the generation already.
        if state.status in OPEN:
            changes["generation"] = document.generation_back(state)
        return changes
    if is_left:
        return _partly_running(state)
    # The commit runs again, as if it had not been rolled back.
    changes = {
        "id": state.rolls_back,
        "kind": TransactionKind.COMMIT,
        "status": Stage.CONFIRMED,
        "kept": sorted({*state.kept, state.rolls_back}),
        "unsaved": state.unsaved and state.status in OPEN,
    }
    # The rollback that has ended went back to the earlier generation; now it is that of the commit again.
    if state.status == Stage.REVERTED and document.generation:
        changes["generation"] = {**document.generation, "number": state.number + 1}
    return changes


def _closed_change(state: State, document: RollbackDocument, *, is_left: bool, is_whole: bool) -> Fields | None:
    """Return the fields of the state that close a commit or drain, None if it stays open.

    ``is_left``: a part of it runs; ``is_whole``: all of it runs.
    """
    if not is_left:
        changes = _reverted(state)
        # Only a confirmation has changed the generation.
        if state.status == Stage.CONFIRMED:
            changes["generation"] = document.generation_back(state)
        return changes
    if is_whole and state.status == Stage.CONFIRMED:
        return {}
    return _partly_running(state)


def _reverted(state: State) -> Fields:
    return {"status": Stage.REVERTED, "kept": _without(state), "drain": ""}


def _partly_running(state: State) -> Fields | None:
    """Return the fields that close a transaction of which only a part runs; None if it is open and can be reverted."""
    if state.status in OPEN:
        return None
    changes: Fields = {"error": "the switch restarted before it was saved, and runs a part of it"}
    if state.status == Stage.REVERTED:
        # Failed, so that it is reverted again.
        changes["status"] = Stage.FAILED
    return changes


def _without(state: State) -> list[str]:
    """Return the ids of the kept commits except this transaction and the commit that it rolled back."""
    return [commit for commit in state.kept if commit not in (state.id, state.rolls_back)]


def _runs_whole(host: SwitchHost, state: State, document: RollbackDocument) -> bool:
    """Tell whether the whole result of a transaction runs; raises StepError if FRR does not answer."""
    if state.kind == TransactionKind.ROLLBACK:
        return not missing_of(host, document, state.frr_added)
    if frr_undone(host, document.frr_ignored, state.frr_added, state.frr_removed):
        return False
    return not unmet(document.after, host.rows("CONFIG_DB"))


def _still_runs(host: SwitchHost, state: State, document: RollbackDocument) -> bool:
    """Tell whether a part of a transaction runs that the startup files from before it do not have."""
    before = document.rows
    after = document.after
    if state.kind == TransactionKind.ROLLBACK:
        # A rollback goes from the commit's rows back to those before it.
        before, after = after, before
    now = startup_digests(host)
    config_db, frr_file = startup_files(host)
    if now[config_db] == document.startup.get(config_db):
        # Nobody has saved, so the switch booted this file.
        before = json.loads(host.read_file(config_db).decode())
    if remains(after, before, host.rows("CONFIG_DB"), midway=state.status in _MIDWAY):
        return True
    if now[frr_file] == document.startup.get(frr_file):
        return False
    if state.kind == TransactionKind.ROLLBACK:
        return True
    missing, surplus = frr_difference(host, document, state.frr_added)
    return bool(missing or surplus)
