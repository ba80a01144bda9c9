"""The node's own program: what differs, what is set, what does not hold."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from railweave.catalog.load import load_catalog

LINK: dict[str, Any] = {
    "ifname": "rail0",
    "mtu": 9000,
    "flags": ["UP"],
    "addr_info": [{"family": "inet", "local": "10.0.0.1", "prefixlen": 31}],
}
PORT = {
    "name": "rail0",
    "rdma": "",
    "address": "10.0.0.1/31",
    "mtu": 9000,
    "table": 100,
    "rule_priority": 1000,
    "routes": [],
}
RULE = {"priority": 1000, "src": "10.0.0.1", "table": "100"}
TRUST = {
    "reads": [
        {"what": "trust", "command": ["qos", "{interface}"], "kind": "word", "pattern": r"trust: (\w+)", "want": "dscp"}
    ],
    "writes": [{"command": ["qos", "{interface}", "dscp"]}],
}


def machine(program: ModuleType, answers: dict[tuple[str, ...], Any]) -> Any:
    """Return a machine whose commands answer from a table: text, or a function that is called."""
    made = program.Machine()

    def run(command: list[str]) -> str:
        answer = answers.get(tuple(command))
        if answer is None:
            raise program.FaultError(f"{' '.join(command)} was not expected")
        text = answer() if callable(answer) else answer
        return text if isinstance(text, str) else json.dumps(text)

    made.run = run
    made.rdma_device = lambda interface: "mlx5_0"
    return made


def node(**answers: Any) -> dict[tuple[str, ...], Any]:
    return {
        ("ip", "-j", "-N", "address", "show"): answers.get("links", [LINK]),
        ("ip", "-j", "-N", "-4", "route", "show", "table", "all"): answers.get("routes", []),
        ("ip", "-j", "-N", "-4", "rule", "show"): answers.get("rules", [RULE]),
    }


def document(*steps: dict[str, Any], **port: Any) -> dict[str, Any]:
    return {"interfaces": [{**PORT, **port}], "sysctl": {}, "nic": {"steps": list(steps)}}


def said(differences: list[Any]) -> list[tuple[str, str, str]]:
    return [(one.what, one.before, one.after) for one in differences]


def test_a_node_in_line_differs_in_nothing(program: ModuleType) -> None:
    assert program.check(machine(program, node()), document()) == ([], [])


def test_a_missing_interface_is_a_problem_and_the_rest_goes_on(program: ModuleType) -> None:
    found, problems = program.check(machine(program, node(links=[])), document())
    assert found == []
    assert [(one.subject, one.what) for one in problems] == [("rail0", "network")]
    assert "pin its name" in problems[0].message


def test_a_second_address_and_a_foreign_rule_are_removed(program: ModuleType) -> None:
    two = {**LINK, "addr_info": [*LINK["addr_info"], {"family": "inet", "local": "9.9.9.9", "prefixlen": 24}]}
    rules = [{"priority": 5, "src": "10.0.0.0", "srclen": 8, "table": "100"}, RULE]
    found, _ = program.check(machine(program, node(links=[two], rules=rules)), document())
    commands = [" ".join(action.command) for one in found for action in one.actions]
    assert commands == [
        "ip address del 9.9.9.9/24 dev rail0",
        "ip rule del priority 5 from 10.0.0.0/8 table 100",
        "ip rule del priority 1000 from 10.0.0.1 table 100",
        "ip rule add priority 1000 from 10.0.0.1 table 100",
    ]


def test_routes_of_the_main_table_are_ours_by_their_metric_only(program: ModuleType) -> None:
    wanted = {"to": "10.0.0.0/8", "via": "10.0.0.0", "table": 254, "metric": 100}
    routes = [
        {"dst": "10.0.0.0/8", "gateway": "192.0.2.1", "dev": "eno1", "metric": 50},
        {"dst": "10.0.0.0/8", "gateway": "10.0.0.0", "dev": "rail0", "metric": 100},
        {"dst": "default", "gateway": "192.0.2.1", "dev": "eno1"},
    ]
    assert program.check(machine(program, node(routes=routes)), document(routes=[wanted])) == ([], [])


def test_a_route_that_limits_packets_is_set_and_unlimited_again(program: ModuleType) -> None:
    route = {"to": "default", "via": "10.0.0.0", "table": 100}
    held = {"dst": "default", "gateway": "10.0.0.0", "dev": "rail0", "table": "100"}
    limited = {**held, "metrics": [{"mtu": 4200}]}
    replace = ["ip", "route", "replace", "default", "via", "10.0.0.0", "dev", "rail0"]
    for routes, wanted, words in (
        ([held], {**route, "mtu": 4200}, [*replace, "mtu", "4200", "table", "100"]),
        ([limited], route, [*replace, "table", "100"]),
        ([limited], {**route, "mtu": 4200}, None),
        ([held], route, None),
    ):
        found, _ = program.check(machine(program, node(routes=routes)), document(routes=[wanted]))
        assert [action.command for one in found for action in one.actions] == ([words] if words else [])


def test_a_foreign_route_in_the_rails_own_table_is_removed(program: ModuleType) -> None:
    routes = [{"dst": "192.0.2.0/24", "gateway": "10.0.0.0", "dev": "rail0", "table": "100"}]
    found, _ = program.check(machine(program, node(routes=routes)), document())
    assert said(found) == [("route 192.0.2.0/24 table 100", "via 10.0.0.0 dev rail0", "")]


def test_success_is_what_is_read_back(program: ModuleType) -> None:
    answers = node() | {("qos", "rail0"): "trust: pcp", ("qos", "rail0", "dscp"): "done, trust is dscp now"}
    done, problems = program.apply(machine(program, answers), document(TRUST))
    assert done == []
    assert [one.message for one in problems] == ["is pcp after it was set to dscp"]


def test_a_tool_that_fails_is_quoted(program: ModuleType) -> None:
    answers = node() | {("qos", "rail0"): "trust: pcp"}
    _, problems = program.apply(machine(program, answers), document(TRUST))
    assert [(one.subject, one.what, one.message) for one in problems] == [
        ("rail0", "trust", "qos rail0 dscp was not expected")
    ]


def test_a_setting_that_another_tool_undoes_is_set_again(program: ModuleType) -> None:
    held = {"trust": "pcp", "map": "26:1"}

    def trust() -> str:
        held.update(trust="dscp", map="26:1")
        return ""

    def to_priority() -> str:
        held["map"] = "26:3"
        return ""

    step = {
        "each": True,
        "reads": [
            {
                "what": "map",
                "command": ["map"],
                "kind": "map",
                "pattern": r"(\d+):(\d)",
                "want": {"26": "3"},
                "clear": ["3"],
                "rest": "0",
            }
        ],
        "writes": [{"command": ["map", "{key}", "{value}"]}],
    }
    answers = node() | {
        ("qos", "rail0"): lambda: f"trust: {held['trust']}",
        ("qos", "rail0", "dscp"): trust,
        ("map",): lambda: held["map"],
        ("map", "26", "3"): to_priority,
    }
    done, problems = program.apply(machine(program, answers), document(step, TRUST))
    assert problems == []
    assert said(done) == [("map", "26:1", "26:3"), ("trust", "pcp", "dscp")]


def test_no_other_code_point_may_ride_a_lossless_priority(program: ModuleType) -> None:
    read = {"what": "map", "kind": "groups", "command": ["map"], "pattern": r"prio:(\d) dscp:([\d,]+)"}
    step = {
        "each": True,
        "reads": [{**read, "want": {"26": "3"}, "clear": ["3"], "rest": "0"}],
        "writes": [{"command": ["set", "{key}", "{value}"]}],
    }
    answers = node() | {("map",): "prio:1 dscp:09,08,\nprio:3 dscp:27,26,24,"}
    found, _ = program.check(machine(program, answers), document(step))
    assert said(found) == [("map", "27:3 24:3", "27:0 24:0")]
    assert [action.command for action in found[0].actions] == [["set", "27", "0"], ["set", "24", "0"]]


def test_settings_that_one_tool_sets_together_call_it_once(program: ModuleType) -> None:
    step = {
        "reads": [
            {"what": name, "command": ["show"], "kind": "number", "pattern": rf"{name}=(\w+)", "want": want}
            for name, want in (("dscp", "26"), ("prio", "3"))
        ],
        "writes": [{"command": ["setup"]}],
    }
    found, _ = program.check(machine(program, node() | {("show",): "dscp=0x18 prio=0x0"}), document(step))
    assert said(found) == [("dscp", "24", "26"), ("prio", "0", "3")]
    assert [action.command for one in found for action in one.actions] == [["setup"]]


def test_a_configfs_folder_is_made_for_reading_and_removed_again(program: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    assert program.Machine(str(tmp_path)).read("/sys/device/value", "/sys/device") == ""
    assert list((tmp_path / "sys").iterdir()) == []


def test_a_missing_tool_is_named(program: ModuleType) -> None:
    with pytest.raises(program.FaultError, match="no-such-tool is not installed"):
        program.Machine().run(["no-such-tool"])


def test_the_exit_status_tells_what_was_found(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rails.json"
    path.write_text(json.dumps(document(mtu=1500)))
    prepared = machine(program, node())
    monkeypatch.setattr(program, "Machine", lambda root: prepared)
    assert program.main(["check", "--json", "--document", str(path)]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "changes": [{"subject": "rail0", "what": "mtu", "before": "9000", "after": "1500"}],
        "problems": [],
    }
    path.write_text(json.dumps(document()))
    assert program.main(["check", "--document", str(path)]) == 0
    path.write_text(json.dumps(document(name="rail9")))
    assert program.main(["apply", "--document", str(path)]) == 1


SHOWN = """
NIC  : 42424650-4c32-3533-3330-12345000000  (0000:06:00.0)

