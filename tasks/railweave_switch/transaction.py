"""Apply a transaction under its revert timer.

    lock → nothing pending → no other transaction since the one that it names → what is to change is as expected
         → rollback document on disk and in the guard's memory → armed → step by step → read back
         → the guard waits for the confirmation

A transaction that fails, or is not confirmed in time, is reverted by ``restoring.restore``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from railweave_switch import frr
from railweave_switch.answers import (
    DEVICE_ERRORS,
    Answer,
    RequestRefusedError,
    answer_of,
    last_state,
    listed,
    locked,
    refuse_unless_last,
    sha256,
)
from railweave_switch.carrying_out import FRR_LOADS_S, TOO_LATE, ended_by, failure_of_steps, time_left_s
from railweave_switch.confirming import confirm_commit, frr_lines_changed
from railweave_switch.holding import end, take_up
from railweave_switch.host import Hash, SwitchHost
from railweave_switch.restoring import settled
from railweave_switch.reverting import revert_to
from railweave_switch.rows import unmet
from railweave_switch.saving import startup_digests
from railweave_switch.services import daemons_of
from railweave_switch.state import (
    OPEN,
    Generation,
    RollbackDocument,
    Stage,
    State,
    TransactionKind,
    guarded,
    path,
    prepare_disk,
    read_document,
    remove,
    write,
)
from railweave_switch.state_forms import VERSION, DamagedError
from railweave_switch.status_report import still_broken
from railweave_switch.steps import (
    KINDS,
    StepError,
    content_of,
    frr_away,
    frr_text,
    reason_of_lost_mode,
    refuse_hanging_reload,
)
from railweave_switch.validating import refuse_invalid

GUARD_STARTS_S = 60.0
"""Time limit for the start of the guard; long, as a slow start costs only time but a refusal the whole change."""
Rows = Mapping[str, Hash]


def loaded(text: str) -> dict[str, Any]:
    """Return the transaction of a text; raises RequestRefusedError if it is not a transaction of this version."""
    try:
        request = json.loads(text)
    except ValueError as error:
        raise RequestRefusedError(f"the transaction is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise RequestRefusedError("the transaction is not a JSON object")
    if request.get("version") != VERSION:
        raise RequestRefusedError(
            f"the transaction is of version {request.get('version')}, this program carries out {VERSION}"
        )
    wrong = _wrong_parts(request)
    # `request` has a kind only if no part is wrong.
    if wrong or request["kind"] not in (TransactionKind.COMMIT, TransactionKind.DRAIN):
        raise RequestRefusedError(f"not a transaction: {', '.join(wrong)}")
    return request


_SHAPE = {"id": str, "last": str, "kind": str, "steps": list, "before": dict, "after": dict, "rollback": dict}


def _wrong_parts(request: Mapping[str, Any]) -> list[str]:
    """Return the names of the parts of a transaction that are missing or of another form, and its unknown steps."""
    wrong = [name for name, form in _SHAPE.items() if not isinstance(request.get(name), form)]
    # Only a request of this shape has steps to look at.
    if not wrong:
        kinds = {str(step.get("kind")) for step in (*request["steps"], *_rollback_steps(request))}
        wrong = [f"unknown step {kind}" for kind in sorted(kinds - KINDS)]
    generation = request.get("generation")
    if generation and not _is_generation(generation):
        wrong.append("generation")
    return wrong


def _is_generation(value: Any) -> bool:
    """Tell whether a value has the generation that the client planned on (``was``) and the new one (``now``)."""
    return isinstance(value, dict) and isinstance(value.get("now"), dict) and "was" in value


def _rollback_steps(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps that undo a transaction."""
    return list(request["rollback"].get("steps") or ())


def apply(host: SwitchHost, request: Mapping[str, Any]) -> Answer:
    """Carry out a transaction and leave it under its guard; a failure reverts it at once.

    Raises RequestRefusedError or StepError if the transaction must not begin; then nothing was changed.
    """
    with locked(host, request):
        earlier = _state_before(host, request)
        rows = host.rows("CONFIG_DB")
        document = _rollback_document(host, request, earlier, rows)
        hold = str(request.get("hold") or "")
        take_up(host, hold)
        state = _arm(host, request, earlier, document)
        answer = _carry_out(host, request, state, document, rows)
        end(host, hold)
        return answer


def amend(host: SwitchHost, request: Mapping[str, Any]) -> Answer:
    """Carry out further steps under an armed transaction; its rollback document undoes them too."""
    with locked(host, request):
        state = last_state(host)
        refuse_unless_last(state, request["last"])
        if state.id != request["id"] or not state.is_armed(host):
            raise RequestRefusedError(f"transaction {request['id']} is not armed: {state.describe(host)}")
        document = read_document(host)
        rows = host.rows("CONFIG_DB")
        state.write(host, status=Stage.APPLYING, worker=host.me())
        _await_daemons(host, request, state)
        return _carry_out(host, request, state, document, rows)


