"""What the switch's program says of ports that run with other values than CONFIG_DB has, for any mix of them."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave_switch.daemons import QUEUE_COUNTERS, QUEUE_NAMES, Unapplied, applied_and_unseen

SPEEDS, FECS = ("100000", "400000"), ("none", "rs", "fc")
UNTOLD = (None, "", "N/A", "0")
PORT = st.fixed_dictionaries(
    {
        "up": st.booleans(),
        "configured": st.tuples(st.sampled_from(SPEEDS), st.sampled_from((None, "auto", *FECS))),
        "force": st.tuples(st.sampled_from((*SPEEDS, *UNTOLD)), st.sampled_from((*FECS, *UNTOLD))),
        "trains": st.sampled_from((None, "off", "on")),
        "trained": st.sampled_from((None, "off", "on", "trained", "not_trained", "snr_low")),
    }
)


def row(**fields: str | None) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value is not None}


class Switch:
    """A host that has databases and an image, and nothing else."""

    sonic_directory = "/etc/sonic"

    def __init__(self, ports: list[dict[str, Any]], asic: str) -> None:
        self.ports = {f"Ethernet{8 * place}": port for place, port in enumerate(ports)}
        self.asic = asic

    def config(self) -> dict[str, dict[str, str]]:
        return {
            f"PORT|{name}": row(speed=one["configured"][0], fec=one["configured"][1], link_training=one["trains"])
            for name, one in self.ports.items()
        }

    def rows(self, database: str, pattern: str) -> Mapping[str, Mapping[str, str]]:
        if (database, pattern) == ("APPL_DB", "PORT_TABLE:*"):
            return {
                f"PORT_TABLE:{name}": row(oper_status="up" if one["up"] else "down") for name, one in self.ports.items()
            }
        if (database, pattern) == ("STATE_DB", "PORT_TABLE|*"):
            return {
                f"PORT_TABLE|{name}": row(
                    speed=one["force"][0], fec=one["force"][1], link_training_status=one["trained"]
                )
                for name, one in self.ports.items()
            }
        return {}

    def read_file(self, path: str) -> bytes:
        assert path == "/etc/sonic/sonic_version.yml"
        return f"---\nasic_type: {self.asic}\n".encode()


@given(ports=st.lists(PORT, max_size=4))
def test_each_value_in_force_that_differs_is_named_and_what_is_not_told_is_unknown(ports: list[dict[str, Any]]) -> None:
    switch = Switch(ports, "mellanox")
    found, unseen = applied_and_unseen(switch, switch.config())  # type: ignore[arg-type]
    wanted = []
    for name, one in switch.ports.items():
        for field, configured, force in zip(("speed", "fec"), one["configured"], one["force"], strict=True):
            if one["up"] and configured not in (None, "auto") and force not in (configured, *UNTOLD):
                wanted.append((f"PORT|{name}", field, force, configured))
        if one["up"] and one["trains"] == "on" and one["trained"] not in (None, "on", "trained"):
            wanted.append((f"PORT|{name}", "link_training", one["trained"], "on"))
    assert sorted(found) == sorted(wanted)
    for place, field in enumerate(("speed", "fec")):
        up = [one for one in ports if one["up"]]
        is_told = any(one["force"][place] not in UNTOLD for one in up)
        is_configured = any(one["configured"][place] for one in up)
        assert (field in unseen) == (is_configured and not is_told)


@given(ports=st.lists(PORT, max_size=2))
def test_a_virtual_switch_tells_of_its_host_and_is_not_compared(ports: list[dict[str, Any]]) -> None:
    switch = Switch(ports, "vs")
    assert applied_and_unseen(switch, switch.config()) == ([], [])  # type: ignore[arg-type]


WATCHED = {"detection_time": "400", "restoration_time": "800", "action": "drop"}
IN_FORCE = {
    "PFC_WD_DETECTION_TIME": "400000",
    "PFC_WD_RESTORATION_TIME": "800000",
    "PFC_WD_ACTION": "drop",
}


class WatchedSwitch(Switch):
    """A switch whose watchdog watches queue 3 of Ethernet0 with these settings."""

    def __init__(self, in_force: Mapping[str, str]) -> None:
        super().__init__([], "mellanox")
        self.in_force = in_force

    def rows(self, database: str, pattern: str) -> Mapping[str, Mapping[str, str]]:
        if pattern == QUEUE_NAMES:
            return {QUEUE_NAMES: {"Ethernet0:3": "oid:0x1500000000003"}}
        if pattern == QUEUE_COUNTERS:
            return {"COUNTERS:oid:0x1500000000003": self.in_force}
        return {}


@pytest.mark.parametrize(
    ("in_force", "found"),
    [
        (IN_FORCE, []),
        ({**IN_FORCE, "PFC_WD_DETECTION_TIME": "200000"}, [("detection_time", "200", "400")]),
        ({**IN_FORCE, "PFC_WD_ACTION": "forward"}, [("action", "forward", "drop")]),
        ({**IN_FORCE, "PFC_WD_RESTORATION_TIME": ""}, []),
    ],
)
def test_the_times_and_action_of_the_watchdog_in_force_are_compared(
    in_force: Mapping[str, str], found: list[tuple[str, str, str]]
) -> None:
    switch = WatchedSwitch(in_force)
    rows = {"PFC_WD|Ethernet0": WATCHED, "PORT_QOS_MAP|Ethernet0": {"pfcwd_sw_enable": "3"}}
    differences: list[Unapplied] = [("PFC_WD|Ethernet0", *difference) for difference in found]
    assert applied_and_unseen(switch, rows) == (differences, [])  # type: ignore[arg-type]
