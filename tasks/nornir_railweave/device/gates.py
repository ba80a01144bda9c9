"""The gate of one device: what it must show after its change, looked at until all holds or time is up."""

from collections.abc import Iterable

from nornir_railweave.device.device import Device
from nornir_railweave.device.observing import count_losses, observe, observe_and_count
from nornir_railweave.device.session import DEVICE_FAULTS, words
from railweave.plan.health import Baseline, accepted_prefixes, health, prefix_checks
from railweave.plan.losses import LossWatch, loss_checks
from railweave.plan.observation import Counters, Observation
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import unreachable

_SHOWN_CHECKS = 3


def take_baseline(device: Device) -> Baseline:
    """Return what holds now and must hold afterwards; takes at least the time between two looks."""
    seen, earlier = observe_and_count(device.driver, device.order.policy.clock)
    held = health(device.job.expectation, seen)
    watch = _watch(device, earlier)
    return Baseline(held, accepted_prefixes(held, seen), watch.rates(used_ports(device)) if watch else {})


def used_ports(device: Device) -> tuple[str, ...]:
    """Return the ports that the fabric uses; nobody's change may be judged by the others."""
    return tuple(port.port for port in device.job.expectation.ports)


def check_once(device: Device, baseline: Baseline, *, whole: bool = True) -> tuple[VerifyCheck, ...]:
    """Return the checks of one look. Without ``whole`` prefixes are left out: a drained device may get fewer.

    Raises what the driver raises when the device does not answer.
    """
    return _checks(device, baseline, observe(device.driver), whole=whole)


def _checks(device: Device, baseline: Baseline, seen: Observation, *, whole: bool) -> tuple[VerifyCheck, ...]:
    order = device.order
    checks = device.job.gate(seen, order.settled, baseline.held)
    if not whole:
        return checks
    peers = [check.subject for check in checks if check.kind is CheckKind.BGP]
    return (*checks, *prefix_checks(device.job.device, baseline.prefixes, seen, peers, order.moving))


def wait_for_gate(device: Device, baseline: Baseline, *, whole: bool = True) -> str:
    """Look until all checks hold, and no port loses more than before; return what was wrong when time was up.

    Without ``whole`` neither prefixes nor losses are judged.
    """
    rollout, clock = device.order.policy.rollout, device.order.policy.clock
    deadline = clock.monotonic() + rollout.verify_timeout_s
    watched = whole and bool(baseline.losses)
    while True:
        checks = _look(device, baseline, whole=whole, watched=watched)
        failed = [check for check in checks if not check.ok]
        if not failed:
            return ""
        if clock.monotonic() + rollout.verify_interval_s > deadline:
            return sentence(failed)
        clock.sleep(rollout.verify_interval_s)


def _look(device: Device, baseline: Baseline, *, whole: bool, watched: bool) -> tuple[VerifyCheck, ...]:
    try:
        if not watched:
            return check_once(device, baseline, whole=whole)
        seen, earlier = observe_and_count(device.driver, device.order.policy.clock)
        checks = _checks(device, baseline, seen, whole=whole)
        if earlier is None or not all(check.ok for check in checks):
            return checks
        return (*checks, *losses_since(device, baseline, earlier))
    except DEVICE_FAULTS as fault:
        device.session.close()
        return (unreachable(device.job.device, words(fault)),)


def losses_since(device: Device, baseline: Baseline, earlier: Counters) -> tuple[VerifyCheck, ...]:
    """Return for every used port whether it has lost packets faster since ``earlier`` than before the change."""
    watch = _watch(device, earlier)
    if watch is None:
        return ()
    return loss_checks(device.job.device, baseline.losses, watch.rates(used_ports(device)))


def _watch(device: Device, earlier: Counters | None) -> LossWatch | None:
    """Return the counters of ``earlier`` and of now, not before the time between two looks has passed."""
    if earlier is None:
        return None
    policy = device.order.policy
    policy.clock.sleep(max(0.0, earlier.at_s + policy.rollout.verify_interval_s - policy.clock.monotonic()))
    later = count_losses(device.driver, policy.clock)
    return None if later is None else LossWatch(earlier, later)


def sentence(failed: Iterable[VerifyCheck]) -> str:
    """Return failing checks as one sentence."""
    all_of_them = list(failed)
    shown = "; ".join(
        f"{one.kind.value} {one.subject}: expected {one.expected}, is {one.actual}"
        for one in all_of_them[:_SHOWN_CHECKS]
    )
    left = len(all_of_them) - _SHOWN_CHECKS
    return f"verification failed: {shown}{f'; and {left} more' if left > 0 else ''}"
