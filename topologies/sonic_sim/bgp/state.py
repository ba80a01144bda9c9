"""The state that bgpd and zebra show, as JSON and as text."""

from collections import Counter
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any
from weakref import WeakKeyDictionary

from sonic_sim.bgp.paths import bgp_table, rib_of, table_text
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.routes import Rib, equal_paths, local_routes
from sonic_sim.bgp.sessions import Session, bgp_of, sessions_of
from sonic_sim.configdb import to_json
from sonic_sim.device import Device
from sonic_sim.network import Address

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
    remote = device.network.devices.get(one.remote)
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
    """Return a time as FRR prints it: hours, then days, then weeks."""
    seconds = milliseconds // 1000
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    if days >= 7:
        return f"{days // 7:02d}w{days % 7}d{hours:02d}h"
    if days:
        return f"{days}d{hours:02d}h{minutes:02d}m"
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
        remote = device.network.devices.get(one.remote)
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
        if one.neighbor.bfd:
            status = "Up" if one.bfd_up else "Down" if device.bfdd else "Unknown"
            times = {"detectMultiplier": 3, "rxMinInterval": 300, "txMinInterval": 300}
            entry["peerBfdInfo"] = {"type": "single hop", **times, "status": status}
        if one.neighbor.active:
            family = {"sentPrefixCounter": sent if one.established else 0, "acceptedPrefixCounter": received}
            entry["addressFamilyInfo"] = {"ipv4Unicast": family}
        peers[peer] = entry
    return {"default": {"vrfId": 0, "vrfName": "default", **peers}} if every_vrf else peers


def bfd_peers(device: Device) -> str:
    """Return ``show bfd peers json``."""
    if not device.bfdd:
        return "bfdd is not running\n"
    found = []
    for peer, one in sessions_of(device).items():
        if one.neighbor.bfd:
            address = _link_local(device, one.port) if one.neighbor.interface else peer
            times = {"receive-interval": 300, "transmit-interval": 300, "detect-multiplier": 3}
            state = {"multihop": False, "vrf": "default", "interface": one.port, "passive-mode": False}
            found.append({"peer": address, **state, "status": "up" if one.bfd_up else "down", **times})
    return to_json(found, step="  ") + "\n"


_DISTANCES = {"connected": 0, "static": 1, "bgp": 20}


def ip_routes(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show ip route json``: connected, static and BGP routes with all equal next hops, and the kernel's."""
    hops: dict[str, tuple[str, list[dict[str, Any]]]] = {}
    for prefix, kind in local_routes(device).items():
        hops[prefix] = (kind, _local_hops(device, prefix, kind))
    rib = rib_of(device)
    for prefix, paths in (equal_paths(rib) if rib is not None else {}).items():
        hops.setdefault(prefix, ("bgp", [_next_hop(device, peer, port) for peer, port in paths]))
    uptime = _clock(int((device.clock.now() - device.times.frr_up) * 1000))
    routes = {prefix: [_route(prefix, kind, found, uptime)] for prefix, (kind, found) in hops.items()}
    for one in device.addresses():
        up = device.link_up(one.interface)
        hop: list[dict[str, Any]] = [{"directlyConnected": True, "interfaceName": one.interface}]
        own = str(network(one.address))
        if up and _kept_of_kernel(device, one):
            routes[_prefix(one)].append(_route(_prefix(one), "kernel", hop, uptime, selected=False))
        if up and device.frr.build.since(10, 0) and not device.frr.build.patched:
            for same in routes.get(own, ()):
                del same["selected"], same["destSelected"]
            routes[own] = [_route(own, "local", hop, uptime), *routes.get(own, ())]
    return dict(sorted(routes.items(), key=lambda one: (network(one[0]).version, network(one[0]).network_address)))


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
        if words[2] != prefix:
            continue
        if words[3].lower() in ("null0", "blackhole", "reject"):
            found.append({"unreachable": True, "reject" if words[3] == "reject" else "blackhole": True})
        elif words[3][0].isalpha():
            found.append({"directlyConnected": True, "interfaceName": words[3]})
        else:
            found.append({"ip": words[3], "afi": "ipv6" if ":" in words[3] else "ipv4"})
    return found


def _next_hop(device: Device, peer: str, port: str) -> dict[str, Any]:
    """Return a next hop; a session over an interface gives the neighbor's link-local address (RFC 8950)."""
    unnumbered = peer == port
    address = _link_local(device, port) if unnumbered else peer
    family = "ipv6" if unnumbered else "ipv4"
    return {"ip": address, "afi": family, "interfaceName": port}


def _link_local(device: Device, port: str) -> str:
    """Return the address that the far end of a cable makes of its switch's MAC address (RFC 4291, EUI-64)."""
    far = device.network.far_end(device, port)
    other = device.network.devices.get(far.node) if far is not None else None
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
    head = f"\nIPv4 Unicast Summary:\n{identity}\n"
    lines = [f"{'Neighbor':<16}V{'AS':>11}{'Up/Down':>10}{'State/PfxRcd':>15}{'PfxSnt':>9} Desc"]
    for peer, one in document["peers"].items():
        state = str(one["pfxRcd"]) if one["state"] == "Established" else one["state"]
        counts = f"{one['peerUptime']:>10}{state:>15}{one['pfxSnt']:>9}"
        lines.append(f"{peer:<16}4{one['remoteAs']:>11}{counts} {one['desc'] or 'N/A'}")
    return f"{head}\n" + "\n".join(lines) + f"\n\nTotal number of neighbors {len(document['peers'])}\n"


_CODES = """Codes: K - kernel route, C - connected, L - local, S - static,
       R - RIP, O - OSPF, I - IS-IS, B - BGP, E - EIGRP, N - NHRP,
       T - Table, v - VNC, V - VNC-Direct, A - Babel, F - PBR,
       f - OpenFabric, t - Table-Direct,
       > - selected route, * - FIB route, q - queued, r - rejected, b - backup
       t - trapped, o - offload failure

IPv4 unicast VRF default:
"""


def route_text(device: Device) -> str:
    """Return ``show ip route`` as zebra prints it."""
    lines = []
    for route in (route for same in ip_routes(device, False).values() for route in same):
        direct = route["protocol"] in ("connected", "local")
        place = "" if direct else f" [{route['distance']}/{route['metric']}]"
        mark = ">" if "selected" in route else " "
        head = f"{route['protocol'][0].upper()}{mark}* {route['prefix']}{place}"
        for number, hop in enumerate(route["nexthops"]):
            start = head if number == 0 else "  *" + " " * (len(head) - 3)
            lines.append(f"{start} {_hop_text(hop)}, weight {hop['weight']}, {route['uptime']}\n")
    return _CODES + "".join(lines)


_BY_TYPE = ("kernel", "connected", "local", "static", "bgp")
"""Sources of routes in zebra's order (lib/route_types.txt)."""


def summary_of_routes(device: Device) -> str:
    """Return ``show ip route summary``."""
    found = Counter(route["protocol"] for same in ip_routes(device, False).values() for route in same)
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


JSON_VIEWS: dict[str, Callable[[Device, bool], dict[str, Any]]] = {
    "show bgp summary": bgp_summary,
    "show bgp neighbors": bgp_neighbors,
    "show ip route": ip_routes,
    "show bgp": bgp_table,
    "show version": lambda device, every_vrf: {"version": device.frr.build.version},
}
TEXT_VIEWS: dict[str, Callable[[Device], str]] = {
    "show bfd peers json": bfd_peers,
    "show bgp": table_text,
    "show bgp summary": summary_text,
    "show ip route": route_text,
    "show ip route summary": summary_of_routes,
}
