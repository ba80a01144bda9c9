"""``show running-config``: the order and form in which vtysh prints a configuration (FRR 8 to 10).

From 9.1 on SONiC's build of FRR prints two defaults more than upstream's (sonic-buildimage, src/sonic-frr/patch: 0057
in 202411, 0014 in 202505 and 202511).
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
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

    ``vrfs`` are those of the kernel, ``daemons`` those that run beside the usual ones.
    """
    # The order of the parts is that of the releases' recordings (tests/conformance/frr_releases): since mgmtd keeps
    # them, prefix lists come first, then route-maps too.
    root = _with_defaults(root, build, vrfs)
    lines = [f"frr version {build.version}", "frr defaults traditional", f"hostname {hostname}"]
    lines += [*_top_lines(root), "!"]
    filters = ("ip prefix-list", "ipv6 prefix-list")
    later = list(_AFTER_BLOCKS)
    if build.since(10, 0):
        lines += _lists(root, filters)
        later = [kind for kind in later if kind not in filters]
    if build.since(10, 3):
        lines += _route_maps(root)
    routes = [line for line in root.lines.values() if line.startswith(_ROUTES)]
    lines += _section(sorted(routes, key=_route_key))
    lines += _blocks(root)
    lines += _lists(root, later)
    if not build.since(10, 3):
        lines += _route_maps(root)
    if "pathd" in daemons:
        lines += _section(_OF_PATHD)
    lines += _last_lines(root, build)
    lines.append("end")
    return "\n".join(lines) + "\n"


def _blocks(root: Context) -> list[str]:
    """Return the lines of all blocks except route-maps, which have a place of their own."""
    lines: list[str] = []
    for block in sorted(root.children.values(), key=lambda child: _BLOCK_ORDER.get(child.node, 9)):
        # An interface without lines is not shown.
        if block.node != "route-map" and (block.lines or block.node != "interface"):
            lines += _section(_block(block))
    return lines


def _last_lines(root: Context, build: Build) -> list[str]:
    """Return the lines that come last, in the order of the release."""
    kinds: tuple[str, ...] = _LATE
    if not build.since(10, 0):
        kinds = (*_LATE[2:], *_LATE[:2])
    lines: list[str] = []
    for kind in kinds:
        lines += _section([line for line in root.lines.values() if line.startswith(kind)])
    return lines


def _section(lines: Sequence[str]) -> list[str]:
    """Return lines with the mark that vtysh prints after a part; nothing if there are no lines."""
    return [*lines, "!"] if lines else []


def _lists(root: Context, kinds: Iterable[str]) -> list[str]:
    """Return the entries of lists, by kind, then by name and number; ``kinds`` are the beginnings of their lines."""
    lines: list[str] = []
    for kind in kinds:
        entries = [line for line in root.lines.values() if line.startswith(kind)]
        lines += _section(sorted(entries, key=_entry_key))
    return lines


def _route_maps(root: Context) -> list[str]:
    """Return the route-maps in the order in which they were made (8.4.4, measured), their entries by number."""
    entries_of: dict[str, list[Context]] = {}
    for block in root.children.values():
        if block.node == "route-map":
            name = block.header.split()[1]
            entries_of.setdefault(name, []).append(block)
    lines: list[str] = []
    for entries in entries_of.values():
        for entry in sorted(entries, key=_entry_number):
            lines += _section(_block(entry))
    return lines


def _entry_number(entry: Context) -> int:
    """Return the number of an entry with the header ``route-map NAME permit|deny NUMBER``."""
    return int(entry.header.split()[3])


# What pathd prints as soon as it runs (FRR 8.4 to 10.5, pathd/path_cli.c config_write_segment_routing).
_OF_PATHD = ("segment-routing", " traffic-eng", " exit", "exit")


