"""Reverts: of what is pending, of a confirmed commit, and the repair of a damaged state. All end in one ``restore``."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from railweave_switch import frr
from railweave_switch.host import Host
from railweave_switch.refusal import (
    Answer,
    RefusedError,
    answer_of,
    finish_confirmation,
    kept_on_disk,
    locked,
    more,
    state_of,
    tidy,
    told,
)
from railweave_switch.restoring import restore, settled
from railweave_switch.state import (
    ARMED,
    COMMIT,
    EXPIRED,
    FAILED,
    OPEN,
    REPAIRS,
    REVERTED,
    REVERTING,
    ROLLBACK,
    VERSION,
    DamagedError,
    Document,
    State,
    VersionError,
    guarded,
    prepare_disk,
    read_document,
    read_state,
    remove,
    seen,
    write,
    write_state,
)
from railweave_switch.steps import StepError, frr_text, save

SAVE_S = 600.0
GUARD_REVERTS_S = 1800.0


def revert(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Take the pending transaction back, or with ``commit`` a confirmed one, which is saved afterwards."""
    with locked(host, asked):
        state = state_of(host)
        status = seen(host, state)
        if state is not None and (status in OPEN or status == EXPIRED):
            if asked.get("id") and asked["id"] != state["id"]:
                raise RefusedError(f"another transaction waits: {told(host, state)}", "pending")
            document = _document_of(host, state)
            if document is not None:
                return _reverted(host, state, document, "asked for")
        elif state is not None and asked.get("commit"):
            finish_confirmation(host, state)
            return _roll_back(host, state, str(asked["commit"]), asked)
        elif state is not None and status == REVERTED:
            return answer_of(host, REVERTED)
        else:
            raise RefusedError("there is nothing to revert")
    return _reverted_by_guard(host, state)


def _document_of(host: Host, state: State) -> Document | None:
    """Return the rollback document, None where it is damaged and the guard still has it in memory."""
    try:
        return read_document(host)
    except DamagedError as error:
        if not guarded(host, state["id"]):
            raise RefusedError(f"{error}: `railweave-switch recover --give-up` accepts what runs") from error
        write_state(host, state, status=ARMED, ends_s=host.now_s())
        return None


def _reverted_by_guard(host: Host, state: State) -> Answer:
    """Wait until the guard has reverted out of its memory."""

    def goes_on() -> list[str]:
        now = read_state(host) or state
        state.update(now)
        return [] if now["status"] in (REVERTED, FAILED) else ["revert"]

    settled(host, goes_on, GUARD_REVERTS_S, 1.0)
    return {**answer_of(host, str(state["status"])), **_missing(state)}


def _reverted(host: Host, state: State, document: Document, why: str) -> Answer:
    """Revert; the rollback of a confirmed commit is saved and its document goes."""
    status = take_back(host, state, document, why)
    answer = {**answer_of(host, status), **_missing(state)}
    if status == REVERTED and state["kind"] == ROLLBACK:
        write_state(host, state, kept=[one for one in state["kept"] if one != state["rolls_back"]])
        tidy(host, state)
        try:
            save(host, SAVE_S)
        except StepError as error:
            answer["error"] = f"it could not be saved: {error}"
    return answer


def _missing(state: State) -> Answer:
    return {"missing": state.get("missing") or [], "error": state.get("error") or ""}


def _roll_back(host: Host, state: State, commit: str, asked: Mapping[str, Any]) -> Answer:
    """Undo a confirmed commit: its document becomes pending, so that even a cut ends in what it says."""
    if commit not in state["kept"]:
        raise RefusedError(f"the rollback document of commit {commit} is not on the switch")
    document = read_document(host, f"{commit}.rollback.json")
    new: State = {
        **state,
        "id": asked["id"],
        "kind": ROLLBACK,
        "rolls_back": commit,
        "by": asked.get("by", ""),
        "message": f"rollback of {commit}",
        "status": REVERTING,
        "boot_id": host.boot_id(),
        "ends_s": host.now_s(),
        "deadline_at": None,
        "frr_added": document.get("frr_added"),
        "drain": "",
    }
    try:
        prepare_disk(host)
        document = {**document, "id": asked["id"], "ends_s": new["ends_s"], "frr_lines": _frr_goal(host, document)}
        write(host, "pending.json", document)
    except (OSError, StepError) as error:
        raise RefusedError(f"the rollback could not be prepared, so nothing was changed: {error}") from error
    return _reverted(host, new, document, f"rollback of {commit}")


