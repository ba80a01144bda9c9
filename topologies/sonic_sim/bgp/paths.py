"""The paths that bgpd knows, as ``show ip bgp`` shows them."""

from collections.abc import Container
from ipaddress import IPv6Address
from typing import Any

from sonic_sim.bgp.policy import GRACEFUL_SHUTDOWN, PREFERENCE, Route, network
from sonic_sim.bgp.rib import Rib, equal_paths, version_of
from sonic_sim.bgp.routes import ribs_of
from sonic_sim.bgp.sessions import bgp_of
from sonic_sim.device import Device


def rib_of(device: Device) -> Rib | None:
    """Return the routes of a switch, None where BGP does not run."""
    return ribs_of(device.network).get(device.name)


def next_hop(device: Device, prefix: str, peer: str, port: str) -> dict[str, Any]:
    """Return a next hop: the neighbor's link-local address for IPv6 and for a session over an interface (RFC 8950)."""
    over_ipv4 = peer != port and version_of(prefix) == 4
    address = peer if over_ipv4 else link_local(device, port)
    return {"ip": address, "afi": "ipv4" if over_ipv4 else "ipv6", "interfaceName": port}


def link_local(device: Device, port: str) -> str:
    """Return the address that the far end of a cable makes of its switch's MAC address."""
    far = device.network.far_end(device, port)
    remote = device.network.devices.get(far.node) if far is not None else None
    if remote is None:
        return "fe80::"
    mac = bytes.fromhex(remote.db.get("DEVICE_METADATA|localhost").get("mac", remote.spec.mac).replace(":", ""))
    # Modified EUI-64: the local bit is turned, ff:fe comes between the halves (RFC 4291 appendix A).
    interface = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + interface))


def bgp_table(device: Device, version: int) -> dict[str, Any]:
    """Return ``show bgp ipv4 unicast json``, or that of IPv6."""
    instance = bgp_of(device)
    rib = rib_of(device)
    if instance is None or rib is None:
        return {}
    routes = {}
    for prefix in rib.best:
        if version_of(prefix) == version:
            routes[prefix] = [path for path, _ in _paths(device, rib, prefix)]
    return {"vrfId": 0, "vrfName": "default", "routerId": instance.router_id, "defaultLocPrf": PREFERENCE,
            "localAS": instance.asn, "routes": routes}  # fmt: skip


def _paths(device: Device, rib: Rib, prefix: str) -> list[tuple[dict[str, Any], Route]]:
    """Return the paths to a prefix as FRR lists them."""
    best, source = rib.best[prefix]
    is_ipv4 = version_of(prefix) == 4
    paths: list[tuple[dict[str, Any], Route]] = []
    if not source:
        nexthops = [{"ip": "0.0.0.0" if is_ipv4 else "::", "used": True}]
        paths.append(({"valid": True, "bestpath": True, "path": "", "nexthops": nexthops}, best))
    for peer, session in rib.sessions.items():
        route = rib.received.get(peer, {}).get(prefix)
        if route is None:
            continue
        path: dict[str, Any] = {"valid": True}
        if peer == source:
            path["bestpath"] = True
        # FRR shows a preference only where it is not the usual one (8.4).
        if route.local_preference != PREFERENCE:
            path["locPrf"] = route.local_preference
        text = " ".join(str(number) for number in route.path)
        hop = peer if is_ipv4 else link_local(device, session.port)
        paths.append((path | {"peerId": peer, "path": text, "nexthops": [{"ip": hop, "used": True}]}, route))
    return paths


def bgp_prefix(device: Device, prefix: str) -> dict[str, Any]:
    """Return ``show bgp PREFIX json``: the paths with their communities."""
    rib = rib_of(device)
    if rib is None or prefix not in rib.best:
        return {}
    paths = []
    for path, route in _paths(device, rib, prefix):
        communities = sorted(route.communities)
        if communities:
            # FRR spells the community as a word of its own in JSON.
            names = [_JSON_NAMES.get(community, community) for community in communities]
            path["community"] = {"string": " ".join(communities), "list": names}
        paths.append(path)
    return {"prefix": prefix, "paths": paths}


_JSON_NAMES = {GRACEFUL_SHUTDOWN: "gracefulShutdown"}


def _mark(path: dict[str, Any], used_peers: Container[str]) -> str:
    """Return the signs before a path: best, equally good and used, or neither."""
    if path.get("bestpath"):
        return "*>"
    if path.get("peerId") in used_peers:
        return "*="
    return "* "


def table_text(device: Device, version: int) -> str:
    """Return ``show bgp ipv4 unicast`` for a person, or that of IPv6."""
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
    equal = equal_paths(rib)
    for prefix in prefixes:
        name = prefix
        used_peers = {peer for peer, _ in equal.get(prefix, ())}
        for path, _ in _paths(device, rib, prefix):
            mark = _mark(path, used_peers)
            # A route of the switch's own has FRR's weight of 32768.
            weight = "0 " if path["path"] else "32768 "
            preference = path.get("locPrf", "")
            hop = path["nexthops"][0]["ip"]
            lines.append(f"{mark:<3}{name:<17}{hop:<16}{'':>10}{preference:>7}{weight:>8}{path['path']} i")
            name = ""
    return "\n".join([*lines, "", f"Displayed  {len(prefixes)} routes"]) + "\n"
