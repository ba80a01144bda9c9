"""The counters of a device, read twice."""

from collections.abc import Mapping
from typing import Any

from napalm_sonic.decoding import decoding
from nornir_railweave.checked_driver import CheckedDriver
from railweave.switch_driver import ObserveRequest, PortCounters

# A counter that the device does not have, as NAPALM writes it.
UNKNOWN = -1


def count_over(driver: CheckedDriver, seconds: float) -> tuple[PortCounters, ...]:
    """Return two readings of a device's counters, ``seconds`` apart; empty if the device has no counters."""
    view = driver.observe(ObserveRequest(state=False, counters=True, over_s=seconds))
    with decoding("its counters"):
        return tuple(view.counted)


def count_of(counters: Mapping[str, Any], name: str) -> int:
    """Return a counter, or UNKNOWN if the device does not have it.

    Drivers leave such a counter out, or give -1, None or NaN for it.
    """
    value = counters.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return UNKNOWN
    try:
        return max(int(value), UNKNOWN)
    except (OverflowError, ValueError):
        return UNKNOWN
