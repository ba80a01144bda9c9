"""FRR's own lists of filters: prefix-lists (lib/plist.c) and the route-maps of protocols (zebra/zebra_routemap.c)."""

import re
from collections.abc import Iterable

from sonic_sim.frr.show import Build
from sonic_sim.frr.tree import Context

_PREFIX_LIST = re.compile(r"(ipv?6?) prefix-list (\S+) (?:seq (\d+) ((?:permit|deny) .*)|description (.*))")
_PROTOCOLS = (
    "system", "kernel", "connected", "static", "rip", "ripng", "ospf", "ospf6", "isis", "bgp", "pim", "eigrp",
    "nhrp", "hsls", "olsr", "table", "ldp", "vnc", "vnc-direct", "vnc-rn", "bgp-direct",
    "bgp-direct-to-nve-groups", "babel", "sharp", "pbr", "bfd", "openfabric", "vrrp", "zebra", "srte",
)  # fmt: skip
"""lib/route_types.txt in its order."""


def filters_shown(root: Context, build: Build, daemons: Iterable[str], command: str) -> str | None:
    """Return what a command shows of filters, each daemon's own; None where it shows none, or names none there is."""
    if found := re.fullmatch(r"show (ip|ipv6) prefix-list(?: (\S+))?", command):
        return _prefix_lists(root, daemons, found[1], found[2] or "")
    if found := re.fullmatch(r"show (ip|ipv6) protocol", command):
        return _protocols(root, build, found[1])
    if command == "show route-map" and not any(one.node == "route-map" for one in root.children.values()):
        return "".join(f"{daemon}:\n" for daemon in daemons)
    return None


def _prefix_lists(root: Context, daemons: Iterable[str], family: str, name: str) -> str | None:
    lists: dict[str, list[tuple[int, str]]] = {}
    notes: dict[str, str] = {}
    for line in root.lines.values():
        found = _PREFIX_LIST.fullmatch(line)
        if found is None or found[1] != family or (name and found[2] != name):
            continue
        entries = lists.setdefault(found[2], [])
        if found[3]:
            entries.append((int(found[3]), f"   seq {found[3]} {found[4]}\n"))
        else:
            notes[found[2]] = f"   Description: {found[5]}\n"
    if name and not lists:
        return None
    return "".join(
        f"{daemon}: {family} prefix-list {one}: {len(lists[one])} entries\n{notes.get(one, '')}"
        + "".join(text for _, text in sorted(lists[one]))
        for daemon in daemons
        for one in sorted(lists)
    )


def _protocols(root: Context, build: Build, family: str) -> str:
    """Return ``show ip protocol``: the route-map that zebra applies to the routes of each protocol."""
    maps = {line.split()[2]: line.split()[4] for line in root.lines.values() if line.startswith(f"{family} protocol ")}
    names = [*_PROTOCOLS, *(() if build.since(10, 3) else ("wildcard",)), "any"]
    if build.since(10, 0):
        names.insert(names.index("connected") + 1, "local")
        names.insert(names.index("srte") + 1, "table-direct")
    lines = (f"{one:<24}  : {maps[one]:<10}" if one in maps else f"{one:<24}  : none" for one in names)
    heading = "VRF: default\nProtocol                  : route-map\n-------------------------------------\n"
    return heading + "".join(f"{line}\n" for line in lines)
