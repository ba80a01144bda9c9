"""From NAPALM's getters to what was observed of one device, and its counters over a while.

Our own driver gives all of that in one answer of the switch's program; any other is asked getter by getter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.clock import Clock
from napalm_sonic.decoding import decoding
from napalm_sonic.observed import Counted, Look, Observed
from nornir_railweave.device.reading import switch_program
from railweave.fabric.releases import running_release
from railweave.plan.health import LossWatch
from railweave.plan.model import Unapplied
from railweave.plan.verification import BgpSession, Counters, LldpNeighbor, Observation, PortState, SessionTimers

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Seen:
    """What a device showed; ``counted`` are its counters, the earlier ones first, empty where it was not asked."""

    observation: Observation
    counted: tuple[Counted, ...] = ()

    @property
    def losses(self) -> LossWatch | None:
        """Return what its ports lost meanwhile; None without counters of two moments."""
        return losses_of(self.counted)


def observe(driver: Any) -> Observation:
    """Return what ``driver``'s device shows now; raises what the driver raises when the device does not answer."""
    program = switch_program(driver)
    return _observation(driver if program is None else program.observe())


def observe_commit(driver: Any) -> Observation:
    """Return what ``observe`` does, with the commit that waits for its confirmation; only drivers of others are asked
    for it apart."""
    if switch_program(driver) is not None:
        return observe(driver)
    try:
        pending = bool(driver.has_pending_commit())
    except NotImplementedError:
        pending = False
    seen = observe(driver)
    return replace(seen, waiting="a commit waits for its confirmation") if pending else seen


def observe_over(driver: Any, seconds: float, clock: Clock) -> Seen:
    """Return what a device shows, and its counters so many seconds apart (0: once), as far as it counts."""
    program = switch_program(driver)
    if program is not None:
        return seen_of(program.observe(Look(counters=True, over_s=seconds)))
    earlier = _counted(driver, clock)
    observation = _observation(driver)
    if earlier is None or not seconds:
        return Seen(observation, () if earlier is None else (earlier,))
    return Seen(observation, _counted_again(driver, earlier, seconds, clock))


def count_over(driver: Any, seconds: float, clock: Clock) -> tuple[Counted, ...]:
    """Return the counters of a device so many seconds apart, nothing where it does not count."""
    program = switch_program(driver)
    if program is not None:
        shown: Observed = program.observe(Look(state=False, counters=True, over_s=seconds))
        return shown.counted
    earlier = _counted(driver, clock)
    return () if earlier is None else _counted_again(driver, earlier, seconds, clock)


def seen_of(shown: Observed) -> Seen:
    """Return what an answer of the switch's program shows."""
    return Seen(_observation(shown), shown.counted)


def losses_of(counted: tuple[Counted, ...]) -> LossWatch | None:
    """Return what ports lost between the first and the last of two readings or more."""
    return LossWatch(_losses(counted[0]), _losses(counted[-1])) if len(counted) > 1 else None


def _counted(driver: Any, clock: Clock) -> Counted | None:
    """Return the counters by now; None where the driver or the device does not count."""
    try:
        return Counted(clock.monotonic(), driver.get_interfaces_counters())
    except (NotImplementedError, AttributeError, CommandErrorException):
        return None


def _counted_again(driver: Any, earlier: Counted, seconds: float, clock: Clock) -> tuple[Counted, ...]:
    clock.sleep(max(0.0, earlier.at_s + seconds - clock.monotonic()))
    later = _counted(driver, clock)
    return (earlier,) if later is None else (earlier, later)


