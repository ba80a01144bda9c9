"""The check of a reload on the switch: SONiC's own library is asked, and every row that fails is named."""

import json
import os
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave_switch import __main__ as started
from railweave_switch import models_check
from railweave_switch.host import ModelsError
from railweave_switch.machine import Machine
from railweave_switch.models_check import MOST, NO_MODEL, TOO_SLOW, UnavailableError, check, newly_rejected, rejected
from sonic_sim.yang.reload_rule import ReloadRule

RULE = """
def config_file_yang_validation(filename):
    if len(sy.tablesWithOutYang):
        raise click.Abort()

def config(ctx):
    pass
"""


class StandIn:
    """``sonic_yang.SonicYang`` in as much as a reload uses it, over the simulator's models; it prints as SONiC's."""

    def __init__(self, folder: str) -> None:
        assert folder == "/usr/local/yang-models"
        self.confDbYangMap: dict[str, object] = {}

    def loadYangModel(self) -> None:  # noqa: N802
        print("loading")
        self.confDbYangMap = {"PORT": 1, "VLAN": 1, "VLAN_MEMBER": 1, "NTP_KEY": 1, "DEVICE_METADATA": 1}

    def loadData(self, configdbJson: dict[str, Any]) -> None:  # noqa: N802, N803
        said, printed = ReloadRule().failure({name: configdbJson[name] for name in configdbJson if name != "STP"})
        if said:
            print("sonic_yang(3):Data Loading Failed")
            os.write(2, printed.encode())
            raise RuntimeError(said)

    def validate_data_tree(self) -> None:
        """Nothing is left to find."""


@pytest.fixture
def sonic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with SONiC's management code."""
    module = types.ModuleType("sonic_yang")
    vars(module)["SonicYang"] = StandIn
    monkeypatch.setitem(sys.modules, "sonic_yang", module)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "__init__.py").touch()
    (tmp_path / "config" / "main.py").write_text(RULE)
    return tmp_path


