"""Counters of ports over a while: what a switch does not renew in that time is not shown."""

import pytest

from railweave_switch.reading import observations
from sonic_sim.device import Device
from sonic_sim.switch_host import SimulatedHost

ASKED = {"counters": True, "over_s": 2}


@pytest.mark.parametrize(
    ("group", "is_counted"),
    [
        ({}, True),
        ({"FLEX_COUNTER_STATUS": "enable"}, True),
        ({"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "1000"}, True),
        ({"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "30000"}, False),
        ({"FLEX_COUNTER_STATUS": "disable", "POLL_INTERVAL": "1000"}, False),
        ({"FLEX_COUNTER_STATUS": "disable"}, False),
    ],
)
def test_counters_that_are_not_polled_in_time_are_not_compared(
    switch: Device, group: dict[str, str], is_counted: bool
) -> None:
    if group:
        switch.db.set_fields("FLEX_COUNTER_TABLE|PORT", group)
    earlier, later = observations(SimulatedHost(switch), ASKED)["counters"]
    assert later["at_s"] - earlier["at_s"] == pytest.approx(2, abs=0.5)
    assert ("Ethernet0" in earlier["ports"], "Ethernet0" in later["ports"]) == (is_counted, is_counted)
    (now,) = observations(SimulatedHost(switch), {"counters": True})["counters"]
    assert "Ethernet0" in now["ports"]
