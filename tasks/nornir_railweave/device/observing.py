"""Turns a driver's answer about a device into an observation."""

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
    """What a device showed; ``counted`` are its counters, the earlier ones first, empty if they were not requested."""

    observation: Observation
    counted: tuple[PortCounters, ...] = ()

    @property
    def losses(self) -> LossWatch | None:
        """Return what its ports lost between the readings; None with fewer than two."""
        return losses_of(self.counted)


def observe(driver: CheckedDriver) -> Observation:
    """Return what a device shows now. Raises what ``driver`` raises if the device does not answer."""
    return _observation(driver.observe())


def observe_over(driver: CheckedDriver, seconds: float) -> Seen:
    """Return what a device shows, and two readings of its counters, ``seconds`` apart; one reading for 0 seconds."""
    return seen_of(driver.observe(ObserveRequest(counters=True, over_s=seconds)))


def seen_of(view: SwitchView) -> Seen:
    """Return what a driver's answer shows, with the counters in it."""
    observation = _observation(view)
    with decoding("its counters"):
        return Seen(observation, tuple(view.counted))


def losses_of(counted: tuple[PortCounters, ...]) -> LossWatch | None:
    """Return what ports lost between the first and the last reading; None with fewer than two."""
    if len(counted) > 1:
        return LossWatch(_losses(counted[0]), _losses(counted[-1]))
    return None


def _observation(view: SwitchView) -> Observation:
    """Return the observation of a driver's answer; an answer of another form is the driver's fault."""
    with decoding("what it shows"):
        interfaces = view.get_interfaces()
        addresses = view.get_interfaces_ip()
        lldp = view.get_lldp_neighbors_detail()
        instances = _bgp_instances(view)
        unapplied_rows = view.unapplied()
        unapplied = None
        if unapplied_rows is not None:
            unapplied = tuple(Unapplied(*row) for row in unapplied_rows)
        return Observation(
            ports={name: _port_state(state) for name, state in interfaces.items()},
            addresses={name: _addresses(families) for name, families in addresses.items()},
            lldp={port: tuple(map(_neighbor, neighbors)) for port, neighbors in lldp.items()},
            bgp=_sessions(instances, view.bgp_timers()),
            unapplied=unapplied,
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


def _summed(ports: Mapping[str, Mapping[str, int]], name: str) -> dict[str, int]:
    """Return the sum of both directions of a counter, ``errors`` or ``discards``, for each port.

    A port that counts it in neither direction is left out.
    """
    sums: dict[str, int] = {}
    for port, counters in ports.items():
        received = count_of(counters, f"rx_{name}")
        sent = count_of(counters, f"tx_{name}")
        if received != UNKNOWN or sent != UNKNOWN:
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
        # The BGP daemon does not run (yet). Without sessions their checks fail, which is reported.
        return {}


def _sessions(instances: Mapping[str, Any], timers: Mapping[str, Mapping[str, int]]) -> dict[str, ObservedSession]:
    peers = instances.get("global", {}).get("peers", {})
    return {peer: _session(state, timers.get(peer)) for peer, state in peers.items()}


def _session(peer: Mapping[str, Any], timers: Mapping[str, int] | None) -> ObservedSession:
    """Return the session of NAPALM's answer about a peer; ``timers`` are its timers, None if they are not shown."""
    families = peer.get("address_family", {})
    ipv4 = families.get("ipv4", {})
    # FRR counts what it sends only in the families that both ends agreed on (8.4 and later).
    agreed = frozenset(name for name, family in families.items() if int(family.get("sent_prefixes", UNKNOWN)) >= 0)
    return ObservedSession(
        remote_asn=int(peer["remote_as"]),
        established=bool(peer["is_up"]),
        prefixes=_accepted(family for name, family in families.items() if name != "ipv6"),
        ipv4_accepted=int(ipv4.get("accepted_prefixes", UNKNOWN)),
        ipv4_announced=int(ipv4.get("sent_prefixes", UNKNOWN)),
        families=agreed,
        ipv6_prefixes=_accepted(family for name, family in families.items() if name == "ipv6"),
        timers=None if timers is None else _timers(timers),
    )


def _timers(seconds: Mapping[str, int]) -> SessionTimers:
    return SessionTimers(
        keepalive_s=seconds["keepalive"],
        hold_s=seconds["hold"],
        configured_keepalive_s=seconds["configured_keepalive"],
        configured_hold_s=seconds["configured_hold"],
    )


def _accepted(families: Iterable[Mapping[str, Any]]) -> int:
    """Return how many prefixes were accepted over ``families``; UNKNOWN if none of them has a count."""
    counts = [int(family.get("accepted_prefixes", UNKNOWN)) for family in families]
    known_counts = [count for count in counts if count >= 0]
    if known_counts:
        return sum(known_counts)
    return UNKNOWN
