"""The state that bgpd and zebra show, as JSON and as text."""

from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any
from weakref import WeakKeyDictionary

from sonic_sim.bgp.paths import bgp_table, rib_of, table_text
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.routes import Rib, equal_paths, local_routes
from sonic_sim.bgp.sessions import Session, bgp_of, sessions_of
from sonic_sim.device import Device
from sonic_sim.frr.show import FRR_VERSION

_established_since: WeakKeyDictionary[Device, dict[str, float]] = WeakKeyDictionary()


def _since(device: Device, one: Session) -> float:
    """Return since when a session is up, remembered from the first time it was seen up."""
    since = _established_since.setdefault(device, {})
    if not one.established:
        since.pop(one.neighbor.peer, None)
        return 0.0
    return since.setdefault(one.neighbor.peer, device.clock.now())


def _remote_as(device: Device, one: Session) -> int:
    text = one.neighbor.remote_as
    if text.isdigit():
        return int(text)
    remote = device.network.devices.get(one.remote) if device.network is not None else None
    instance = bgp_of(remote) if remote is not None else None
    return instance.asn if instance is not None else 0


def _counts(rib: Rib | None, peer: str) -> tuple[int, int]:
    if rib is None:
        return 0, 0
    return len(rib.received.get(peer, {})), rib.sent.get(peer, 0)


def bgp_summary(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show bgp summary json``: ``{}`` without an instance."""
    instance = bgp_of(device)
    if instance is None:
        return {}
    rib, peers, failed = rib_of(device), {}, 0
    for peer, one in sessions_of(device).items():
        received, sent = _counts(rib, peer)
        state = "Idle (Admin)" if one.neighbor.shutdown else one.state
        failed += 0 if one.established else 1
        up_ms = int((device.clock.now() - _since(device, one)) * 1000) if one.established else 0
        peers[peer] = {
            "hostname": one.remote, "remoteAs": _remote_as(device, one), "localAs": instance.asn, "version": 4,
            "msgRcvd": up_ms // 3000 + 2 if one.established else 0, "msgSent": up_ms // 3000 + 2, "tableVersion": 0,
            "outq": 0, "inq": 0, "peerUptime": _clock(up_ms) if up_ms else "never", "peerUptimeMsec": up_ms,
            "pfxRcd": received, "pfxSnt": sent if one.established else 0, "state": state,
            "peerState": "Admin" if one.neighbor.shutdown else "OK", "connectionsEstablished": int(one.established),
            "connectionsDropped": 0, "desc": one.neighbor.description,
            "idType": "interface" if one.neighbor.interface else "ipv4",
        }  # fmt: skip
    routes = len(rib.best) if rib is not None else 0
    family = {
        "routerId": instance.router_id, "as": instance.asn, "vrfId": 0, "vrfName": "default", "tableVersion": routes,
        "ribCount": routes, "ribMemory": routes * 184, "peerCount": len(peers), "peerMemory": len(peers) * 24680,
        "peers": peers, "failedPeers": failed, "displayedPeers": len(peers), "totalPeers": len(peers),
        "dynamicPeers": 0, "bestPath": {"multiPathRelax": "true"},
    }  # fmt: skip
    return {"default": {"ipv4Unicast": family}} if every_vrf else {"ipv4Unicast": family}


def _clock(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def bgp_neighbors(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show bgp neighbors json``, all VRFs under their names."""
    instance = bgp_of(device)
    if instance is None:
        return {}
    rib = rib_of(device)
    peers: dict[str, Any] = {}
    for peer, one in sessions_of(device).items():
        received, sent = _counts(rib, peer)
        remote = device.network.devices.get(one.remote) if device.network is not None else None
        remote_instance = bgp_of(remote) if remote is not None and one.established else None
        entry: dict[str, Any] = {"remoteAs": _remote_as(device, one), "localAs": one.neighbor.local_as or instance.asn,
                                 "nbrExternalLink": True}  # fmt: skip
        if one.neighbor.description:
            entry["nbrDesc"] = one.neighbor.description
        if one.established and remote is not None:
            entry["hostname"] = remote.hostname
        if one.neighbor.shutdown:
            entry["adminShutDown"] = True
        entry |= {
            "bgpVersion": 4, "remoteRouterId": remote_instance.router_id if remote_instance else "0.0.0.0",
            "localRouterId": instance.router_id, "bgpState": one.state,
            "bgpTimerHoldTimeMsecs": one.neighbor.hold_s * 1000,
            "bgpTimerKeepAliveIntervalMsecs": one.neighbor.keepalive_s * 1000,
        }  # fmt: skip
        if one.established:
            entry["bgpTimerUpMsec"] = int((device.clock.now() - _since(device, one)) * 1000)
            entry["bgpTimerUpEstablishedEpoch"] = int(_since(device, one))
        if one.neighbor.active:
            family = {"sentPrefixCounter": sent if one.established else 0, "acceptedPrefixCounter": received}
            entry["addressFamilyInfo"] = {"ipv4Unicast": family}
        peers[peer] = entry
    return {"default": {"vrfId": 0, "vrfName": "default", **peers}} if every_vrf else peers


def ip_routes(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show ip route json``: connected, static and BGP routes with all equal next hops."""
    routes: dict[str, Any] = {}
    for prefix, kind in local_routes(device).items():
        routes[prefix] = [{"prefix": prefix, "prefixLen": network(prefix).prefixlen, "protocol": kind, "selected": True,
                           "installed": True, "nexthops": [{"fib": True, "active": True}]}]  # fmt: skip
    rib = rib_of(device)
    for prefix, hops in (equal_paths(rib) if rib is not None else {}).items():
        if prefix not in routes:
            hop = [_next_hop(device, peer, port) for peer, port in hops]
            routes[prefix] = [{"prefix": prefix, "prefixLen": network(prefix).prefixlen, "protocol": "bgp",
                               "selected": True, "installed": True, "distance": 20, "nexthops": hop}]  # fmt: skip
    return dict(sorted(routes.items(), key=lambda one: (network(one[0]).version, network(one[0]).network_address)))


def _next_hop(device: Device, peer: str, port: str) -> dict[str, Any]:
    """Return a next hop; a session over an interface gives the neighbor's link-local address (RFC 8950)."""
    unnumbered = peer == port
    address = _link_local(device, port) if unnumbered else peer
    family = "ipv6" if unnumbered else "ipv4"
    return {"fib": True, "ip": address, "afi": family, "interfaceName": port, "active": True}


def _link_local(device: Device, port: str) -> str:
    """Return the address that the far end of a cable makes of its switch's MAC address (RFC 4291, EUI-64)."""
    far = device.network.far_end(device, port) if device.network is not None else None
    other = device.network.devices.get(far.node) if far is not None and device.network is not None else None
    if other is None:
        return "fe80::"
    mac = bytes.fromhex(other.db.get("DEVICE_METADATA|localhost").get("mac", other.spec.mac).replace(":", ""))
    interface = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + interface))