def _with_defaults(root: Context, build: Build, vrfs: Iterable[str]) -> Context:
    """Return the configuration with the defaults that this version prints in each VRF.

    ``vrfs`` are those of the kernel, which are printed even without lines of their own.
    """
    children = dict(root.children)
    if _prints_tracking(build):
        for name in vrfs:
            header = f"vrf {name}"
            children.setdefault(header, Context(VRF, header))
    for header, child in children.items():
        if child.node == VRF:
            children[header] = _tracking_shown(child, build)
    return _tracking_shown(Context(root.node, root.header, root.lines, children), build)


def _tracking_shown(context: Context, build: Build) -> Context:
    """Return a VRF with its switches of nexthop tracking as this version prints them.

    The top level is the default VRF.
    """
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


def _top_lines(root: Context) -> list[str]:
    """Return the lines of the top level that come before all blocks."""
    shown_elsewhere = ("frr ", "hostname ", *_ROUTES, *_AFTER_BLOCKS, *_LATE)
    lines = [line for line in root.lines.values() if not line.startswith(shown_elsewhere)]
    return sorted(lines, key=lambda line: _position(_TOP_ORDER, line))


def _block(block: Context, indent: str = "", *, active: bool = False) -> list[str]:
    """Return the lines of a block with its header and end, each after ``indent``.

    If neighbors are ``active`` by default, FRR does not print that they are.
    """
    lines = [indent + block.header]
    lines += [f"{indent} {line}" for line in _body(block, active=active)]
    is_ipv4_default = "no bgp default ipv4-unicast" not in block.lines
    for family in sorted(block.children.values(), key=lambda child: child.header):
        is_active = is_ipv4_default and family.header == "address-family ipv4 unicast"
        inner = _block(family, indent + " ", active=is_active)
        # A family of only its first and last line is not shown.
        if len(inner) > 2:
            lines += [f"{indent} !", *inner]
    lines.append(indent + _EXITS.get(block.node, "exit"))
    return lines


def _body(block: Context, *, active: bool) -> list[str]:
    """Return a block's own lines as FRR orders them, without ``activate`` if neighbors are ``active`` by default."""
    lines = block.lines.values()
    if block.node == BGP:
        return sorted(lines, key=lambda line: _bgp_key(block, line))
    if block.node == BGP_AF:
        shown = [line for line in lines if not (active and _activates(line))]
        return sorted(shown, key=_af_key)
    return sorted(lines, key=lambda line: not line.startswith(("match", "description", "ip ")))


def _activates(line: str) -> bool:
    return line.endswith(" activate") and not line.startswith("no")


def _bgp_key(block: Context, line: str) -> tuple[object, ...]:
    """Return the sort key of a line of an instance: its own lines, then peer groups, then neighbors, each by kind."""
    words = line.removeprefix("no ").split()
    if words[0] != "neighbor":
        return (0, _position(_BGP_ORDER, line))
    peer, *rest = words[1:]
    # Peer groups come before the neighbors that name them.
    is_group = block.lines.get(f"neighbor {peer} peer-group", "").endswith("group")
    position = -1 if rest == ["peer-group"] else _position(_PEER_ORDER, " ".join(rest))
    return (1, not is_group, peer_key(peer), position)


def _af_key(line: str) -> tuple[object, ...]:
    """Return the sort key of a line of an address family: by kind, networks by number, neighbors as in the instance."""
    words = line.removeprefix("no ").split()
    if words[0] != "neighbor":
        network: tuple[int, bytes] = (0, b"")
        if "/" in words[-1] or words[0] == "network":
            network = _network_key(words[1])
        return (_position(_AF_ORDER, words[0]), 0, network, 0, line)
    # Peer groups and interfaces have names; they come before addresses.
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
    """Return the sort key of a peer, as bgpd orders them: names first, by text, then addresses by number."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return (0, peer.encode())
    return (address.version, address.packed)


@lru_cache(4096)
def _position(order: tuple[str, ...], line: str) -> int:
    """Return the index of the longest text in ``order`` with which a line begins; the length of ``order`` for none."""
    position = len(order)
    longest = ""
    for index, beginning in enumerate(order):
        if line.startswith(beginning) and len(beginning) > len(longest):
            position = index
            longest = beginning
    return position


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
