"""``railweave-confirm``: there once a driver has installed it."""

import json

from sonic_sim.commands.registry import Call, Result, program
from sonic_sim.confirm import Confirm
from sonic_sim.files import ROOT

_VERBS = ("arm", "status", "confirm", "revert")


@program("railweave-confirm")
def railweave_confirm(call: Call) -> Result:
    """Run ``railweave-confirm VERB STATE.json``; print one line of JSON."""
    if len(call.argv) != 3 or call.argv[1] not in _VERBS:
        return Result(64, err="usage: railweave-confirm arm|status|confirm|revert STATE.json\n")
    if call.user != ROOT:
        return Result(1, err=f"PermissionError: [Errno 13] Permission denied: '{call.argv[2]}'\n")
    status, line = Confirm(call.device, call.path(call.argv[2])).run(call.argv[1])
    return Result(status, out=json.dumps(line) + "\n")
