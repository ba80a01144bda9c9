"""Opening BGP sessions again whose ends agreed on something that has changed since: one at a time.

FRR takes other timers and capabilities at the next OPEN only, so until a session is cleared it runs the earlier ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from railweave_switch.host import CommandError, SwitchHost

READ_S = 60.0
OPENS_S = 60.0
"""FRR tries again after 10 s (``timers connect``) where the first attempts meet a neighbor that is not ready."""
ROUTES_S = 10.0
PAUSE_S = 0.2
TIMERS = ("bgpTimerConfiguredHoldTimeMsecs", "bgpTimerConfiguredKeepAliveIntervalMsecs",
          "bgpTimerHoldTimeMsecs", "bgpTimerKeepAliveIntervalMsecs")  # fmt: skip
Peer = Mapping[str, Any]


def open_again(host: SwitchHost, sessions: Sequence[Sequence[Any]]) -> None:
    """Clear established sessions, each once the one before is open and has its routes; raises CommandError.

    A session is ``[VRF, PEER, TIMERS_ONLY]``: with the last, one that has its configured timers in force stays open.
    Where one stays down, no further one is cleared, in a revert neither: the others carry the traffic meanwhile, and
    each would take another ``OPENS_S`` of the time for which the switch is locked.
    """
    for vrf, peer, timers_only in sessions:
        shown = _shown(host, vrf, peer)
        if not is_open(shown) or (timers_only and has_its_timers(shown)):
            continue
        _vtysh(host, f"clear bgp vrf {vrf} {peer}" if vrf != "default" else f"clear bgp {peer}")
        _await(host, vrf, peer, shown)


def is_open(peer: Peer) -> bool:
    """Tell whether a session is established."""
    return peer.get("bgpState") == "Established"


def has_its_timers(peer: Peer) -> bool:
    """Tell whether the configured timers are in force; a keepalive interval is at most a third of the hold time.

    The hold time is the smaller one of both ends: where the other end has the smaller one, it says no.
    """
    if any(not isinstance(peer.get(name), int) for name in TIMERS):
        return False
    configured_hold, configured_keepalive, hold, keepalive = (int(peer[name]) for name in TIMERS)
    whole_seconds = hold // 3000 * 1000
    return hold == configured_hold and keepalive == min(configured_keepalive, whole_seconds)


def _await(host: SwitchHost, vrf: str, peer: str, before: Peer) -> None:
    """Wait until a cleared session is open again, and for a while for as many routes as before; raises CommandError."""
    began_s = host.now_s()
    while True:
        host.sleep(PAUSE_S)
        shown, waited_s = _shown(host, vrf, peer), host.now_s() - began_s
        opened = is_open(shown) and shown.get("connectionsEstablished") != before.get("connectionsEstablished")
        if opened and (_routes(shown) >= _routes(before) or waited_s > ROUTES_S):
            return
        if not opened and waited_s > OPENS_S:
            state = shown.get("bgpState", "unknown")
            raise CommandError(f"`clear bgp {peer}`: the session did not open again within {OPENS_S:.0f} s ({state})")


def _routes(peer: Peer) -> int:
    families = (peer.get("addressFamilyInfo") or {}).values()
    return sum(int(family.get("acceptedPrefixCounter", 0)) for family in families)


def _shown(host: SwitchHost, vrf: str, peer: str) -> Peer:
    """Return what FRR shows of a neighbor; nothing where it shows none."""
    text = _vtysh(host, f"show bgp vrf {vrf} neighbors {peer} json")
    try:
        found = json.loads(text[max(0, text.find("{")) :] or "{}")
    except ValueError:
        return {}
    # FRR puts the neighbor of a named VRF under that name.
    found = found.get(vrf, found) if isinstance(found, dict) else {}
    shown = found.get(peer, {})
    return shown if isinstance(shown, dict) else {}


def _vtysh(host: SwitchHost, command: str) -> str:
    done = host.run(("vtysh", "-c", command), READ_S)
    if done.exit_status != 0:
        raise CommandError(f"`{command}`: {done.words()}")
    return done.out
