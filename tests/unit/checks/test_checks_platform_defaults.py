"""A field that is absent because SONiC has a default is that default, not a statement that nothing is set."""

import json
from collections.abc import Callable

import pytest

from railweave.checks.facts import fact_findings
from railweave.fabric.model import Fabric
from railweave.sonic.port_settings import switch_port
from railweave.sonic.render.configure import Configurator
from railweave.sonic.resolved import ResolvedTables
from railweave.templates import find_templates

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


@pytest.mark.parametrize("spine_type", [None, "", "MgmtToRRouter", "Spine"])
def test_a_spine_without_a_type_that_sonic_knows_has_the_seed_of_leaves(
    pod: Callable[..., Fabric], spine_type: str | None
) -> None:
    fabric = pod()
    configurator = Configurator(fabric, find_templates())
    tables = json.loads(json.dumps(configurator.device(fabric.switch_of["pod-spine1"]).config_db()))
    metadata = tables["DEVICE_METADATA"]["localhost"]
    del metadata["type"]
    metadata |= {} if spine_type is None else {"type": spine_type}
    found = fact_findings(fabric, {"pod-spine1": ("pod-spine1.json", json.dumps(tables))}, configurator)
    of_type = f"of type {spine_type}" if spine_type else "of no type"
    assert [f"pod-spine1 {of_type}, whose ECMP hash has one seed (0)" in one.message for one in found] == [True, True]
