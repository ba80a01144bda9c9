"""``show running-config``: the order and form in which vtysh prints a configuration (FRR 8 to 10).

From 9.1 on SONiC's build of FRR prints two defaults more than upstream's (sonic-buildimage, src/sonic-frr/patch: 0057
in 202411, 0014 in 202505 and 202511).
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sonic_sim.frr.grammar import BGP, BGP_AF, NEXTHOP_TRACKING, VRF
from sonic_sim.frr.tree import Context


@dataclass(frozen=True, slots=True)
class Build:
    """The FRR of an image: its version, and whether it has SONiC's patches."""

    version: str = "10.3"
    patched: bool = True

    def since(self, *numbers: int) -> bool:
        """Tell whether it is at least of this version."""
        return tuple(int(part) for part in self.version.split(".")[:2]) >= numbers


SONIC_202505 = Build()

_AFTER_BLOCKS = ("bgp as-path access-list", "ip prefix-list", "ipv6 prefix-list", "bgp community-list",
                 "bgp large-community-list")  # fmt: skip
_TOP_ORDER = (
    "domainname", "log", "no ip forwarding", "no ipv6 forwarding", "no zebra nexthop", "fpm", "no fpm", "agentx",
    "password", "enable", "debug", "zebra", "access-list", "bgp graceful-shutdown", "service",
)  # fmt: skip
_ROUTES = ("ip route", "ipv6 route")
_EXITS = {BGP_AF: "exit-address-family", VRF: "exit-vrf"}
_LATE = ("ip protocol", "ipv6 protocol", "ip nht", "ipv6 nht")
_BGP_ORDER = (
    "bgp router-id", "no bgp fast-external-failover", "bgp log-neighbor-changes", "bgp always-compare-med",
    "no bgp ebgp-requires-policy", "no bgp suppress-duplicates", "no bgp hard-administrative-reset",
    "no bgp default ipv4-unicast", "bgp default", "bgp cluster-id", "bgp deterministic-med", "bgp update-delay",
    "bgp suppress-fib-pending", "bgp graceful-restart", "no bgp graceful-restart", "bgp graceful-shutdown",
    "bgp bestpath", "no bgp network import-check", "timers bgp", "coalesce-time", "bgp",
)  # fmt: skip
_PEER_ORDER = (
    "interface", "remote-as", "peer-group", "local-as", "description", "shutdown", "bfd", "password", "ebgp-multihop",
    "ttl-security", "disable-connected-check", "enforce-first-as", "update-source", "advertisement-interval", "timers",
    "timers connect", "capability", "graceful-restart", "passive",
)  # fmt: skip
_AF_ORDER = ("network", "aggregate-address", "redistribute", "neighbor", "maximum-paths", "table-map")
_AF_PEER_ORDER = (
    "activate", "addpath-tx-all-paths", "next-hop-self", "remove-private-AS", "as-override", "default-originate",
    "soft-reconfiguration", "maximum-prefix", "maximum-prefix-out", "prefix-list", "filter-list", "route-map",
    "unsuppress-map", "allowas-in", "weight", "send-community",
)  # fmt: skip


def configuration_text(
    root: Context,
    hostname: str,
    build: Build = SONIC_202505,
    vrfs: Iterable[str] = (),
    daemons: Iterable[str] = (),
) -> str:
    """Return the configuration from ``frr version`` to ``end``.

    ``vrfs`` are those of the kernel, ``daemons`` those that run beside the usual ones. The order of the parts is that
    of the releases' recordings (tests/conformance/frr_releases): since mgmtd keeps them, prefix lists come first, then
    route-maps too.
    """
    root = _with_defaults(root, build, vrfs)
    lines = [f"frr version {build.version}", "frr defaults traditional", f"hostname {hostname}"]
    lines += [*_top(root), "!"]
    filters = ("ip prefix-list", "ipv6 prefix-list")
    maps = _route_maps(root)
    lines += _lists(root, filters) if build.since(10, 0) else []
    lines += maps if build.since(10, 3) else []
    routes = [line for line in root.lines.values() if line.startswith(_ROUTES)]
    lines += [*sorted(routes, key=_route_key), "!"] if routes else []
    blocks = sorted(root.children.values(), key=lambda one: _BLOCK_ORDER.get(one.node, 9))
    for block in [one for one in blocks if one.node != "route-map" and (one.lines or one.node != "interface")]:
        lines += [*_block(block), "!"]
    later = [kind for kind in _AFTER_BLOCKS if not build.since(10, 0) or kind not in filters]
    lines += _lists(root, later)
    lines += [] if build.since(10, 3) else maps
    lines += [*_OF_PATHD, "!"] if "pathd" in daemons else []
    for kind in _LATE if build.since(10, 0) else (*_LATE[2:], *_LATE[:2]):
        late = [line for line in root.lines.values() if line.startswith(kind)]
        lines += [*late, "!"] if late else []
    lines.append("end")
    return "\n".join(lines) + "\n"


