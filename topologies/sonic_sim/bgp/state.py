"""The state that bgpd shows of its sessions, as JSON and as text."""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sonic_sim.bgp.instance import Instance, Neighbor
from sonic_sim.bgp.opened import SessionEnd, Timers, times_opened
from sonic_sim.bgp.paths import link_local, rib_of
from sonic_sim.bgp.rib import Rib, version_of
from sonic_sim.bgp.sessions import Session, bgp_of, sessions_of
from sonic_sim.configdb import to_json
from sonic_sim.device import Device
from sonic_sim.faults import FaultKind


class _SeenUp(NamedTuple):
    """A session when it was first seen up (s since 1970), with the IP versions that are active at its ends."""

    at: float
    active: tuple[tuple[int, ...], ...]


_seen_up: WeakKeyDictionary[Device, dict[str, _SeenUp]] = WeakKeyDictionary()


def _up_since(device: Device, session: Session) -> float:
    """Return the time (s since 1970) at which a session was first seen up; 0 if it is not up."""
    sessions = _seen_up.setdefault(device, {})
    peer = session.neighbor.peer
    if not session.established:
        sessions.pop(peer, None)
        return 0.0
    seen_up = sessions.get(peer)
    # It starts again where either end activates another address family: ends agree on these as a session opens
    # (run on 8.4 and 10.3).
    if seen_up is None or seen_up.active != session.active:
        seen_up = _SeenUp(device.clock.now(), session.active)
        sessions[peer] = seen_up
    return seen_up.at


def _remote_as(device: Device, session: Session) -> int:
    """Return the AS number of a neighbor; 0 while it is not known."""
    number = session.neighbor.remote_as
    if number.isdigit():
        return int(number)
    # For ``external`` and ``internal`` the number is that of the far end, once it is known.
    remote = device.network.devices.get(session.remote)
    if remote is None:
        return 0
    instance = bgp_of(remote)
    return instance.asn if instance is not None else 0


class _RouteCounts(NamedTuple):
    """The numbers of routes of a family that the switch received from a neighbor and sent to it."""

    received: int
    sent: int


def _route_counts(rib: Rib | None, neighbor: Neighbor, version: int) -> _RouteCounts:
    """Return the numbers of routes of an IP version that were exchanged with a neighbor; 0 without BGP."""
    if rib is None:
        return _RouteCounts(0, 0)
    received = rib.received.get(neighbor.peer, {})
    if neighbor.active_versions == (version,):
        # All routes are of this version, so they are not read one by one.
        received_count = len(received)
    else:
        received_count = sum(1 for prefix in received if version_of(prefix) == version)
    return _RouteCounts(received_count, rib.sent.get((neighbor.peer, version), 0))


def family_name(version: int) -> str:
    """Return the name of an address family in FRR's JSON."""
    return f"ipv{version}Unicast"


