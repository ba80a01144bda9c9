"""Draining before a change and undraining after it, where the plan says so and the driver can."""

from napalm_sonic.observed import Look
from nornir_railweave.device.device import Device
from nornir_railweave.device.jobs import Found
from nornir_railweave.device.observing import Seen, seen_of
from nornir_railweave.events import Step

WHOLE = ("*",)
"""The whole device, every peer of it."""


def needs_drain(device: Device, found: Found) -> bool:
    """Tell whether this rollout has to drain: the change needs it, the driver can, and nobody has done so already."""
    wanted = device.job.drain
    able = hasattr(device.driver, "traffic")
    return bool(wanted) and able and not _covers(found.drained, wanted)


def in_the_way(found: Found) -> str:
    """Return why a device that an operator drained in part cannot be drained and undrained by a rollout."""
    if not found.drained:
        return ""
    return (
        f"{', '.join(found.drained)} is drained by hand, which undraining after the change would end: undrain it, or "
        f"drain the whole device; nothing was done"
    )


def drain_until_quiet(device: Device) -> str:
    """Drain the peers of the work under the switch's own timer; return what still flows when time is up."""
    # The driver of another connection needs no quiet.py at the start of every command.
    from nornir_railweave.device.drained_traffic import wait_until_drained

    rollout = device.order.policy.rollout
    peers = device.job.drain
    device.begin(Step.DRAINING, told(peers), peers=list(peers))
    look = Look(state=False, counters=True, over_s=device.interval_s)
    shown = device.driver.traffic.drain(
        None if peers == WHOLE else list(peers),
        revert_in=device.revert_in_s,
        message=device.order.policy.message,
        **device.showing(look),
        **device.held(),
    )
    device.say(Step.DRAINED, told(peers))
    flowing = wait_until_drained(
        device.driver,
        ports_of(device, peers),
        packets_per_s=rollout.quiet_packets_per_s,
        timeout_s=rollout.drain_timeout_s,
        interval_s=rollout.verify_interval_s,
        clock=device.order.policy.clock,
        first=() if shown is None else shown.counted,
    )
    if not flowing:
        device.say(Step.QUIET)
    return flowing


def undrain(device: Device) -> Seen | None:
    """Take the drain away while the commit still waits for its confirmation; return what our driver saw after it."""
    shown = device.driver.traffic.undrain(**device.showing(Look(counters=True, over_s=device.interval_s)))
    device.say(Step.UNDRAINED)
    return None if shown is None else seen_of(shown)


def ports_of(device: Device, peers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ports that must become quiet: those of the sessions with ``peers``."""
    sessions = device.job.expectation.sessions
    return tuple(dict.fromkeys(one.port for one in sessions if one.port and (peers == WHOLE or one.peer in peers)))


def told(peers: tuple[str, ...]) -> str:
    """Return what is drained, for a person."""
    return "the whole device" if peers == WHOLE else f"BGP peers {', '.join(peers)}"


def _covers(drained: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return drained == WHOLE or (bool(drained) and set(wanted) <= set(drained))
