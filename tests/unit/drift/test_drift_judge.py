"""Drift: agreed exceptions hold until their day and say so afterwards."""

import json
from datetime import date
from typing import Any

import pytest
from planned_devices import planned

from railweave.diagnostics import Severity
from railweave.errors import RefusedError
from railweave.plan.drift import IgnoreRule, judge, parse_rules, remarks
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.plan.unapplied import Unapplied
from railweave.report.drift import drift_json, drift_markdown, headline
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.delta.conflicts import Conflict

TODAY = date(2026, 3, 10)


def differs(device: str, table: str = "PORT", key: str = "Ethernet0", field: str | None = "mtu") -> tuple[str, Change]:
    before: Any = "9000" if field else {"a": "b"}
    op = Op.UPDATE if field else Op.REMOVE
    after = "9100" if field else None
    return device, Change(op, table, key, field, before, after, Disruption.NONE, Method.WRITE, "mtu.fabric")


def plan_of(*changes: tuple[str, Change], **devices: DevicePlan) -> Plan:
    deltas = {name: Delta(tuple(one for device, one in changes if device == name)) for name, _ in changes}
    known = {
        name: planned(DeviceState.CHANGED if name in deltas else DeviceState.UNCHANGED, "leaf")
        for name in ("leaf1", "leaf2", "spine1")
    }
    waves = (("leaf1",), ("leaf2",), ("spine1",))
    return Plan("pod1", "sim", "abc", {**known, **devices}, waves).with_deltas(deltas)


def rule(**given: Any) -> IgnoreRule:
    return IgnoreRule(**{"table": "PORT", "reason": "ticket 1", "until": TODAY, **given})


def test_a_rule_takes_out_what_it_matches_on_its_last_day_and_nothing_after_it() -> None:
    plan = plan_of(differs("leaf1"), differs("leaf2"))
    held = judge(plan, [rule(device="leaf1")], TODAY)
    assert list(held.plan.deltas) == ["leaf2"]
    assert held.plan.devices["leaf1"].state is DeviceState.UNCHANGED
    assert held.plan.waves == (("leaf2",),)
    assert [one.changes for one in held.ignored] == [1]
    over = judge(plan, [rule(device="leaf1")], date(2026, 3, 11))
    assert over.plan.summary.total == 2
    (told,) = remarks(over)
    assert told.severity is Severity.ERROR
    assert "2026-03-10" in told.message


@pytest.mark.parametrize(
    ("patterns", "matched"),
    [
        ({"key": "Ethernet*"}, True),
        ({"key": "Ethernet8"}, False),
        ({"field": "mtu"}, True),
        ({"field": "speed"}, False),
        ({"device": "spine*"}, False),
        ({"table": "P*"}, True),
        ({"table": "port"}, False),
    ],
)
def test_every_part_of_a_rule_must_match(patterns: dict[str, str], matched: bool) -> None:
    assert judge(plan_of(differs("leaf1")), [rule(**patterns)], TODAY).found is not matched


def test_a_rule_for_a_field_does_not_hide_a_whole_row() -> None:
    plan = plan_of(differs("leaf1", field=None))
    assert judge(plan, [rule(field="mt*")], TODAY).found
    assert not judge(plan, [rule()], TODAY).found


def test_a_rule_that_matches_nothing_is_named_unless_a_device_is_unread() -> None:
    idle = rule(table="VLAN")
    (told,) = remarks(judge(plan_of(), [idle], TODAY))
    assert (told.severity, told.code) == (Severity.WARNING, "RW512")
    unread = plan_of(leaf2=planned(DeviceState.UNREACHABLE, error="no answer"))
    found = judge(unread, [idle], TODAY)
    assert remarks(found) == ()
    assert found.unread == ("leaf2",)


def test_of_two_rules_that_match_the_first_counts_and_neither_is_idle() -> None:
    found = judge(plan_of(differs("leaf1")), [rule(), rule(key="Ethernet0")], TODAY)
    assert [str(one.rule) for one in found.ignored] == ["PORT|* * on *"]
    assert found.idle == ()


def test_a_foreign_row_on_a_fabric_port_is_drift() -> None:
    held = planned(DeviceState.UNCHANGED, conflicts=(Conflict("VLAN_MEMBER", "Vlan5|Ethernet0", "Ethernet0", "x"),))
    found = judge(plan_of(leaf1=held), [], TODAY)
    assert found.found
    assert "1 difference on 1 of 3 devices" in headline(found)
    assert "VLAN_MEMBER" in drift_markdown(found)


def test_no_drift_is_one_sentence() -> None:
    assert drift_markdown(judge(plan_of(), [], TODAY)) == "### pod1: no drift, 3 devices run as intended.\n"


