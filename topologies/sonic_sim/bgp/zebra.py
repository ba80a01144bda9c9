"""The routes that zebra shows, as JSON and as text."""

from collections import Counter
from typing import Any, NamedTuple

from sonic_sim.bgp.origins import local_routes, static_is_active
from sonic_sim.bgp.paths import next_hop, rib_of
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.rib import equal_paths, version_of
from sonic_sim.bgp.state import uptime_text
from sonic_sim.device import Device
from sonic_sim.network import Address

# Administrative distances of zebra; the kernel's routes and local ones have 0 as well.
_DISTANCES = {"connected": 0, "static": 1, "bgp": 20}


def routes_shown(device: Device, version: int) -> dict[str, Any]:
    """Return ``show ip route json`` for an IP version, in the order of the prefixes.

    It has connected, static and BGP routes with all equal next hops, and routes of the kernel.
    """
    uptime = uptime_text(int((device.clock.now() - device.times.frr_up) * 1000))
    routes: dict[str, list[dict[str, Any]]] = {}
    for prefix, route in _selected_routes(device).items():
        if version_of(prefix) == version:
            routes[prefix] = [_route(prefix, route.protocol, route.next_hops, uptime)]
    for address in device.addresses():
        if version_of(address.address) == version and device.link_up(address.interface):
            _add_routes_of_address(device, address, routes, uptime)
    prefixes = sorted(routes, key=lambda prefix: network(prefix).network_address)
    return {prefix: routes[prefix] for prefix in prefixes}


class _SelectedRoute(NamedTuple):
    """The route that zebra selected: ``connected``, ``static`` or ``bgp``, and its next hops as in FRR's JSON."""

    protocol: str
    next_hops: list[dict[str, Any]]


def _selected_routes(device: Device) -> dict[str, _SelectedRoute]:
    """Return the selected route to each prefix."""
    routes: dict[str, _SelectedRoute] = {}
    for prefix, protocol in local_routes(device).items():
        routes[prefix] = _SelectedRoute(protocol, _local_hops(device, prefix, protocol))
    rib = rib_of(device)
    if rib is None:
        return routes
    for prefix, paths in equal_paths(rib).items():
        # Connected and static routes win by their distance.
        if prefix not in routes:
            next_hops = [next_hop(device, prefix, path) for path in paths]
            routes[prefix] = _SelectedRoute("bgp", next_hops)
    return routes


def _add_routes_of_address(
    device: Device, address: Address, routes: dict[str, list[dict[str, Any]]], uptime: str
) -> None:
    """Add the kernel's route of an address, and the local route that zebra adds for the address itself."""
    hop: list[dict[str, Any]] = [{"directlyConnected": True, "interfaceName": address.interface}]
    prefix = _prefix(address)
    if _shows_kernel_route(device, address):
        routes[prefix].append(_route(prefix, "kernel", hop, uptime, selected=False))
    # FRR has local routes since 10.0; SONiC's patched build leaves them out.
    if device.frr.build.since(10, 0) and not device.frr.build.patched:
        host_prefix = str(network(address.address))
        other_routes = routes.get(host_prefix, [])
        # zebra prefers the local route to all others of its prefix.
        for route in other_routes:
            del route["selected"]
            del route["destSelected"]
        routes[host_prefix] = [_route(host_prefix, "local", hop, uptime), *other_routes]


def _route(
    prefix: str, protocol: str, hops: list[dict[str, Any]], uptime: str, *, selected: bool = True
) -> dict[str, Any]:
    """Return a route as in ``show ip route json``."""
    selection = {"selected": True, "destSelected": True} if selected else {}
    nexthops = [{"flags": 3, "fib": True, **hop, "active": True, "weight": 1} for hop in hops]
    return {"prefix": prefix, "prefixLen": network(prefix).prefixlen, "protocol": protocol, "vrfId": 0,
            "vrfName": "default", **selection, "distance": _DISTANCES.get(protocol, 0), "metric": 0, "installed": True,
            "uptime": uptime, "nexthops": nexthops}  # fmt: skip


def _shows_kernel_route(device: Device, address: Address) -> bool:
    """Tell whether zebra shows the kernel's own route of an address beside the connected one."""
    # It does from 10.2 on where the address came while it ran: the route is read before the address (10.3, measured).
    link = device.links.get(address.interface)
    if link is None or not device.frr.build.since(10, 2):
        return False
    came_while_running = link.addresses.get(f"{address.address}/{address.length}", False)
    return came_while_running and network(_prefix(address)).num_addresses > 1


def _prefix(address: Address) -> str:
    """Return the prefix of an address's network."""
    return str(network(f"{address.address}/{address.length}"))


