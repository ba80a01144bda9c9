"""From what a driver shows of a device to what was observed of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.decoding import decoding
from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.counting import UNKNOWN, count_of
from railweave.fabric.releases import running_release
from railweave.plan.health import LossWatch
from railweave.plan.observation import Counters, LldpNeighbor, Observation, ObservedSession, PortState, SessionTimers
from railweave.plan.unapplied import Unapplied
from railweave.switch_driver import ObserveRequest, PortCounters, SwitchView


@dataclass(frozen=True, slots=True)
class Seen:
    """What a device showed; ``counted`` are its counters, the earlier ones first, empty where it was not asked."""

    observation: Observation
    counted: tuple[PortCounters, ...] = ()

    @property
    def losses(self) -> LossWatch | None:
        """Return what its ports lost meanwhile; None without counters of two moments."""
        return losses_of(self.counted)


def observe(driver: CheckedDriver) -> Observation:
    """Return what ``driver``'s device shows now; raises what the driver raises when the device does not answer."""
    return _observation(driver.observe())


def observe_over(driver: CheckedDriver, seconds: float) -> Seen:
    """Return what a device shows, and its counters so many seconds apart (0: once), as far as it counts."""
    return seen_of(driver.observe(ObserveRequest(counters=True, over_s=seconds)))


def seen_of(view: SwitchView) -> Seen:
    """Return what a driver's answer shows."""
    observation = _observation(view)
    with decoding("its counters"):
        return Seen(observation, tuple(view.counted))


def losses_of(counted: tuple[PortCounters, ...]) -> LossWatch | None:
    """Return what ports lost between the first and the last of two readings or more."""
    if len(counted) > 1:
        return LossWatch(_losses(counted[0]), _losses(counted[-1]))
    return None


def _observation(view: SwitchView) -> Observation:
    with decoding("what it shows"):
        interfaces = view.get_interfaces()
        addresses = view.get_interfaces_ip()
        lldp = view.get_lldp_neighbors_detail()
        instances = _bgp_instances(view)
        unapplied = view.unapplied()
        return Observation(
            ports={name: _port_state(state) for name, state in interfaces.items()},
            addresses={name: _addresses(families) for name, families in addresses.items()},
            lldp={port: tuple(map(_neighbor, neighbors)) for port, neighbors in lldp.items()},
            bgp=_sessions(instances, view.bgp_timers()),
            unapplied=None if unapplied is None else tuple(Unapplied(*row) for row in unapplied),
            release=running_release(view.image()),
            bfd=view.bfd(),
            bfd_ms=view.bfd_detection_ms(),
            unseen=view.unseen(),
            waiting=view.waiting,
            broken=view.broken,
            is_whole=view.is_whole,
        )


def _port_state(state: Mapping[str, Any]) -> PortState:
    return PortState(bool(state["is_enabled"]), bool(state["is_up"]), int(state["mtu"]))


def _losses(counted: PortCounters) -> Counters:
    return Counters(counted.at_s, _summed(counted.ports, "errors"), _summed(counted.ports, "discards"))


def _summed(counted: Mapping[str, Mapping[str, int]], what: str) -> dict[str, int]:
    """Return received plus sent errors or discards of each port that counts them in one direction at least."""
    sums: dict[str, int] = {}
    rx = f"rx_{what}"
    tx = f"tx_{what}"
    for port, counters in counted.items():
        received = count_of(counters, rx)
        sent = count_of(counters, tx)
        if received >= 0 or sent >= 0:
            sums[port] = max(received, 0) + max(sent, 0)
    return sums


def _addresses(families: Mapping[str, Any]) -> frozenset[str]:
    addresses = {**families.get("ipv4", {}), **families.get("ipv6", {})}
    # The kernel makes link-local addresses by itself; no intent has them.
    return frozenset(
        f"{address}/{details['prefix_length']}"
        for address, details in addresses.items()
        if not address.startswith("fe80:")
    )


def _neighbor(neighbor: Mapping[str, Any]) -> LldpNeighbor:
    return LldpNeighbor(str(neighbor["remote_system_name"]), str(neighbor["remote_port"]))


def _bgp_instances(view: SwitchView) -> Mapping[str, Any]:
    try:
        return view.get_bgp_neighbors()
    except CommandErrorException:
        # The BGP daemon does not run (yet): without sessions every check of one fails, and says so.
        return {}


def _sessions(instances: Mapping[str, Any], timers: Mapping[str, Mapping[str, int]]) -> dict[str, ObservedSession]:
    peers = instances.get("global", {}).get("peers", {})
    return {peer: _session(state, timers.get(peer)) for peer, state in peers.items()}


def _session(peer: Mapping[str, Any], timers: Mapping[str, int] | None) -> ObservedSession:
    families = peer.get("address_family", {})
    ipv4 = families.get("ipv4", {})
    return ObservedSession(
        int(peer["remote_as"]),
        bool(peer["is_up"]),
        # Prefixes that were received and refused serve nobody.
        _accepted(family for name, family in families.items() if name != "ipv6"),
        int(ipv4.get("accepted_prefixes", UNKNOWN)),
        int(ipv4.get("sent_prefixes", UNKNOWN)),
        # FRR counts what it sends where both ends agreed on the family (8.4 and later).
        frozenset(name for name, family in families.items() if int(family.get("sent_prefixes", UNKNOWN)) >= 0),
        _accepted(family for name, family in families.items() if name == "ipv6"),
        None if timers is None else _timers(timers),
    )


def _timers(seconds: Mapping[str, int]) -> SessionTimers:
    return SessionTimers(
        seconds["keepalive"], seconds["hold"], seconds["configured_keepalive"], seconds["configured_hold"]
    )


def _accepted(families: Iterable[Mapping[str, Any]]) -> int:
    """Return the prefixes that were accepted over some address families; UNKNOWN where none of them counts."""
    counts = [int(family.get("accepted_prefixes", UNKNOWN)) for family in families]
    counted = [count for count in counts if count >= 0]
    if counted:
        return sum(counted)
    return UNKNOWN
