"""Clear BGP sessions whose timers or capabilities have changed, one at a time.

FRR applies new timers and capabilities with the next OPEN message, so a session keeps the old ones until it is cleared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from railweave_switch.host import CommandError, SwitchHost

READ_S = 60.0
OPENS_S = 60.0
"""Time limit for a session to open; FRR retries after 10 s (``timers connect``) if its neighbor was not ready."""
ROUTES_S = 10.0
PAUSE_S = 0.2
TIMERS = ("bgpTimerConfiguredHoldTimeMsecs", "bgpTimerConfiguredKeepAliveIntervalMsecs",
          "bgpTimerHoldTimeMsecs", "bgpTimerKeepAliveIntervalMsecs")  # fmt: skip
Peer = Mapping[str, Any]


def open_again(host: SwitchHost, sessions: Sequence[Sequence[Any]]) -> None:
    """Clear established sessions, each once the previous one is open and has its routes; raises CommandError.

    A session is ``[VRF, PEER, TIMERS_ONLY]``; with TIMERS_ONLY it is left alone if its configured timers are in force.
    If one stays down, no further one is cleared, not even in a revert: the others carry the traffic meanwhile, and each
    would take another ``OPENS_S`` of the time for which the switch is locked.
    """
    for vrf, peer, timers_only in sessions:
        before = _shown(host, vrf, peer)
        if not is_open(before) or (timers_only and has_its_timers(before)):
            continue
        if vrf == "default":
            _vtysh(host, f"clear bgp {peer}")
        else:
            _vtysh(host, f"clear bgp vrf {vrf} {peer}")
        _await(host, vrf, peer, before)


def is_open(peer: Peer) -> bool:
    """Tell whether a session is established."""
    return peer.get("bgpState") == "Established"


def has_its_timers(peer: Peer) -> bool:
    """Tell whether a session has its configured timers.

    It does not if the neighbor's hold time is smaller, which then is in force for both. The keepalive interval in force
    is at most a third of the hold time.
    """
    if any(not isinstance(peer.get(name), int) for name in TIMERS):
        return False
    hold_ms = int(peer["bgpTimerHoldTimeMsecs"])
    keepalive_ms = int(peer["bgpTimerKeepAliveIntervalMsecs"])
    # FRR divides whole seconds, and shows milliseconds.
    third_of_hold_ms = hold_ms // 3000 * 1000
    expected_keepalive_ms = min(int(peer["bgpTimerConfiguredKeepAliveIntervalMsecs"]), third_of_hold_ms)
    return hold_ms == int(peer["bgpTimerConfiguredHoldTimeMsecs"]) and keepalive_ms == expected_keepalive_ms


def _await(host: SwitchHost, vrf: str, peer: str, before: Peer) -> None:
    """Wait until a cleared session is open again, then at most ``ROUTES_S`` for as many routes as ``before``.

    Raises CommandError if it does not open in time.
    """
    began_s = host.now_s()
    while True:
        host.sleep(PAUSE_S)
        current = _shown(host, vrf, peer)
        waited_s = host.now_s() - began_s
        # FRR counts how often the session has opened: right after the command it may not have closed yet.
        is_new = current.get("connectionsEstablished") != before.get("connectionsEstablished")
        has_opened = is_open(current) and is_new
        if has_opened and (_routes(current) >= _routes(before) or waited_s > ROUTES_S):
            return
        if not has_opened and waited_s > OPENS_S:
            state = current.get("bgpState", "unknown")
            raise CommandError(f"`clear bgp {peer}`: the session did not open again within {OPENS_S:.0f} s ({state})")


def _routes(peer: Peer) -> int:
    """Return the number of accepted prefixes of all address families."""
    families = (peer.get("addressFamilyInfo") or {}).values()
    return sum(int(family.get("acceptedPrefixCounter", 0)) for family in families)


def _shown(host: SwitchHost, vrf: str, peer: str) -> Peer:
    """Return FRR's values of a neighbor, empty if it shows none."""
    text = _vtysh(host, f"show bgp vrf {vrf} neighbors {peer} json")
    try:
        answer = json.loads(text[max(0, text.find("{")) :] or "{}")
    except ValueError:
        return {}
    if not isinstance(answer, dict):
        return {}
    # FRR puts the neighbor of a named VRF under that name.
    neighbor = answer.get(vrf, answer).get(peer, {})
    if isinstance(neighbor, dict):
        return neighbor
    return {}


def _vtysh(host: SwitchHost, command: str) -> str:
    done = host.run(("vtysh", "-c", command), READ_S)
    if done.exit_status != 0:
        raise CommandError(f"`{command}`: {done.words()}")
    return done.out
