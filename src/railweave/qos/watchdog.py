"""The PFC watchdog: how long a queue may be paused before that counts as a storm.

The times are SONiC's own defaults (``pfcwd start_default``): 200 ms for every 32 ports of the switch, because the
watchdog polls all ports in one round. They follow from the panel, never from the ports in use, so that growth leaves
them alone.
"""

from typing import NamedTuple

from railweave.fabric.policy import WatchdogPolicy

_STEP_MS = 200
_PORTS_PER_STEP = 32
_POLL_LIMIT_MS = 1000
_DETECTION_LIMIT_MS = 5000


class Watchdog(NamedTuple):
    """Times in milliseconds, the ``action`` on packets of a stormed queue, and in words the ``rule`` that gave the
    detection time."""

    detection_ms: int
    restoration_ms: int
    poll_ms: int
    action: str
    rule: str


def watchdog(port_count: int, policy: WatchdogPolicy | None = None) -> Watchdog:
    """Return the watchdog of a switch with ``port_count`` fabric ports; times in ``policy`` override the rule.

    The poll never exceeds a stated detection or restoration time (sonic-pfcwd.yang).
    """
    stated = policy or WatchdogPolicy()
    times_ms = _STEP_MS * max(1, (port_count - 1) // _PORTS_PER_STEP + 1)
    detection_ms = stated.detection_ms or min(times_ms, _DETECTION_LIMIT_MS)
    restoration_ms = stated.restoration_ms or detection_ms
    poll_ms = stated.poll_ms or min(times_ms, _POLL_LIMIT_MS, detection_ms, restoration_ms)
    rule = f"{_STEP_MS} ms for each {_PORTS_PER_STEP} of {port_count} ports, as `pfcwd start_default` sets it"
    if stated.detection_ms:
        rule = "pfc_watchdog.detection_ms"
    return Watchdog(detection_ms, restoration_ms, poll_ms, stated.action.value, rule)