def _frr_goal(host: Host, document: Document) -> list[frr.Line] | None:
    """Return FRR's lines as they are to be: today's, without those that the commit added, with those it removed."""
    added, removed = ([tuple(line) for line in document.get(f"frr_{name}") or ()] for name in ("added", "removed"))
    if not added and not removed:
        return None
    text = frr_text(host)
    if text is None:
        raise StepError("FRR", "it does not answer")
    return [*(line for line in frr.lines_of(text, document["frr_ignored"]) if line not in added), *removed]


def take_back(host: Host, state: State, document: Document, why: str) -> str:
    """Bring the earlier configuration back; return how that ended: ``reverted``, or ``failed`` with what is missing."""
    with contextlib.suppress(OSError):
        write_state(host, state, status=REVERTING, worker=host.me(), reason=why)
    missing, notes = restore(host, document, state.get("frr_added"))
    if missing:
        told = f"not restored: {', '.join(missing[:5])}{more(missing)}; `{REPAIRS[FAILED]}` tries again"
        state.update(status=FAILED, error=told, missing=missing)
    else:
        state.update(status=REVERTED, error="", missing=[])
    state.update(worker=None, notes=[note[-500:] for note in notes[-10:]], drain="")
    _record(host, state)
    if not missing:
        with contextlib.suppress(OSError):
            remove(host, "pending.json")
            tidy(host, state)
    return str(state["status"])


RECORD_S = 30.0
"""How long the end of a revert is tried to be written where the disk refuses; the guard tries on for ever."""


def _record(host: Host, state: State) -> None:
    """Write how a revert ended, trying for a while where the disk refuses: until then the state says the old."""
    ends_s = host.now_s() + RECORD_S
    while True:
        try:
            write_state(host, state)
            return
        except OSError:
            if host.now_s() >= ends_s:
                return
            host.sleep(5.0)


def recover(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Repair a state that is damaged, or a revert that failed: say what was found and restore, or give up when told."""
    with locked(host, asked):
        try:
            state = read_state(host)
            found = "" if seen(host, state) not in (FAILED, EXPIRED) else told(host, state)
        except VersionError as error:
            raise RefusedError(f"{error}; use that version to end what is pending") from error
        except DamagedError as error:
            state, found = None, str(error)
        if not found:
            return {**answer_of(host, "sound"), "found": "the state is sound: nothing to repair"}
        try:
            document: Document | None = read_document(host)
        except DamagedError as error:
            document, found = None, f"{found}; {error}"
        known = state or _stand_in(host, document)
        if asked.get("give_up"):
            write_state(
                host, known, status=REVERTED, error="given up: what runs is taken as it is", missing=[], worker=None
            )
            remove(host, "pending.json")
            return {**answer_of(host, "given up"), "found": found}
        if document is None:
            raise RefusedError(
                f"{found}; without a rollback document nothing can be restored: compare what runs with what is wanted, "
                f"then `railweave-switch recover --give-up` accepts it"
            )
        status = take_back(host, known, document, "recover")
        return {**answer_of(host, status), **_missing(known), "found": found}


def _stand_in(host: Host, document: Document | None) -> State:
    return {
        "version": VERSION,
        "id": document["id"] if document else "unknown",
        "kind": COMMIT,
        "status": REVERTING,
        "boot_id": host.boot_id(),
        "ends_s": host.now_s(),
        "kept": kept_on_disk(host),
    }
