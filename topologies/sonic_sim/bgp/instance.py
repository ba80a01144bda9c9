"""Read a BGP instance out of FRR's running configuration, peer groups resolved."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sonic_sim.frr.grammar import BGP
from sonic_sim.frr.tree import Context

_SHUTDOWN = "bgp graceful-shutdown"
DEFAULT_KEEPALIVE_S = 60
DEFAULT_HOLD_S = 180


FAMILIES = {4: "ipv4 unicast", 6: "ipv6 unicast"}
"""The address families by IP version, which routes are kept apart by."""


@dataclass(slots=True)
class Exchange:
    """The exchange of one address family with a neighbor, and its filters."""

    active: bool = False
    map_in: str = ""
    map_out: str = ""
    list_in: str = ""
    list_out: str = ""
    allow_own_as: int = 0


@dataclass(slots=True)
class Neighbor:
    """One neighbor, with the settings of its peer group."""

    # Its address, or the interface of an unnumbered session.
    peer: str
    # A number as text, ``internal``, ``external`` or empty.
    remote_as: str = ""
    # 0: that of the instance.
    local_as: int = 0
    description: str = ""
    shutdown: bool = False
    # Whether the session is over the link-local addresses of an interface.
    interface: bool = False
    bfd: bool = False
    # Configured timers in seconds; those in force are agreed on as the session opens.
    keepalive_s: int = DEFAULT_KEEPALIVE_S
    hold_s: int = DEFAULT_HOLD_S
    # Lines whose change makes FRR reset the session.
    resets: list[str] = field(default_factory=list)
    # By IP version.
    exchanges: dict[int, Exchange] = field(default_factory=lambda: {version: Exchange() for version in FAMILIES})

    @property
    def active_versions(self) -> tuple[int, ...]:
        """Return the IP versions of which routes may be exchanged."""
        return tuple(version for version, exchange in self.exchanges.items() if exchange.active)


@dataclass(slots=True)
class Instance:
    """The default BGP instance of a switch; ``redistribute`` holds (IP version, source)."""

    asn: int
    router_id: str = ""
    policy_required: bool = True
    import_check: bool = True
    neighbors: dict[str, Neighbor] = field(default_factory=dict)
    networks: tuple[str, ...] = ()
    redistribute: tuple[tuple[int, str], ...] = ()
    graceful_shutdown: bool = False


def instance_of(root: Context) -> Instance | None:
    """Return the BGP instance of the default VRF; None if there is none."""
    for context in root.children.values():
        words = context.header.split()
        if context.node == BGP and len(words) == 3:
            instance = _instance(context, int(words[2]))
            # Without an instance around it the line is for all of them (8.4).
            instance.graceful_shutdown = _SHUTDOWN in root.lines or _SHUTDOWN in context.lines
            return instance
    return None


def _instance(context: Context, asn: int) -> Instance:
    """Return the instance that the lines of a ``router bgp`` block configure."""
    instance = Instance(asn)
    instance.router_id = context.lines.get("bgp router-id", "").removeprefix("bgp router-id ")
    instance.policy_required = "no bgp ebgp-requires-policy" not in context.lines
    instance.import_check = "no bgp network import-check" not in context.lines
    instance.neighbors = _neighbors(context)
    networks: list[str] = []
    redistribute: list[tuple[int, str]] = []
    for version, family in _families(context):
        for line in family.lines.values():
            words = line.split()
            if words[0] == "network":
                networks.append(words[1])
            elif words[0] == "redistribute":
                redistribute.append((version, words[1]))
    instance.networks = tuple(networks)
    instance.redistribute = tuple(redistribute)
    return instance


def _families(context: Context) -> list[tuple[int, Context]]:
    """Return the IP version and the context of each address family of an instance."""
    versions = {f"address-family {name}": version for version, name in FAMILIES.items()}
    families = context.children.values()
    return [(versions[family.header], family) for family in families if family.header in versions]


def _neighbors(context: Context) -> dict[str, Neighbor]:
    """Return the neighbors of an instance; the lines of their peer groups apply too, before their own."""
    timers = context.lines.get("timers bgp", "").split()[2:]
    lines_by_peer = _lines_by_peer(context)
    groups = {peer for peer, lines in lines_by_peer.items() if any(line.words == ["peer-group"] for line in lines)}
    neighbors = {}
    for peer, lines in lines_by_peer.items():
        if peer in groups:
            continue
        neighbor = Neighbor(peer)
        neighbor.exchanges[4].active = "no bgp default ipv4-unicast" not in context.lines
        if timers:
            neighbor.keepalive_s = int(timers[0])
            neighbor.hold_s = int(timers[1])
        lines_of_group = lines_by_peer.get(_group_of(lines, groups), [])
        for line in [*lines_of_group, *lines]:
            _apply_line(neighbor, line.version, line.words)
        neighbors[peer] = neighbor
    return neighbors


class _NeighborLine(NamedTuple):
    """A line of a neighbor: the IP version that it is about, the peer, and its words without the peer.

    The words begin with ``no`` if the line does.
    """

    version: int
    peer: str
    words: list[str]


def _lines_by_peer(context: Context) -> dict[str, list[_NeighborLine]]:
    """Return the lines of each neighbor and peer group."""
    lines_by_peer: dict[str, list[_NeighborLine]] = {}
    # Lines outside of any family are IPv4's.
    for version, family in [(4, context), *_families(context)]:
        for line in _neighbor_lines(version, family):
            lines_by_peer.setdefault(line.peer, []).append(line)
    return lines_by_peer


def _group_of(lines: list[_NeighborLine], groups: set[str]) -> str:
    """Return the peer group that the lines of a neighbor name, empty for none."""
    group = ""
    for line in lines:
        if "peer-group" in line.words and line.words[-1] in groups:
            group = line.words[-1]
    return group


def _neighbor_lines(version: int, family: Context) -> Iterator[_NeighborLine]:
    """Yield the lines of neighbors in an address family, or in an instance itself."""
    for line in family.lines.values():
        words = line.split()
        if words[0] == "neighbor":
            yield _NeighborLine(version, words[1], words[2:])
        elif words[:2] == ["no", "neighbor"]:
            yield _NeighborLine(version, words[2], ["no", *words[3:]])


# Lines of a neighbor with whose change FRR resets its session by itself (run on 8.4).
RESETTING = ("capability extended-nexthop", "capability dynamic", "addpath-tx-", "disable-addpath-rx", "local-role",
             "remote-as", "local-as", "password", "port ", "passive", "ebgp-multihop", "update-source")  # fmt: skip


def _apply_line(neighbor: Neighbor, version: int, words: list[str]) -> None:
    """Apply a line of a neighbor to ``neighbor``; lines that nothing here depends on are ignored.

    ``words`` are those of the line without the peer; ``version`` is the IP version of the routes that it is about.
    """
    line = " ".join(words)
    if line.startswith(RESETTING):
        neighbor.resets.append(line)
    if words[0] == "interface":
        neighbor.interface = True
        # More words may follow, as in ``interface remote-as external``.
        words = words[1:]
        if not words:
            return
    exchange = neighbor.exchanges[version]
    keyword, *values = words
    if words == ["activate"]:
        exchange.active = True
    elif words == ["no", "activate"]:
        exchange.active = False
    elif keyword in _FILTERS:
        name, direction = values
        # The attribute is map_in, map_out, list_in or list_out.
        setattr(exchange, f"{_FILTERS[keyword]}_{direction}", name)
    elif keyword == "allowas-in":
        exchange.allow_own_as = _times_allowed(words)
    elif keyword in _SETTERS:
        _SETTERS[keyword](neighbor, words)


# The parts of `Exchange` that a filter goes into.
_FILTERS = {"route-map": "map", "prefix-list": "list"}


def _times_allowed(words: list[str]) -> int:
    """Return how often ``allowas-in`` lets the own AS number pass; three times by default (bgpd/bgp_vty.c)."""
    if len(words) > 1 and words[1].isdigit():
        return int(words[1])
    return 3


def _set_timers(neighbor: Neighbor, words: list[str]) -> None:
    if words[1] != "connect":
        neighbor.keepalive_s = int(words[1])
        neighbor.hold_s = int(words[2])


def _set_shutdown(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.shutdown = True


def _set_bfd(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.bfd = True


def _set_description(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.description = " ".join(words[1:])


def _set_remote_as(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.remote_as = words[1]


def _set_local_as(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.local_as = int(words[1])


_SETTERS: dict[str, Callable[[Neighbor, list[str]], None]] = {
    "timers": _set_timers,
    "shutdown": _set_shutdown,
    "bfd": _set_bfd,
    "description": _set_description,
    "remote-as": _set_remote_as,
    "local-as": _set_local_as,
}