def _await_daemons(host: SwitchHost, request: Mapping[str, Any], state: State) -> None:
    """Wait until FRR's daemons run to which the lines of the steps belong, at most ``time_left_s``.

    vtysh silently drops the lines of a daemon that does not run.
    """
    lines: list[frr.Line] = []
    for step in request["steps"]:
        if step["kind"] == "vtysh":
            lines += frr.lines_of(step["text"], "")
    settled(host, lambda: frr_away(host, lines, frr_text(host)), time_left_s(host, state), FRR_LOADS_S)


def _state_before(host: SwitchHost, request: Mapping[str, Any]) -> State:
    """Return the state of the last transaction.

    Raises RequestRefusedError if a transaction is pending that the request does not supersede, or if another
    transaction came since the request was planned.
    """
    state = last_state(host)
    superseded = request.get("supersedes")
    if superseded:
        if state.id != superseded or state.kind != TransactionKind.DRAIN or not state.is_armed(host):
            raise RequestRefusedError(f"the temporary drain was over before the change began ({state.describe(host)})")
    elif state.status in OPEN or state.now(host) == Stage.EXPIRED:
        raise RequestRefusedError(state.describe(host), "pending")
    refuse_unless_last(state, request["last"])
    return state


def _rollback_document(host: SwitchHost, request: Mapping[str, Any], earlier: State, rows: Rows) -> RollbackDocument:
    """Return the rollback document of a transaction that is about to begin; ``rows`` are those of CONFIG_DB.

    Raises RequestRefusedError or StepError if it must not begin: the switch is not as the client expects, or the
    transaction would leave it in an invalid state.
    """
    frr_now = frr_text(host)
    _refuse_moved(request, rows, frr_now)
    generation = _generation(host, request, earlier)
    _refuse_steps(host, request)
    refuse_invalid(host, request, rows)
    document = RollbackDocument(
        id=request["id"],
        steps=_rollback_steps(request),
        rows=request["rollback"].get("rows", request["before"]),
        after=request["after"],
        startup=startup_digests(host),
        frr=frr_now,
        frr_ignored=request.get("frr_ignored") or "",
        undo=request["rollback"].get("undo"),
        generation=generation,
        earlier=earlier.generation,
    )
    if not request.get("supersedes"):
        return document
    return _with_drain(document, read_document(host), earlier)


def _refuse_moved(request: Mapping[str, Any], rows: Rows, frr_now: str | None) -> None:
    """Raise RequestRefusedError if the rows to change, or FRR's text, differ from those that the client compared."""
    moved = unmet(request["before"], rows)
    if request.get("frr_before"):
        if frr_now is None:
            moved.append("FRR (it does not answer)")
        elif sha256(frr_now) != request["frr_before"]:
            moved.append("FRR")
    if moved:
        raise RequestRefusedError(f"changed by somebody else since the comparison: {listed(moved)}", "moved")


def _refuse_steps(host: SwitchHost, request: Mapping[str, Any]) -> None:
    """Refuse a reload after which the switch would have no routing (RequestRefusedError) or would hang (StepError)."""
    reason = reason_of_lost_mode(host, request["steps"])
    if reason:
        raise RequestRefusedError(reason)
    for step in (*request["steps"], *_rollback_steps(request)):
        if step["kind"] == "reload":
            refuse_hanging_reload(step)


def _with_drain(document: RollbackDocument, pending: RollbackDocument, earlier: State) -> RollbackDocument:
    """Return the rollback document of a commit that supersedes the temporary drain of ``pending``."""
    drain = {
        "id": pending.id,
        "steps": pending.steps,
        "added": earlier.frr_added or [],
        "removed": earlier.frr_removed or [],
    }
    # A revert of this transaction ends the drain as well: back to the rows and lines before the drain.
    steps = [*document.steps, *pending.steps]
    return replace(document, supersedes=pending.id, steps=steps, frr=pending.frr, drain=drain)


def _generation(host: SwitchHost, request: Mapping[str, Any], earlier: State) -> Generation:
    """Return the generation after the transaction, empty if the transaction does not change the generation.

    Raises RequestRefusedError if another deployment was confirmed since this one was planned, whatever it changed.
    """
    planned = request.get("generation") or {}
    if not planned:
        return {}
    if planned["was"] != earlier.number:
        by = earlier.generation.get("by") or "somebody"
        raise RequestRefusedError(
            f"another deployment or rollback was confirmed since this one was planned: the switch is at generation "
            f"{earlier.number} (by {by}), the plan saw {planned['was']}; plan again",
            "moved",
        )
    return {**planned["now"], "number": earlier.number + 1, "by": request.get("by", ""), "at": host.wall_s()}


