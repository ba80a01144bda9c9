"""A hold: who is about to lead traffic off this switch says so here, before anybody asks whether that may be.

Whoever takes capacity holds its own switch first, reads the others second and acts third. Of two that begin at the same
moment at least one sees the hold of the other and leaves its switch as it is, with nothing led away meanwhile. No store
that runners share is needed: all of them read the same switches. A runner that sleeps longer than its hold lasts is
refused when it acts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from railweave_switch.answers import Answer, RequestRefusedError, locked
from railweave_switch.host import SwitchHost
from railweave_switch.state import Hold, held, remove, report, write

AT_WORK_S = 600.0
"""How long a hold lasts at least once its drain has begun: as long as the lines of a drain may take."""


def hold(host: SwitchHost, asked: Mapping[str, Any]) -> Answer:
    """Hold the switch for ``seconds``, or with 0 give it up; raises RequestRefusedError where somebody else holds it.

    ``over`` names a hold whose owner is known to be gone. A switch of which nothing is drained is held as the place
    where all who drain others of its plane meet.
    """
    with locked(host, asked):
        other = held(host)
        if other is not None and other.id not in (asked["id"], asked["over"]):
            raise RequestRefusedError(other.words(host), "held")
        if asked["seconds"] <= 0:
            remove(host, "hold.json")
            return {"outcome": "released", "status": report(host)}
        ends_s = host.now_s() + asked["seconds"]
        new = Hold(
            asked["id"],
            [one for one in asked["peers"].split(",") if one],
            asked["by"],
            asked["message"],
            host.boot_id(),
            ends_s,
        )
        write(host, "hold.json", vars(new))
        return {"outcome": "held", "status": report(host)}


def take_up(host: SwitchHost, name: str) -> None:
    """Begin what the hold ``name`` is for, under the lock; without a name nothing is held.

    Raises RequestRefusedError if it is over or somebody else's. From now on every reader of the switch sees the hold,
    or what it was for.
    """
    if not name:
        return
    mine = held(host)
    if mine is not None and mine.id == name:
        ends_s = mine.ends_s
        write(host, "hold.json", {**vars(mine), "ends_s": max(ends_s, host.now_s() + AT_WORK_S)})
        # Somebody may have read between the two that it is over.
        if host.now_s() < ends_s:
            return
        remove(host, "hold.json")
    other = held(host)
    why = other.words(host) if other is not None else "others may have taken capacity since"
    raise RequestRefusedError(f"the hold of this switch was over before the drain began: {why}", "held")


def end(host: SwitchHost, name: str) -> None:
    """End a hold: what it was for is done, or was taken back."""
    if name:
        with contextlib.suppress(OSError):
            remove(host, "hold.json")
