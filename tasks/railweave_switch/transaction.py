"""Transactions: apply, confirm, revert, and the guard that reverts what nobody confirms.

    lock → nothing pending → what is to change is as expected → rollback document on disk and in the guard's memory
         → armed → step by step → read back → the guard waits for the confirmation

Whatever fails, or nobody confirms in time, is taken back by ``restoring.restore``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from railweave_switch import frr
from railweave_switch.host import CommandError, DatabaseError, Hash, Host
from railweave_switch.refusal import (
    DEVICE_FAULTS,
    Answer,
    RefusedError,
    answer_of,
    finish_confirmation,
    locked,
    more,
    sha256,
    state_of,
    told,
)
from railweave_switch.restoring import settled
from railweave_switch.reverting import SAVE_S, take_back
from railweave_switch.rows import digest, unmet
from railweave_switch.state import (
    APPLYING,
    ARMED,
    COMMIT,
    CONFIRMED,
    DRAIN,
    EXPIRED,
    KEPT_COMMITS,
    OPEN,
    REVERTED,
    VERSION,
    DamagedError,
    Document,
    State,
    guarded,
    over,
    path,
    prepare_disk,
    read_document,
    remove,
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

GUARD_STARTS_S = 20.0
READ_BACK_S, READ_BACK_PAUSE_S = 1.5, 0.5
RELOAD_SETTLES_S = 60.0


def apply(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Carry a transaction out and leave it under its guard; a failure takes it back at once."""
    check_transaction(asked)
    with locked(host, asked):
        earlier = _earlier(host, asked)
        rows = host.rows("CONFIG_DB")
        document = _checked(host, asked, earlier, rows)
        state = _armed(host, asked, earlier, document)
        return _ended(host, asked, state, document, rows)


def amend(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Carry further steps out under an armed transaction; its rollback document undoes them too."""
    with locked(host, asked):
        state = state_of(host)
        if state is None or state["id"] != asked["id"] or seen(host, state) != ARMED or over(host, state):
            raise RefusedError(f"transaction {asked['id']} is not armed: {told(host, state)}")
        document = read_document(host)
        rows = host.rows("CONFIG_DB")
        write_state(host, state, status=APPLYING, worker=host.me())
        return _ended(host, asked, state, document, rows)


def _ended(host: Host, asked: Mapping[str, Any], state: State, document: Document, rows: Mapping[str, Hash]) -> Answer:
    """Carry out the steps of an armed transaction, which found ``rows``; whatever fails takes it back at once."""
    failure = _carried_out(host, asked, state, asked["steps"])
    if not failure:
        failure, answer = _kept_in_time(host, state, document, rows)
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


def _earlier(host: Host, asked: Mapping[str, Any]) -> State | None:
    """Return the state before; raises RefusedError where a transaction waits that this one does not take over."""
    state = state_of(host)
    status = seen(host, state)
    superseded = asked.get("supersedes") or ""
    if superseded:
        if state is None or state["id"] != superseded or state["kind"] != DRAIN or status != ARMED or over(host, state):
            raise RefusedError(f"the temporary drain was over before the change began ({told(host, state)})")
        return state
    if state is not None and (status in OPEN or status == EXPIRED):
        raise RefusedError(told(host, state), "pending")
    if state is not None:
        finish_confirmation(host, state)
    return state


def _checked(host: Host, asked: Mapping[str, Any], earlier: State | None, rows: Mapping[str, Hash]) -> Document:
    """Return the rollback document; raises RefusedError where the switch is not as the transaction expects."""
    moved = unmet(asked["before"], rows)
    text = frr_text(host)
    if asked.get("frr_before") and (text is None or sha256(text) != asked["frr_before"]):
        moved.append("FRR" if text is not None else "FRR (it does not answer)")
    if moved:
        told = f"{', '.join(moved[:5])}{more(moved)}"
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
        "rows": asked["rollback"].get("rows", asked["before"]),
        "frr": text,
        "frr_ignored": asked.get("frr_ignored") or "",
        "undo": asked["rollback"].get("undo"),
        "drain": drain,
    }


def _armed(host: Host, asked: Mapping[str, Any], earlier: State | None, document: Document) -> State:
    """Write to disk all that a revert needs, and start the guard; raises RefusedError, nothing changed."""
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
        raise RefusedError(f"the rollback could not be prepared, so nothing was changed: {error}") from error
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
        told = f"not as wanted when read back: {', '.join(left[:5])}{more(left)}"
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


def _kept_in_time(host: Host, state: State, document: Document, rows: Mapping[str, Hash]) -> tuple[Answer, Answer]:
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
        if lasting:
            return {}, _keep(host, state, document)
        answer = answer_of(host, "applied", rows)
        answer["frr"].update(added=added, removed=removed)
        return {}, answer
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
    status = take_back(host, state, document, str(failure["error"]))
    return {**answer_of(host, status), **failure, "missing": state.get("missing") or []}


def confirm(host: Host, asked: Mapping[str, Any]) -> Answer:
    """Keep the pending commit and save it; what it was drained for ends first."""
    with locked(host, asked):
        state = state_of(host)
        status = seen(host, state)
        if state is None or status != ARMED:
            raise RefusedError(told(host, state))
        if state["kind"] == DRAIN:
            raise RefusedError("no commit waits to be confirmed, only a temporary drain: undrain ends it")
        if asked.get("id") and asked["id"] != state["id"]:
            raise RefusedError(f"another commit waits: {told(host, state)}")
        if over(host, state):
            raise RefusedError("the time is over: the switch is restoring the earlier configuration")
        _refuse_other(host, asked)
        return _keep(host, state, read_document(host))


def _refuse_other(host: Host, asked: Mapping[str, Any]) -> None:
    """Raise RefusedError where what runs has not the digests that the confirmation is for."""
    config, text = asked.get("config"), asked.get("frr")
    moved = ["CONFIG_DB"] if config and digest(host.rows("CONFIG_DB")) != config else []
    if text and sha256(frr_text(host) or "") != text:
        moved.append("FRR")
    if moved:
        raise RefusedError(f"{' and '.join(moved)} changed since the configuration was read back", "moved")


def _keep(host: Host, state: State, document: Document) -> Answer:
    """From here on the guard reverts nothing."""
    _end_drain(host, state, document)
    kept = list(state["kept"])
    if state["kind"] != DRAIN:
        write(host, "pending.json", _lasting(state, document))
        kept = [*kept, state["id"]][-KEPT_COMMITS:]
    write_state(host, state, status=CONFIRMED, worker=None, error="", kept=kept)
    with contextlib.suppress(OSError):
        finish_confirmation(host, state)
    answer = answer_of(host, CONFIRMED)
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


def undrain(host: Host, asked: Mapping[str, Any]) -> Answer:
    """End the temporary drain under which a commit waits; the commit stays pending."""
    with locked(host, asked):
        state = state_of(host)
        if state is None or seen(host, state) != ARMED or not state.get("drain"):
            raise RefusedError("no commit waits that was made under a temporary drain")
        _end_drain(host, state, read_document(host))
        write_state(host, state)
        return answer_of(host, ARMED)


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


def loaded(text: str) -> dict[str, Any]:
    """Return the JSON object of a text; raises RefusedError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise RefusedError(f"the transaction is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise RefusedError("the transaction is not a JSON object")
    return found