Port : 0490814a-6c40-4242-4242-000011010000

  Classification type         : DSCP

  DSCP-to-priority :
    DSCP bitmap               : 0xfffffffffbffffff ==> priority : 0
    DSCP bitmap               : 0x0000000004000000 ==> priority : 3
    DSCP                      : 0-25, 27-63 ==> priority : 0
    DSCP                      : 26 ==> priority : 3

  PFC :
    PFC priority bitmap       : 0x8
    PFC no-drop priorities    : 0,3

NIC  : 42424650-4c32-3533-3330-12345000001  (0000:16:00.0)

Port : 0490814a-6c40-4242-4242-000011010001

  Classification type         : PCP

  DSCP-to-priority :
    DSCP                      : 0-63 ==> priority : 0

  PFC :
    PFC priority bitmap       : 0x0
    PFC no-drop priorities    :
"""
"""As nicctl prints it (AMD node-scraper, tests of its network collector)."""


@pytest.mark.parametrize(
    ("pci", "trust", "dscp", "no_drop"),
    [
        ("0000:06:00.0", "DSCP", {"25": "0", "26": "3", "63": "0"}, {"0", "3"}),
        ("0000:16:00.0", "PCP", {"26": "0"}, set()),
    ],
)
def test_of_an_answer_about_all_cards_the_part_of_one_is_read(
    program: ModuleType, pci: str, trust: str, dscp: dict[str, str], no_drop: set[str]
) -> None:
    pack = {read["what"]: read for step in load_catalog().vendor_pack("amd").steps for read in step["reads"]}
    reader, names = machine(program, {("nicctl", "show", "qos"): SHOWN}), {"{pci}": pci}
    assert program.read_setting(reader, pack["trust"], names) == trust
    found = program.read_setting(reader, pack["dscp to priority"], names)
    assert len(found) == 64
    assert {key: found[key] for key in dscp} == dscp
    groups = program.read_setting(reader, pack["pfc"], names)
    assert {key for key, word in groups.items() if word == "enable"} == no_drop


def test_a_card_that_the_answer_does_not_show_is_told(program: ModuleType) -> None:
    names = {"{port}": {"command": ["nicctl", "show", "port"], "section": r"NIC\s*:.*\({pci}\)", "kind": "word",
                        "pattern": r"^Port\s*:\s*(\S+)"}}  # fmt: skip
    reader = machine(program, {("nicctl", "show", "port"): SHOWN})
    reader.pci_address = lambda interface: "0000:06:00.0"
    found = program.nic_names(reader, {"nic": {"names": names}}, "rail0", "ionic_0")
    assert found["{port}"] == "0490814a-6c40-4242-4242-000011010000"
    reader.pci_address = lambda interface: "0000:99:00.0"
    with pytest.raises(program.FaultError, match=r"`nicctl show port` does not show rail0 \(0000:99:00.0\)"):
        program.nic_names(reader, {"nic": {"names": names}}, "rail0", "ionic_0")
