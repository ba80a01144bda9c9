"""From NAPALM's getters to what was observed of one device."""

from collections.abc import Mapping
from typing import Any

from napalm.base.exceptions import CommandErrorException

from railweave.plan.observation import BgpSession, LldpNeighbor, Observation, PortState


def observe(driver: Any) -> Observation:
    """Return what ``driver``'s device shows now; raises what the driver raises when the device does not answer."""
    return Observation(
        ports={
            name: PortState(bool(one["is_enabled"]), bool(one["is_up"]), int(one["mtu"]))
            for name, one in driver.get_interfaces().items()
        },
        addresses={name: _addresses(families) for name, families in driver.get_interfaces_ip().items()},
        lldp={port: tuple(map(_neighbor, seen)) for port, seen in driver.get_lldp_neighbors_detail().items()},
        bgp=_sessions(driver),
    )


def _addresses(families: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(f"{address}/{held['prefix_length']}" for address, held in families.get("ipv4", {}).items())


def _neighbor(seen: Mapping[str, Any]) -> LldpNeighbor:
    return LldpNeighbor(
        str(seen["remote_system_name"]), str(seen["remote_port"]), str(seen.get("remote_port_description", ""))
    )


def _sessions(driver: Any) -> dict[str, BgpSession]:
    try:
        instances = driver.get_bgp_neighbors()
    except CommandErrorException:
        # bgpd does not run (yet): no session is what can be said, and every check of one says so.
        return {}
    peers = instances.get("global", {}).get("peers", {})
    return {peer: BgpSession(int(one["remote_as"]), bool(one["is_up"])) for peer, one in peers.items()}
