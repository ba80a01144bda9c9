"""The counters of a device over a while."""

from napalm_sonic.decoding import decoding
from nornir_railweave.checked_driver import CheckedDriver
from railweave.switch_driver import ObserveRequest, PortCounters

# A counter that the device does not have, as NAPALM writes it.
UNKNOWN = -1


def count_over(driver: CheckedDriver, seconds: float) -> tuple[PortCounters, ...]:
    """Return the counters of a device so many seconds apart; empty where it does not count."""
    view = driver.observe(ObserveRequest(state=False, counters=True, over_s=seconds))
    with decoding("its counters"):
        return tuple(view.counted)
