"""Read a BGP instance out of FRR's running configuration, peer groups resolved."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

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
    """Return the instance of the default VRF, or None where there is none."""
    for context in root.children.values():
        words = context.header.split()
        if context.node == BGP and len(words) == 3:
            instance = _instance(context, int(words[2]))
            # Without an instance around it the line is for all of them (8.4).
            instance.graceful_shutdown = any(_SHUTDOWN in place.lines for place in (root, context))
            return instance
    return None


def _instance(context: Context, asn: int) -> Instance:
    result = Instance(asn)
    result.router_id = context.lines.get("bgp router-id", "").removeprefix("bgp router-id ")
    result.policy_required = "no bgp ebgp-requires-policy" not in context.lines
    result.import_check = "no bgp network import-check" not in context.lines
    result.neighbors = _neighbors(context)
    networks: list[str] = []
    redistribute: list[tuple[int, str]] = []
    for version, family in _families(context):
        for line in family.lines.values():
            words = line.split()
            if words[0] == "network":
                networks.append(words[1])
            elif words[0] == "redistribute":
                redistribute.append((version, words[1]))
    result.networks = tuple(networks)
    result.redistribute = tuple(redistribute)
    return result


def _families(context: Context) -> list[tuple[int, Context]]:
    """Return the IP version and the context of each address family of an instance."""
    versions = {f"address-family {name}": version for version, name in FAMILIES.items()}
    families = context.children.values()
    return [(versions[family.header], family) for family in families if family.header in versions]


def _neighbors(context: Context) -> dict[str, Neighbor]:
    """Return the neighbors of an instance, each with the lines of its peer group before its own."""
    timers = context.lines.get("timers bgp", "").split()[2:]
    parts = _lines_by_peer(context)
    groups = {peer for peer, lines in parts.items() if any(words == ["peer-group"] for _, words in lines)}
    neighbors = {}
    for peer, own in parts.items():
        if peer in groups:
            continue
        neighbor = Neighbor(peer)
        neighbor.exchanges[4].active = "no bgp default ipv4-unicast" not in context.lines
        if timers:
            neighbor.keepalive_s = int(timers[0])
            neighbor.hold_s = int(timers[1])
        for version, words in [*parts.get(_group_of(own, groups), []), *own]:
            _take(neighbor, version, words)
        neighbors[peer] = neighbor
    return neighbors


def _lines_by_peer(context: Context) -> dict[str, list[tuple[int, list[str]]]]:
    """Return the words of the lines of each neighbor and group, with the IP version that they are about."""
    parts: dict[str, list[tuple[int, list[str]]]] = {}
    # Lines outside of any family are IPv4's.
    for version, place in [(4, context), *_families(context)]:
        for peer, words in _neighbor_lines(place):
            parts.setdefault(peer, []).append((version, words))
    return parts


def _group_of(lines: list[tuple[int, list[str]]], groups: set[str]) -> str:
    """Return the peer group that the lines of a neighbor name, empty for none."""
    group = ""
    for _, words in lines:
        if "peer-group" in words and words[-1] in groups:
            group = words[-1]
    return group


def _neighbor_lines(place: Context) -> Iterator[tuple[str, list[str]]]:
    for line in place.lines.values():
        words = line.split()
        if words[0] == "neighbor":
            yield words[1], words[2:]
        elif words[:2] == ["no", "neighbor"]:
            yield words[2], ["no", *words[3:]]


# Lines of a neighbor with whose change FRR resets its session by itself (run on 8.4).
RESETTING = ("capability extended-nexthop", "capability dynamic", "addpath-tx-", "disable-addpath-rx", "local-role",
             "remote-as", "local-as", "password", "port ", "passive", "ebgp-multihop", "update-source")  # fmt: skip


def _take(neighbor: Neighbor, version: int, words: list[str]) -> None:
    """Apply one neighbor line."""
    if " ".join(words).startswith(RESETTING):
        neighbor.resets.append(" ".join(words))
    if words[0] == "interface":
        neighbor.interface = True
        words = words[1:] or ["interface"]
    exchange = neighbor.exchanges[version]
    if words in (["activate"], ["no", "activate"]):
        exchange.active = words == ["activate"]
    elif words[0] in _FILTERS:
        # map_in, map_out, list_in or list_out
        setattr(exchange, f"{_FILTERS[words[0]]}_{words[2]}", words[1])
    elif words[0] == "allowas-in":
        exchange.allow_own_as = _times_allowed(words)
    elif words[0] in _TAKERS:
        _TAKERS[words[0]](neighbor, words)


# The parts of `Exchange` that a filter goes into.
_FILTERS = {"route-map": "map", "prefix-list": "list"}


def _times_allowed(words: list[str]) -> int:
    """Return how often ``allowas-in`` lets the own AS number pass; three times by default (bgpd/bgp_vty.c)."""
    if len(words) > 1 and words[1].isdigit():
        return int(words[1])
    return 3


def _take_timers(neighbor: Neighbor, words: list[str]) -> None:
    if words[1] != "connect":
        neighbor.keepalive_s = int(words[1])
        neighbor.hold_s = int(words[2])


def _take_shutdown(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.shutdown = True


def _take_bfd(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.bfd = True


def _take_description(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.description = " ".join(words[1:])


def _take_remote_as(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.remote_as = words[1]


def _take_local_as(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.local_as = int(words[1])


_TAKERS: dict[str, Callable[[Neighbor, list[str]], None]] = {
    "timers": _take_timers,
    "shutdown": _take_shutdown,
    "bfd": _take_bfd,
    "description": _take_description,
    "remote-as": _take_remote_as,
    "local-as": _take_local_as,
}
