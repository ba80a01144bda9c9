"""A hold: a runner announces on the switch that it is about to drain it, before it checks whether that is allowed.

A runner first holds its own switch, then reads the others, then drains. Of two that begin at the same moment at least
one sees the hold of the other and leaves its switch alone. Runners need no shared store for that, as all of them read
the same switches. A runner that is suspended for longer than its hold is refused when it drains.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from railweave_switch.answers import Answer, RequestRefusedError, locked
from railweave_switch.host import SwitchHost
from railweave_switch.state import Hold, held, remove, write
from railweave_switch.status_report import report

AT_WORK_S = 600.0
"""Minimum duration of a hold once its drain has begun: the time limit for the lines of a drain."""


def hold(host: SwitchHost, request: Mapping[str, Any]) -> Answer:
    """Hold the switch for ``seconds``, or release it if ``seconds`` is 0; return the outcome and the status.

    ``over`` is the id of a hold that may be replaced, because its owner has ended. Clients that drain different
    switches of a plane all hold one agreed switch of that plane, drained or not, to exclude each other.

    Raises RequestRefusedError if another client holds the switch.
    """
    with locked(host, request):
        current = held(host)
        replaceable = (request["id"], request["over"])
        if current is not None and current.id not in replaceable:
            raise RequestRefusedError(current.words(host), "held")
        if request["seconds"] <= 0:
            remove(host, "hold.json")
            return {"outcome": "released", "status": report(host)}
        new_hold = Hold(
            id=request["id"],
            peers=[peer for peer in request["peers"].split(",") if peer],
            by=request["by"],
            message=request["message"],
            boot_id=host.boot_id(),
            ends_s=host.now_s() + request["seconds"],
        )
        write(host, "hold.json", vars(new_hold))
        return {"outcome": "held", "status": report(host)}


def take_up(host: SwitchHost, name: str) -> None:
    """Begin the drain of the hold ``name``, under the lock; without a name do nothing.

    Raises RequestRefusedError if the hold is over, or another client's. From now on every reader of the switch sees the
    hold, or the drain.
    """
    if not name:
        return
    current = held(host)
    if current is not None and current.id == name:
        ends_s = current.ends_s
        write(host, "hold.json", {**vars(current), "ends_s": max(ends_s, host.now_s() + AT_WORK_S)})
        # If it ended before it was prolonged, another client may have read that it is over.
        if host.now_s() < ends_s:
            return
        remove(host, "hold.json")
    current = held(host)
    reason = "others may have taken capacity since"
    if current is not None:
        reason = current.words(host)
    raise RequestRefusedError(f"the hold of this switch was over before the drain began: {reason}", "held")


def end(host: SwitchHost, name: str) -> None:
    """End a hold once its drain is applied or reverted."""
    if name:
        with contextlib.suppress(OSError):
            remove(host, "hold.json")
