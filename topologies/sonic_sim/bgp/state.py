"""The state that bgpd shows of its sessions, as JSON and as text."""

from typing import Any
from weakref import WeakKeyDictionary

from sonic_sim.bgp.instance import Instance, Neighbor
from sonic_sim.bgp.opened import Timers, times_opened
from sonic_sim.bgp.paths import link_local, rib_of
from sonic_sim.bgp.routes import Rib, version_of
from sonic_sim.bgp.sessions import Session, bgp_of, sessions_of
from sonic_sim.configdb import to_json
from sonic_sim.device import Device
from sonic_sim.faults import FaultKind

_established_since: WeakKeyDictionary[Device, dict[str, tuple[tuple[tuple[int, ...], ...], float]]] = (
    WeakKeyDictionary()
)


def _since(device: Device, one: Session) -> float:
    """Return since when a session is up, remembered from the first time it was seen up.

    It starts again where either end activates another address family: ends agree on these as a session opens (run on
    8.4 and 10.3).
    """
    since = _established_since.setdefault(device, {})
    if not one.established:
        since.pop(one.neighbor.peer, None)
        return 0.0
    if since.get(one.neighbor.peer, ((), 0.0))[0] != one.active:
        since[one.neighbor.peer] = (one.active, device.clock.now())
    return since[one.neighbor.peer][1]


def _remote_as(device: Device, one: Session) -> int:
    text = one.neighbor.remote_as
    if text.isdigit():
        return int(text)
    remote = device.network.devices.get(one.remote)
    instance = bgp_of(remote) if remote is not None else None
    return instance.asn if instance is not None else 0


def _counts(rib: Rib | None, neighbor: Neighbor, version: int) -> tuple[int, int]:
    """Return how many routes of a family were received from a neighbor, and sent to it."""
    if rib is None:
        return 0, 0
    received = rib.received.get(neighbor.peer, {})
    only = neighbor.active_versions == (version,)
    count = len(received) if only else sum(1 for prefix in received if version_of(prefix) == version)
    return count, rib.sent.get((neighbor.peer, version), 0)


def family_name(version: int) -> str:
    """Return the name of an address family in FRR's JSON."""
    return f"ipv{version}Unicast"


