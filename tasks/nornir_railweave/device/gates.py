"""The gate of one device: the checks that it must pass after its change, repeated until they do or time is up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nornir_railweave.device.counting import count_over
from nornir_railweave.device.device import Device
from nornir_railweave.device.observing import Seen, losses_of, observe
from nornir_railweave.device.session import DEVICE_ERRORS, error_text
from railweave.plan.health import Baseline, LossWatch, accepted_prefixes, health, loss_checks, prefix_checks
from railweave.plan.observation import Observation
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.routes import WAIT_S, session_routes
from railweave.plan.verification import unreachable

_SHOWN_CHECKS = 3


def take_baseline(device: Device, seen: Seen) -> Baseline:
    """Return the checks, prefixes and losses of a device before its change, with which it is compared afterwards."""
    expectation = device.job.expectation
    held = health(expectation, seen.observation)
    rates: Mapping[tuple[CheckKind, str], float] = {}
    if seen.losses:
        rates = seen.losses.rates(used_ports(device))
    routes = session_routes(expectation, seen.observation)
    prefixes = accepted_prefixes(held, seen.observation, to_nodes=expectation.ipv4_to_nodes)
    lacking = frozenset(session.peer for session in routes if not session.ok)
    return Baseline(held, prefixes, lacking, rates)


def used_ports(device: Device) -> tuple[str, ...]:
    """Return the ports that the fabric uses; a change is not judged by the others."""
    return tuple(port.port for port in device.job.expectation.ports)


def checks_of(
    device: Device, baseline: Baseline, seen: Observation, losses: LossWatch | None, *, whole: bool = True
) -> tuple[VerifyCheck, ...]:
    """Return the checks of an observation, and of the packets that ports lost if ``losses`` has counted them.

    Without ``whole`` prefixes, announcements and losses are left out: a drained device may get fewer prefixes.
    """
    order = device.order
    checks = [*device.job.gate(seen, order.settled, baseline.held)]
    if not whole:
        return tuple(checks)
    peers = [check.subject for check in checks if check.kind is CheckKind.BGP]
    checks += prefix_checks(device.job.device, baseline.prefixes, seen, peers, order.missing)
    # A session that did not announce all of its routes before the change need not do so after it.
    for session in device.job.routes(seen, order.settled):
        if session.announced and session.peer not in baseline.lacking:
            checks.append(session.check)
    if losses is not None:
        checks += loss_checks_of(device, baseline, losses)
    return tuple(checks)


def loss_checks_of(device: Device, baseline: Baseline, losses: LossWatch) -> tuple[VerifyCheck, ...]:
    """Return for every used port whether it loses packets faster than before the change."""
    return loss_checks(device.job.device, baseline.losses, losses.rates(used_ports(device)))


@dataclass(frozen=True, slots=True)
class _GateReading:
    """The checks of one reading, and whether neighbors have yet to announce their own prefixes."""

    checks: tuple[VerifyCheck, ...]
    awaits_routes: bool = False

    @property
    def failed(self) -> list[VerifyCheck]:
        """Return the checks that failed."""
        return [check for check in self.checks if not check.ok]


def wait_for_gate(device: Device, baseline: Baseline, *, whole: bool = True, first: Seen | None = None) -> str:
    """Read the device until all checks pass and no port loses more packets than before the change.

    Returns an empty text then, or a sentence with the failed checks when the time is up. Without ``whole`` neither
    prefixes nor losses are judged. ``first`` is a reading that the caller has already made.

    Missing prefixes of settled neighbors delay the gate by at most WAIT_S and never fail it, as this device is not the
    cause.
    """
    rollout = device.order.policy.rollout
    clock = device.order.policy.clock
    deadline_s = clock.monotonic() + rollout.verify_timeout_s
    routes_deadline_s = clock.monotonic() + min(rollout.verify_timeout_s, WAIT_S)
    judges_losses = whole and bool(baseline.losses)
    given = first
    while True:
        reading = _read_gate(device, baseline, given, whole=whole, judges_losses=judges_losses)
        failed = reading.failed
        next_reading_s = clock.monotonic() + rollout.verify_interval_s
        if failed:
            if next_reading_s > deadline_s:
                return sentence(failed)
        elif not reading.awaits_routes or next_reading_s > routes_deadline_s:
            return ""
        clock.sleep(rollout.verify_interval_s)
        given = None


def _loss_checks(device: Device, baseline: Baseline, seen: Seen) -> Sequence[VerifyCheck]:
    """Return the checks of the losses in ``seen``, or else of losses that are counted now.

    There are none if the switch has no counters.
    """
    losses = seen.losses or losses_of(count_over(device.driver, device.interval_s))
    if losses is None:
        return ()
    return loss_checks_of(device, baseline, losses)


def _read_gate(
    device: Device, baseline: Baseline, given: Seen | None, *, whole: bool, judges_losses: bool
) -> _GateReading:
    """Return the checks of the reading ``given``, or of a new one if that is None.

    A device that does not answer has one failed check, and its session is closed.
    """
    try:
        reading = given or Seen(observe(device.driver))
        checks = checks_of(device, baseline, reading.observation, None, whole=whole)
        awaits_routes = whole and _awaits_routes(device, baseline, reading.observation)
        # Counting losses takes a while, so they are judged last, where all else has passed.
        has_passed = not awaits_routes and all(check.ok for check in checks)
        if not judges_losses or not has_passed:
            return _GateReading(checks, awaits_routes)
        return _GateReading((*checks, *_loss_checks(device, baseline, reading)))
    except DEVICE_ERRORS as fault:
        device.session.close()
        return _GateReading((unreachable(device.job.device, error_text(fault)),))


def _awaits_routes(device: Device, baseline: Baseline, seen: Observation) -> bool:
    """Tell whether a neighbor has yet to announce its own prefixes, and had announced them before the change."""
    routes = device.job.routes(seen, device.order.settled)
    lacking = {session.peer for session in routes if not session.ok and not session.announced}
    return not lacking <= baseline.lacking


def sentence(failed: Iterable[VerifyCheck]) -> str:
    """Return failed checks as one sentence."""
    checks = list(failed)
    shown = "; ".join(map(_failure, checks[:_SHOWN_CHECKS]))
    hidden = len(checks) - _SHOWN_CHECKS
    more = f"; and {hidden} more" if hidden > 0 else ""
    return f"verification failed: {shown}{more}"


def _failure(check: VerifyCheck) -> str:
    return f"{check.kind.value} {check.subject}: expected {check.expected}, is {check.actual}"
