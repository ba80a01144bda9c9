"""Comparing what a device shows with what the fabric needs.

During a rollout the far end of a link may still run its old configuration. A check that depends on a far end is made
only where that far end is ``settled``: deployed and confirmed in this rollout, or unchanged by it.
"""

from collections.abc import Container, Iterable

from railweave.plan.expectation import Expectation, ExpectedNeighbor, ExpectedPort, ExpectedSession
from railweave.plan.observation import LldpNeighbor, Observation, PortState
from railweave.plan.outcome import CheckKind, VerifyCheck


class _Everyone:
    """The container that holds every device."""

    def __contains__(self, _: object) -> bool:
        return True


EVERYONE: Container[str] = _Everyone()
"""All devices are settled: nothing is in motion."""


def check_device(
    expectation: Expectation, seen: Observation, settled: Container[str] = EVERYONE
) -> tuple[VerifyCheck, ...]:
    """Return every check of one device that can be judged while only ``settled`` devices stand still."""
    return (
        *_ports(expectation, seen, settled),
        *_addresses(expectation, seen),
        *_neighbors(expectation, seen, settled),
        *_sessions(expectation, seen, settled),
    )


def unreachable(device: str, reason: str) -> VerifyCheck:
    """Return the failing check of a device that could not be read."""
    return VerifyCheck(device, CheckKind.REACHABLE, device, "reachable", reason, False)


def _ports(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    for port in expectation.ports:
        state = seen.ports.get(port.port)
        mtu = "no such interface" if state is None else str(state.mtu_bytes)
        yield _check(expectation, CheckKind.MTU, port.port, str(port.mtu_bytes), mtu)
        yield _link(expectation.device, port, state, settled)


def _link(device: str, port: ExpectedPort, state: PortState | None, settled: Container[str]) -> VerifyCheck:
    """Return the check of a port's state: enabled always, up where its far end must be there by now."""
    must_be_up = port.required and port.device in settled
    expected = "up" if must_be_up else "enabled"
    if state is None:
        return VerifyCheck(device, CheckKind.LINK, port.port, expected, "no such interface", False)
    actual = "up" if state.enabled and state.up else "enabled, down" if state.enabled else "shut down"
    return VerifyCheck(
        device, CheckKind.LINK, port.port, expected, actual, state.enabled and (state.up or not must_be_up)
    )


def _addresses(expectation: Expectation, seen: Observation) -> Iterable[VerifyCheck]:
    for one in expectation.addresses:
        held = seen.addresses.get(one.port, frozenset())
        # More addresses on a port are somebody's; ours must be among them.
        actual = one.address if one.address in held else ", ".join(sorted(held)) or "none"
        yield _check(expectation, CheckKind.ADDRESS, one.port, one.address, actual)


def _neighbors(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    for neighbor in expectation.neighbors:
        found = seen.lldp.get(neighbor.port, ())
        if not found and not (neighbor.required and neighbor.device in settled):
            continue
        if neighbor.required and neighbor.device not in settled:
            continue
        expected = f"{neighbor.device} {neighbor.port_names[0]}"
        actual = _seen_as(neighbor, found, expected)
        yield _check(expectation, CheckKind.LLDP, neighbor.port, expected, actual)


def _seen_as(neighbor: ExpectedNeighbor, found: tuple[LldpNeighbor, ...], expected: str) -> str:
    if any(one.system == neighbor.device and one.port in neighbor.port_names for one in found):
        return expected
    return ", ".join(f"{one.system} {one.port}" for one in found) or "no neighbor"


def _sessions(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    for session in expectation.sessions:
        if session.device in settled:
            expected = f"AS {session.remote_asn} established"
            yield _check(expectation, CheckKind.BGP, session.peer, expected, _session_text(session, seen))


def _session_text(session: ExpectedSession, seen: Observation) -> str:
    found = seen.bgp.get(session.peer)
    if found is None:
        return "no such neighbor"
    return f"AS {found.remote_asn} {'established' if found.established else 'not established'}"


def _check(expectation: Expectation, kind: CheckKind, subject: str, expected: str, actual: str) -> VerifyCheck:
    return VerifyCheck(expectation.device, kind, subject, expected, actual, expected == actual)