def bgp_summary(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show bgp summary json``: ``{}`` without an instance; IPv6 only where a neighbor has it."""
    instance = bgp_of(device)
    if instance is None:
        return {}
    talks_ipv6 = any(6 in one.active_versions for one in instance.neighbors.values())
    found = {family_name(version): _summary(device, instance, version) for version in ((4, 6) if talks_ipv6 else (4,))}
    return {"default": found} if every_vrf else found


def _summary(device: Device, instance: Instance, version: int) -> dict[str, Any]:
    rib = rib_of(device)
    peers = {}
    failed = 0
    for peer, one in sessions_of(device).items():
        if version == 6 and version not in one.neighbor.active_versions:
            continue
        received, sent = _counts(rib, one.neighbor, version)
        state = "Idle (Admin)" if one.neighbor.shutdown else one.state
        failed += 0 if one.established else 1
        up_ms = int((device.clock.now() - _since(device, one)) * 1000) if one.established else 0
        peers[peer] = {
            "hostname": one.remote, "remoteAs": _remote_as(device, one), "localAs": instance.asn, "version": 4,
            "msgRcvd": up_ms // 3000 + 2 if one.established else 0, "msgSent": up_ms // 3000 + 2, "tableVersion": 0,
            "outq": 0, "inq": 0, "peerUptime": uptime_text(up_ms) if up_ms else "never", "peerUptimeMsec": up_ms,
            "pfxRcd": received, "pfxSnt": sent if one.agrees_on(version) else 0, "state": state,
            "peerState": "Admin" if one.neighbor.shutdown else "OK", "connectionsEstablished": int(one.established),
            "connectionsDropped": 0, "desc": one.neighbor.description,
            "idType": "interface" if one.neighbor.interface else "ipv4",
        }  # fmt: skip
    routes = sum(1 for prefix in rib.best if version_of(prefix) == version) if rib is not None else 0
    return {
        "routerId": instance.router_id, "as": instance.asn, "vrfId": 0, "vrfName": "default", "tableVersion": routes,
        "ribCount": routes, "ribMemory": routes * 184, "peerCount": len(peers), "peerMemory": len(peers) * 24680,
        "peers": peers, "failedPeers": failed, "displayedPeers": len(peers), "totalPeers": len(peers),
        "dynamicPeers": 0, "bestPath": {"multiPathRelax": "true"},
    }  # fmt: skip


def uptime_text(milliseconds: int) -> str:
    """Return a time as FRR prints it: hours, then days, then weeks."""
    seconds = milliseconds // 1000
    days = seconds // 86400
    hours = seconds // 3600 % 24
    minutes = seconds // 60 % 60
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
        }  # fmt: skip
        entry |= _timers(one)
        if one.established:
            entry["bgpTimerUpMsec"] = int((device.clock.now() - _since(device, one)) * 1000)
            entry["bgpTimerUpEstablishedEpoch"] = int(_since(device, one))
        if one.neighbor.bfd:
            status = "Up" if one.bfd_up else "Down" if device.bfdd else "Unknown"
            times = {"detectMultiplier": 3, "rxMinInterval": 300, "txMinInterval": 300}
            entry["peerBfdInfo"] = {"type": "single hop", **times, "status": status}
        for version in one.neighbor.active_versions:
            received, sent = _counts(rib, one.neighbor, version)
            # FRR leaves the one out where the other end has not agreed to the family (8.4)
            left_out = one.established and not one.agrees_on(version)
            counted = {} if left_out else {"sentPrefixCounter": sent if one.established else 0}
            family = counted | {"acceptedPrefixCounter": received}
            entry.setdefault("addressFamilyInfo", {})[family_name(version)] = family
        entry["connectionsEstablished"] = times_opened(device.network, (device.name, peer))
        peers[peer] = entry
    return {"default": {"vrfId": 0, "vrfName": "default", **peers}} if every_vrf else peers


def _timers(one: Session) -> dict[str, int]:
    """Return the configured timers and those in force, which are the configured ones until a session has opened."""
    keepalive_s = min(one.neighbor.keepalive_s, one.neighbor.hold_s // 3)
    used = one.timers or Timers(keepalive_s, one.neighbor.hold_s)
    return {
        "bgpTimerConfiguredHoldTimeMsecs": one.neighbor.hold_s * 1000,
        "bgpTimerConfiguredKeepAliveIntervalMsecs": keepalive_s * 1000,
        "bgpTimerHoldTimeMsecs": used.hold_s * 1000,
        "bgpTimerKeepAliveIntervalMsecs": used.keepalive_s * 1000,
    }


def _bfd_times(device: Device, prefix: str = "") -> dict[str, int]:
    """Return the timers of a switch's bfdd, which the other end shows as those of its ``remote-`` end."""
    intervals = [one.interval_ms for one in device.faults.armed if one.kind is FaultKind.IN_FORCE and one.interval_ms]
    interval_ms = intervals[0] if intervals else 300
    times = {"receive-interval": interval_ms, "transmit-interval": interval_ms, "detect-multiplier": 3}
    return {f"{prefix}{name}": value for name, value in times.items()}


def bfd_peers(device: Device) -> str:
    """Return ``show bfd peers json``."""
    if not device.bfdd:
        return "bfdd is not running\n"
    found = []
    for peer, one in sessions_of(device).items():
        if one.neighbor.bfd:
            address = link_local(device, one.port) if one.neighbor.interface else peer
            far = device.network.devices.get(one.remote) if one.bfd_up else None
            times = {**_bfd_times(device), **_bfd_times(far or device, "remote-")}
            state = {"multihop": False, "vrf": "default", "interface": one.port, "passive-mode": False}
            found.append({"peer": address, **state, "status": "up" if one.bfd_up else "down", **times})
    return to_json(found, step="  ") + "\n"


def summary_text(device: Device) -> str:
    """Return ``show bgp summary`` for a person."""
    families = bgp_summary(device, False)
    if not families:
        return "% BGP instance not found\n"
    return "".join(_family_text(device, int(name[3]), document) for name, document in families.items())


def _family_text(device: Device, version: int, document: dict[str, Any]) -> str:
    identity = f"BGP router identifier {document['routerId']}, local AS number {document['as']} VRF default vrf-id 0"
    head = f"\nIPv{version} Unicast Summary:\n{identity}\n"
    lines = [f"{'Neighbor':<16}V{'AS':>11}{'Up/Down':>10}{'State/PfxRcd':>15}{'PfxSnt':>9} Desc"]
    sessions = sessions_of(device)
    for peer, one in document["peers"].items():
        state = str(one["pfxRcd"]) if one["state"] == "Established" else one["state"]
        sent = str(one["pfxSnt"])
        if sessions[peer].established and not sessions[peer].agrees_on(version):
            state = sent = "NoNeg"
        counts = f"{one['peerUptime']:>10}{state:>15}{sent:>9}"
        lines.append(f"{peer:<16}4{one['remoteAs']:>11}{counts} {one['desc'] or 'N/A'}")
    return f"{head}\n" + "\n".join(lines) + f"\n\nTotal number of neighbors {len(document['peers'])}\n"
