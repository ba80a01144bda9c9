"""FRR's show commands: ``show running-config`` and the state of BGP and routes."""

import re
from collections.abc import Callable
from typing import Any

from sonic_sim.bgp.paths import bgp_prefix, bgp_table, table_text
from sonic_sim.bgp.state import bfd_peers, bgp_neighbors, bgp_summary, summary_text
from sonic_sim.bgp.zebra import route_text, routes_shown, summary_of_routes
from sonic_sim.configdb import to_json
from sonic_sim.device import Device
from sonic_sim.frr.filters import filters_shown


def view(device: Device, command: str) -> str | None:
    """Return the text of a show command, or None where FRR does not know it."""
    running = _RUNNING.match(command)
    if running:
        return _running_config(device, running)
    frr = device.frr
    if command == "show version":
        return f"FRRouting {frr.build.version} ({device.hostname}) on Linux({device.image().kernel}).\n"
    if command == "show daemons":
        return f" {' '.join((*frr.up(), *device.more_daemons()))}\n"
    # Each daemon answers for itself: zebra and bgpd are those that have filters.
    names = [name.removesuffix("d").upper() for name in frr.daemons if name in ("zebra", "bgpd")]
    filters = filters_shown(frr.root, frr.build, names, command)
    if filters is not None:
        return filters
    plain = _plain(command)
    if plain in TEXT_VIEWS:
        return TEXT_VIEWS[plain](device)
    return _json_text(device, command, plain)


_RUNNING = re.compile(r"show run(?:ning-config)?(?: (?!no-header)(\w+))?( no-header)?$")


def _running_config(device: Device, asked: re.Match[str]) -> str:
    if asked[2]:
        return device.frr.text()
    return device.frr.show(asked[1] or "")


def _plain(command: str) -> str:
    """Return a command in its shortest form: without the default VRF, ``ip`` and IPv4's own family."""
    plain = re.sub(r"^show ip bgp", "show bgp", re.sub(r" vrf (all|default)", "", command))
    plain = plain.replace(" unicast", "").replace("show bgp ipv4", "show bgp")
    return re.sub(r"^show bgp ipv6 (?=summary|neighbor)", "show bgp ", plain)


def _json_text(device: Device, command: str, plain: str) -> str | None:
    if not plain.endswith(" json"):
        return None
    every_vrf = " vrf all" in command
    document = _json_view(device, plain.removesuffix(" json"), every_vrf)
    if document is None:
        return None
    family = re.search(r" (ipv[46])", command)
    if plain == "show bgp summary json" and family and not every_vrf:
        # Asked for one address family, FRR leaves out the level of families (seen on 8.4).
        document = document.get(f"{family[1]}Unicast", {})
    return to_json(document, step="  ") + "\n"


def _json_view(device: Device, command: str, every_vrf: bool) -> dict[str, Any] | None:
    if command in JSON_VIEWS:
        return JSON_VIEWS[command](device, every_vrf)
    if neighbor := re.match(r"show bgp neighbors? (\S+)$", command):
        peers = bgp_neighbors(device, False)
        return {neighbor[1]: peers[neighbor[1]]} if neighbor[1] in peers else {"bgpNoSuchNeighbor": True}
    if route := re.match(r"show ip(v6)? route ([0-9a-f.:]+/\d+)$", command):
        routes = routes_shown(device, 6 if route[1] else 4)
        return {route[2]: routes[route[2]]} if route[2] in routes else {}
    if prefix := re.match(r"show bgp (?:ipv6 )?([0-9a-f.:]+/\d+)$", command):
        return bgp_prefix(device, prefix[1])
    return None


JSON_VIEWS: dict[str, Callable[[Device, bool], dict[str, Any]]] = {
    "show bgp summary": bgp_summary,
    "show bgp neighbors": bgp_neighbors,
    "show ip route": lambda device, every_vrf: routes_shown(device, 4),
    "show ipv6 route": lambda device, every_vrf: routes_shown(device, 6),
    "show bgp": lambda device, every_vrf: bgp_table(device, 4),
    "show bgp ipv6": lambda device, every_vrf: bgp_table(device, 6),
    "show version": lambda device, every_vrf: {"version": device.frr.build.version},
}
TEXT_VIEWS: dict[str, Callable[[Device], str]] = {
    "show bfd peers json": bfd_peers,
    "show bgp": lambda device: table_text(device, 4),
    "show bgp ipv6": lambda device: table_text(device, 6),
    "show bgp summary": summary_text,
    "show ip route": lambda device: route_text(device, 4),
    "show ipv6 route": lambda device: route_text(device, 6),
    "show ip route summary": lambda device: summary_of_routes(device, 4),
    "show ipv6 route summary": lambda device: summary_of_routes(device, 6),
}
