"""Applying a transaction under its revert timer.

    lock → nothing pending → no other transaction since the one that it names → what is to change is as expected
         → rollback document on disk and in the guard's memory → armed → step by step → read back
         → the guard waits for the confirmation

Whatever fails, or nobody confirms in time, is reverted by ``restoring.restore``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
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
from railweave_switch.confirming import confirm_commit, frr_lines_changed
from railweave_switch.holding import end, take_up
from railweave_switch.host import CommandError, DatabaseError, Hash, SwitchHost
from railweave_switch.lasting import ended, ends_soon
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
    still_broken,
    write,
)
from railweave_switch.state_forms import VERSION, DamagedError
from railweave_switch.steps import (
    KINDS,
    OF_FRR,
    StepError,
    content_of,
    equip_bgpd,
    frr_away,
    frr_text,
    refuse_hanging_reload,
    refuse_losing_mode,
    run_step,
)
from railweave_switch.validating import refuse_invalid

GUARD_STARTS_S = 60.0
"""A guard that starts slowly costs time only, a refusal the whole change."""
READ_BACK_S, READ_BACK_PAUSE_S = 1.5, 0.5
RELOAD_SETTLES_S, FRR_LOADS_S = 180.0, 2.0
"""How long services may take after a reload, and the pause between two looks at FRR, which must show the same: its
boot configuration is loaded once its daemons run."""
Rows = Mapping[str, Hash]
TOO_LATE = "the time until the revert passed while the change was applied"


def loaded(text: str) -> dict[str, Any]:
    """Return the transaction of a text; raises RequestRefusedError where it is none of this version."""
    try:
        asked = json.loads(text)
    except ValueError as error:
        raise RequestRefusedError(f"the transaction is not JSON: {error}") from error
    if not isinstance(asked, dict):
        raise RequestRefusedError("the transaction is not a JSON object")
    if asked.get("version") != VERSION:
        raise RequestRefusedError(
            f"the transaction is of version {asked.get('version')}, this program carries out {VERSION}"
        )
    shape = {"id": str, "last": str, "kind": str, "steps": list, "before": dict, "after": dict, "rollback": dict}
    wrong = [name for name, kind in shape.items() if not isinstance(asked.get(name), kind)]
    if not wrong:
        unknown = {str(one.get("kind")) for one in (*asked["steps"], *_back(asked))} - KINDS
        wrong = [f"unknown step {one}" for one in sorted(unknown)]
    generation = asked.get("generation") or {"was": 0, "now": {}}
    if not isinstance(generation, dict) or not isinstance(generation.get("now"), dict) or "was" not in generation:
        wrong.append("generation")
    if wrong or asked["kind"] not in (TransactionKind.COMMIT, TransactionKind.DRAIN):
        raise RequestRefusedError(f"not a transaction: {', '.join(wrong)}")
    return asked


def _back(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(asked["rollback"].get("steps") or ())


def apply(host: SwitchHost, asked: Mapping[str, Any]) -> Answer:
    """Carry a transaction out and leave it under its guard; a failure reverts it at once."""
    with locked(host, asked):
        earlier = _earlier(host, asked)
        rows = host.rows("CONFIG_DB")
        document = _checked(host, asked, earlier, rows)
        hold = str(asked.get("hold") or "")
        take_up(host, hold)
        state = _armed(host, asked, earlier, document)
        answer = _carry_out(host, asked, state, document, rows)
        end(host, hold)
        return answer


def amend(host: SwitchHost, asked: Mapping[str, Any]) -> Answer:
    """Carry further steps out under an armed transaction; its rollback document undoes them too."""
    with locked(host, asked):
        state = last_state(host)
        refuse_unless_last(state, asked["last"])
        if state.id != asked["id"] or not state.is_armed(host):
            raise RequestRefusedError(f"transaction {asked['id']} is not armed: {state.describe(host)}")
        document = read_document(host)
        rows = host.rows("CONFIG_DB")
        state.write(host, status=Stage.APPLYING, worker=host.me())
        _await_daemons(host, asked, state)
        return _carry_out(host, asked, state, document, rows)


def _await_daemons(host: SwitchHost, asked: Mapping[str, Any], state: State) -> None:
    """Wait until the daemons run that the lines are for: vtysh drops the lines of the others, and says nothing."""
    lines = [line for step in asked["steps"] if step["kind"] == "vtysh" for line in frr.lines_of(step["text"], "")]
    settled(host, lambda: frr_away(host, lines, frr_text(host)), _time_left_s(host, state), FRR_LOADS_S)


def _time_left_s(host: SwitchHost, state: State) -> float:
    """Return for how long services are waited for, at most: never beyond the revert."""
    return RELOAD_SETTLES_S if state.ends_s is None else min(RELOAD_SETTLES_S, state.ends_s - host.now_s())


def _earlier(host: SwitchHost, asked: Mapping[str, Any]) -> State:
    """Return the state before. Raises RequestRefusedError if a transaction is pending that this one does not supersede,
    or if another transaction came since this one was planned."""
    state = last_state(host)
    superseded = asked.get("supersedes")
    if superseded:
        if state.id != superseded or state.kind != TransactionKind.DRAIN or not state.is_armed(host):
            raise RequestRefusedError(f"the temporary drain was over before the change began ({state.describe(host)})")
    elif state.status in OPEN or state.now(host) == Stage.EXPIRED:
        raise RequestRefusedError(state.describe(host), "pending")
    refuse_unless_last(state, asked["last"])
    return state


def _checked(host: SwitchHost, asked: Mapping[str, Any], earlier: State, rows: Rows) -> RollbackDocument:
    """Return the rollback document; raises RequestRefusedError where the switch is not as the transaction expects."""
    moved = unmet(asked["before"], rows)
    text = frr_text(host)
    if asked.get("frr_before") and (text is None or sha256(text) != asked["frr_before"]):
        moved.append("FRR" if text is not None else "FRR (it does not answer)")
    if moved:
        raise RequestRefusedError(f"changed by somebody else since the comparison: {listed(moved)}", "moved")
    generation = _generation(host, asked, earlier)
    back = _back(asked)
    if why := refuse_losing_mode(host, asked["steps"]):
        raise RequestRefusedError(why)
    for step in (*asked["steps"], *back):
        if step["kind"] == "reload":
            refuse_hanging_reload(step)
    refuse_invalid(host, asked, rows)
    document = RollbackDocument(
        asked["id"],
        back,
        asked["rollback"].get("rows", asked["before"]),
        asked["after"],
        startup_digests(host),
        frr=text,
        frr_ignored=asked.get("frr_ignored") or "",
        undo=asked["rollback"].get("undo"),
        generation=generation,
        earlier=earlier.generation,
    )
    if not asked.get("supersedes"):
        return document
    pending = read_document(host)
    drain = {
        "id": pending.id,
        "steps": pending.steps,
        "added": earlier.frr_added or [],
        "removed": earlier.frr_removed or [],
    }
    return replace(document, supersedes=pending.id, steps=[*back, *pending.steps], frr=pending.frr, drain=drain)


def _generation(host: SwitchHost, asked: Mapping[str, Any], earlier: State) -> Generation:
    """Return the generation after the transaction, empty if it does not change. Raises RequestRefusedError if another
    deployment was confirmed since this one was planned, whatever it changed."""
    asked_for = asked.get("generation") or {}
    if not asked_for:
        return {}
    if asked_for["was"] != earlier.number:
        by = earlier.generation.get("by") or "somebody"
        raise RequestRefusedError(
            f"another deployment or rollback was confirmed since this one was planned: the switch is at generation "
            f"{earlier.number} (by {by}), the plan saw {asked_for['was']}; plan again",
            "moved",
        )
    return {**asked_for["now"], "number": earlier.number + 1, "by": asked.get("by", ""), "at": host.wall_s()}


def _armed(host: SwitchHost, asked: Mapping[str, Any], earlier: State, document: RollbackDocument) -> State:
    """Put on the disk all that a revert needs, and start the guard; raises RequestRefusedError, nothing changed."""
    deadline_s = None if asked.get("deadline_s") is None else float(asked["deadline_s"])
    state = State(
        asked["id"],
        asked["kind"],
        Stage.APPLYING,
        by=asked.get("by", ""),
        message=asked.get("message", ""),
        boot_id=host.boot_id(),
        began_at=host.wall_s(),
        ends_s=None if deadline_s is None else host.now_s() + deadline_s,
        deadline_at=None if deadline_s is None else host.wall_s() + deadline_s,
        worker=host.me(),
        drain=document.supersedes,
        has_frr=document.frr is not None,
        kept=earlier.kept,
        generation=earlier.generation,
        daemons=daemons_of(host),
        broken=still_broken(host, earlier),
    )
    replaced = read_document(host) if document.supersedes else None
    try:
        prepare_disk(host)
        write(host, "pending.json", vars(replace(document, ends_s=state.ends_s)))
        for number, step in enumerate(document.steps):
            if step["kind"] in ("load", "reload"):
                host.write_file(path(host, f"revert-{number}.json"), content_of(step))
        state.write(host)
        host.start_guard(state.id)
        if settled(host, lambda: [] if guarded(host, state.id) else ["guard"], GUARD_STARTS_S, 0.02):
            raise StepError("railweave-switch", "the guard that would revert the change does not start")
    except (*DEVICE_ERRORS, DamagedError) as error:
        _disarm(host, state, earlier, replaced)
        raise RequestRefusedError(f"the rollback could not be prepared, so nothing was changed: {error}") from error
    return state


def _disarm(host: SwitchHost, state: State, earlier: State, replaced: RollbackDocument | None) -> None:
    """Leave everything as it was before a transaction that never began."""
    with contextlib.suppress(OSError):
        if replaced is not None:
            write(host, "pending.json", vars(replaced))
    with contextlib.suppress(OSError):
        if earlier.id:
            earlier.write(host)
        else:
            state.write(host, status=Stage.REVERTED, reason="it never began", worker=None)
    with contextlib.suppress(OSError):
        if replaced is None:
            remove(host, "pending.json")


def _carry_out(
    host: SwitchHost, asked: Mapping[str, Any], state: State, document: RollbackDocument, rows: Rows
) -> Answer:
    """Carry out the steps of an armed transaction, which found ``rows``; whatever fails reverts it at once."""
    failure, complaint = _failure_of_steps(host, asked, state)
    if not failure and state.over(host):
        failure = {"error": TOO_LATE}
    if not failure and (gone := ended_by(host, asked, state)):
        failure = {"error": f"{listed(gone)} ended after the change was written"}
    if not failure:
        try:
            return {**_held(host, state, document, rows), **complaint}
        except DEVICE_ERRORS as error:
            failure = {"error": f"the change could not be kept under its timer: {error}"}
    return {**revert_to(host, state, document, str(failure["error"])), **failure}


def ended_by(host: SwitchHost, asked: Mapping[str, Any], state: State) -> list[str]:
    """Return the daemons that ended on what was written; a reload starts all of them anew.

    Who keeps the change at once has no later look, so it is waited until they would have ended.
    """
    if any(step["kind"] == "reload" for step in asked["steps"]):
        return []
    return ends_soon(host, state) if asked.get("lasting") else ended(host, state)


def _failure_of_steps(host: SwitchHost, asked: Mapping[str, Any], state: State) -> tuple[Answer, Answer]:
    """Run the steps and read back; return the failure and the complaint of the last step, empty where there is none.

    A step that is refused and whose effect is there after all has not failed, where rows can tell; a reload may have
    left services stopped all the same, so what it said goes with the answer.
    """
    failure: Answer = {}
    steps, limit_s = asked["steps"], float(asked.get("step_timeout_s") or 1800.0)
    for number, step in enumerate(steps):
        if state.over(host):
            return {"error": TOO_LATE}, {}
        try:
            run_step(host, step, limit_s)
        except StepError as error:
            failure = {"error": str(error), "refused": {"command": error.command, "said": error.said}}
        except (CommandError, DatabaseError, OSError) as error:
            failure = {"error": f"step {number + 1}: {error}"}
        if failure and (step["kind"] in OF_FRR or number < len(steps) - 1):
            return failure, {}
    reloads = any(step["kind"] == "reload" for step in steps)
    if failure:
        left = _unmet(host, asked)
    elif reloads:
        left = _settled_after_reload(host, asked, state)
    else:
        left = settled(host, lambda: _unmet(host, asked), READ_BACK_S, READ_BACK_PAUSE_S)
    if not left:
        return {}, {"refused": failure["refused"]} if reloads and "refused" in failure else {}
    why = failure.get("error") or f"not as intended when read back: {listed(left)}"
    return {**failure, "error": why, "unmet": left}, {}


def _unmet(host: SwitchHost, asked: Mapping[str, Any]) -> list[str]:
    try:
        return unmet(asked["after"], host.rows("CONFIG_DB"))
    except (DatabaseError, OSError) as error:
        return [f"CONFIG_DB ({error})"]


def _settled_after_reload(host: SwitchHost, asked: Mapping[str, Any], state: State) -> list[str]:
    """Wait until the rows are there, and FRR's daemons are up and have loaded what they boot; return what is not so.

    Of FRR's daemons those matter whose lines the reload is to leave; the client sends the missing lines then. Of the
    others all that ran before: a reload starts them anew, and from then on one that is away has ended.
    """
    text = next(step.get("frr") or "" for step in asked["steps"] if step["kind"] == "reload")
    wanted = frr.lines_of(text, asked.get("frr_ignored") or "")
    last: list[str | None] = [None]

    def holds() -> list[str]:
        left = _unmet(host, asked) or [f"{name} (it does not run)" for name in ended(host, state)]
        if left:
            return left
        before, now = last[0], frr_text(host)
        last[0] = now
        away = frr_away(host, wanted, now)
        if not away and before != now and any(line not in frr.lines_of(now or "", "") for line in wanted):
            away = ["it still loads its configuration"]
        return [f"FRR ({one})" for one in away]

    left = settled(host, holds, _time_left_s(host, state), FRR_LOADS_S)
    try:
        if not left:
            equip_bgpd(host)
    except DEVICE_ERRORS as error:
        return [f"FRR ({error})"]
    return left


def _held(host: SwitchHost, state: State, document: RollbackDocument, rows: Rows) -> Answer:
    """Note that all is applied, and keep it at once where it has no deadline."""
    added, removed = frr_lines_changed(host, document)
    if not guarded(host, state.id):
        host.start_guard(state.id)
    lasting = state.ends_s is None
    worker = state.worker if lasting else None
    state.write(host, status=Stage.ARMED, worker=worker, frr_added=added, frr_removed=removed)
    if lasting:
        return confirm_commit(host, state, document)
    answer = answer_of(host, "applied", rows)
    answer["frr"].update(added=added, removed=removed)
    return answer