def test_of_switches_that_were_not_read_nobody_says_that_they_run_as_intended() -> None:
    lost = planned(DeviceState.UNREACHABLE, "leaf", error="no route")
    told = drift_markdown(judge(plan_of(leaf1=lost, leaf2=lost, spine1=lost), [], TODAY)).splitlines()[0]
    assert told == "### pod1: nothing is known of what runs; leaf1, leaf2, spine1 could not be read."


def test_json_says_what_drifts_what_is_ignored_and_which_rules_are_over() -> None:
    rules = [rule(device="leaf1"), rule(until=date(2026, 1, 1)), rule(table="VLAN")]
    shown = drift_json(judge(plan_of(differs("leaf1"), differs("spine1")), rules, TODAY))
    assert json.loads(json.dumps(shown)) == shown
    assert shown["drift"] is True
    assert [change["device"] for change in shown["changes"]] == ["spine1"]
    assert [(one["device"], one["changes"]) for one in shown["ignored"]] == [("leaf1", 1)]
    assert [one["until"] for one in shown["expired"]] == ["2026-01-01"]
    assert [one["table"] for one in shown["idle"]] == ["VLAN"]
    assert [one["code"] for one in shown["diagnostics"]] == ["RW511", "RW512"]


def test_markdown_cannot_be_broken_out_of() -> None:
    text = drift_markdown(judge(plan_of(differs("leaf1")), [rule(reason="<b>|x|\n# y")], TODAY))
    assert "<b>" not in text
    assert "\n# y" not in text


def test_rules_are_read_with_their_places() -> None:
    text = "ignore:\n  - table: DSCP_TO_TC_MAP\n    field: 24\n    reason: ticket 7\n    until: 2026-12-31\n"
    (read,) = parse_rules(text, "drift-ignore.yml")
    assert (read.field, read.key, read.until) == ("24", "*", date(2026, 12, 31))
    assert read.where.line == 2


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "ignore: []\n"])
def test_a_file_may_hold_no_rule(text: str) -> None:
    assert parse_rules(text, "f") == ()


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("ignore:\n  - table: PORT\n    until: 2026-12-31\n", "`reason` is missing", 2),
        ("ignore:\n  - table: PORT\n    reason: why not\n", "`until` is missing", 2),
        ("ignore:\n  - {table: PORT, reason: why, until: 31.12.2026}\n", "is not a date", 2),
        ("ignore:\n  - {table: PORT, reason: why, until: 2026}\n", "a day", 2),
        ("ignore:\n  - table: PORT\n    tabel: x\n    reason: why\n    until: 2026-12-31\n", "unknown key `tabel`", 3),
        ("ignroe: []\n", "unknown key `ignroe`", 1),
        ("ignore: {table: PORT}\n", "ignore", 1),
        ("- table: PORT\n", "the file of ignore rules is a list, not a mapping of keys", 1),
    ],
)
def test_a_wrong_rule_is_refused_at_its_place(text: str, words: str, line: int) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_rules(text, "drift-ignore.yml")
    (found,) = refused.value.diagnostics
    assert words in found.message
    assert found.where.line == line


def test_what_is_unmanaged_is_told_and_is_no_drift() -> None:
    found = judge(plan_of(leaf1=planned(DeviceState.UNCHANGED, unmanaged={"AAA": 2, "frr": 3})), [], TODAY)
    assert not found.found
    assert drift_json(found)["devices"]["leaf1"]["unmanaged"] == {"AAA": 2, "frr": 3}
    assert "unmanaged, left untouched: 2 rows of 1 table, 3 FRR lines" in drift_markdown(found)


def test_what_daemons_did_not_take_is_drift_although_the_configuration_agrees() -> None:
    left = planned(DeviceState.UNCHANGED, "leaf", unapplied=(Unapplied("PORT|Ethernet0", "fec", "rs", "none"),))
    found = judge(plan_of(leaf1=left), (), TODAY)
    assert found.found
    assert headline(found) == "pod1: drift, 1 difference on 1 of 3 devices."
    assert "not applied: leaf1: PORT\\|Ethernet0 fec is rs, configured none" in drift_markdown(found)
    assert drift_json(found)["devices"]["leaf1"]["unapplied"] == [
        {"row": "PORT|Ethernet0", "field": "fec", "applied": "rs", "configured": "none"}
    ]
    agreed = judge(plan_of(leaf1=left), [rule(field="fec")], TODAY)
    assert not agreed.found
    assert [one.changes for one in agreed.ignored] == [1]
    assert not agreed.idle
