"""Revert the pending transaction, or roll back a confirmed commit; both use ``restore``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from railweave_switch import frr
from railweave_switch.answers import (
    Answer,
    RequestRefusedError,
    answer_of,
    last_state,
    listed,
    locked,
    refuse_unless_last,
)
from railweave_switch.host import SwitchHost
from railweave_switch.lasting import broken_after
from railweave_switch.restoring import Restored, missing_of, restore, settled
from railweave_switch.saving import conclude, save, startup_digests, startup_files
from railweave_switch.state import (
    OPEN,
    REPAIRS,
    RollbackDocument,
    Stage,
    State,
    TransactionKind,
    guarded,
    prepare_disk,
    read_document,
    read_state,
    write,
)
from railweave_switch.state_forms import DamagedError
from railweave_switch.steps import StepError, frr_lines

GUARD_REVERTS_S = 1800.0
ATTEMPTS = 3
"""Attempts to restore and save, since restored rows or lines may be lost while they are saved."""


def revert(host: SwitchHost, request: Mapping[str, Any]) -> Answer:
    """Revert the pending transaction, or roll back the confirmed ``commit`` and save the result.

    ``id`` names the pending transaction, ``last`` the last transaction that the client knew when it chose the commit. A
    call on the switch itself may omit both. Raises RequestRefusedError if another transaction came since, or if there
    is nothing to revert.
    """
    with locked(host, request):
        state = last_state(host)
        status = state.now(host)
        if status not in OPEN and status != Stage.EXPIRED:
            return _revert_ended(host, state, status, request)
        if request.get("id") and request["id"] != state.id:
            raise RequestRefusedError(f"another transaction waits: {state.describe(host)}", "pending")
        document = _document_of(host, state)
        if document is not None:
            return revert_to(host, state, document, "asked for")
    # The guard needs the lock, so wait for it without.
    return _reverted_by_guard(host, state)


def _revert_ended(host: SwitchHost, state: State, status: str, request: Mapping[str, Any]) -> Answer:
    """Answer a revert while no transaction is pending: roll back the confirmed commit that the client names.

    If it names none and the last transaction was reverted already, that is the answer. Raises RequestRefusedError if
    another transaction came since, or if there is nothing to revert.
    """
    if state.id and request.get("commit"):
        if request.get("last") is not None:
            refuse_unless_last(state, request["last"])
        return _roll_back(host, state, str(request["commit"]), request)
    if status != Stage.REVERTED:
        raise RequestRefusedError("there is nothing to revert")
    if request.get("id"):
        refuse_unless_last(state, request["id"])
    return answer_of(host, Stage.REVERTED)


def revert_to(host: SwitchHost, state: State, document: RollbackDocument, why: str) -> Answer:
    """Restore a rollback document and write the outcome: ``reverted``, or ``failed`` with the missing rows and lines.

    The restored configuration is saved if the startup files have the change, because its commit was confirmed, or
    because somebody saved it before. Daemons that the change ended get time to start again; the state names those
    that do not. ``why`` is the reason in the status.
    """
    # A disk that cannot be written must not keep the configuration from being restored.
    with contextlib.suppress(OSError):
        state.write(host, status=Stage.REVERTING, worker=host.me(), reason=why, error="")
    restored, failure = _restored_and_saved(host, state, document)
    _note_result(state, document, restored)
    status = Stage.REVERTED
    if restored.missing:
        status = Stage.FAILED
    try:
        conclude(host, state, status, unsaved=bool(failure))
    except OSError as error:
        failure = {"error": f"its end could not be recorded: {error}"}
    if not restored.missing:
        with contextlib.suppress(OSError):
            state.write(host, broken=broken_after(host, state))
    answer = {"missing": state.missing, "restored": restored.restored, "error": state.error, **failure}
    return answer_of(host, state.status, **answer)


def _restored_and_saved(host: SwitchHost, state: State, document: RollbackDocument) -> tuple[Restored, Answer]:
    """Restore a rollback document and save the result if the startup files have the change.

    Return the restoration, and the failure of the save, empty for success.
    """
    for _ in range(ATTEMPTS):
        restored = restore(host, document, state.frr_added)
        if restored.missing or not _must_be_saved(host, state, document):
            return restored, {}
        failure = save(host, state)
        # A daemon that restarted during the save has loaded the startup file of before, with the change.
        restored = replace(restored, missing=missing_of(host, document, state.frr_added))
        if not restored.missing:
            break
    return restored, failure


def _note_result(state: State, document: RollbackDocument, restored: Restored) -> None:
    """Note in a state, which is written later, what was restored and what is missing."""
    # Errors may quote whole outputs of commands; the state file stays small.
    state.notes = [note[-500:] for note in restored.notes[-10:]]
    state.drain = ""
    state.missing = restored.missing
    if restored.missing:
        state.error = f"not restored: {listed(restored.missing)}; `{REPAIRS[Stage.FAILED]}` tries again"
    elif state.kind == TransactionKind.ROLLBACK:
        state.kept = [commit for commit in state.kept if commit != state.rolls_back]
        state.generation = document.generation_back(state)


def _must_be_saved(host: SwitchHost, state: State, document: RollbackDocument) -> bool:
    """Tell whether the startup files have the change: it was confirmed, or somebody has saved it."""
    return state.kind == TransactionKind.ROLLBACK or _was_saved(host, document)


def _was_saved(host: SwitchHost, document: RollbackDocument) -> bool:
    """Tell whether somebody has saved since the transaction began."""
    now = startup_digests(host)
    config_db_file, frr_conf = startup_files(host)
    if now[config_db_file] != document.startup.get(config_db_file):
        return True
    if any(step["kind"] == "reload" for step in document.steps):
        # The step of the revert has written FRR's file itself.
        return False
    return now[frr_conf] != document.startup.get(frr_conf)


def _document_of(host: SwitchHost, state: State) -> RollbackDocument | None:
    """Return the pending rollback document, None if it is damaged but the guard still has it in memory.

    In that case the guard is made to revert. Raises RequestRefusedError if no guard runs either.
    """
    try:
        return read_document(host)
    except DamagedError as error:
        if not guarded(host, state.id):
            raise RequestRefusedError(f"{error}: `railweave-switch recover --accept-running` ends this") from error
        # A deadline of now makes the guard revert.
        state.write(host, status=Stage.ARMED, ends_s=host.now_s())
        return None


def _reverted_by_guard(host: SwitchHost, state: State) -> Answer:
    """Wait until the guard has reverted with the document in its memory; return the answer."""
    last = state

    def missing() -> list[str]:
        """Read the state; return an item, for ``settled``, as long as the guard has not ended the transaction."""
        nonlocal last
        last = read_state(host) or state
        if last.status in (Stage.REVERTED, Stage.FAILED):
            return []
        return ["revert"]

    settled(host, missing, GUARD_REVERTS_S, 1.0)
    return answer_of(host, last.status, missing=last.missing, error=last.error)


def _roll_back(host: SwitchHost, state: State, commit: str, request: Mapping[str, Any]) -> Answer:
    """Roll back a confirmed commit: its document becomes the pending one, so an interrupted rollback is finished.

    Raises RequestRefusedError if the commit's document is gone, or if the rollback cannot be prepared.
    """
    if commit not in state.kept:
        raise RequestRefusedError(f"the rollback document of commit {commit} is not on the switch")
    document = read_document(host, f"{commit}.rollback.json")
    new = replace(
        state,
        id=request.get("id") or f"{commit}-rolled-back",
        kind=TransactionKind.ROLLBACK,
        rolls_back=commit,
        by=request.get("by", ""),
        message=f"rollback of {commit}",
        status=Stage.REVERTING,
        boot_id=host.boot_id(),
        ends_s=host.now_s(),
        deadline_at=None,
        frr_added=document.frr_added,
        drain="",
    )
    try:
        prepare_disk(host)
        lines = _frr_goal(host, document)
        startup = startup_digests(host)
        document = replace(document, id=new.id, ends_s=new.ends_s, startup=startup, frr_lines=lines)
        write(host, "pending.json", vars(document))
        new.write(host, worker=host.me())
    except (OSError, StepError) as error:
        raise RequestRefusedError(f"the rollback could not be prepared, so nothing was changed: {error}") from error
    return revert_to(host, new, document, f"rollback of {commit}")


def _frr_goal(host: SwitchHost, document: RollbackDocument) -> list[frr.Line] | None:
    """Return the running lines of FRR without those that the commit added and with those that it removed.

    None if the commit changed no lines. Raises StepError if FRR does not answer.
    """
    added = frr.lines_from(document.frr_added)
    removed = frr.lines_from(document.frr_removed)
    if not added and not removed:
        return None
    running = frr_lines(host, document.frr_ignored, (*added, *removed))
    kept = [line for line in running if line not in added]
    return [*kept, *removed]
