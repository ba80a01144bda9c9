"""Draining before a change and undraining after it, where the plan says so and the driver can."""

from nornir_railweave.device.device import Device
from nornir_railweave.device.drained_traffic import wait_until_drained
from nornir_railweave.device.jobs import JobReading
from nornir_railweave.device.observing import Seen, seen_of
from nornir_railweave.events import Step
from railweave.switch_driver import Capability, ObserveRequest

# The whole device, every peer of it.
WHOLE = ("*",)


def needs_drain(device: Device, reading: JobReading) -> bool:
    """Tell whether this rollout has to drain the device.

    It does if the job has peers to drain, the driver can drain, and they are not all drained already.
    """
    peers = device.job.drain
    if not peers or not device.driver.can(Capability.DRAIN):
        return False
    return not _covers(reading.drained, peers)


def in_the_way(reading: JobReading) -> str:
    """Return why a rollout must not drain the device: an operator has drained a part of it. Empty if nobody has.

    Undraining after the change would end the operator's drain too.
    """
    if not reading.drained:
        return ""
    return (
        f"{', '.join(reading.drained)} is drained by hand, which undraining after the change would end: undrain it, or "
        f"drain the whole device; nothing was done"
    )


def drain_until_quiet(device: Device) -> str:
    """Drain the peers of the job under the switch's timer, and wait until their ports are quiet.

    Return in words what still flows when the time is up, else an empty text.
    """
    rollout = device.order.policy.rollout
    driver = device.driver
    peers = device.job.drain
    device.begin(Step.DRAINING, shown_peers(peers), peers=list(peers))
    view = driver.drain(
        None if peers == WHOLE else list(peers),
        revert_in=device.revert_in_s,
        message=device.order.policy.message,
        request=ObserveRequest(state=False, counters=True, over_s=device.interval_s),
        hold=device.order.hold if driver.can(Capability.HOLD) else "",
    )
    device.say(Step.DRAINED, shown_peers(peers))
    flowing = wait_until_drained(
        driver,
        ports_of(device, peers),
        packets_per_s=rollout.quiet_packets_per_s,
        timeout_s=rollout.drain_timeout_s,
        interval_s=rollout.verify_interval_s,
        clock=device.order.policy.clock,
        first=() if view is None else view.counted,
    )
    if not flowing:
        device.say(Step.QUIET)
    return flowing


def undrain(device: Device) -> Seen | None:
    """Undrain the device while its commit still waits for its confirmation.

    Return what the driver's answer shows, None if it shows nothing.
    """
    view = device.driver.undrain(ObserveRequest(counters=True, over_s=device.interval_s))
    device.say(Step.UNDRAINED)
    if view is None:
        return None
    return seen_of(view)


def ports_of(device: Device, peers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ports that must become quiet: those of the sessions with ``peers``."""
    sessions = [session for session in device.job.expectation.sessions if session.port]
    if peers != WHOLE:
        sessions = [session for session in sessions if session.peer in peers]
    return tuple(dict.fromkeys(session.port for session in sessions))


def shown_peers(peers: tuple[str, ...]) -> str:
    """Return what is drained, for a person."""
    if peers == WHOLE:
        return "the whole device"
    return f"BGP peers {', '.join(peers)}"


def _covers(drained: tuple[str, ...], peers: tuple[str, ...]) -> bool:
    """Tell whether all of ``peers`` are drained."""
    return drained == WHOLE or (bool(drained) and set(peers) <= set(drained))
