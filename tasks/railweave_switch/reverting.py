"""Reverting: what is pending, and a confirmed commit. Both end in one ``restore``."""

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
from railweave_switch.restoring import missing_of, restore, settled
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
"""So often it is restored and prepared for saving, where what is restored goes away meanwhile."""


def revert(host: SwitchHost, asked: Mapping[str, Any]) -> Answer:
    """Revert the pending transaction, or with ``commit`` a confirmed one, which is saved afterwards.

    ``id`` names the pending one, ``last`` the last transaction by which a confirmed one was chosen: where another came
    since, nothing is done. Somebody on the switch may leave both out.
    """
    with locked(host, asked):
        state = last_state(host)
        status = state.now(host)
        if status in OPEN or status == Stage.EXPIRED:
            if asked.get("id") and asked["id"] != state.id:
                raise RequestRefusedError(f"another transaction waits: {state.describe(host)}", "pending")
            document = _document_of(host, state)
            if document is not None:
                return revert_to(host, state, document, "asked for")
        elif state.id and asked.get("commit"):
            if asked.get("last") is not None:
                refuse_unless_last(state, asked["last"])
            return _roll_back(host, state, str(asked["commit"]), asked)
        elif status == Stage.REVERTED:
            if asked.get("id"):
                refuse_unless_last(state, asked["id"])
            return answer_of(host, Stage.REVERTED)
        else:
            raise RequestRefusedError("there is nothing to revert")
    return _reverted_by_guard(host, state)


def revert_to(host: SwitchHost, state: State, document: RollbackDocument, why: str) -> Answer:
    """Bring back what a rollback document says; the outcome is ``reverted``, or ``failed`` with what is missing.

    A daemon that the change ended is waited for, and named in the state where it stays away.

    It is saved where the startup files hold the change: after the rollback of a confirmed commit, and where somebody
    saved a change that was never confirmed.
    """
    with contextlib.suppress(OSError):
        state.write(host, status=Stage.REVERTING, worker=host.me(), reason=why, error="")
    failure: Answer = {}
    for _ in range(ATTEMPTS):
        found = restore(host, document, state.frr_added)
        missing, failure = found.missing, {}
        if missing or not (state.kind == TransactionKind.ROLLBACK or _was_saved(host, document)):
            break
        failure, missing = save(host, state), missing_of(host, document, state.frr_added)
        if not missing:
            break
    state.notes, state.drain, state.missing = [note[-500:] for note in found.notes[-10:]], "", missing
    if missing:
        state.error = f"not restored: {listed(missing)}; `{REPAIRS[Stage.FAILED]}` tries again"
    elif state.kind == TransactionKind.ROLLBACK:
        state.kept = [one for one in state.kept if one != state.rolls_back]
        state.generation = document.generation_back(state)
    try:
        conclude(host, state, Stage.FAILED if missing else Stage.REVERTED, unsaved=bool(failure))
    except OSError as error:
        failure = {"error": f"its end could not be recorded: {error}"}
    if not missing:
        with contextlib.suppress(OSError):
            state.write(host, broken=broken_after(host, state))
    answer = {"missing": state.missing, "restored": found.restored, "error": state.error, **failure}
    return answer_of(host, state.status, **answer)


def _was_saved(host: SwitchHost, document: RollbackDocument) -> bool:
    """Tell whether somebody has saved since the transaction began; a reload back writes FRR's file itself."""
    now = startup_digests(host)
    reloads = any(step["kind"] == "reload" for step in document.steps)
    files = startup_files(host)[: 1 if reloads else 2]
    return any(now[where] != document.startup.get(where) for where in files)


def _document_of(host: SwitchHost, state: State) -> RollbackDocument | None:
    """Return the rollback document, None where it is damaged and the guard still has it in memory."""
    try:
        return read_document(host)
    except DamagedError as error:
        if not guarded(host, state.id):
            raise RequestRefusedError(f"{error}: `railweave-switch recover --accept-running` ends this") from error
        state.write(host, status=Stage.ARMED, ends_s=host.now_s())
        return None


def _reverted_by_guard(host: SwitchHost, state: State) -> Answer:
    """Wait until the guard has reverted out of its memory."""
    seen = [state]

    def goes_on() -> list[str]:
        seen.append(read_state(host) or state)
        return [] if seen[-1].status in (Stage.REVERTED, Stage.FAILED) else ["revert"]

    settled(host, goes_on, GUARD_REVERTS_S, 1.0)
    return answer_of(host, seen[-1].status, missing=seen[-1].missing, error=seen[-1].error)


def _roll_back(host: SwitchHost, state: State, commit: str, asked: Mapping[str, Any]) -> Answer:
    """Roll a confirmed commit back: its document becomes pending, so that even a cut ends in what it says."""
    if commit not in state.kept:
        raise RequestRefusedError(f"the rollback document of commit {commit} is not on the switch")
    document = read_document(host, f"{commit}.rollback.json")
    new = replace(
        state,
        id=asked.get("id") or f"{commit}-rolled-back",
        kind=TransactionKind.ROLLBACK,
        rolls_back=commit,
        by=asked.get("by", ""),
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
        goal, startup = _frr_goal(host, document), startup_digests(host)
        document = replace(document, id=new.id, ends_s=new.ends_s, startup=startup, frr_lines=goal)
        write(host, "pending.json", vars(document))
        new.write(host, worker=host.me())
    except (OSError, StepError) as error:
        raise RequestRefusedError(f"the rollback could not be prepared, so nothing was changed: {error}") from error
    return revert_to(host, new, document, f"rollback of {commit}")


def _frr_goal(host: SwitchHost, document: RollbackDocument) -> list[frr.Line] | None:
    """Return FRR's lines as they are to be: today's, without those that the commit added, with those it removed."""
    added, removed = ([tuple(line) for line in lines or ()] for lines in (document.frr_added, document.frr_removed))
    if not added and not removed:
        return None
    runs = frr_lines(host, document.frr_ignored, (*added, *removed))
    return [*(line for line in runs if line not in added), *removed]