def _arm(host: SwitchHost, request: Mapping[str, Any], earlier: State, document: RollbackDocument) -> State:
    """Write what a revert needs to the disk, start the guard, and return the state of the begun transaction.

    Raises RequestRefusedError if that fails; the files are then those of the ``earlier`` state again.
    """
    deadline_s: float | None = None
    if request.get("deadline_s") is not None:
        deadline_s = float(request["deadline_s"])
    state = State(
        request["id"],
        request["kind"],
        Stage.APPLYING,
        by=request.get("by", ""),
        message=request.get("message", ""),
        boot_id=host.boot_id(),
        began_at=host.wall_s(),
        ends_s=_time_after(deadline_s, host.now_s),
        deadline_at=_time_after(deadline_s, host.wall_s),
        worker=host.me(),
        drain=document.supersedes,
        has_frr=document.frr is not None,
        kept=earlier.kept,
        generation=earlier.generation,
        daemons=daemons_of(host),
        broken=still_broken(host, earlier),
    )
    superseded_document = None
    if document.supersedes:
        superseded_document = read_document(host)
    try:
        _prepare_revert(host, state, document)
    except (*DEVICE_ERRORS, DamagedError) as error:
        _disarm(host, state, earlier, superseded_document)
        raise RequestRefusedError(f"the rollback could not be prepared, so nothing was changed: {error}") from error
    return state


def _prepare_revert(host: SwitchHost, state: State, document: RollbackDocument) -> None:
    """Write the files of a revert and the state, and start the guard.

    Raises StepError if the guard does not start in time, and OSError.
    """
    # The document before the state, and the guard last: after an interruption at any point a revert has what it needs.
    prepare_disk(host)
    write(host, "pending.json", vars(replace(document, ends_s=state.ends_s)))
    for number, step in enumerate(document.steps):
        if step["kind"] in ("load", "reload"):
            host.write_file(path(host, f"revert-{number}.json"), content_of(step))
    state.write(host)
    host.start_guard(state.id)
    if settled(host, lambda: _missing_guard(host, state), GUARD_STARTS_S, 0.02):
        raise StepError("railweave-switch", "the guard that would revert the change does not start")


def _time_after(seconds: float | None, now: Callable[[], float]) -> float | None:
    """Return the time in so many seconds by a clock, None for no time limit."""
    if seconds is None:
        return None
    return now() + seconds


def _missing_guard(host: SwitchHost, state: State) -> list[str]:
    """Return the guard as the missing item, for ``settled``; nothing once it runs."""
    if guarded(host, state.id):
        return []
    return ["guard"]


def _disarm(host: SwitchHost, state: State, earlier: State, superseded_document: RollbackDocument | None) -> None:
    """Restore the files of the state before a transaction that never began, as far as the disk allows it.

    ``superseded_document`` is the rollback document of the drain that the transaction would have superseded.
    """
    with contextlib.suppress(OSError):
        if superseded_document is not None:
            write(host, "pending.json", vars(superseded_document))
    with contextlib.suppress(OSError):
        if earlier.id:
            earlier.write(host)
        else:
            state.write(host, status=Stage.REVERTED, reason="it never began", worker=None)
    with contextlib.suppress(OSError):
        if superseded_document is None:
            remove(host, "pending.json")


def _carry_out(
    host: SwitchHost, request: Mapping[str, Any], state: State, document: RollbackDocument, rows: Rows
) -> Answer:
    """Carry out the steps of an armed transaction and return the answer; if anything fails, revert it at once.

    ``rows`` are those of CONFIG_DB before the steps.
    """
    failure, reload_error = failure_of_steps(host, request, state)
    if not failure and state.over(host):
        failure = {"error": TOO_LATE}
    if not failure:
        ended_daemons = ended_by(host, request, state)
        if ended_daemons:
            failure = {"error": f"{listed(ended_daemons)} ended after the change was written"}
    if not failure:
        try:
            return {**_leave_armed(host, state, document, rows), **reload_error}
        except DEVICE_ERRORS as error:
            failure = {"error": f"the change could not be kept under its timer: {error}"}
    return {**revert_to(host, state, document, str(failure["error"])), **failure}


def _leave_armed(host: SwitchHost, state: State, document: RollbackDocument, rows: Rows) -> Answer:
    """Record that the change is applied and return the answer; confirm the change at once if it has no deadline.

    ``rows`` are those of CONFIG_DB before the change.
    """
    added, removed = frr_lines_changed(host, document)
    if not guarded(host, state.id):
        host.start_guard(state.id)
    if state.ends_s is None:
        state.write(host, status=Stage.ARMED, frr_added=added, frr_removed=removed)
        return confirm_commit(host, state, document)
    # From here on the guard alone stands for the transaction: this process ends with its answer.
    state.write(host, status=Stage.ARMED, worker=None, frr_added=added, frr_removed=removed)
    answer = answer_of(host, "applied", rows)
    answer["frr"].update(added=added, removed=removed)
    return answer
