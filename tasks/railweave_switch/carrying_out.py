"""Carry out the steps of an armed transaction, and read back whether the switch is as intended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railweave_switch import frr
from railweave_switch.answers import (
    DEVICE_ERRORS,
    Answer,
    listed,
)
from railweave_switch.host import CommandError, DatabaseError, SwitchHost
from railweave_switch.lasting import ended, ends_soon
from railweave_switch.restoring import settled
from railweave_switch.rows import unmet
from railweave_switch.state import (
    State,
    Step,
)
from railweave_switch.steps import (
    OF_FRR,
    StepError,
    equip_bgpd,
    frr_away,
    frr_text,
    run_step,
)

STEP_LIMIT_S = 1800.0
"""Time limit of a step, unless the transaction has its own."""
READ_BACK_S = 1.5
READ_BACK_PAUSE_S = 0.5
RELOAD_SETTLES_S = 180.0
"""Time limit for services after a reload."""
FRR_LOADS_S = 2.0
"""Pause between two readings of FRR, which must be equal: its daemons load their boot configuration after the start."""
TOO_LATE = "the time until the revert passed while the change was applied"


def time_left_s(host: SwitchHost, state: State) -> float:
    """Return how long to wait for services: the usual time limit, but not longer than until the revert."""
    if state.ends_s is None:
        return RELOAD_SETTLES_S
    return min(RELOAD_SETTLES_S, state.ends_s - host.now_s())


def ended_by(host: SwitchHost, request: Mapping[str, Any], state: State) -> list[str]:
    """Return the daemons that the change ended; none after a reload, which restarts all of them."""
    if _reloads(request):
        return []
    if request.get("lasting"):
        # A change that is confirmed at once is not checked again later, so wait until they would have ended.
        return ends_soon(host, state)
    return ended(host, state)


def failure_of_steps(host: SwitchHost, request: Mapping[str, Any], state: State) -> tuple[Answer, Answer]:
    """Run the steps and read back; return the failure, and the error of a reload that has not failed the transaction.

    Both are fields of an answer, empty if there is none. A command may report an error although its rows were written;
    then the transaction has not failed. A reload may have left services stopped in that case, so its error goes with
    the answer.
    """
    last_failure: Answer = {}
    steps = request["steps"]
    limit_s = float(request.get("step_timeout_s") or STEP_LIMIT_S)
    for number in range(len(steps)):
        if state.over(host):
            return {"error": TOO_LATE}, {}
        last_failure = _failure_of_step(host, steps, number, limit_s)
        if last_failure and not _shows_in_rows(steps, number):
            return last_failure, {}
    unmet_places = _unmet_after_steps(host, request, state, last_failure)
    if unmet_places:
        error = f"not as intended when read back: {listed(unmet_places)}"
        # The error of a step that failed says more.
        return {"error": error, **last_failure, "unmet": unmet_places}, {}
    if _reloads(request) and "refused" in last_failure:
        return {}, {"refused": last_failure["refused"]}
    return {}, {}


def _failure_of_step(host: SwitchHost, steps: Sequence[Step], number: int, limit_s: float) -> Answer:
    """Run a step; return the failure as fields of an answer, empty for success."""
    try:
        run_step(host, steps[number], limit_s)
    except StepError as error:
        return {"error": str(error), "refused": {"command": error.command, "said": error.said}}
    except (CommandError, DatabaseError, OSError) as error:
        return {"error": f"step {number + 1}: {error}"}
    return {}


def _shows_in_rows(steps: Sequence[Step], number: int) -> bool:
    """Tell whether the rows on the switch show whether a step was carried out although its command failed."""
    # A step before the last may write rows that later ones change, and a step of FRR writes none.
    return number == len(steps) - 1 and steps[number]["kind"] not in OF_FRR


def _unmet_after_steps(host: SwitchHost, request: Mapping[str, Any], state: State, failure: Answer) -> list[str]:
    """Read back after the steps; return what is not as intended.

    Services get time to apply the change, unless the last step had a ``failure``.
    """
    if failure:
        return _unmet(host, request)
    if _reloads(request):
        return _settled_after_reload(host, request, state)
    return settled(host, lambda: _unmet(host, request), READ_BACK_S, READ_BACK_PAUSE_S)


def _reloads(request: Mapping[str, Any]) -> bool:
    return any(step["kind"] == "reload" for step in request["steps"])


def _unmet(host: SwitchHost, request: Mapping[str, Any]) -> list[str]:
    """Return the rows that are not as intended; CONFIG_DB itself, with the error, if it cannot be read."""
    try:
        return unmet(request["after"], host.rows("CONFIG_DB"))
    except (DatabaseError, OSError) as error:
        return [f"CONFIG_DB ({error})"]


def _settled_after_reload(host: SwitchHost, request: Mapping[str, Any], state: State) -> list[str]:
    """Wait until the rows are there and the daemons have loaded their boot configuration; return what is missing.

    FRR's daemons must run as far as intended lines belong to them; the client sends missing lines afterwards. SONiC's
    daemons must run if they ran before the reload, which restarts them.
    """
    reload_step = next(step for step in request["steps"] if step["kind"] == "reload")
    intended_lines = frr.lines_of(reload_step.get("frr") or "", request.get("frr_ignored") or "")
    last_text: str | None = None

    def missing_now() -> list[str]:
        """Return the rows, or else the daemons, or else the faults of FRR that are in the way."""
        nonlocal last_text
        unmet_rows = _unmet(host, request)
        if unmet_rows:
            return unmet_rows
        ended_daemons = ended(host, state)
        if ended_daemons:
            return [f"{name} (it does not run)" for name in ended_daemons]
        text = frr_text(host)
        faults = frr_away(host, intended_lines, text)
        # FRR has loaded its boot configuration when two readings are equal, whichever lines it lacks.
        if not faults and text != last_text and not _has_lines(text or "", intended_lines):
            faults = ["it still loads its configuration"]
        last_text = text
        return [f"FRR ({fault})" for fault in faults]

    missing = settled(host, missing_now, time_left_s(host, state), FRR_LOADS_S)
    if missing:
        return missing
    try:
        equip_bgpd(host)
    except DEVICE_ERRORS as error:
        return [f"FRR ({error})"]
    return []


def _has_lines(text: str, lines: Iterable[frr.Line]) -> bool:
    return frr.lines_of(text, "").keys() >= set(lines)
