"""Comparing what a device shows (interfaces, addresses, LLDP neighbors, BGP sessions) with what the fabric needs.

During a rollout the far end of a link may still run its old configuration. A check that depends on a far end is made
only if that far end is ``settled``: deployed and confirmed in this rollout, or unchanged by it.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from railweave.plan.expectation import Expectation, ExpectedNeighbor, ExpectedPort, ExpectedSession
from railweave.plan.observation import LldpNeighbor, Observation, ObservedSession, PortState
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.wording import compact

AS_CONFIGURED = "as in CONFIG_DB"
CONFIRMED = "confirmed"
RUNNING = "running"


class _Everyone:
    """The container that holds every device."""

    def __contains__(self, _: object) -> bool:
        return True


EVERYONE: Container[str] = _Everyone()
"""All devices are settled: nothing is in motion."""


def check_device(
    expectation: Expectation, seen: Observation, settled: Container[str] = EVERYONE
) -> tuple[VerifyCheck, ...]:
    """Return every check of one device, except those that depend on a far end that is not ``settled``."""
    checks = (
        *_port_checks(expectation, seen, settled),
        *_address_checks(expectation, seen),
        *_neighbor_checks(expectation, seen, settled),
        *_session_checks(expectation, seen, settled),
        *_daemon_checks(expectation, seen),
    )
    return tuple(_skipped_by_scope(check, expectation.skipped) for check in checks)


def check_peers(
    expectation: Expectation, seen: Observation, settled: Container[str] = EVERYONE
) -> tuple[VerifyCheck, ...]:
    """Return the checks of a device's LLDP neighbors and BGP sessions, which are part of ``check_device``."""
    checks = (*_neighbor_checks(expectation, seen, settled), *_session_checks(expectation, seen, settled))
    return tuple(_skipped_by_scope(check, expectation.skipped) for check in checks)


def _skipped_by_scope(check: VerifyCheck, reasons: Mapping[str, str]) -> VerifyCheck:
    """Return the check as passed and skipped if ``reasons`` has a reason to leave out its kind, else as it is."""
    if check.kind not in reasons:
        return check
    return replace(check, ok=True, skipped=reasons[check.kind])


def unsettled(expectation: Expectation, seen: Observation) -> tuple[VerifyCheck, ...]:
    """Return the failing checks of a device on which a commit waits or a daemon does not run; else nothing.

    What a device shows while a commit waits may be gone once its timer ends. These checks are not part of
    ``check_device``: a rollout checks devices while its own commits wait, and judges daemons by the outcome of its own
    change.
    """
    checks = []
    if seen.waiting:
        checks.append(_check(expectation, CheckKind.COMMIT, "commit", CONFIRMED, seen.waiting))
    if seen.broken:
        checks.append(_check(expectation, CheckKind.DAEMONS, "daemons", RUNNING, seen.broken))
    return tuple(check for check in checks if check.kind not in expectation.skipped)


def unreachable(device: str, reason: str) -> VerifyCheck:
    """Return the failing check of a device that could not be read."""
    return VerifyCheck(
        device=device, kind=CheckKind.REACHABLE, subject=device, expected="reachable", actual=reason, ok=False
    )


