"""From NAPALM's getters to what was observed of one device."""

from collections.abc import Iterable, Mapping
from typing import Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.clock import Clock
from napalm_sonic.observed import Look
from nornir_railweave.device.reading import switch_program
from railweave.plan.observation import BgpSession, Counters, LldpNeighbor, Observation, PortState

UNKNOWN = -1


def observe(driver: Any) -> Observation:
    """Return what ``driver``'s device shows now; raises what the driver raises when the device does not answer.

    Our own driver gives all that its getters do in one answer of the switch's program.
    """
    program = switch_program(driver)
    return _observation(driver if program is None else program.observe())


def observe_and_count(driver: Any, clock: Clock) -> tuple[Observation, Counters | None]:
    """Return what a device shows, and the losses that its ports have counted by then."""
    program = switch_program(driver)
    if program is None:
        counted = count_losses(driver, clock)
        return _observation(driver), counted
    shown = program.observe(Look(counters=True))
    return _observation(shown), _losses(shown.counted[0].ports, clock)


def _observation(shown: Any) -> Observation:
    return Observation(
        ports={
            name: PortState(bool(one["is_enabled"]), bool(one["is_up"]), int(one["mtu"]))
            for name, one in shown.get_interfaces().items()
        },
        addresses={name: _addresses(families) for name, families in shown.get_interfaces_ip().items()},
        lldp={port: tuple(map(_neighbor, seen)) for port, seen in shown.get_lldp_neighbors_detail().items()},
        bgp=_sessions(shown),
    )


def count_losses(driver: Any, clock: Clock) -> Counters | None:
    """Return the errors and discards of every port by now; None where the driver or the device does not count."""
    try:
        program = switch_program(driver)
        if program is None:
            counted = driver.get_interfaces_counters()
        else:
            counted = program.observe(Look(state=False, counters=True)).counted[0].ports
    except (NotImplementedError, AttributeError, CommandErrorException):
        return None
    return _losses(counted, clock)


def _losses(counted: Mapping[str, Mapping[str, int]], clock: Clock) -> Counters:
    return Counters(clock.monotonic(), _summed(counted, "errors"), _summed(counted, "discards"))


def _summed(counted: Mapping[str, Mapping[str, int]], what: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for port, counters in counted.items():
        both = (counters.get(f"rx_{what}", UNKNOWN), counters.get(f"tx_{what}", UNKNOWN))
        known = [value for value in both if value >= 0]
        if known:
            found[port] = sum(known)
    return found


def _addresses(families: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(f"{address}/{held['prefix_length']}" for address, held in families.get("ipv4", {}).items())


def _neighbor(seen: Mapping[str, Any]) -> LldpNeighbor:
    return LldpNeighbor(
        str(seen["remote_system_name"]), str(seen["remote_port"]), str(seen.get("remote_port_description", ""))
    )


def _sessions(shown: Any) -> dict[str, BgpSession]:
    try:
        instances = shown.get_bgp_neighbors()
    except CommandErrorException:
        # bgpd does not run (yet): no session is what can be said, and every check of one says so.
        return {}
    peers = instances.get("global", {}).get("peers", {})
    return {
        peer: BgpSession(int(one["remote_as"]), bool(one["is_up"]), _accepted(one.get("address_family", {}).values()))
        for peer, one in peers.items()
    }


def _accepted(families: Iterable[Mapping[str, Any]]) -> int:
    """Return the prefixes accepted over all address families; what was received and refused serves nobody."""
    known = [int(family.get("accepted_prefixes", UNKNOWN)) for family in families]
    known = [count for count in known if count >= 0]
    return sum(known) if known else UNKNOWN