def _observation(shown: Any) -> Observation:
    interfaces, addresses = shown.get_interfaces(), shown.get_interfaces_ip()
    lldp, instances = shown.get_lldp_neighbors_detail(), _bgp_instances(shown)
    with decoding("what it shows"):
        return Observation(
            ports={
                name: PortState(bool(one["is_enabled"]), bool(one["is_up"]), int(one["mtu"]))
                for name, one in interfaces.items()
            },
            addresses={name: _addresses(families) for name, families in addresses.items()},
            lldp={port: tuple(map(_neighbor, seen)) for port, seen in lldp.items()},
            bgp=_sessions(instances, shown.bgp_timers() if isinstance(shown, Observed) else {}),
            unapplied=_unapplied(shown) if isinstance(shown, Observed) else None,
            release=running_release(shown.image()) if isinstance(shown, Observed) else "",
            bfd=shown.bfd() if isinstance(shown, Observed) else None,
            bfd_ms=shown.bfd_detection_ms() if isinstance(shown, Observed) else None,
            unseen=shown.unseen() if isinstance(shown, Observed) else (),
            waiting=shown.waiting if isinstance(shown, Observed) else "",
            broken=shown.broken if isinstance(shown, Observed) else "",
            is_whole=isinstance(shown, Observed),
        )


def _unapplied(shown: Observed) -> tuple[Unapplied, ...] | None:
    found = shown.unapplied()
    return None if found is None else tuple(Unapplied(*one) for one in found)


def _losses(counted: Counted) -> Counters:
    return Counters(counted.at_s, _summed(counted.ports, "errors"), _summed(counted.ports, "discards"))


def _summed(counted: Mapping[str, Mapping[str, int]], what: str) -> dict[str, int]:
    found: dict[str, int] = {}
    rx, tx = f"rx_{what}", f"tx_{what}"
    for port, counters in counted.items():
        received, sent = counters.get(rx, UNKNOWN), counters.get(tx, UNKNOWN)
        if received >= 0 or sent >= 0:
            found[port] = max(received, 0) + max(sent, 0)
    return found


def _addresses(families: Mapping[str, Any]) -> frozenset[str]:
    found = {**families.get("ipv4", {}), **families.get("ipv6", {})}
    return frozenset(
        f"{address}/{held['prefix_length']}" for address, held in found.items() if not address.startswith("fe80:")
    )


def _neighbor(seen: Mapping[str, Any]) -> LldpNeighbor:
    return LldpNeighbor(str(seen["remote_system_name"]), str(seen["remote_port"]))


def _bgp_instances(shown: Any) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = shown.get_bgp_neighbors()
    except CommandErrorException:
        # bgpd does not run (yet): no session is what can be said, and every check of one says so.
        return {}
    return found


def _sessions(instances: Mapping[str, Any], timers: Mapping[str, Mapping[str, int]]) -> dict[str, BgpSession]:
    peers = instances.get("global", {}).get("peers", {})
    return {peer: _session(one, timers.get(peer)) for peer, one in peers.items()}


def _session(peer: Mapping[str, Any], timers: Mapping[str, int] | None) -> BgpSession:
    families = peer.get("address_family", {})
    ipv4 = families.get("ipv4", {})
    return BgpSession(
        int(peer["remote_as"]),
        bool(peer["is_up"]),
        # What was received and refused serves nobody.
        _accepted(one for name, one in families.items() if name != "ipv6"),
        int(ipv4.get("accepted_prefixes", UNKNOWN)),
        int(ipv4.get("sent_prefixes", UNKNOWN)),
        # FRR counts what it sends where both ends agreed on the family (8.4 and later).
        frozenset(name for name, family in families.items() if int(family.get("sent_prefixes", UNKNOWN)) >= 0),
        _accepted(one for name, one in families.items() if name == "ipv6"),
        None if timers is None else _timers(timers),
    )


def _timers(shown: Mapping[str, int]) -> SessionTimers:
    return SessionTimers(shown["keepalive"], shown["hold"], shown["configured_keepalive"], shown["configured_hold"])


def _accepted(families: Iterable[Mapping[str, Any]]) -> int:
    """Return the prefixes that were accepted over some address families."""
    accepted = [int(family.get("accepted_prefixes", UNKNOWN)) for family in families]
    known = [count for count in accepted if count >= 0]
    return sum(known) if known else UNKNOWN