def refused(tables: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> Any:
    return json.loads(check(json.dumps({"after": tables, "before": before}), lambda: True))


def test_every_row_that_sonic_refuses_is_named_and_nothing_is_printed_beside_it(
    sonic: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert sonic.exists()
    found = refused(
        {
            "STP": {"GLOBAL": {"priority": "1"}},
            "NTP_KEY": {"1": {"type": "md5"}},
            "VLAN": {"Vlan300": {"vlanid": "301"}, "Vlan4": {"vlanid": "4"}},
            "DEVICE_METADATA": {"localhost": {"foo": "1"}},
        }
    )
    assert [one[:3] for one in found] == [
        ["STP", "", ""],
        ["NTP_KEY", "1", ""],
        ["DEVICE_METADATA", "localhost", "foo"],
        ["VLAN", "Vlan300", "vlanid"],
    ]
    assert (found[0][3], found[3][3]) == (NO_MODEL, "The vlanid must correspond to the VLAN name")
    assert capfd.readouterr() == ("", "")


def test_a_release_whose_models_checks_nothing_refuses_nothing(sonic: Path) -> None:
    (sonic / "config" / "main.py").write_text("def config(ctx):\n    pass\n")
    assert refused({"STP": {"GLOBAL": {}}, "VLAN": {"Vlan300": {"vlanid": "301"}}}) == []


def test_a_release_whose_reload_does_not_mind_tables_without_models_refuses_rows_alone(sonic: Path) -> None:
    (sonic / "config" / "main.py").write_text(RULE.replace("tablesWithOutYang", "nothing"))
    assert [one[:2] for one in refused({"STP": {"GLOBAL": {}}, "VLAN": {"Vlan300": {"vlanid": "301"}}})] == [
        ["VLAN", "Vlan300"]
    ]


def test_what_is_written_is_checked_on_every_release(sonic: Path) -> None:
    (sonic / "config" / "main.py").write_text("def config(ctx):\n    pass\n")
    assert [one[:3] for one in refused({"VLAN": {"Vlan300": {"vlanid": "301"}}}, before={})] == [
        ["VLAN", "Vlan300", "vlanid"]
    ]


def test_faults_that_were_there_before_a_change_are_none_of_it(sonic: Path) -> None:
    assert sonic.exists()
    before: dict[str, Any] = {
        "STP": {"GLOBAL": {}},
        "VLAN": {f"Vlan{number}": {"vlanid": "1"} for number in range(2, 2 + 2 * MOST)},
    }
    assert refused(before, before) == []
    after = {**before, "MSTP": {"GLOBAL": {}}, "PORT": {"Ethernet0": {"lanes": "1", "speed": "400000", "mtu": "99"}}}
    after["PORT"]["Ethernet0"]["fec"] = "reedsolomon"
    assert [one[:3] for one in refused(after, before)] == [["MSTP", "", ""], ["PORT", "Ethernet0", "fec"]]
    changed = {**before, "VLAN": {**before["VLAN"], "Vlan2": {"vlanid": "99999"}}}
    assert [one[:3] for one in refused(changed, before)] == [["VLAN", "Vlan2", "vlanid"]]


def test_a_machine_without_sonic_cannot_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "config", raising=False)
    assert refused({"STP": {"GLOBAL": {}}}) is None


def test_what_refers_to_a_row_that_is_refused_is_not_blamed_and_the_search_ends() -> None:
    ports = {"Ethernet0": {"lanes": "1", "speed": "fast"}, "Ethernet4": {"lanes": "2", "speed": "400000"}}
    members = {"Vlan4|Ethernet0": {"tagging_mode": "tagged"}, "Vlan4|Ethernet4": {"tagging_mode": "tagged"}}
    tables: dict[str, dict[str, Any]] = {"PORT": ports, "VLAN": {"Vlan4": {"vlanid": "4"}}, "VLAN_MEMBER": members}
    (found,) = rejected(tables, ReloadRule())
    assert found[:3] == ("PORT", "Ethernet0", "speed")
    assert found[3].endswith("; the row needs this field"), "without it the row is refused as well"
    many: dict[str, dict[str, Any]] = {"VLAN": {f"Vlan{number}": {"vlanid": "1"} for number in range(2, 40)}}
    assert len(rejected(many, ReloadRule())) == MOST
    with pytest.raises(UnavailableError, match=TOO_SLOW):
        rejected(many, ReloadRule(), lambda: False)


def test_what_is_compared_with_a_field_that_is_refused_is_not_blamed() -> None:
    ports = {name: {"lanes": name[8:], "speed": "400000"} for name in ("Ethernet0", "Ethernet4")}
    row = {"detection_time": "200", "restoration_time": "200", "action": "drop"}
    tables: dict[str, dict[str, Any]] = {
        "PORT": ports,
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "50"}, "Ethernet0": row, "Ethernet4": {**row, "action": "stop"}},
    }
    found = [one[:3] for one in rejected(tables, ReloadRule())]
    assert found == [("PFC_WD", "GLOBAL", "POLL_INTERVAL"), ("PFC_WD", "Ethernet4", "action")]


class Lists:
    """A checker of one table, whose rows are `a` with the field `x`; it tells what is wrong as sonic_yang does."""

    def unmodelled(self, tables: Mapping[str, Any]) -> list[str]:
        return []

    def failure(self, tables: Mapping[str, Any]) -> tuple[str, str]:
        for key, row in tables["QUEUE"].items():
            wrong = [f"\"'{name}'\"" for name in row if name != "x" or key != "a"]
            wrong += ["'Value not found for port'"] if key != "a" else []
            if wrong:
                said = f"All Keys are not parsed in QUEUE\ndict_keys(['{key}'])\nexceptionList:[{', '.join(wrong)}]"
                return said, ""
        return "", ""


def test_a_field_that_no_list_has_is_named_and_a_row_that_fits_no_list_is_named_whole() -> None:
    tables: dict[str, dict[str, Any]] = {"QUEUE": {"a": {"x": "1", "y": "2"}, "a|b": {"x": "1"}}}
    assert [one[:3] for one in rejected(tables, Lists())] == [("QUEUE", "a", "y"), ("QUEUE", "a|b", "")]


