"""NAPALM's getters of neighbors: LLDP from the application database, BGP from FRR's JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from napalm_sonic.codec import database_rows, first_json, lldp_capabilities, natural
from napalm_sonic.decoding import decodes

if TYPE_CHECKING:
    from napalm_sonic.session import Session

LLDP = "sonic-db-dump -n APPL_DB -y -k 'LLDP_ENTRY_TABLE:*'"
BGP = "vtysh -c 'show bgp vrf all neighbors json'"

_LLDP_PREFIX = "LLDP_ENTRY_TABLE:"
# NAPALM's name of FRR's default VRF.
_GLOBAL = {"default": "global"}
# Members of FRR's JSON that are values of the instance, beside its neighbors.
_NOT_PEERS = frozenset({"vrfId", "vrfName"})
_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "l2vpn"}
_UNKNOWN = -1


@decodes("what LLDP shows")
def get_lldp_neighbors(session: "Session") -> dict[str, list[dict[str, str]]]:
    """Return ``{local port: [{hostname, port}]}``.

    ``port`` is the neighbor's port id, which a SONiC switch sets to the alias of the port.
    """
    return {
        port: [{"hostname": fields.get("lldp_rem_sys_name", ""), "port": fields.get("lldp_rem_port_id", "")}]
        for port, fields in _lldp_rows(session).items()
    }


@decodes("what LLDP shows")
def get_lldp_neighbors_detail(session: "Session", interface: str) -> dict[str, list[dict[str, Any]]]:
    """Return what LLDP neighbors announce, by local port; ``interface`` limits it to one port unless it is empty."""
    neighbors = lldp_of(_lldp_rows(session))
    if not interface:
        return neighbors
    return {port: neighbors[port] for port in neighbors if port == interface}


def lldp_of(rows: Mapping[str, Mapping[str, str]]) -> dict[str, list[dict[str, Any]]]:
    """Return the neighbors of rows of LLDP by port, as ``get_lldp_neighbors_detail`` does."""
    return {port: [_lldp_detail(rows[port])] for port in sorted(rows, key=natural)}


@decodes("what BGP shows")
def get_bgp_neighbors(session: "Session") -> dict[str, dict[str, Any]]:
    """Return ``{vrf: {router_id, peers: {address or port: …}}}``; the default VRF is called ``global``."""
    command = session.as_root(BGP)
    return bgp_of(first_json(session.run_checked(command), command))


def bgp_of(instances: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the instances of FRR's JSON, as ``get_bgp_neighbors`` does."""
    by_vrf: dict[str, dict[str, Any]] = {}
    for vrf, neighbors in instances.items():
        if isinstance(neighbors, Mapping):
            by_vrf[_GLOBAL.get(vrf, vrf)] = _instance(neighbors)
    if by_vrf:
        # NAPALM's model always has the default VRF.
        by_vrf.setdefault("global", {"router_id": "", "peers": {}})
    return by_vrf


def _lldp_rows(session: "Session") -> dict[str, dict[str, str]]:
    """Return the rows of LLDP's table by local port in natural order."""
    rows = database_rows(session.run_checked(LLDP), LLDP)
    ports = {key.removeprefix(_LLDP_PREFIX): fields for key, fields in rows.items()}
    return {port: ports[port] for port in sorted(ports, key=natural)}


def _lldp_detail(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return NAPALM's values of an LLDP neighbor from its row of APPL_DB."""
    return {
        "parent_interface": "",
        "remote_chassis_id": fields.get("lldp_rem_chassis_id", ""),
        "remote_port": fields.get("lldp_rem_port_id", ""),
        "remote_port_description": fields.get("lldp_rem_port_desc", ""),
        "remote_system_name": fields.get("lldp_rem_sys_name", ""),
        "remote_system_description": fields.get("lldp_rem_sys_desc", ""),
        "remote_system_capab": lldp_capabilities(fields.get("lldp_rem_sys_cap_supported", "")),
        "remote_system_enable_capab": lldp_capabilities(fields.get("lldp_rem_sys_cap_enabled", "")),
    }


def _instance(neighbors: Mapping[str, Any]) -> dict[str, Any]:
    """Return NAPALM's values of a VRF from FRR's JSON, in which values of the instance are beside its neighbors."""
    peers = {name: peer for name, peer in neighbors.items() if name not in _NOT_PEERS and isinstance(peer, Mapping)}
    # FRR shows the router's own id with each neighbor.
    router_ids = [str(peer["localRouterId"]) for peer in peers.values() if peer.get("localRouterId")]
    return {
        "router_id": next(iter(router_ids), ""),
        "peers": {name: _peer(peers[name]) for name in sorted(peers, key=natural)},
    }


def _peer(peer: Mapping[str, Any]) -> dict[str, Any]:
    """Return NAPALM's values of a neighbor from FRR's JSON."""
    is_up = peer.get("bgpState") == "Established"
    uptime_s = _UNKNOWN
    if is_up:
        uptime_s = int(peer.get("bgpTimerUpMsec", 0)) // 1000
    families = peer.get("addressFamilyInfo") or {}
    return {
        "local_as": int(peer.get("localAs", _UNKNOWN)),
        "remote_as": int(peer.get("remoteAs", _UNKNOWN)),
        "remote_id": str(peer.get("remoteRouterId", "")),
        "is_up": is_up,
        "is_enabled": not peer.get("adminShutDown", False),
        "description": str(peer.get("nbrDesc", "")),
        "uptime": uptime_s,
        "address_family": {_FAMILIES.get(name, name): _family(family) for name, family in families.items()},
    }


def _family(family: Mapping[str, Any]) -> dict[str, int]:
    """Return the prefix counts of an address family.

    FRR keeps the prefixes that policy drops only with soft-reconfiguration, so the number of received ones is unknown.
    """
    return {
        "received_prefixes": _UNKNOWN,
        "accepted_prefixes": int(family.get("acceptedPrefixCounter", _UNKNOWN)),
        "sent_prefixes": int(family.get("sentPrefixCounter", _UNKNOWN)),
    }