def _lists(root: Context, kinds: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for kind in kinds:
        entries = sorted((line for line in root.lines.values() if line.startswith(kind)), key=_entry_key)
        lines += [*entries, "!"] if entries else []
    return lines


def _route_maps(root: Context) -> list[str]:
    """Return the route-maps in the order in which they came (8.4.4, measured), their entries by number."""
    maps = [one for one in root.children.values() if one.node == "route-map"]
    came = {name: place for place, name in enumerate(dict.fromkeys(one.header.split()[1] for one in maps))}
    lines: list[str] = []
    for block in sorted(maps, key=lambda one: (came[one.header.split()[1]], int(one.header.split()[3]))):
        lines += [*_block(block), "!"]
    return lines


_OF_PATHD = ("segment-routing", " traffic-eng", " exit", "exit")
"""What pathd prints as soon as it runs (FRR 8.4 to 10.5, pathd/path_cli.c config_write_segment_routing)."""


def _with_defaults(root: Context, build: Build, vrfs: Iterable[str]) -> Context:
    """Return the configuration as its lines are printed: with what is on without a line, in each VRF."""
    children = dict(root.children)
    if _prints_tracking(build):
        for header in (f"vrf {name}" for name in vrfs):
            children.setdefault(header, Context(VRF, header))
    shown = {header: _tracking_shown(one, build) if one.node == VRF else one for header, one in children.items()}
    return _tracking_shown(Context(root.node, root.header, root.lines, shown), build)


def _tracking_shown(context: Context, build: Build) -> Context:
    """Return a VRF (the top level is the default one) with its switches of nexthop tracking as this version prints."""
    lines = dict(context.lines)
    for line in NEXTHOP_TRACKING:
        if not build.since(9, 1):
            lines.pop(f"no {line}", None)
        elif not build.patched:
            lines.pop(line, None)
        elif f"no {line}" not in lines:
            lines[line] = line
    return Context(context.node, context.header, lines, context.children)


def _prints_tracking(build: Build) -> bool:
    return build.patched and build.since(9, 1)


_BLOCK_ORDER = {"vrf": 1, "interface": 2, "bgp": 3, "line-vty": 8}


def _top(root: Context) -> list[str]:
    shown = ("frr ", "hostname ", *_ROUTES, *_AFTER_BLOCKS, *_LATE)
    lines = [line for line in root.lines.values() if not line.startswith(shown)]
    return sorted(lines, key=lambda line: _position(_TOP_ORDER, line))


def _block(block: Context, indent: str = "", *, active: bool = False) -> list[str]:
    """Return the lines of a context; ``active``: neighbors are so by default, and FRR does not say it."""
    lines = [indent + block.header]
    if block.node == BGP:
        body = sorted(block.lines.values(), key=lambda line: _bgp_key(block, line))
    elif block.node == BGP_AF:
        shown = [
            line for line in block.lines.values() if not (active and line.endswith(" activate") and line[:2] != "no")
        ]
        body = sorted(shown, key=_af_key)
    else:
        body = sorted(block.lines.values(), key=lambda line: not line.startswith(("match", "description", "ip ")))
    lines += [f"{indent} {line}" for line in body]
    default = "no bgp default ipv4-unicast" not in block.lines
    for family in sorted(block.children.values(), key=lambda one: one.header):
        inner = _block(family, indent + " ", active=default and family.header == "address-family ipv4 unicast")
        lines += [f"{indent} !", *inner] if len(inner) > 2 else []
    lines.append(indent + _EXITS.get(block.node, "exit"))
    return lines


def _bgp_key(block: Context, line: str) -> tuple[object, ...]:
    words = line.split()
    if words[0] != "neighbor" and words[:2] != ["no", "neighbor"]:
        return (0, _position(_BGP_ORDER, line))
    peer, rest = (words[1], words[2:]) if words[0] == "neighbor" else (words[2], words[3:])
    group = f"neighbor {peer} peer-group" in block.lines and block.lines[f"neighbor {peer} peer-group"].endswith(
        "group"
    )
    place = -1 if rest == ["peer-group"] else _position(_PEER_ORDER, " ".join(rest))
    return (1, not group, peer_key(peer), place)


def _af_key(line: str) -> tuple[object, ...]:
    words = line.removeprefix("no ").split()
    if words[0] != "neighbor":
        number = _network_key(words[1]) if "/" in words[-1] or words[0] == "network" else (0, b"")
        return (_position(_AF_ORDER, words[0]), 0, number, 0, line)
    is_name = not re.match(r"^[0-9a-fA-F.:]+$", words[1])
    return (
        _position(_AF_ORDER, "neighbor"),
        not is_name,
        peer_key(words[1]),
        _position(_AF_PEER_ORDER, words[2]),
        line,
    )


@lru_cache(4096)
def peer_key(peer: str) -> tuple[int, bytes]:
    """Order peers as bgpd does: by address, names by text."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return (0, peer.encode())
    return (address.version, address.packed)


@lru_cache(4096)
def _position(order: tuple[str, ...], line: str) -> int:
    best = len(order)
    length = -1
    for place, beginning in enumerate(order):
        if line.startswith(beginning) and len(beginning) > length:
            best = place
            length = len(beginning)
    return best


def _route_key(line: str) -> tuple[int, bytes, str]:
    return (*_network_key(line.split()[2]), line)


@lru_cache(4096)
def _network_key(text: str) -> tuple[int, bytes]:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return (9, text.encode())
    return (network.version, network.network_address.packed)


def _entry_key(line: str) -> tuple[str, int]:
    name, _, rest = line.partition(" seq ")
    return (name, int(rest.split()[0]) if rest else -1)
