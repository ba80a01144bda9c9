"""The watchdog looks once a poll interval and cannot detect what is shorter (sonic-pfcwd.yang)."""

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, rule
from railweave.intent.model import Intent

RULE = rule(
    "W-2", "the PFC watchdog's times are consistent", __doc__, "pfc_watchdog: {detection_ms: 200, poll_ms: 400}"
)


@RULE.on_intent
def intended(intent: Intent) -> Breaches:
    """Compare the times of the intent."""
    watchdog = intent.policies.watchdog
    for name, time_ms in (("detection_ms", watchdog.detection_ms), ("restoration_ms", watchdog.restoration_ms)):
        if watchdog.poll_ms is not None and time_ms is not None and time_ms < watchdog.poll_ms:
            message = f"the watchdog polls every {watchdog.poll_ms} ms and cannot tell {time_ms} ms ({name})"
            fix = f"raise {name} to {watchdog.poll_ms} or more, or lower poll_ms"
            yield Breach(f"pfc_watchdog.{name}", message, fix)


@RULE.on_link
def set_ends(link: LinkEnds) -> LinkBreaches:
    """Compare the times of a port."""
    for end in link.switches:
        times = end.watch_times
        if times is None:
            continue
        for name, time_ms in (("detection_time", times.detection_ms), ("restoration_time", times.restoration_ms)):
            if time_ms is not None and time_ms < times.poll_ms:
                message = (
                    f"the watchdog of {end} towards {link.far(end)} looks every {times.poll_ms} ms and cannot tell"
                    f" {time_ms} ms ({name})"
                )
                fix = f"raise PFC_WD|{end.port}|{name} to {times.poll_ms} or more, or lower PFC_WD|GLOBAL|POLL_INTERVAL"
                yield LinkBreach(end, name, message, fix)
