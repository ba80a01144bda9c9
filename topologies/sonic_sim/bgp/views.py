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
    """Return the text that a show command prints; None if FRR does not know the command."""
    frr = device.frr
    running_config = _RUNNING.match(command)
    if running_config:
        return _running_config(device, running_config)
    if command == "show version":
        return f"FRRouting {frr.build.version} ({device.hostname}) on Linux({device.image().kernel}).\n"
    if command == "show daemons":
        return f" {' '.join((*frr.up(), *device.more_daemons()))}\n"
    headings = [_FILTER_HEADINGS[name] for name in frr.daemons if name in _FILTER_HEADINGS]
    filters = filters_shown(frr.root, frr.build, headings, command)
    if filters is not None:
        return filters
    short = _shortest_form(command)
    if short in TEXT_VIEWS:
        return TEXT_VIEWS[short](device)
    return _json_text(device, command, short)


_RUNNING = re.compile(r"show run(?:ning-config)?(?: (?!no-header)(?P<daemon>\w+))?(?P<no_header> no-header)?$")
# The daemons that have filters, each with the heading under which it shows them.
_FILTER_HEADINGS = {"zebra": "ZEBRA", "bgpd": "BGP"}


def _running_config(device: Device, command: re.Match[str]) -> str:
    """Return what a match of ``_RUNNING`` prints."""
    if command["no_header"]:
        return device.frr.text()
    return device.frr.show(command["daemon"] or "")


def _shortest_form(command: str) -> str:
    """Return a command in its shortest form: without the default VRF, ``ip`` and IPv4's own family."""
    short = re.sub(r" vrf (all|default)", "", command)
    short = re.sub(r"^show ip bgp", "show bgp", short)
    short = short.replace(" unicast", "").replace("show bgp ipv4", "show bgp")
    return re.sub(r"^show bgp ipv6 (?=summary|neighbor)", "show bgp ", short)


def _json_text(device: Device, command: str, short: str) -> str | None:
    """Return the JSON that a command prints; None if FRR does not know it. ``short`` is its shortest form."""
    if not short.endswith(" json"):
        return None
    every_vrf = " vrf all" in command
    document = _json_view(device, short.removesuffix(" json"), every_vrf)
    if document is None:
        return None
    family = re.search(r" (ipv[46])", command)
    if short == "show bgp summary json" and family and not every_vrf:
        # Asked for one address family, FRR leaves out the level of families (seen on 8.4).
        document = document.get(f"{family[1]}Unicast", {})
    return to_json(document, step="  ") + "\n"


def _json_view(device: Device, command: str, every_vrf: bool) -> dict[str, Any] | None:
    """Return the document of a command without its ``json``; None if FRR does not know it."""
    if command in JSON_VIEWS:
        return JSON_VIEWS[command](device, every_vrf)
    neighbor = re.match(r"show bgp neighbors? (\S+)$", command)
    if neighbor:
        peer = neighbor[1]
        peers = bgp_neighbors(device, every_vrf=False)
        return {peer: peers[peer]} if peer in peers else {"bgpNoSuchNeighbor": True}
    route = re.match(r"show ip(?P<ipv6>v6)? route (?P<prefix>[0-9a-f.:]+/\d+)$", command)
    if route:
        prefix = route["prefix"]
        routes = routes_shown(device, 6 if route["ipv6"] else 4)
        return {prefix: routes[prefix]} if prefix in routes else {}
    bgp_route = re.match(r"show bgp (?:ipv6 )?([0-9a-f.:]+/\d+)$", command)
    if bgp_route:
        return bgp_prefix(device, bgp_route[1])
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