def summary_text(device: Device) -> str:
    """Return ``show bgp summary`` for a person."""
    document = bgp_summary(device, False).get("ipv4Unicast")
    if document is None:
        return "% BGP instance not found\n"
    identity = f"BGP router identifier {document['routerId']}, local AS number {document['as']} VRF default vrf-id 0"
    head = f"IPv4 Unicast Summary:\n{identity}\n"
    lines = [f"{'Neighbor':<16}V{'AS':>11}{'Up/Down':>10}{'State/PfxRcd':>15}{'PfxSnt':>9} Desc"]
    for peer, one in document["peers"].items():
        state = str(one["pfxRcd"]) if one["state"] == "Established" else one["state"]
        counts = f"{one['peerUptime']:>10}{state:>15}{one['pfxSnt']:>9}"
        lines.append(f"{peer:<16}4{one['remoteAs']:>11}{counts} {one['desc'] or 'N/A'}")
    return f"{head}\n" + "\n".join(lines) + f"\n\nTotal number of neighbors {len(document['peers'])}\n"


def route_text(device: Device) -> str:
    """Return ``show ip route`` for a person."""
    letters = {"connected": "C", "static": "S", "bgp": "B"}
    lines = [
        "Codes: K - kernel route, C - connected, S - static, B - BGP,",
        "       > - selected route, * - FIB route",
        "",
    ]
    for prefix, (route,) in ip_routes(device, False).items():
        hops = [f"via {hop['ip']}, {hop['interfaceName']}" for hop in route["nexthops"] if "ip" in hop] or [
            "directly connected"
        ]
        lines += [
            f"{letters[route['protocol']]}>* {prefix} {hop}" if place == 0 else f"  *   {hop}"
            for place, hop in enumerate(hops)
        ]
    return "\n".join(lines) + "\n"


JSON_VIEWS: dict[str, Callable[[Device, bool], dict[str, Any]]] = {
    "show bgp summary": bgp_summary,
    "show bgp neighbors": bgp_neighbors,
    "show ip route": ip_routes,
    "show bgp": bgp_table,
    "show version": lambda device, every_vrf: {"version": FRR_VERSION},
}
TEXT_VIEWS: dict[str, Callable[[Device], str]] = {
    "show bgp": table_text,
    "show bgp summary": summary_text,
    "show ip route": route_text,
}
