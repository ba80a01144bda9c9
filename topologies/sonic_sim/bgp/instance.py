"""Read a BGP instance out of FRR's running configuration, peer groups resolved."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sonic_sim.frr.grammar import BGP
from sonic_sim.frr.tree import Context

_SHUTDOWN = "bgp graceful-shutdown"
DEFAULT_KEEPALIVE_S, DEFAULT_HOLD_S = 60, 180


@dataclass(slots=True)
class Neighbor:
    """One neighbor. ``remote_as``: a number as text, ``internal``, ``external`` or empty; times in seconds."""

    peer: str
    remote_as: str = ""
    local_as: int = 0
    description: str = ""
    shutdown: bool = False
    interface: bool = False
    bfd: bool = False
    keepalive_s: int = DEFAULT_KEEPALIVE_S
    hold_s: int = DEFAULT_HOLD_S
    active: bool = True
    map_in: str = ""
    map_out: str = ""
    list_in: str = ""
    list_out: str = ""
    maximum_prefix: int = 0
    allow_own_as: int = 0


@dataclass(slots=True)
class Instance:
    """The default BGP instance of a switch."""

    asn: int
    router_id: str = ""
    policy_required: bool = True
    import_check: bool = True
    neighbors: dict[str, Neighbor] = field(default_factory=dict)
    networks: tuple[str, ...] = ()
    redistribute: tuple[str, ...] = ()
    graceful_shutdown: bool = False


def instance_of(root: Context) -> Instance | None:
    """Return the instance of the default VRF, or None where there is none."""
    for context in root.children.values():
        words = context.header.split()
        if context.node == BGP and len(words) == 3:
            instance = _instance(context, int(words[2]))
            # without an instance around it the line is for all of them (8.4)
            instance.graceful_shutdown = any(_SHUTDOWN in place.lines for place in (root, context))
            return instance
    return None


def _instance(context: Context, asn: int) -> Instance:
    result = Instance(asn)
    result.router_id = context.lines.get("bgp router-id", "").removeprefix("bgp router-id ")
    result.policy_required = "no bgp ebgp-requires-policy" not in context.lines
    result.import_check = "no bgp network import-check" not in context.lines
    active = "no bgp default ipv4-unicast" not in context.lines
    timers = context.lines.get("timers bgp", "").split()[2:]
    family = next((one for one in context.children.values() if one.header == "address-family ipv4 unicast"), None)
    lines = list(_neighbor_lines(context, family))
    groups = {peer for peer, words in lines if words == ["peer-group"]}
    parts: dict[str, list[list[str]]] = {}
    member_of: dict[str, str] = {}
    for peer, words in lines:
        parts.setdefault(peer, []).append(words)
        if "peer-group" in words and words[-1] in groups:
            member_of[peer] = words[-1]
    for peer, own in parts.items():
        if peer in groups:
            continue
        neighbor = Neighbor(peer, active=active)
        if timers:
            neighbor.keepalive_s, neighbor.hold_s = int(timers[0]), int(timers[1])
        for words in [*parts.get(member_of.get(peer, ""), []), *own]:
            _take(neighbor, words)
        result.neighbors[peer] = neighbor
    if family is not None:
        result.networks = tuple(line.split()[1] for line in family.lines.values() if line.startswith("network "))
        kinds = (line.split()[1] for line in family.lines.values() if line.startswith("redistribute "))
        result.redistribute = tuple(kinds)
    return result


def _neighbor_lines(context: Context, family: Context | None) -> Iterator[tuple[str, list[str]]]:
    for place in (context, family):
        if place is None:
            continue
        for line in place.lines.values():
            words = line.split()
            if words[0] == "neighbor":
                yield words[1], words[2:]
            elif words[:2] == ["no", "neighbor"]:
                yield words[2], ["no", *words[3:]]


def _take(neighbor: Neighbor, words: list[str]) -> None:
    """Apply one neighbor line."""
    if words[0] == "interface":
        neighbor.interface = True
        words = words[1:] or ["interface"]
    if words == ["no", "activate"]:
        neighbor.active = False
        return
    taker = _TAKERS.get(words[0])
    if taker is not None:
        taker(neighbor, words)


def _take_filter(neighbor: Neighbor, words: list[str]) -> None:
    kind = "map" if words[0] == "route-map" else "list"
    setattr(neighbor, f"{kind}_{words[2]}", words[1])


def _take_timers(neighbor: Neighbor, words: list[str]) -> None:
    if words[1] != "connect":
        neighbor.keepalive_s, neighbor.hold_s = int(words[1]), int(words[2])


def _take_activate(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.active = True


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


def _take_maximum(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.maximum_prefix = 0 if "warning-only" in words else int(words[1])


def _take_allow(neighbor: Neighbor, words: list[str]) -> None:
    neighbor.allow_own_as = int(words[1]) if len(words) > 1 and words[1].isdigit() else 3


_TAKERS: dict[str, Callable[[Neighbor, list[str]], None]] = {
    "route-map": _take_filter,
    "prefix-list": _take_filter,
    "timers": _take_timers,
    "activate": _take_activate,
    "shutdown": _take_shutdown,
    "bfd": _take_bfd,
    "description": _take_description,
    "remote-as": _take_remote_as,
    "local-as": _take_local_as,
    "maximum-prefix": _take_maximum,
    "allowas-in": _take_allow,
}
