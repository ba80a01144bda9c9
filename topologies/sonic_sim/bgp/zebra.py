"""The routes that zebra shows, as JSON and as text."""

from collections import Counter
from typing import Any

from sonic_sim.bgp.paths import next_hop, rib_of
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.routes import equal_paths, local_routes, static_is_active, version_of
from sonic_sim.bgp.state import uptime_text
from sonic_sim.device import Device
from sonic_sim.network import Address

_DISTANCES = {"connected": 0, "static": 1, "bgp": 20}


def routes_shown(device: Device, version: int) -> dict[str, Any]:
    """Return ``show ip route json``, or that of IPv6: connected, static and BGP routes with all equal next hops, and
    the kernel's."""
    hops: dict[str, tuple[str, list[dict[str, Any]]]] = {}
    for prefix, kind in local_routes(device).items():
        hops[prefix] = (kind, _local_hops(device, prefix, kind))
    rib = rib_of(device)
    for prefix, paths in (equal_paths(rib) if rib is not None else {}).items():
        hops.setdefault(prefix, ("bgp", [next_hop(device, prefix, peer, port) for peer, port in paths]))
    uptime = uptime_text(int((device.clock.now() - device.times.frr_up) * 1000))
    routes = {
        prefix: [_route(prefix, kind, found, uptime)]
        for prefix, (kind, found) in hops.items()
        if version_of(prefix) == version
    }
    for one in (one for one in device.addresses() if version_of(one.address) == version):
        up = device.link_up(one.interface)
        hop: list[dict[str, Any]] = [{"directlyConnected": True, "interfaceName": one.interface}]
        own = str(network(one.address))
        if up and _kept_of_kernel(device, one):
            routes[_prefix(one)].append(_route(_prefix(one), "kernel", hop, uptime, selected=False))
        if up and device.frr.build.since(10, 0) and not device.frr.build.patched:
            for same in routes.get(own, ()):
                del same["selected"], same["destSelected"]
            routes[own] = [_route(own, "local", hop, uptime), *routes.get(own, ())]
    return dict(sorted(routes.items(), key=lambda one: network(one[0]).network_address))


def _route(prefix: str, kind: str, hops: list[dict[str, Any]], uptime: str, *, selected: bool = True) -> dict[str, Any]:
    chosen = {"selected": True, "destSelected": True} if selected else {}
    return {"prefix": prefix, "prefixLen": network(prefix).prefixlen, "protocol": kind, "vrfId": 0,
            "vrfName": "default", **chosen, "distance": _DISTANCES.get(kind, 0), "metric": 0, "installed": True,
            "uptime": uptime, "nexthops": [
                {"flags": 3, "fib": True, **hop, "active": True, "weight": 1} for hop in hops]}  # fmt: skip


def _kept_of_kernel(device: Device, one: Address) -> bool:
    """Tell whether zebra shows the kernel's own route of an address beside the connected one.

    It does from 10.2 on where the address came while it ran: the route is read before the address (10.3, measured).
    """
    link = device.links.get(one.interface)
    given = link is not None and link.addresses.get(f"{one.address}/{one.length}", False)
    return given and device.frr.build.since(10, 2) and network(_prefix(one)).num_addresses > 1


def _prefix(one: Address) -> str:
    return str(network(f"{one.address}/{one.length}"))


def _local_hops(device: Device, prefix: str, kind: str) -> list[dict[str, Any]]:
    """Return the next hops of a connected or static route: an interface, a gateway, or none at all."""
    if kind == "connected":
        same = (one for one in device.addresses() if _prefix(one) == prefix)
        names = [one.interface for one in same if device.link_up(one.interface)]
        return [{"directlyConnected": True, "interfaceName": name} for name in names[:1]]
    lines = [line.split() for line in device.frr.root.lines.values() if line.startswith(("ip route ", "ipv6 route "))]
    found: list[dict[str, Any]] = []
    for words in lines:
        if words[2] != prefix or not static_is_active(device, words):
            continue
        if words[3].lower() in ("null0", "blackhole", "reject"):
            found.append({"unreachable": True, "reject" if words[3] == "reject" else "blackhole": True})
        elif words[3][0].isalpha():
            found.append({"directlyConnected": True, "interfaceName": words[3]})
        else:
            over = {"interfaceName": words[4]} if len(words) > 4 and words[4] in device.network.ports(device) else {}
            found.append({"ip": words[3], "afi": "ipv6" if ":" in words[3] else "ipv4", **over})
    return found


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
    """Return ``show ip route``, or that of IPv6, as zebra prints it."""
    lines = []
    for route in (route for same in routes_shown(device, version).values() for route in same):
        direct = route["protocol"] in ("connected", "local")
        place = "" if direct else f" [{route['distance']}/{route['metric']}]"
        mark = ">" if "selected" in route else " "
        head = f"{route['protocol'][0].upper()}{mark}* {route['prefix']}{place}"
        for number, hop in enumerate(route["nexthops"]):
            start = head if number == 0 else "  *" + " " * (len(head) - 3)
            lines.append(f"{start} {_hop_text(hop)}, weight {hop['weight']}, {route['uptime']}\n")
    return _CODES.format(sources=_SOURCES[version], version=version) + "".join(lines)


_BY_TYPE = ("kernel", "connected", "local", "static", "bgp")
"""Sources of routes in zebra's order (lib/route_types.txt)."""


def summary_of_routes(device: Device, version: int) -> str:
    """Return ``show ip route summary``, or that of IPv6."""
    found = Counter(route["protocol"] for same in routes_shown(device, version).values() for route in same)
    rows = [("Route Source", "Routes", "FIB  (vrf default)")]
    for kind in (kind for kind in _BY_TYPE if found[kind]):
        sources = (("ebgp", found[kind]), ("ibgp", 0)) if kind == "bgp" else ((kind, found[kind]),)
        rows += [(name, f"{count}", f"{count:<20} ") for name, count in sources]
    total = found.total()
    lines = [f"{name:<20} {routes:<20} {fib}\n" for name, routes, fib in rows]
    return f"{''.join(lines)}------\n{'Totals':<20} {total:<20} {total:<20} \n\n"


def _hop_text(hop: dict[str, Any]) -> str:
    if "unreachable" in hop:
        return "unreachable (ICMP unreachable)" if "reject" in hop else "unreachable (blackhole)"
    if "directlyConnected" in hop:
        return f"is directly connected, {hop['interfaceName']}"
    return f"via {hop['ip']}" + (f", {hop['interfaceName']}" if "interfaceName" in hop else "")
