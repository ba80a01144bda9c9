"""The paths that bgpd knows, as ``show ip bgp`` shows them."""

from collections.abc import Container
from ipaddress import IPv6Address
from typing import Any, NamedTuple

from sonic_sim.bgp.policy import GRACEFUL_SHUTDOWN, PREFERENCE, Route, network
from sonic_sim.bgp.rib import EqualPath, Rib, equal_paths, version_of
from sonic_sim.bgp.routes import ribs_of
from sonic_sim.bgp.sessions import Session, bgp_of
from sonic_sim.device import Device


def rib_of(device: Device) -> Rib | None:
    """Return the routes of a switch; None if BGP does not run."""
    return ribs_of(device.network).get(device.name)


def next_hop(device: Device, prefix: str, path: EqualPath) -> dict[str, Any]:
    """Return the next hop of a path as in FRR's JSON.

    It is the neighbor's link-local address for IPv6, and for a session over an interface (RFC 8950).
    """
    # Such a session has the name of the interface.
    is_over_interface = path.peer == path.port
    if version_of(prefix) == 6 or is_over_interface:
        return {"ip": link_local(device, path.port), "afi": "ipv6", "interfaceName": path.port}
    return {"ip": path.peer, "afi": "ipv4", "interfaceName": path.port}


def link_local(device: Device, port: str) -> str:
    """Return the link-local address of the switch at the far end of a cable, which follows from its MAC address.

    ``fe80::`` if the far end is not a switch.
    """
    far = device.network.far_end(device, port)
    remote = device.network.devices.get(far.node) if far is not None else None
    if remote is None:
        return "fe80::"
    mac = bytes.fromhex(remote.db.get("DEVICE_METADATA|localhost").get("mac", remote.spec.mac).replace(":", ""))
    # Modified EUI-64: the local bit is turned, ff:fe comes between the halves (RFC 4291 appendix A).
    interface = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + interface))


def bgp_table(device: Device, version: int) -> dict[str, Any]:
    """Return ``show bgp ipv4 unicast json``, or that of IPv6; ``{}`` if BGP does not run."""
    instance = bgp_of(device)
    rib = rib_of(device)
    if instance is None or rib is None:
        return {}
    routes = {}
    for prefix in rib.best:
        if version_of(prefix) == version:
            routes[prefix] = [path.document for path in _paths(device, rib, prefix)]
    return {"vrfId": 0, "vrfName": "default", "routerId": instance.router_id, "defaultLocPrf": PREFERENCE,
            "localAS": instance.asn, "routes": routes}  # fmt: skip


class _ShownPath(NamedTuple):
    """A path as ``show bgp json`` has it, and the route that it shows."""

    document: dict[str, Any]
    route: Route


def _paths(device: Device, rib: Rib, prefix: str) -> list[_ShownPath]:
    """Return the paths to a prefix in FRR's order: the switch's own, then those of peers as they are configured."""
    best = rib.best[prefix]
    paths: list[_ShownPath] = []
    if best.is_own:
        nexthops = [{"ip": "0.0.0.0" if version_of(prefix) == 4 else "::", "used": True}]
        document = {"valid": True, "bestpath": True, "path": "", "nexthops": nexthops}
        paths.append(_ShownPath(document, best.route))
    for peer, session in rib.sessions.items():
        route = rib.received.get(peer, {}).get(prefix)
        if route is not None:
            document = _path_of_peer(device, session, route, is_best=peer == best.peer)
            paths.append(_ShownPath(document, route))
    return paths


def _path_of_peer(device: Device, session: Session, route: Route, *, is_best: bool) -> dict[str, Any]:
    """Return the path that a peer sent as ``show bgp json`` has it."""
    path: dict[str, Any] = {"valid": True}
    if is_best:
        path["bestpath"] = True
    # FRR shows a preference only where it is not the usual one (8.4).
    if route.local_preference != PREFERENCE:
        path["locPrf"] = route.local_preference
    peer = session.neighbor.peer
    path["peerId"] = peer
    path["path"] = " ".join(str(number) for number in route.path)
    next_hop_address = peer if version_of(route.prefix) == 4 else link_local(device, session.port)
    path["nexthops"] = [{"ip": next_hop_address, "used": True}]
    return path


def bgp_prefix(device: Device, prefix: str) -> dict[str, Any]:
    """Return ``show bgp PREFIX json``, the paths with their communities; ``{}`` if there is no path."""
    rib = rib_of(device)
    if rib is None or prefix not in rib.best:
        return {}
    paths = []
    for path in _paths(device, rib, prefix):
        communities = sorted(path.route.communities)
        if communities:
            names = [_JSON_NAMES.get(community, community) for community in communities]
            path.document["community"] = {"string": " ".join(communities), "list": names}
        paths.append(path.document)
    return {"prefix": prefix, "paths": paths}


# FRR spells the community in another way in JSON.
_JSON_NAMES = {GRACEFUL_SHUTDOWN: "gracefulShutdown"}


def _mark(path: dict[str, Any], used_peers: Container[str]) -> str:
    """Return the signs before a path: for the best one, for one that is used beside it, or for another."""
    if path.get("bestpath"):
        return "*>"
    if path.get("peerId") in used_peers:
        return "*="
    return "* "


def table_text(device: Device, version: int) -> str:
    """Return ``show bgp ipv4 unicast``, or that of IPv6, for a person."""
    instance = bgp_of(device)
    rib = rib_of(device)
    if instance is None or rib is None:
        return "% BGP instance not found\n"
    prefixes = [prefix for prefix in rib.best if version_of(prefix) == version]
    prefixes.sort(key=lambda prefix: network(prefix).network_address)
    lines = [
        f"BGP table version is {len(prefixes)}, local router ID is {instance.router_id}, vrf id 0",
        f"Default local pref {PREFERENCE}, local AS {instance.asn}",
        "Status codes:  * valid, > best, = multipath",
        "",
        "   Network          Next Hop            Metric LocPrf Weight Path",
    ]
    used_paths = equal_paths(rib)
    for prefix in prefixes:
        used_peers = {path.peer for path in used_paths.get(prefix, ())}
        # FRR prints the prefix before the first of its paths only.
        name = prefix
        for path in _paths(device, rib, prefix):
            lines.append(_line_of_path(name, path.document, used_peers))
            name = ""
    return "\n".join([*lines, "", f"Displayed  {len(prefixes)} routes"]) + "\n"


def _line_of_path(name: str, path: dict[str, Any], used_peers: Container[str]) -> str:
    """Return the line of a path in FRR's table, with ``name`` in the column of the prefix."""
    mark = _mark(path, used_peers)
    # A route of the switch's own has FRR's weight of 32768.
    weight = "0 " if path["path"] else "32768 "
    preference = path.get("locPrf", "")
    hop = path["nexthops"][0]["ip"]
    return f"{mark:<3}{name:<17}{hop:<16}{'':>10}{preference:>7}{weight:>8}{path['path']} i"