def _local_hops(device: Device, prefix: str, protocol: str) -> list[dict[str, Any]]:
    """Return the next hops of a route whose ``protocol`` is ``connected`` or ``static``."""
    if protocol == "connected":
        for address in device.addresses():
            if _prefix(address) == prefix and device.link_up(address.interface):
                return [{"directlyConnected": True, "interfaceName": address.interface}]
        return []
    hops: list[dict[str, Any]] = []
    for line in device.frr.root.lines.values():
        words = line.split()
        if not line.startswith(("ip route ", "ipv6 route ")) or words[2] != prefix:
            continue
        if static_is_active(device, words):
            hops.append(_static_hop(device, words))
    return hops


def _static_hop(device: Device, words: list[str]) -> dict[str, Any]:
    """Return the next hop of a static route by the words of its line: ``ip route PREFIX GATEWAY [INTERFACE]``."""
    _, _, _, gateway, *options = words
    if gateway.lower() in ("null0", "blackhole", "reject"):
        # ``reject`` answers with an ICMP error, the others drop in silence.
        return {"unreachable": True, "reject" if gateway == "reject" else "blackhole": True}
    if gateway[0].isalpha():
        return {"directlyConnected": True, "interfaceName": gateway}
    hop = {"ip": gateway, "afi": "ipv6" if ":" in gateway else "ipv4"}
    # Without an interface the first option is a distance or a tag.
    if options and options[0] in device.network.ports(device):
        hop["interfaceName"] = options[0]
    return hop


_SOURCES = {
    4: """R - RIP, O - OSPF, I - IS-IS, B - BGP, E - EIGRP, N - NHRP,
       T - Table, v - VNC, V - VNC-Direct, A - Babel, F - PBR,
       f - OpenFabric, t - Table-Direct,""",
    6: """R - RIPng, O - OSPFv3, I - IS-IS, B - BGP, N - NHRP,
       T - Table, v - VNC, V - VNC-Direct, A - Babel, F - PBR,
       f - OpenFabric, t - Table-Direct,""",
}
_CODES = """Codes: K - kernel route, C - connected, L - local, S - static,
       {sources}
       > - selected route, * - FIB route, q - queued, r - rejected, b - backup
       t - trapped, o - offload failure

IPv{version} unicast VRF default:
"""


def route_text(device: Device, version: int) -> str:
    """Return ``show ip route`` for an IP version as zebra prints it."""
    lines = []
    for routes in routes_shown(device, version).values():
        for route in routes:
            lines += _lines_of(route)
    return _CODES.format(sources=_SOURCES[version], version=version) + "".join(lines)


def _lines_of(route: dict[str, Any]) -> list[str]:
    """Return the lines of a route, one for each next hop."""
    distance = f" [{route['distance']}/{route['metric']}]"
    if route["protocol"] in ("connected", "local"):
        distance = ""
    mark = ">" if "selected" in route else " "
    start = f"{route['protocol'][0].upper()}{mark}* {route['prefix']}{distance}"
    # Further next hops are indented as far as the first one.
    indent = "  *" + " " * (len(start) - 3)
    lines = []
    for hop in route["nexthops"]:
        lines.append(f"{start} {_hop_text(hop)}, weight {hop['weight']}, {route['uptime']}\n")
        start = indent
    return lines


# Sources of routes in zebra's order (lib/route_types.txt).
_BY_TYPE = ("kernel", "connected", "local", "static", "bgp")


def summary_of_routes(device: Device, version: int) -> str:
    """Return ``show ip route summary`` for an IP version."""
    counts: Counter[str] = Counter()
    for routes in routes_shown(device, version).values():
        counts.update(route["protocol"] for route in routes)
    text = f"{'Route Source':<20} {'Routes':<20} FIB  (vrf default)\n"
    for protocol in _BY_TYPE:
        if not counts[protocol]:
            continue
        sources = {protocol: counts[protocol]}
        if protocol == "bgp":
            # zebra counts eBGP and iBGP apart, and there is no iBGP in a rail fabric.
            sources = {"ebgp": counts[protocol], "ibgp": 0}
        for name, count in sources.items():
            text += f"{name:<20} {count:<20} {count:<20} \n"
    total = counts.total()
    return f"{text}------\n{'Totals':<20} {total:<20} {total:<20} \n\n"


def _hop_text(hop: dict[str, Any]) -> str:
    """Return a next hop as zebra prints it."""
    if "unreachable" in hop:
        return "unreachable (ICMP unreachable)" if "reject" in hop else "unreachable (blackhole)"
    if "directlyConnected" in hop:
        return f"is directly connected, {hop['interfaceName']}"
    over = f", {hop['interfaceName']}" if "interfaceName" in hop else ""
    return f"via {hop['ip']}{over}"