def bgp_summary(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show bgp summary json``, with IPv6 only if a neighbor has it; ``{}`` without an instance.

    With ``every_vrf`` the families are below the name of their VRF.
    """
    instance = bgp_of(device)
    if instance is None:
        return {}
    families = {family_name(4): _summary(device, instance, 4)}
    if any(6 in neighbor.active_versions for neighbor in instance.neighbors.values()):
        families[family_name(6)] = _summary(device, instance, 6)
    return {"default": families} if every_vrf else families


def _summary(device: Device, instance: Instance, version: int) -> dict[str, Any]:
    """Return the summary of the address family of an IP version."""
    rib = rib_of(device)
    peers: dict[str, Any] = {}
    failed = 0
    for peer, session in sessions_of(device).items():
        if version == 6 and version not in session.neighbor.active_versions:
            continue
        if not session.established:
            failed += 1
        counts = _route_counts(rib, session.neighbor, version)
        peers[peer] = _peer_summary(device, instance, session, counts, version)
    routes = 0
    if rib is not None:
        routes = sum(1 for prefix in rib.best if version_of(prefix) == version)
    return {
        "routerId": instance.router_id, "as": instance.asn, "vrfId": 0, "vrfName": "default", "tableVersion": routes,
        "ribCount": routes, "ribMemory": routes * 184, "peerCount": len(peers), "peerMemory": len(peers) * 24680,
        "peers": peers, "failedPeers": failed, "displayedPeers": len(peers), "totalPeers": len(peers),
        "dynamicPeers": 0, "bestPath": {"multiPathRelax": "true"},
    }  # fmt: skip


def _peer_summary(
    device: Device, instance: Instance, session: Session, counts: _RouteCounts, version: int
) -> dict[str, Any]:
    """Return the entry of a peer in the summary of an address family."""
    up_ms = 0
    if session.established:
        up_ms = int((device.clock.now() - _up_since(device, session)) * 1000)
    # An OPEN and an UPDATE, then a keepalive every 3 s.
    messages = up_ms // 3000 + 2
    state = session.state
    peer_state = "OK"
    if session.neighbor.shutdown:
        state = "Idle (Admin)"
        peer_state = "Admin"
    return {
        "hostname": session.remote, "remoteAs": _remote_as(device, session), "localAs": instance.asn, "version": 4,
        "msgRcvd": messages if session.established else 0, "msgSent": messages, "tableVersion": 0,
        "outq": 0, "inq": 0, "peerUptime": uptime_text(up_ms) if up_ms else "never", "peerUptimeMsec": up_ms,
        "pfxRcd": counts.received, "pfxSnt": counts.sent if session.agrees_on(version) else 0,
        "state": state, "peerState": peer_state,
        "connectionsEstablished": int(session.established),
        "connectionsDropped": 0, "desc": session.neighbor.description,
        "idType": "interface" if session.neighbor.interface else "ipv4",
    }  # fmt: skip


def uptime_text(milliseconds: int) -> str:
    """Return a time as FRR prints it: hours, then days, then weeks."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days >= 7:
        return f"{days // 7:02d}w{days % 7}d{hours:02d}h"
    if days:
        return f"{days}d{hours:02d}h{minutes:02d}m"
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}"


