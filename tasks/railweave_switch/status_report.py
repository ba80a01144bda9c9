"""The status of the last transaction as a client receives it, with what it broke and who holds the switch."""

from __future__ import annotations

from typing import Any

from railweave_switch.host import SwitchHost
from railweave_switch.services import away, describe_away
from railweave_switch.state import ENDED, REPAIRS, Stage, State, held, read_state
from railweave_switch.state_forms import DamagedError, VersionError


def report(host: SwitchHost) -> dict[str, Any]:
    """Return the status of the last transaction, and the hold in force; a damaged state file is a status too."""
    # The hold first: it is removed after its transaction is written, so one of the two is always read.
    hold = held(host)
    state = None
    status = Stage.NONE
    error = ""
    try:
        state = read_state(host)
        if state is not None:
            status = state.now(host)
    except (DamagedError, VersionError, NotADirectoryError) as fault:
        status = Stage.DAMAGED
        error = str(fault)
    if state is None:
        state = State("", "", status)
    remaining_s = None
    if state.ends_s is not None and status in (Stage.APPLYING, Stage.ARMED):
        remaining_s = round(max(0.0, state.ends_s - host.now_s()), 1)
    return {
        "id": state.id,
        "kind": state.kind,
        "by": state.by,
        "message": state.message,
        "deadline_at": state.deadline_at,
        "reason": state.reason,
        "missing": state.missing,
        "status": status,
        "remaining_s": remaining_s,
        "error": error or state.error,
        "drain": state.drain,
        "unsaved": state.unsaved,
        "last": state.last,
        "generation": state.generation,
        "repair": REPAIRS.get(status, ""),
        "broken": still_broken(host, state),
        "hold": {} if hold is None else hold.report(host),
    }


def still_broken(host: SwitchHost, state: State) -> dict[str, Any]:
    """Return the entry on daemons that a change ended and that do not run again, empty if all run.

    Once the last transaction has ended, the daemons that ran at its begin count: a change may end them after its
    confirmation. A reboot restarts all daemons.
    """
    expected = {*state.broken.get("daemons", ())}
    if state.status in ENDED and state.boot_id == host.boot_id():
        expected.update(state.daemons)
    stopped = away(host, expected)
    if not stopped:
        return {}
    waited_s = state.broken.get("waited_s", 0.0)
    return describe_away(host, stopped, waited_s, state.broken)