class Libyang3:
    """A checker that tells places as libyang 3 does (recorded on SONiC 202605)."""

    said = (
        ("PORT", "Ethernet0", "mtu", "Unsatisfied range - value \"9300\" is out of the allowed range.: Data path: "
         "/sonic-port:sonic-port/PORT/PORT_LIST[name='Ethernet0']/mtu (line 1)"),
        ("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1/33", "", "Invalid union value \"10.0.0.1/33\" - no matching subtype "
         "found:\n    libyang 2 - string, version 1: Unsatisfied pattern - \"10.0.0.1/33\".\n: Data path: "
         "/sonic-loopback-interface:sonic-loopback-interface/LOOPBACK_INTERFACE/LOOPBACK_INTERFACE_IPPREFIX_LIST"
         "[name='Loopback0']/ip-prefix (line 1)"),
        ("DSCP_TO_TC_MAP", "FABRIC", "64", "Invalid DSCP: Data path: /sonic-dscp-tc-map:sonic-dscp-tc-map/"
         "DSCP_TO_TC_MAP/DSCP_TO_TC_MAP_LIST[name='FABRIC']/DSCP_TO_TC_MAP/dscp (line 1)"),
        ("BUFFER_PROFILE", "seed", "", "Mandatory node \"pool\" instance does not exist.: Data path: "
         "/sonic-buffer-profile:sonic-buffer-profile/BUFFER_PROFILE/BUFFER_PROFILE_LIST[name='seed']"),
        ("QUEUE", "Ethernet0|3", "scheduler", "Invalid leafref value \"x\" - no target instance "
         "\"/sch:sonic-scheduler/sch:SCHEDULER/sch:SCHEDULER_LIST/sch:name\" with the same value.: Data path: "
         "/sonic-queue:sonic-queue/QUEUE/QUEUE_LIST[ifname='Ethernet0'][qindex='3']/scheduler"),
    )  # fmt: skip

    def unmodelled(self, tables: Mapping[str, Any]) -> list[str]:
        return []

    def failure(self, tables: Mapping[str, Any]) -> tuple[str, str]:
        for table, key, field, words in self.said:
            row = tables.get(table, {}).get(key)
            if row is not None and (not field or field in row):
                return f"Data Loading Failed\nfailed to parse data tree: {words}", ""
        return "", ""


def test_rows_are_named_by_the_words_of_libyang_3() -> None:
    tables: dict[str, dict[str, Any]] = {
        "PORT": {"Ethernet0": {"mtu": "9300", "speed": "400000"}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.0.0.2/32": {}, "Loopback0|10.0.0.1/33": {}},
        "DSCP_TO_TC_MAP": {"FABRIC": {"26": "3", "64": "0"}},
        "BUFFER_PROFILE": {"seed": {"size": "0"}},
        "QUEUE": {"Ethernet0|3": {"scheduler": "x"}, "Ethernet0|4": {}},
    }
    found = rejected(tables, Libyang3())
    assert [one[:3] for one in found] == [
        ("PORT", "Ethernet0", "mtu"),
        ("LOOPBACK_INTERFACE", "Loopback0|10.0.0.1/33", ""),
        ("DSCP_TO_TC_MAP", "FABRIC", ""),
        ("BUFFER_PROFILE", "seed", ""),
        ("QUEUE", "Ethernet0|3", "scheduler"),
    ]
    assert found[0][3] == 'Unsatisfied range - value "9300" is out of the allowed range.'
    assert not any("Data path" in one[3] or "parse data tree" in one[3] for one in found)


class Mute:
    """A checker that tells no place."""

    def unmodelled(self, tables: Mapping[str, Any]) -> list[str]:
        return []

    def failure(self, tables: Mapping[str, Any]) -> tuple[str, str]:
        bad = [key for rows in tables.values() for key, row in rows.items() if "bad" in row]
        return ("Data Loading Failed\nno idea", "") if bad else ("", "")


def test_a_failure_without_a_place_is_searched_for() -> None:
    tables: dict[str, dict[str, Any]] = {"A": {"1": {}}, "B": {"1": {}, "2": {"bad": "x"}, "3": {"bad": "y"}}}
    assert rejected(tables, Mute()) == [("B", "2", "", "no idea"), ("B", "3", "", "no idea")]


def test_the_program_asks_in_a_process_that_sees_the_packages_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "program"
    script.write_text("import sys, json\nprint(json.dumps([[sys.argv[1], sys.flags.no_site == 0, '', '']]))\n")
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert Machine().rejected_by_models({"PORT": {}}, None, 20) == [["_check", True, "", ""]]
    monkeypatch.setattr(models_check, "check", lambda text, in_time: f"{text} {in_time()}")
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(read=lambda: "{}"))
    assert started.start(["_check", "60"]) == 0
    assert capsys.readouterr().out == "{} True"