def bgp_neighbors(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show bgp neighbors json``; with ``every_vrf`` the neighbors are below the name of their VRF."""
    instance = bgp_of(device)
    if instance is None:
        return {}
    peers = {peer: _neighbor(device, instance, session) for peer, session in sessions_of(device).items()}
    if every_vrf:
        return {"default": {"vrfId": 0, "vrfName": "default", **peers}}
    return peers


def _neighbor(device: Device, instance: Instance, session: Session) -> dict[str, Any]:
    """Return the entry of a neighbor in ``show bgp neighbors json``."""
    neighbor = session.neighbor
    remote = None
    if session.established:
        remote = device.network.devices.get(session.remote)
    entry: dict[str, Any] = {"remoteAs": _remote_as(device, session), "localAs": neighbor.local_as or instance.asn,
                             "nbrExternalLink": True}  # fmt: skip
    if neighbor.description:
        entry["nbrDesc"] = neighbor.description
    if remote is not None:
        entry["hostname"] = remote.hostname
    if neighbor.shutdown:
        entry["adminShutDown"] = True
    entry |= {
        "bgpVersion": 4, "remoteRouterId": _router_id(remote),
        "localRouterId": instance.router_id, "bgpState": session.state,
    }  # fmt: skip
    entry |= _timers(session)
    if session.established:
        since = _up_since(device, session)
        entry["bgpTimerUpMsec"] = int((device.clock.now() - since) * 1000)
        entry["bgpTimerUpEstablishedEpoch"] = int(since)
    if neighbor.bfd:
        entry["peerBfdInfo"] = _bfd_info(device, session)
    if neighbor.active_versions:
        entry["addressFamilyInfo"] = _families(device, session)
    entry["connectionsEstablished"] = times_opened(device.network, SessionEnd(device.name, neighbor.peer))
    return entry


def _router_id(remote: Device | None) -> str:
    """Return the router ID that the switch ``remote`` sent; 0.0.0.0 if no session is established."""
    if remote is None:
        return "0.0.0.0"
    instance = bgp_of(remote)
    # Its daemons may have ended since the session was established.
    if instance is None:
        return "0.0.0.0"
    return instance.router_id


def _bfd_info(device: Device, session: Session) -> dict[str, Any]:
    """Return what bgpd shows of the BFD session of a neighbor."""
    status = "Unknown"
    if session.bfd_up:
        status = "Up"
    elif device.bfdd:
        status = "Down"
    # bgpd shows what it asked bfdd for: FRR's defaults, in milliseconds.
    times = {"detectMultiplier": 3, "rxMinInterval": 300, "txMinInterval": 300}
    return {"type": "single hop", **times, "status": status}


def _families(device: Device, session: Session) -> dict[str, Any]:
    """Return the counts of the address families of a neighbor."""
    rib = rib_of(device)
    families = {}
    for version in session.neighbor.active_versions:
        counts = _route_counts(rib, session.neighbor, version)
        family = {}
        # FRR leaves the count out where the far end has not agreed to the family (8.4).
        if not session.established:
            family["sentPrefixCounter"] = 0
        elif session.agrees_on(version):
            family["sentPrefixCounter"] = counts.sent
        families[family_name(version)] = family | {"acceptedPrefixCounter": counts.received}
    return families


def _timers(session: Session) -> dict[str, int]:
    """Return the configured timers and those in force; until a session has opened, these are the same."""
    neighbor = session.neighbor
    # A keepalive interval is at most a third of the hold time (RFC 4271 section 4.4).
    keepalive_s = min(neighbor.keepalive_s, neighbor.hold_s // 3)
    in_force = session.timers or Timers(keepalive_s, neighbor.hold_s)
    return {
        "bgpTimerConfiguredHoldTimeMsecs": neighbor.hold_s * 1000,
        "bgpTimerConfiguredKeepAliveIntervalMsecs": keepalive_s * 1000,
        "bgpTimerHoldTimeMsecs": in_force.hold_s * 1000,
        "bgpTimerKeepAliveIntervalMsecs": in_force.keepalive_s * 1000,
    }


def _bfd_times(device: Device, prefix: str = "") -> dict[str, int]:
    """Return the timers of a switch's bfdd in milliseconds, their names with ``prefix``.

    The far end of a session shows the same timers with the prefix ``remote-``.
    """
    interval_ms = 300
    # Reversed, so that the fault that was armed first counts.
    for fault in reversed(device.faults.armed):
        if fault.kind is FaultKind.IN_FORCE and fault.interval_ms:
            interval_ms = fault.interval_ms
    times = {"receive-interval": interval_ms, "transmit-interval": interval_ms, "detect-multiplier": 3}
    return {f"{prefix}{name}": value for name, value in times.items()}


def bfd_peers(device: Device) -> str:
    """Return ``show bfd peers json``, or what FRR prints if bfdd does not run."""
    if not device.bfdd:
        return "bfdd is not running\n"
    peers = []
    for peer, session in sessions_of(device).items():
        if not session.neighbor.bfd:
            continue
        # A session over an interface is between link-local addresses.
        address = link_local(device, session.port) if session.neighbor.interface else peer
        remote = device.network.devices.get(session.remote) if session.bfd_up else None
        state = {"multihop": False, "vrf": "default", "interface": session.port, "passive-mode": False}
        status = "up" if session.bfd_up else "down"
        times = {**_bfd_times(device), **_bfd_times(remote or device, "remote-")}
        peers.append({"peer": address, **state, "status": status, **times})
    return to_json(peers, step="  ") + "\n"


def summary_text(device: Device) -> str:
    """Return ``show bgp summary`` for a person."""
    families = bgp_summary(device, every_vrf=False)
    if not families:
        return "% BGP instance not found\n"
    # Families are named ``ipv4Unicast`` and ``ipv6Unicast``.
    return "".join(_family_text(device, int(name[3]), document) for name, document in families.items())


def _family_text(device: Device, version: int, document: dict[str, Any]) -> str:
    """Return the summary of an address family for a person."""
    identity = f"BGP router identifier {document['routerId']}, local AS number {document['as']} VRF default vrf-id 0"
    head = f"\nIPv{version} Unicast Summary:\n{identity}\n"
    lines = [f"{'Neighbor':<16}V{'AS':>11}{'Up/Down':>10}{'State/PfxRcd':>15}{'PfxSnt':>9} Desc"]
    sessions = sessions_of(device)
    for peer, row in document["peers"].items():
        state = row["state"]
        sent = str(row["pfxSnt"])
        if sessions[peer].established and not sessions[peer].agrees_on(version):
            # The other end has not activated the family.
            state = "NoNeg"
            sent = "NoNeg"
        elif state == "Established":
            state = str(row["pfxRcd"])
        counts = f"{row['peerUptime']:>10}{state:>15}{sent:>9}"
        lines.append(f"{peer:<16}4{row['remoteAs']:>11}{counts} {row['desc'] or 'N/A'}")
    return f"{head}\n" + "\n".join(lines) + f"\n\nTotal number of neighbors {len(document['peers'])}\n"
