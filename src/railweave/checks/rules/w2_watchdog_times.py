"""The watchdog looks once a poll interval and cannot detect what is shorter (sonic-pfcwd.yang)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, rule
from railweave.intent.model import Intent

if TYPE_CHECKING:
    from railweave.sonic.port_settings import WatchTimes

RULE = rule(
    "W-2", "the PFC watchdog's times are consistent", __doc__, "pfc_watchdog: {detection_ms: 200, poll_ms: 400}"
)


@RULE.on_intent
def check_intended_times(intent: Intent) -> Breaches:
    """Yield a breach for each time of the watchdog in the intent that is shorter than the interval of its polls."""
    watchdog = intent.policies.watchdog
    if watchdog.poll_ms is None:
        return
    for name, time_ms in (("detection_ms", watchdog.detection_ms), ("restoration_ms", watchdog.restoration_ms)):
        if time_ms is not None and time_ms < watchdog.poll_ms:
            message = f"the watchdog polls every {watchdog.poll_ms} ms and cannot tell {time_ms} ms ({name})"
            fix = f"raise {name} to {watchdog.poll_ms} or more, or lower poll_ms"
            yield Breach(f"pfc_watchdog.{name}", message, fix)


@RULE.on_link
def check_set_times(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each time of a port's watchdog that is shorter than the interval of its polls."""
    for end in link.switches:
        times = end.watch_times
        if times is None or times.poll_ms is None:
            continue
        for name, time_ms in (("detection_time", times.detection_ms), ("restoration_time", times.restoration_ms)):
            if time_ms is not None and time_ms < times.poll_ms:
                message = (
                    f"the watchdog of {end} towards {link.far(end)} looks every {times.poll_ms} ms and cannot tell"
                    f" {time_ms} ms ({name})"
                )
                fix = f"raise PFC_WD|{end.port}|{name} to {times.poll_ms} or more, or lower PFC_WD|GLOBAL|POLL_INTERVAL"
                yield LinkBreach(end, name, message, fix)


@RULE.on_link
def compare_with_design(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each time of a port's watchdog that differs from the design."""
    for end in link.switches:
        times = end.watch_times
        design = link.design(end).watch_times
        if not times or not design:
            continue
        # A longer detection lets a storm spread, a shorter one drops packets that are merely congested.
        for time in _compared_times(end.port, times, design):
            if time.actual_ms != time.design_ms:
                actual = "not set" if time.actual_ms is None else f"{time.actual_ms} ms"
                message = (
                    f"{time.name} of the watchdog of {end} towards {link.far(end)} is {actual}, by design"
                    f" {time.design_ms} ms"
                )
                fix = f"set PFC_WD|{time.row}|{time.name} to {time.design_ms}"
                yield LinkBreach(end, f"{time.name} {time.actual_ms}", message, fix)


class _ComparedTime(NamedTuple):
    """A time of the watchdog: its field and row in PFC_WD, as it is set and as designed; None if it is not set."""

    name: str
    row: str
    actual_ms: int | None
    design_ms: int | None


def _compared_times(port: str, actual: "WatchTimes", design: "WatchTimes") -> Iterator[_ComparedTime]:
    yield _ComparedTime("detection_time", port, actual.detection_ms, design.detection_ms)
    yield _ComparedTime("restoration_time", port, actual.restoration_ms, design.restoration_ms)
    yield _ComparedTime("POLL_INTERVAL", "GLOBAL", actual.poll_ms, design.poll_ms)
