"""The PFC watchdog: how long a queue may be paused before that counts as a storm.

The times are SONiC's own defaults (``pfcwd start_default``): 200 ms for every 32 ports of the switch, because the
watchdog polls all ports in one round. They follow from the panel, never from the ports in use, so that growth leaves
them alone.
"""

from math import ceil

from railweave.fabric.policy import WatchdogPolicy

_STEP_MS = 200
_PORTS_PER_STEP = 32
_POLL_LIMIT_MS = 1000
_DETECTION_LIMIT_MS = 5000


_NOTHING_STATED = WatchdogPolicy()


def watchdog(port_count: int, stated: WatchdogPolicy = _NOTHING_STATED) -> WatchdogPolicy:
    """Return the watchdog of a switch with ``port_count`` fabric ports, with every time set.

    Times of ``stated`` override the rule. The polling interval never exceeds a detection or restoration time, as
    sonic-pfcwd.yang requires, unless it is stated.
    """
    steps = max(1, ceil(port_count / _PORTS_PER_STEP))
    times_ms = _STEP_MS * steps
    detection_ms = stated.detection_ms or min(times_ms, _DETECTION_LIMIT_MS)
    restoration_ms = stated.restoration_ms or detection_ms
    poll_ms = stated.poll_ms or min(times_ms, _POLL_LIMIT_MS, detection_ms, restoration_ms)
    return stated._replace(detection_ms=detection_ms, restoration_ms=restoration_ms, poll_ms=poll_ms)


def detection_rule(port_count: int, stated: WatchdogPolicy) -> str:
    """Return in words what the detection time of a switch with ``port_count`` fabric ports follows from."""
    if stated.detection_ms:
        return "pfc_watchdog.detection_ms"
    return f"{_STEP_MS} ms for each {_PORTS_PER_STEP} of {port_count} ports, as `pfcwd start_default` sets it"
