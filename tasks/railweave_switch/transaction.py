"""Transactions: apply, confirm, revert, and the guard that reverts what nobody confirms.

    lock → nothing pending → what is to change is as expected → rollback document on disk and in the guard's memory
         → armed → step by step → read back → the guard waits for the confirmation

Whatever fails, or nobody confirms in time, is taken back by ``restoring.restore``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from railweave_switch import frr
from railweave_switch.host import BusyError, CommandError, DatabaseError, Host
from railweave_switch.restoring import restore, settled
from railweave_switch.rows import digest, unmet
from railweave_switch.state import (
    APPLYING,
    ARMED,
    COMMIT,
    CONFIRMED,
    DRAIN,
    EXPIRED,
    FAILED,
    KEPT_COMMITS,
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
    over,
    path,
    prepare_disk,
    read_document,
    read_state,
    remove,
    report,
    seen,
    write,
    write_state,
)
from railweave_switch.steps import (
    KINDS,
    StepError,
    content_of,
    frr_text,
    refuse_hanging_reload,
    refuse_losing_mode,
    run_step,
    save,
    save_frr,
)

LOCK_S = 2.0
SAVE_S = 600.0
GUARD_REVERTS_S = 1800.0
GUARD_STARTS_S = 20.0
READ_BACK_S, READ_BACK_PAUSE_S = 1.5, 0.5
RELOAD_SETTLES_S = 60.0
DEVICE_FAULTS = (StepError, CommandError, DatabaseError, OSError)

Answer = dict[str, Any]


class RefusedError(Exception):
    """Nothing was done; the message says why, ``code`` which kind of reason it is: ``busy``, ``pending``, ``moved``."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


# --- apply ---------------------------------------------------------------------------------------------------------


