"""Which changed lines a BGP session takes only when it opens, and the sessions that keep the earlier ones until then.

The two ends of a session agree on the hold time and on capabilities in their OPEN messages (RFC 4271 section 4.2, RFC
5492), and a connection keeps the options of its socket. FRR resets a session by itself for some of these lines
(`capability extended-nexthop`, `addpath-tx-`, `activate`); those here it takes at the next OPEN (bgpd/bgpd.c
peer_flag_action_list, bgp_vty.c; each was run on FRR 8.4 with an open session, which stayed open).
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from railweave.sonic.frr.delta import owner
from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.frr.lines import FrrEntry, defined_neighbor, is_group, membership, neighbor_of

_TIMERS = re.compile(r"timers bgp |neighbor \S+ timers \d")
_OF_ONE = re.compile(
    r"neighbor \S+ (graceful-restart|dont-capability-negotiate|override-capability|strict-capability-match"
    r"|capability (fqdn|software-version)|tcp-mss|timers delayopen)"
)
_OF_ALL = re.compile(
    r"bgp (graceful-restart(-disable)?$|graceful-restart (restart-time|preserve-fw-state|notification)|session-dscp "
    r"|minimum-holdtime |tcp-keepalive )"
)


class OpenSession(NamedTuple):
    """A session that has to open again: ``timers_only`` where that is only for timers, which FRR shows in force."""

    vrf: str
    peer: str
    timers_only: bool


def is_taken_at_open(line: str) -> bool:
    """Tell whether an open session keeps what was there before ``line`` came or went."""
    bare = line.removeprefix("no ")
    return any(pattern.match(bare) for pattern in (_TIMERS, _OF_ONE, _OF_ALL))


def sessions_to_open_again(
    removed: Sequence[FrrEntry], added: Sequence[FrrEntry], running: FrrDocument | None
) -> tuple[OpenSession, ...]:
    """Return the sessions of ``running`` that keep what these changed lines replace, in its order.

    Those that the change creates, or creates anew, open with it.
    """
    changed = [entry for entry in (*removed, *added) if is_taken_at_open(entry.line)]
    if not changed or running is None:
        return ()
    anew = {owner(entry) for entry in (*removed, *added) if defined_neighbor(entry.line)}
    return tuple(
        session
        for router, peer, group in _peers(running.entries)
        if (router, peer) not in anew and (session := _kept_by(changed, router, peer, group)) is not None
    )


def _kept_by(changed: Iterable[FrrEntry], router: str, peer: str, group: str) -> OpenSession | None:
    own = [
        entry.line.removeprefix("no ")
        for entry in changed
        # Without a router around it a line is for all of them.
        if not entry.context or (entry.path[0] == router and neighbor_of(entry.line) in (None, peer, group))
    ]
    if not own:
        return None
    timers_only = all(_TIMERS.match(line) for line in own)
    return OpenSession(router.partition(" vrf ")[2] or "default", peer, timers_only)


def _peers(entries: Iterable[FrrEntry]) -> list[tuple[str, str, str]]:
    """Return the neighbors: the line of their router, their name, and their peer group's, empty without one."""
    peers: dict[tuple[str, str], str] = {}
    for entry in entries:
        name = defined_neighbor(entry.line)
        if name and len(entry.path) == 1 and entry.context.startswith("router bgp ") and not is_group(entry.line):
            peers[entry.context, name] = membership(entry.line) or peers.get((entry.context, name), "")
    return [(router, peer, group) for (router, peer), group in peers.items()]
