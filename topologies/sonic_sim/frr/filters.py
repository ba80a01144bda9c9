"""FRR's own lists of filters: prefix-lists (lib/plist.c) and the route-maps of protocols (zebra/zebra_routemap.c)."""

import re
from collections.abc import Iterable

from sonic_sim.frr.show import Build
from sonic_sim.frr.tree import Context

_PREFIX_LIST = re.compile(r"(ipv?6?) prefix-list (\S+) (?:seq (\d+) ((?:permit|deny) .*)|description (.*))")
# lib/route_types.txt in its order.
_PROTOCOLS = (
    "system", "kernel", "connected", "static", "rip", "ripng", "ospf", "ospf6", "isis", "bgp", "pim", "eigrp",
    "nhrp", "hsls", "olsr", "table", "ldp", "vnc", "vnc-direct", "vnc-rn", "bgp-direct",
    "bgp-direct-to-nve-groups", "babel", "sharp", "pbr", "bfd", "openfabric", "vrrp", "zebra", "srte",
)  # fmt: skip


def filters_shown(root: Context, build: Build, daemons: Iterable[str], command: str) -> str | None:
    """Return what a command shows of filters, each daemon's own; None where it shows none, or names none there is."""
    if prefix_list := re.fullmatch(r"show (ip|ipv6) prefix-list(?: (\S+))?", command):
        return _prefix_lists(root, daemons, prefix_list[1], prefix_list[2] or "")
    if protocol := re.fullmatch(r"show (ip|ipv6) protocol", command):
        return _protocols(root, build, protocol[1])
    if command == "show route-map" and all(child.node != "route-map" for child in root.children.values()):
        return "".join(f"{daemon}:\n" for daemon in daemons)
    return None


def _prefix_lists(root: Context, daemons: Iterable[str], family: str, name: str) -> str | None:
    lists: dict[str, list[tuple[int, str]]] = {}
    notes: dict[str, str] = {}
    for line in root.lines.values():
        parts = _PREFIX_LIST.fullmatch(line)
        if parts is None or parts[1] != family or (name and parts[2] != name):
            continue
        entries = lists.setdefault(parts[2], [])
        if parts[3]:
            entries.append((int(parts[3]), f"   seq {parts[3]} {parts[4]}\n"))
        else:
            notes[parts[2]] = f"   Description: {parts[5]}\n"
    if name and not lists:
        return None
    text = ""
    for daemon in daemons:
        for list_name, entries in sorted(lists.items()):
            text += f"{daemon}: {family} prefix-list {list_name}: {len(entries)} entries\n{notes.get(list_name, '')}"
            text += "".join(entry for _, entry in sorted(entries))
    return text


def _protocols(root: Context, build: Build, family: str) -> str:
    """Return ``show ip protocol``: the route-map that zebra applies to the routes of each protocol."""
    maps = {line.split()[2]: line.split()[4] for line in root.lines.values() if line.startswith(f"{family} protocol ")}
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
        route_map = f"{maps[name]:<10}" if name in maps else "none"
        text += f"{name:<24}  : {route_map}\n"
    return text