def apply(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Carry a transaction out and leave it under its guard; a failure takes it back at once."""
    check_transaction(asked)
    with _locked(host, asked):
        earlier = _earlier(host, asked)
        document = _checked(host, asked, earlier)
        state = _armed(host, asked, earlier, document)
        return _ended(host, asked, state, document)


def amend(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Carry further steps out under an armed transaction; its rollback document undoes them too."""
    with _locked(host, asked):
        state = _state(host)
        if state is None or state["id"] != asked["id"] or seen(host, state) != ARMED or over(host, state):
            raise RefusedError(f"transaction {asked['id']} is not armed: {_told(host, state)}")
        document = read_document(host)
        write_state(host, state, status=APPLYING, worker=host.me())
        return _ended(host, asked, state, document)


def _ended(host: Host, asked: Mapping[str, Any], state: State, document: Document) -> Answer:
    """Carry out the steps of an armed transaction; whatever fails takes it back at once."""
    failure = _carried_out(host, asked, state, asked["steps"])
    if not failure:
        failure, answer = _kept_in_time(host, state, document)
    return _taken_back(host, state, document, failure) if failure else answer


def check_transaction(asked: Mapping[str, Any]) -> None:
    """Refuse a document that is no transaction of this version."""
    if asked.get("version") != VERSION:
        raise RefusedError(f"the transaction is of version {asked.get('version')}, this program carries out {VERSION}")
    wanted = {"id": str, "kind": str, "steps": list, "before": dict, "after": dict, "rollback": dict}
    wrong = [name for name, kind in wanted.items() if not isinstance(asked.get(name), kind)]
    unknown = sorted({str(one.get("kind")) for one in (*asked.get("steps", ()), *_back(asked))} - KINDS)
    if wrong or unknown or asked["kind"] not in (COMMIT, DRAIN):
        raise RefusedError(f"not a transaction: {', '.join([*wrong, *(f'unknown step {one}' for one in unknown)])}")


def _back(asked: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    back = asked.get("rollback")
    return list(back.get("steps") or ()) if isinstance(back, dict) else []


@contextlib.contextmanager
def _locked(host: Host, asked: Mapping[str, Any]) -> Iterator[None]:
    holder = host.session_holder()
    if holder and holder != asked.get("session"):
        raise RefusedError(f"the configuration is locked by {holder}", "busy")
    try:
        host.make_directory()
        with host.lock(float(asked.get("lock_wait_s") or LOCK_S)):
            yield
    except BusyError:
        raise RefusedError("the configuration is locked: another transaction is at work on it", "busy") from None


def _state(host: Host) -> State | None:
    try:
        return read_state(host)
    except DamagedError as error:
        raise RefusedError(f"{error}: `railweave-switch recover` repairs it") from error
    except VersionError as error:
        raise RefusedError(f"{error}; use that version to end what is pending") from error


def _earlier(host: Host, asked: Mapping[str, Any]) -> State | None:
    """Return the state before; raises RefusedError where a transaction waits that this one does not take over."""
    state = _state(host)
    status = seen(host, state)
    superseded = asked.get("supersedes") or ""
    if superseded:
        if state is None or state["id"] != superseded or state["kind"] != DRAIN or status != ARMED or over(host, state):
            raise RefusedError(f"the temporary drain was over before the change began ({_told(host, state)})")
        return state
    if state is not None and (status in OPEN or status == EXPIRED):
        raise RefusedError(_told(host, state), "pending")
    if state is not None:
        _finish_confirmation(host, state)
    return state


def _told(host: Host, state: State | None) -> str:
    status = seen(host, state)
    if state is None or status in (CONFIRMED, REVERTED):
        return "nothing is pending"
    repair = f"; `{REPAIRS[status]}` repairs it" if status in REPAIRS else ""
    return f"{state['kind']} {state['id']} by {state.get('by') or 'another session'} is {status}{repair}"


def _checked(host: Host, asked: Mapping[str, Any], earlier: State | None) -> Document:
    """Return the rollback document; raises RefusedError where the switch is not as the transaction expects."""
    rows = host.rows("CONFIG_DB")
    moved = unmet(asked["before"], rows)
    text = frr_text(host)
    if asked.get("frr_before") and (text is None or sha256(text) != asked["frr_before"]):
        moved.append("FRR" if text is not None else "FRR (it does not answer)")
    if moved:
        told = f"{', '.join(moved[:5])}{_more(moved)}"
        raise RefusedError(f"changed by somebody else since the comparison: {told}", "moved")
    if why := refuse_losing_mode(host, asked["steps"]):
        raise RefusedError(why)
    for step in (*asked["steps"], *_back(asked)):
        if step["kind"] == "reload":
            refuse_hanging_reload(step)
    drain = None
    if asked.get("supersedes"):
        standing = read_document(host)
        lines = {name: (earlier or {}).get(f"frr_{name}") or [] for name in ("added", "removed")}
        drain = {"id": standing["id"], "steps": standing["steps"], **lines}
        text = standing["frr"]
    return {
        "version": VERSION,
        "id": asked["id"],
        "supersedes": asked.get("supersedes") or "",
        "steps": [*_back(asked), *(drain["steps"] if drain else ())],
        "rows": asked["before"],
        "frr": text,
        "frr_ignored": asked.get("frr_ignored") or "",
        "undo": asked["rollback"].get("undo"),
        "drain": drain,
    }


def _more(items: list[str]) -> str:
    return f" and {len(items) - 5} more" if len(items) > 5 else ""


def _armed(host: Host, asked: Mapping[str, Any], earlier: State | None, document: Document) -> State:
    """Put on the disk all that the way back needs, and start the guard; raises RefusedError, nothing changed."""
    deadline_s = asked.get("deadline_s")
    state: State = {
        "version": VERSION,
        "id": asked["id"],
        "kind": asked["kind"],
        "status": APPLYING,
        "by": asked.get("by", ""),
        "message": asked.get("message", ""),
        "boot_id": host.boot_id(),
        "began_at": host.wall_s(),
        "ends_s": None if deadline_s is None else host.now_s() + float(deadline_s),
        "deadline_at": None if deadline_s is None else host.wall_s() + float(deadline_s),
        "worker": host.me(),
        "drain": document["drain"]["id"] if document["drain"] else "",
        "frr_added": None,
        "frr_removed": None,
        "kept": list((earlier or {}).get("kept") or []),
    }
    replaced = read_document(host) if document["supersedes"] else None
    try:
        prepare_disk(host)
        document = {**document, "ends_s": state["ends_s"], "boot_id": state["boot_id"]}
        write(host, "pending.json", document)
        _write_files_of_the_way_back(host, document)
        write_state(host, state)
        host.start_guard(state["id"])
        ready = settled(host, lambda: [] if guarded(host, state["id"]) else ["guard"], GUARD_STARTS_S, 0.02)
        if ready:
            raise StepError("railweave-switch", "the guard that would revert the change does not start")
    except (*DEVICE_FAULTS, DamagedError) as error:
        _disarm(host, state, earlier, replaced)
        raise RefusedError(f"the way back could not be prepared, so nothing was changed: {error}") from error
    return state


def _write_files_of_the_way_back(host: Host, document: Document) -> None:
    for number, step in enumerate(document["steps"]):
        if step["kind"] in ("load", "reload"):
            host.write_file(path(host, f"revert-{number}.json"), content_of(step))


def _disarm(host: Host, state: State, earlier: State | None, replaced: Document | None) -> None:
    """Leave things as they were before a transaction that never began."""
    if replaced is not None and earlier is not None:
        with contextlib.suppress(OSError):
            write(host, "pending.json", replaced)
        with contextlib.suppress(OSError):
            write_state(host, earlier)
        return
    with contextlib.suppress(OSError):
        if earlier is not None:
            write_state(host, earlier)
        else:
            write_state(host, state, status=REVERTED, error="it never began", worker=None)
    with contextlib.suppress(OSError):
        remove(host, "pending.json")


def _carried_out(host: Host, asked: Mapping[str, Any], state: State, steps: list[Mapping[str, Any]]) -> Answer:
    """Run the steps and read back; return the failure, empty where there is none.

    A step that is refused and whose effect is there after all is none, where rows can tell.
    """
    failure: Answer = {}
    limit_s = float(asked.get("step_timeout_s") or 1800.0)
    for number, step in enumerate(steps):
        if over(host, state):
            return {"error": "the time until the revert passed while the change was applied"}
        try:
            run_step(host, step, limit_s)
        except StepError as error:
            failure = {"error": str(error), "refused": {"command": error.command, "said": error.said}}
        except (CommandError, DatabaseError, OSError) as error:
            failure = {"error": f"step {number + 1}: {error}"}
        if failure:
            break
    if failure and (step["kind"] == "vtysh" or number < len(steps) - 1):
        return failure
    reloads = any(step["kind"] == "reload" for step in steps)
    within_s = 0.0 if failure else RELOAD_SETTLES_S if reloads else READ_BACK_S
    left = settled(host, lambda: _unmet(host, asked, reloads=reloads), within_s, READ_BACK_PAUSE_S)
    if left:
        told = f"not as wanted when read back: {', '.join(left[:5])}{_more(left)}"
        return {**failure, "error": failure.get("error") or told, "unmet": left}
    return {}


def _unmet(host: Host, asked: Mapping[str, Any], *, reloads: bool) -> list[str]:
    try:
        left = unmet(asked["after"], host.rows("CONFIG_DB"))
    except (DatabaseError, OSError) as error:
        return [f"CONFIG_DB ({error})"]
    if not left and reloads and frr_text(host) is None:
        return ["FRR (it does not answer)"]
    return left


def _kept_in_time(host: Host, state: State, document: Document) -> tuple[Answer, Answer]:
    """Note that all is applied; return the failure, where the time passed or nobody guards it, and the answer."""
    if over(host, state):
        return {"error": "the time until the revert passed while the change was applied"}, {}
    try:
        added, removed = _frr_lines_changed(host, document)
        if not guarded(host, state["id"]):
            host.start_guard(state["id"])
        lasting = state["ends_s"] is None
        worker = state["worker"] if lasting else None
        write_state(host, state, status=ARMED, worker=worker, frr_added=added, frr_removed=removed)
        return {}, _keep(host, state, document) if lasting else _answer(host, "applied")
    except DEVICE_FAULTS as error:
        return {"error": f"the change could not be kept under its timer: {error}"}, {}


def _frr_lines_changed(host: Host, document: Document) -> tuple[list[frr.Line] | None, list[frr.Line] | None]:
    """Return the lines of FRR that came and those that went since the text of a rollback document."""
    text = frr_text(host)
    if text is None or document["frr"] is None:
        return None, None
    before, now = (frr.lines_of(one, document["frr_ignored"]) for one in (document["frr"], text))
    return [line for line in now if line not in before], [line for line in before if line not in now]


def _taken_back(host: Host, state: State, document: Document, failure: Answer) -> Answer:
    status = _revert(host, state, document, str(failure["error"]))
    return {**_answer(host, status), **failure, "missing": state.get("missing") or []}


def _answer(host: Host, outcome: str) -> Answer:
    text = frr_text(host)
    answer: Answer = {
        "outcome": outcome,
        "status": report(host),
        "frr": {"text": text, "digest": text and sha256(text)},
    }
    with contextlib.suppress(DatabaseError, OSError):
        answer["config"] = {"digest": digest(host.rows("CONFIG_DB"))}
    return answer


# --- confirm -------------------------------------------------------------------------------------------------------


def confirm(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Keep the pending commit and save it; what it was drained for ends first."""
    with _locked(host, asked):
        state = _state(host)
        status = seen(host, state)
        if state is None or status != ARMED:
            raise RefusedError(_told(host, state))
        if state["kind"] == DRAIN:
            raise RefusedError("no commit waits to be confirmed, only a temporary drain: undrain ends it")
        if asked.get("id") and asked["id"] != state["id"]:
            raise RefusedError(f"another commit waits: {_told(host, state)}")
        if over(host, state):
            raise RefusedError("the time is over: the switch is restoring the earlier configuration")
        return _keep(host, state, read_document(host))


def _keep(host: Host, state: State, document: Document) -> Answer:
    """From here on the guard reverts nothing."""
    _end_drain(host, state, document)
    kept = list(state["kept"])
    if state["kind"] != DRAIN:
        write(host, "pending.json", _lasting(state, document))
        kept = [*kept, state["id"]][-KEPT_COMMITS:]
    write_state(host, state, status=CONFIRMED, worker=None, error="", kept=kept)
    with contextlib.suppress(OSError):
        _finish_confirmation(host, state)
    answer = _answer(host, CONFIRMED)
    try:
        if state["kind"] == DRAIN:
            save_frr(host, SAVE_S)
        else:
            save(host, SAVE_S)
    except StepError as error:
        answer.update(error=f"it could not be saved: {error}", refused={"command": error.command, "said": error.said})
    return answer


def _lasting(state: State, document: Document) -> Document:
    """Return the rollback document of a confirmed commit: without the drain, and with the lines that are its own."""
    drain = document.get("drain") or {"steps": [], "added": [], "removed": []}
    steps = document["steps"][: len(document["steps"]) - len(drain["steps"])]
    lines = {
        f"frr_{name}": [line for line in state[f"frr_{name}"] or () if list(line) not in map(list, drain[name])]
        for name in ("added", "removed")
    }
    return {**document, **lines, "steps": steps, "drain": None, "frr": None, "supersedes": ""}


def _finish_confirmation(host: Host, state: State) -> None:
    """Put the rollback document of a confirmed commit in its place, and remove what nobody needs any more."""
    if state["status"] == CONFIRMED:
        with contextlib.suppress(DamagedError):
            if state["kind"] == DRAIN:
                remove(host, "pending.json")
            elif read_document(host)["id"] == state["id"]:
                host.rename_file(path(host, "pending.json"), path(host, f"{state['id']}.rollback.json"))
        _tidy(host, state)


def undrain(host: Host, asked: Mapping[str, Any]) -> Answer:
    """End the temporary drain under which a commit waits; the commit stays pending."""
    with _locked(host, asked):
        state = _state(host)
        if state is None or seen(host, state) != ARMED or not state.get("drain"):
            raise RefusedError("no commit waits that was made under a temporary drain")
        _end_drain(host, state, read_document(host))
        write_state(host, state)
        return _answer(host, ARMED)


def _end_drain(host: Host, state: State, document: Document) -> None:
    """Remove the lines of the drain; raises StepError where they stay."""
    drain = document.get("drain")
    if not drain or not state.get("drain"):
        return
    for step in drain["steps"]:
        run_step(host, step, 600.0, back=True)
    ours = {tuple(line) for line in drain.get("added") or ()}

    def left() -> list[str]:
        text = frr_text(host)
        if text is None:
            return ["FRR (it does not answer)"]
        return [frr.shown(line) for line in frr.lines_of(text, document["frr_ignored"]) if line in ours]

    stays = settled(host, left, READ_BACK_S, READ_BACK_PAUSE_S)
    if stays:
        raise StepError("undrain", f"still there: {', '.join(stays[:5])}")
    state["drain"] = ""


def _tidy(host: Host, state: State) -> None:
    """Remove the files that nobody needs any more."""
    wanted = {f"{one}.rollback.json" for one in state["kept"]}
    for name in host.list_directory():
        if name.startswith("revert-") or (name.endswith(".rollback.json") and name not in wanted):
            remove(host, name)


# --- revert --------------------------------------------------------------------------------------------------------


def revert(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Take the pending transaction back, or with ``commit`` a confirmed one, which is saved afterwards."""
    with _locked(host, asked):
        state = _state(host)
        status = seen(host, state)
        if state is not None and (status in OPEN or status == EXPIRED):
            if asked.get("id") and asked["id"] != state["id"]:
                raise RefusedError(f"another transaction waits: {_told(host, state)}", "pending")
            document = _document_of(host, state)
            if document is not None:
                return _reverted(host, state, document, "asked for")
        elif state is not None and asked.get("commit"):
            _finish_confirmation(host, state)
            return _roll_back(host, state, str(asked["commit"]), asked)
        elif state is not None and status == REVERTED:
            return _answer(host, REVERTED)
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
    return {**_answer(host, str(state["status"])), **_missing(state)}


def _reverted(host: Host, state: State, document: Document, why: str) -> Answer:
    """Revert; the rollback of a confirmed commit is saved and its document goes."""
    status = _revert(host, state, document, why)
    answer = {**_answer(host, status), **_missing(state)}
    if status == REVERTED and state["kind"] == ROLLBACK:
        write_state(host, state, kept=[one for one in state["kept"] if one != state["rolls_back"]])
        _tidy(host, state)
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


def _revert(host: Host, state: State, document: Document, why: str) -> str:
    """Bring the earlier configuration back; return how that ended: ``reverted``, or ``failed`` with what is missing."""
    with contextlib.suppress(OSError):
        write_state(host, state, status=REVERTING, worker=host.me(), reason=why)
    missing, notes = restore(host, document, state.get("frr_added"))
    if missing:
        told = f"not restored: {', '.join(missing[:5])}{_more(missing)}; `{REPAIRS[FAILED]}` tries again"
        state.update(status=FAILED, error=told, missing=missing)
    else:
        state.update(status=REVERTED, error="", missing=[])
    state.update(worker=None, notes=[note[-500:] for note in notes[-10:]], drain="")
    _record(host, state)
    if not missing:
        with contextlib.suppress(OSError):
            remove(host, "pending.json")
            _tidy(host, state)
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


# --- the guard -----------------------------------------------------------------------------------------------------

BUSY_S = 300.0
"""How long the guard lets a change that is still being applied go on after its deadline."""
POLL_S = 1.0
RETRY_S = 60.0
MOST_RETRIES = 10
UNREADABLE = 3
"""So many looks in a row at a state that cannot be read; then the guard reverts."""


class Guard:
    """Waits beside one transaction, its rollback document in memory, and reverts it unless it is confirmed.

    ``poll`` looks once and returns the seconds until the next look, None when its work is done.
    """

    def __init__(self, host: Host, name: str) -> None:
        self.host = host
        self.name = name
        self.document = read_document(host)
        if self.document["id"] != name:
            raise DamagedError(f"pending.json is of {self.document['id']}, not of {name}")
        self.unread = 0
        self.retries = 0
        self.ended: State | None = None
        """How this guard's own revert ended, until that could be written."""

    def announce(self) -> None:
        """Say that the guard runs."""
        write(self.host, "guard.json", {"id": self.name, "process": self.host.me()})

    def poll(self) -> float | None:
        """Look at the state once; raises nothing that a switch can be blamed for."""
        try:
            return self._look()
        except (BusyError, DatabaseError, CommandError, StepError, OSError):
            return POLL_S

    def _look(self) -> float | None:
        try:
            state = read_state(self.host)
        except (DamagedError, VersionError):
            return self._fail_safe()
        except OSError:
            self.unread += 1
            return POLL_S if self.unread < UNREADABLE else self._fail_safe()
        self.unread = 0
        if state is None:
            return self._fail_safe()
        if state["id"] != self.name:
            return self._superseded(state)
        return self._own(state)

    def _own(self, state: State) -> float | None:
        status = state["status"]
        if status in (CONFIRMED, REVERTED):
            return None
        if self.ended is not None:
            return self._recorded(self.ended)
        if status == FAILED:
            if self.retries >= MOST_RETRIES:
                return None
            self.retries += 1
            return self._strike(state) or RETRY_S
        if status in (APPLYING, REVERTING) or state["ends_s"] is None:
            return self._watch_worker(state)
        left_s = float(state["ends_s"]) - self.host.now_s()
        return min(left_s, POLL_S) if left_s > 0 else self._strike(state)

    def _watch_worker(self, state: State) -> float | None:
        """Take over from a worker that died, or that is stuck long after the deadline."""
        if not self._at_work(state):
            return self._strike(state)
        ends_s = self.document["ends_s"]
        if state["status"] == APPLYING and ends_s is not None and self.host.now_s() > float(ends_s) + BUSY_S:
            self.host.end(state["worker"])
        return POLL_S

    def _at_work(self, state: State) -> bool:
        """Tell whether a worker other than this guard carries the transaction on."""
        worker = state.get("worker")
        return worker != self.host.me() and self.host.alive(worker)

    def _superseded(self, state: State) -> float | None:
        """End only when the transaction that took over has a guard of its own, or is over."""
        if state["status"] in (CONFIRMED, REVERTED) or guarded(self.host, state["id"]):
            return None
        if self.host.alive(state.get("worker")):
            return POLL_S
        return self._strike(state)

    def _fail_safe(self) -> float | None:
        """Revert without a state to go by, unless the files say that the change was confirmed."""
        names = set(self.host.list_directory())
        if "pending.json" not in names and f"{self.name}.rollback.json" in names:
            return None
        return self._strike(None)

    def _strike(self, state: State | None) -> float | None:
        """Revert under the lock, if that is still to be done there."""
        with self.host.lock(0.0):
            try:
                now = read_state(self.host)
            except (DamagedError, VersionError, OSError):
                now = None
            if now is not None and (state is None or now["status"] in (CONFIRMED, REVERTED)):
                return 0.0
            if now is not None and now["status"] in (APPLYING, REVERTING) and self._at_work(now):
                return POLL_S
            known = now or self._reconstructed()
            status = _revert(self.host, known, self._document_for(known), "nobody confirmed it in time")
        self.ended = known if status == REVERTED else None
        return POLL_S if self.ended else RETRY_S

    def _recorded(self, state: State) -> float | None:
        """Write how the revert ended, if that is not yet there."""
        with self.host.lock(0.0):
            write_state(self.host, state)
        return None

    def _document_for(self, state: State) -> Document:
        """Return what to restore: where another transaction took over, its document, which undoes this one as well."""
        if state["id"] != self.name:
            with contextlib.suppress(DamagedError, OSError):
                found = read_document(self.host)
                if found["id"] == state["id"]:
                    return found
        return self.document

    def _reconstructed(self) -> State:
        """Return a state in the place of one that cannot be read."""
        return {
            "version": VERSION,
            "id": self.name,
            "kind": COMMIT,
            "status": REVERTING,
            "boot_id": self.host.boot_id(),
            "ends_s": self.document["ends_s"],
            "kept": _kept_on_disk(self.host),
        }


def _kept_on_disk(host: Host) -> list[str]:
    """Return the commits whose rollback documents lie there, oldest first: their names sort by time."""
    names = sorted(name for name in host.list_directory() if name.endswith(".rollback.json"))
    return [name[: -len(".rollback.json")] for name in names]


# --- recover -------------------------------------------------------------------------------------------------------


def recover(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Repair a state that is damaged, or a revert that failed: say what was found and restore, or give up when told."""
    with _locked(host, asked):
        try:
            state = read_state(host)
            found = "" if seen(host, state) not in (FAILED, EXPIRED) else _told(host, state)
        except VersionError as error:
            raise RefusedError(f"{error}; use that version to end what is pending") from error
        except DamagedError as error:
            state, found = None, str(error)
        if not found:
            return {**_answer(host, "sound"), "found": "the state is sound: nothing to repair"}
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
            return {**_answer(host, "given up"), "found": found}
        if document is None:
            raise RefusedError(
                f"{found}; without a rollback document nothing can be restored: compare what runs with what is wanted, "
                f"then `railweave-switch recover --give-up` accepts it"
            )
        status = _revert(host, known, document, "recover")
        return {**_answer(host, status), **_missing(known), "found": found}


def _stand_in(host: Host, document: Document | None) -> State:
    return {
        "version": VERSION,
        "id": document["id"] if document else "unknown",
        "kind": COMMIT,
        "status": REVERTING,
        "boot_id": host.boot_id(),
        "ends_s": host.now_s(),
        "kept": _kept_on_disk(host),
    }


def loaded(text: str) -> dict[str, Any]:
    """Return the JSON object of a text; raises RefusedError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise RefusedError(f"the transaction is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise RefusedError("the transaction is not a JSON object")
    return found