def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sonic_yang", None)


def other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["sonic_yang"], "SonicYang")


def broken_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_: StandIn) -> None:
        print("Yang Models Load failed")
        os.write(2, b'libyang[0]: Module "sonic-port" parsing failed.\n')
        raise RuntimeError("Yang Models Load failed\nCould not load module sonic-port.yang")

    monkeypatch.setattr(StandIn, "loadYangModel", load)


def silent_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "loadYangModel", lambda _: False)


def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIn, "loadYangModel", lambda _: None)


FAULTS: dict[Callable[[pytest.MonkeyPatch], None], str] = {
    no_library: "sonic_yang does not load /usr/local/yang-models: import of sonic_yang halted; None in sys.modules",
    other_library: "sonic_yang does not load /usr/local/yang-models: module 'sonic_yang' has no attribute 'SonicYang'",
    broken_model: "sonic_yang does not load /usr/local/yang-models: Could not load module sonic-port.yang"
    ' (libyang[0]: Module "sonic-port" parsing failed.)',
    silent_failure: "sonic_yang does not load /usr/local/yang-models: loadYangModel failed",
    no_models: "there are no models in /usr/local/yang-models",
}


@pytest.mark.parametrize("before", [None, {}])
@pytest.mark.parametrize("breaks", FAULTS, ids=lambda breaks: breaks.__name__)
def test_models_that_cannot_be_loaded_are_a_fault_and_never_an_acceptance(
    sonic: Path, monkeypatch: pytest.MonkeyPatch, breaks: Callable[[pytest.MonkeyPatch], None], before: Any
) -> None:
    assert sonic.exists()
    breaks(monkeypatch)
    asked = json.dumps({"after": {"PORT": {"Ethernet0": {"lanes": "1"}}}, "before": before})
    assert json.loads(check(asked, lambda: True)) == {"fault": FAULTS[breaks]}


@given(st.integers(0, 12), st.booleans(), st.integers(0, 3), st.integers(0, 3))
def test_a_check_that_runs_out_of_time_is_a_fault_or_names_only_what_is_refused(
    looks: int, reloads: bool, old: int, new: int
) -> None:
    before = {"B": {str(number): {"bad": "x"} for number in range(old)}}
    after = {"B": {**before["B"], "fine": {}}, "C": {str(number): {"bad": "x"} for number in range(new)}}
    left = iter([True] * looks)

    def in_time() -> bool:
        return next(left, False)

    whole = rejected(after, Mute()) if reloads else newly_rejected(after, before, Mute())
    try:
        found = rejected(after, Mute(), in_time) if reloads else newly_rejected(after, before, Mute(), in_time)
    except UnavailableError:
        found = None
    if looks == 0:
        assert found is None
    if found is not None:
        assert set(found) <= set(whole)
        assert bool(found) == bool(whole)


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ("import time\ntime.sleep(60)\n", "it did not end within 0.2 s"),
        ("raise SystemExit('Killed')\n", "the check failed: .*Killed"),
        ('print(\'{"fault": "no models"}\')\n', "no models"),
    ],
)
def test_the_process_that_asks_ends_in_a_fault_whatever_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, fault: str
) -> None:
    script = tmp_path / "program"
    script.write_text(program)
    monkeypatch.setattr(sys, "argv", [str(script)])
    with pytest.raises(ModelsError, match=fault):
        Machine().rejected_by_models({"PORT": {}}, None, 0.2 if "sleep" in program else 20)
