"""A field that is absent because SONiC has a default is that default, not a statement that nothing is set."""

import pytest

from railweave.sonic.port_settings import switch_port
from railweave.sonic.resolved import ResolvedTables

ROW = {"lanes": "1,2", "speed": "400000", "mtu": "9100", "fec": "none", "autoneg": "off"}
WATCH = {"detection_time": "200", "restoration_time": "400", "action": "drop"}


def settings(port: dict[str, str], watch: dict[str, str], whole: dict[str, str]) -> object:
    tables = {
        "PORT": {"Ethernet0": port},
        "PORT_QOS_MAP": {},
        "PFC_WD": {"Ethernet0": watch, **({"GLOBAL": whole} if whole else {})},
    }
    return switch_port("leaf1", ResolvedTables(tables), "Ethernet0", 2)


@pytest.mark.parametrize("field", ["mtu", "fec", "autoneg"])
def test_a_port_without_the_field_is_as_one_that_states_the_default(field: str) -> None:
    absent = {name: value for name, value in ROW.items() if name != field}
    assert settings(absent, WATCH, {"POLL_INTERVAL": "100"}) == settings(ROW, WATCH, {"POLL_INTERVAL": "100"})


def test_a_watchdog_without_action_drops_and_without_an_interval_looks_every_100_ms() -> None:
    stated = settings(ROW, WATCH, {"POLL_INTERVAL": "100"})
    without_action = {name: value for name, value in WATCH.items() if name != "action"}
    assert settings(ROW, without_action, {"POLL_INTERVAL": "100"}) == stated
    assert settings(ROW, WATCH, {}) == stated
    assert settings(ROW, {**WATCH, "action": "forward"}, {"POLL_INTERVAL": "100"}) != stated
