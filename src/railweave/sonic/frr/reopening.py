"""Changed lines that a BGP session adopts only when it opens, and the sessions that keep the earlier ones until then.

The two ends of a session agree on the hold time and on capabilities in their OPEN messages (RFC 4271 section 4.2, RFC
5492), and a connection keeps the options of its socket. FRR resets a session by itself for some of these lines
(`capability extended-nexthop`, `addpath-tx-`, `activate`); those here it adopts at the next OPEN (bgpd/bgpd.c
peer_flag_action_list, bgp_vty.c; each was run on FRR 8.4 with an open session, which stayed open).
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from railweave.sonic.frr.delta import RouterNeighbor, owner
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
    """A session that has to open again.

    ``timers_only`` tells that only its timers changed; FRR shows the values of timers that are in force.
    """

    vrf: str
    peer: str
    timers_only: bool


def is_taken_at_open(line: str) -> bool:
    """Tell whether an open session ignores that ``line`` is added or removed until it opens again."""
    bare = line.removeprefix("no ")
    return any(pattern.match(bare) for pattern in (_TIMERS, _OF_ONE, _OF_ALL))


def sessions_to_open_again(
    removed: Sequence[FrrEntry], added: Sequence[FrrEntry], running: FrrDocument | None
) -> tuple[OpenSession, ...]:
    """Return the sessions of ``running`` that adopt some of these changed lines only when they open again.

    They are in the order of ``running``. Without a known configuration there are none.
    """
    lines = (*removed, *added)
    changed = [entry for entry in lines if is_taken_at_open(entry.line)]
    if not changed or running is None:
        return ()
    # Sessions that the change creates, or creates again, open with the new lines.
    created = _created(lines)
    sessions: list[OpenSession] = []
    for neighbor, group in _groups_of_neighbors(running.entries).items():
        session = _session_to_open(changed, neighbor, group)
        if session is not None and neighbor not in created:
            sessions.append(session)
    return tuple(sessions)


def _created(lines: Iterable[FrrEntry]) -> set[RouterNeighbor | None]:
    return {owner(entry) for entry in lines if defined_neighbor(entry.line)}


def _session_to_open(changed: Iterable[FrrEntry], neighbor: RouterNeighbor, group: str) -> OpenSession | None:
    """Return the session of a neighbor if some of the ``changed`` lines concern it or its group, else None."""
    entries = [entry for entry in changed if _concerns(entry, neighbor, group)]
    if not entries:
        return None
    timers_only = all(_TIMERS.match(entry.line.removeprefix("no ")) for entry in entries)
    _, _, vrf = neighbor.router.partition(" vrf ")
    return OpenSession(vrf or "default", neighbor.name, timers_only)


def _concerns(entry: FrrEntry, neighbor: RouterNeighbor, group: str) -> bool:
    # A line at the top level is for all routers, one without a neighbor for all sessions of its router.
    if not entry.context:
        return True
    return entry.path[0] == neighbor.router and neighbor_of(entry.line) in (None, neighbor.name, group)


def _groups_of_neighbors(entries: Iterable[FrrEntry]) -> dict[RouterNeighbor, str]:
    """Return the neighbors of all BGP routers with their peer groups, empty for a neighbor without one."""
    groups: dict[RouterNeighbor, str] = {}
    for entry in entries:
        name = defined_neighbor(entry.line)
        if name is None or is_group(entry.line):
            continue
        is_in_router = len(entry.path) == 1 and entry.context.startswith("router bgp ")
        if is_in_router:
            neighbor = RouterNeighbor(entry.context, name)
            # A neighbor may be defined by several lines, of which one names the group.
            groups[neighbor] = membership(entry.line) or groups.get(neighbor, "")
    return groups
