"""FRR's own lists of filters: prefix-lists (lib/plist.c) and the route-maps of protocols (zebra/zebra_routemap.c)."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from sonic_sim.frr.show import Build
from sonic_sim.frr.tree import Context

_PREFIX_LIST = re.compile(
    r"(?P<family>ipv?6?) prefix-list (?P<name>\S+) "
    r"(?:seq (?P<number>\d+) (?P<rule>(?:permit|deny) .*)|description (?P<description>.*))"
)
# lib/route_types.txt in its order.
_PROTOCOLS = (
    "system", "kernel", "connected", "static", "rip", "ripng", "ospf", "ospf6", "isis", "bgp", "pim", "eigrp",
    "nhrp", "hsls", "olsr", "table", "ldp", "vnc", "vnc-direct", "vnc-rn", "bgp-direct",
    "bgp-direct-to-nve-groups", "babel", "sharp", "pbr", "bfd", "openfabric", "vrrp", "zebra", "srte",
)  # fmt: skip


def filters_shown(root: Context, build: Build, daemons: Iterable[str], command: str) -> str | None:
    """Return the answer to a command that shows filters, with each daemon's own.

    None if it is another command, or names a filter that is not there.
    """
    prefix_list = re.fullmatch(r"show (ip|ipv6) prefix-list(?: (\S+))?", command)
    if prefix_list:
        return _prefix_lists(root, daemons, prefix_list[1], prefix_list[2] or "")
    protocol = re.fullmatch(r"show (ip|ipv6) protocol", command)
    if protocol:
        return _protocols(root, build, protocol[1])
    has_route_maps = any(child.node == "route-map" for child in root.children.values())
    if command == "show route-map" and not has_route_maps:
        return "".join(f"{daemon}:\n" for daemon in daemons)
    return None


@dataclass(slots=True)
class _PrefixList:
    """A prefix list: its rules by sequence number, and its description."""

    rules: dict[int, str] = field(default_factory=dict)
    description: str = ""


def _prefix_lists(root: Context, daemons: Iterable[str], family: str, name: str) -> str | None:
    """Return the text of all prefix lists of a family (``ip`` or ``ipv6``), or of the one with a ``name``.

    None if there is no prefix list of that name.
    """
    lists: defaultdict[str, _PrefixList] = defaultdict(_PrefixList)
    for line in root.lines.values():
        parts = _PREFIX_LIST.fullmatch(line)
        if parts is None or parts["family"] != family:
            continue
        if name and parts["name"] != name:
            continue
        prefix_list = lists[parts["name"]]
        if parts["number"]:
            prefix_list.rules[int(parts["number"])] = parts["rule"]
        else:
            prefix_list.description = parts["description"]
    if name and not lists:
        return None
    text = ""
    for daemon in daemons:
        for list_name in sorted(lists):
            text += f"{daemon}: {family} prefix-list {list_name}: {_list_text(lists[list_name])}"
    return text


def _list_text(prefix_list: _PrefixList) -> str:
    """Return the text of a list: how many entries it has, its description, and its entries by number."""
    text = f"{len(prefix_list.rules)} entries\n"
    if prefix_list.description:
        text += f"   Description: {prefix_list.description}\n"
    for number in sorted(prefix_list.rules):
        text += f"   seq {number} {prefix_list.rules[number]}\n"
    return text


def _protocols(root: Context, build: Build, family: str) -> str:
    """Return the text of ``show ip protocol``: the route-map that zebra applies to the routes of each protocol."""
    route_maps = {}
    for line in root.lines.values():
        if line.startswith(f"{family} protocol "):
            _, _, protocol, _, route_map = line.split()
            route_maps[protocol] = route_map
    names = list(_PROTOCOLS)
    # 10.0 added two kinds of routes to lib/route_types.txt, 10.3 dropped one.
    if build.since(10, 0):
        names.insert(names.index("connected") + 1, "local")
        names.insert(names.index("srte") + 1, "table-direct")
    if not build.since(10, 3):
        names.append("wildcard")
    text = "VRF: default\nProtocol                  : route-map\n-------------------------------------\n"
    for name in (*names, "any"):
        # FRR pads the name of a route-map, but not the word none.
        route_map_cell = f"{route_maps[name]:<10}" if name in route_maps else "none"
        text += f"{name:<24}  : {route_map_cell}\n"
    return text