def _port_checks(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    """Yield the checks of the MTU and of the link of each port."""
    for port in expectation.ports:
        state = seen.ports.get(port.port)
        mtu = "no such interface" if state is None else str(state.mtu_bytes)
        yield _check(expectation, CheckKind.MTU, port.port, str(port.mtu_bytes), mtu)
        yield _link_check(expectation.device, port, state, settled)


def _link_check(device: str, port: ExpectedPort, state: PortState | None, settled: Container[str]) -> VerifyCheck:
    """Return the check of the link at a port; ``state`` is None if the device has no such interface."""
    must_be_up = port.required and port.device in settled
    expected = "up" if must_be_up else "enabled"
    if state is None:
        actual = "no such interface"
        ok = False
    elif not state.enabled:
        actual = "shut down"
        ok = False
    elif state.up:
        actual = "up"
        ok = True
    else:
        actual = "enabled, down"
        ok = not must_be_up
    return VerifyCheck(device=device, kind=CheckKind.LINK, subject=port.port, expected=expected, actual=actual, ok=ok)


def _address_checks(expectation: Expectation, seen: Observation) -> Iterable[VerifyCheck]:
    """Yield the check of the addresses of each interface."""
    for interface in expectation.addresses:
        intended_addresses = frozenset(interface.all)
        seen_addresses = seen.addresses.get(interface.port, frozenset())
        is_as_intended = seen_addresses >= intended_addresses
        if interface.ours:
            is_as_intended = seen_addresses == intended_addresses
        expected = ", ".join(interface.all) or "none"
        actual = ", ".join(sorted(seen_addresses)) or "none"
        if is_as_intended:
            # The order of addresses on a switch means nothing, so a match is shown in the expected order.
            actual = expected
        yield _check(expectation, CheckKind.ADDRESS, interface.port, expected, actual)


def _neighbor_checks(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    """Yield the checks of the LLDP neighbors: all nodes, and the switches that are ``settled``."""
    for neighbor in expectation.neighbors:
        if neighbor.required and neighbor.device not in settled:
            continue
        announced = seen.lldp.get(neighbor.port, ())
        if not announced and not neighbor.required:
            yield _node_not_seen(expectation.device, neighbor)
            continue
        expected = f"{neighbor.device} {neighbor.port_names[0]}"
        actual = _lldp_text(neighbor, announced, expected)
        yield _check(expectation, CheckKind.LLDP, neighbor.port, expected, actual)


def _node_not_seen(device: str, neighbor: ExpectedNeighbor) -> VerifyCheck:
    """Return the skipped check of a node that announces nothing, such as one that is switched off."""
    expected = f"{neighbor.device} {neighbor.port_names[0]}"
    return VerifyCheck(
        device=device,
        kind=CheckKind.LLDP,
        subject=neighbor.port,
        expected=expected,
        actual="no neighbor",
        ok=True,
        skipped=NODE_NOT_SEEN,
    )


NODE_NOT_SEEN = "no neighbor is seen on a node port, as while the node is off or sends no LLDP"


def _lldp_text(neighbor: ExpectedNeighbor, announced: tuple[LldpNeighbor, ...], expected: str) -> str:
    """Return what LLDP shows on a port, as a text.

    The text is ``expected`` if the neighbor is among those that are ``announced``, by the name or alias of its port.
    """
    if any(seen.system == neighbor.device and seen.port in neighbor.port_names for seen in announced):
        return expected
    return ", ".join(f"{seen.system} {seen.port}" for seen in announced) or "no neighbor"


def _session_checks(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    for session in expectation.sessions:
        if session.device in settled:
            yield from _checks_of_session(expectation, session, seen)


def _checks_of_session(expectation: Expectation, session: ExpectedSession, seen: Observation) -> Iterable[VerifyCheck]:
    """Yield the checks of one BGP session."""
    expected = f"AS {session.remote_asn} established"
    yield _check(expectation, CheckKind.BGP, session.peer, expected, _session_text(session, seen))
    yield from _timer_checks(expectation, session, seen)
    if seen.is_whole:
        yield from _prefixes_not_counted(expectation, session, seen.bgp.get(session.peer))
    if session.bfd and seen.bfd is not None:
        yield _check(expectation, CheckKind.BFD, session.peer, "up", seen.bfd.get(session.peer, "none"))
        yield from _bfd_timer_checks(expectation, session.peer, seen)
    if session.ipv6:
        yield _check(expectation, CheckKind.IPV6, session.peer, _CARRIED, _ipv6_text(session, seen))


def _timer_checks(expectation: Expectation, session: ExpectedSession, seen: Observation) -> Iterable[VerifyCheck]:
    """Yield the check that a session runs the timers of the intent; nothing for a session that is not there."""
    state = seen.bgp.get(session.peer)
    if state is None or not session.hold_s:
        return
    timers = state.timers
    expected = timers_text(session.keepalive_s, session.hold_s)
    if timers is None:
        # A driver that does not report everything may leave them out without a remark.
        if seen.is_whole:
            yield _not_shown(expectation, CheckKind.TIMERS, session.peer, expected)
        return
    actual = timers_text(timers.keepalive_s, timers.hold_s)
    ok = actual == expected
    if expectation.own_frr:
        # The project's own template may state other timers, and the neighbor shorter ones, which then apply.
        expected = f"at most {timers_text(timers.configured_keepalive_s, timers.configured_hold_s)}"
        ok = timers.hold_s <= timers.configured_hold_s and timers.keepalive_s <= timers.configured_keepalive_s
    check = VerifyCheck(
        device=expectation.device, kind=CheckKind.TIMERS, subject=session.peer, expected=expected, actual=actual, ok=ok
    )
    if not state.established:
        check = replace(check, actual=NOT_OPEN, ok=True, skipped=NO_TIMERS)
    yield check


def _bfd_timer_checks(expectation: Expectation, peer: str, seen: Observation) -> Iterable[VerifyCheck]:
    """Yield the check that BFD notices a silent neighbor in the time of FRR's default timers."""
    # The project's own template may set other timers.
    if expectation.own_frr:
        return
    is_up = seen.bfd is not None and seen.bfd.get(peer) == "up"
    if not is_up or seen.bfd_ms is None:
        return
    # FRR keeps other timers that somebody gave to a neighbor, and does not print them with its lines.
    milliseconds = seen.bfd_ms.get(peer)
    expected = _detection_text(BFD_DETECTS_MS)
    if milliseconds is None:
        check = _check(expectation, CheckKind.TIMERS, f"{peer} (BFD)", expected, UNKNOWN_BFD)
        yield replace(check, ok=True, skipped=UNKNOWN_BFD)
    else:
        yield _check(expectation, CheckKind.TIMERS, f"{peer} (BFD)", expected, _detection_text(milliseconds))


BFD_DETECTS_MS = 3 * 300
"""Multiplier and interval of FRR (bfdd/bfd.h, BFD_DEFDETECTMULT, BFD_DEFREQUIREDMINRX); the intent has no others."""
UNKNOWN_BFD = "bfdd does not show the timers of both ends"


def _detection_text(milliseconds: int) -> str:
    return f"silence noticed after {milliseconds / 1000:g} s"


def _prefixes_not_counted(
    expectation: Expectation, session: ExpectedSession, state: ObservedSession | None
) -> Iterable[VerifyCheck]:
    """Yield a skipped check if an established session does not report how many prefixes it carries."""
    if state is None or not state.established or not session.own_prefixes:
        return
    if state.ipv4_accepted < 0 or state.ipv4_announced < 0:
        yield _not_shown(expectation, CheckKind.PREFIXES, session.peer, "prefixes counted")


def _not_shown(expectation: Expectation, kind: CheckKind, subject: str, expected: str) -> VerifyCheck:
    """Return the skipped check of a value that a device does not report."""
    return VerifyCheck(
        device=expectation.device,
        kind=kind,
        subject=subject,
        expected=expected,
        actual=NOT_SHOWN,
        ok=True,
        skipped=UNKNOWN,
    )


NOT_SHOWN = "not shown"
UNKNOWN = "the device does not show it, so whether it is as intended is unknown"
NOT_OPEN = "session not established"
NO_TIMERS = "a session that is not established has no timers in force"


def timers_text(keepalive_s: int, hold_s: int) -> str:
    """Return the timers of a session as checks show them."""
    return f"keepalive {keepalive_s} s, hold {hold_s} s"


def _daemon_checks(expectation: Expectation, seen: Observation) -> Iterable[VerifyCheck]:
    """Yield the check that SONiC's daemons hold the values of CONFIG_DB."""
    if seen.unapplied is None:
        if seen.is_whole:
            yield _not_shown(expectation, CheckKind.APPLIED, "daemons", AS_CONFIGURED)
        return
    actual = AS_CONFIGURED
    if seen.unapplied:
        actual = str(seen.unapplied[0])
    if len(seen.unapplied) > 1:
        actual += f"; and {len(seen.unapplied) - 1} more"
    yield _check(expectation, CheckKind.APPLIED, "daemons", AS_CONFIGURED, actual)


def _session_text(session: ExpectedSession, seen: Observation) -> str:
    state = seen.bgp.get(session.peer)
    if state is None:
        return "no such neighbor"
    if not state.established:
        return f"AS {state.remote_asn} not established"
    return f"AS {state.remote_asn} established"


_CARRIED = "agreed on by both ends"


def _ipv6_text(session: ExpectedSession, seen: Observation) -> str:
    state = seen.bgp.get(session.peer)
    if state is None or not state.established:
        return "session not established"
    # The multiprotocol capability of both OPEN messages (RFC 4760).
    if "ipv6" in state.families:
        return _CARRIED
    return "not agreed on"


_FIELDS = {"speed": "speed", "fec": "FEC"}


def unseen_warnings(unseen: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return sentences that say which values of ports could not be compared on which devices.

    ``unseen`` has the fields of ports by device (``Observation.unseen``). Devices with equal fields share a sentence.
    """
    devices_by_fields: dict[tuple[str, ...], list[str]] = {}
    for device, fields in unseen.items():
        if fields:
            devices_by_fields.setdefault(fields, []).append(device)
    warnings = []
    for fields, devices in devices_by_fields.items():
        names = " and ".join(_FIELDS.get(field, field) for field in fields)
        warnings.append(
            f"{compact(devices)}: SONiC does not report the {names} in force on ports, so it is not compared with"
            " the intent (FEC is reported from 202311 on, where the ASIC's SAI has it)"
        )
    return tuple(warnings)


def missing_bfdd(expectation: Expectation, seen: Observation) -> str:
    """Return a sentence if bfdd does not run although BFD should watch sessions; else an empty text."""
    if CheckKind.BFD in expectation.skipped:
        return ""
    # bgpd says ``Unknown`` for a session that it never heard of from bfdd (run on FRR 8.4 and 10.3).
    states = seen.bfd or {}
    has_unknown = any(session.bfd and states.get(session.peer) == "unknown" for session in expectation.sessions)
    if not has_unknown:
        return ""
    return (
        f"{expectation.device} runs no bfdd, so BFD watches none of its sessions: bgpcfgd starts it"
        " (`docker exec bgp supervisorctl restart bgpcfgd`)"
    )


def _check(expectation: Expectation, kind: CheckKind, subject: str, expected: str, actual: str) -> VerifyCheck:
    """Return a check that passes if ``actual`` is ``expected``."""
    return VerifyCheck(
        device=expectation.device, kind=kind, subject=subject, expected=expected, actual=actual, ok=expected == actual
    )
