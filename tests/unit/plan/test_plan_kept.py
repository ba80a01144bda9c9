"""A removal that SONiC's daemons ignore is never shown as one: the plan says what stays in force, and until when."""

import json
from collections.abc import Callable

import pytest
from planned_devices import having, planned

from railweave.plan.document import parse_plan, plan_json
from railweave.plan.model import DeviceState, Plan
from railweave.report.plan import plan_markdown
from railweave.report.plan_parts import remarks
from railweave.sonic.delta.change import Change, Edit, Op
from railweave.sonic.delta.edits import removal_edits
from railweave.sonic.delta.kept import Kept
from railweave.sonic.delta.rules import ROW, RULES, TreatmentRule, find_rule
from railweave.sonic.neutral import WITHOUT_ROW

PERMANENT = dict(WITHOUT_ROW)
REMOVALS = [
    (rule, table, field)
    for rule in RULES
    if rule.keeps
    for table in rule.tables
    for field in rule.fields or (ROW, "anything")
]


def key_of(table: str) -> str:
    return next((key for name, key in PERMANENT if name == table), "one")


def edit(op: Op, table: str, field: str) -> Edit:
    value = "1" if field else {"anything": "1"}
    before, after = (value, None) if op is Op.REMOVE else (None, value)
    return Edit(op, table, key_of(table), field or None, before, after)


def texts(plan: Plan) -> list[str]:
    return [one.text for one in remarks(plan, 0)]


def test_the_tables_whose_removal_sonic_ignores_have_a_rule_that_says_so() -> None:
    assert {table for _, table, _ in REMOVALS} == {
        "CRM", "DEVICE_METADATA", "FLEX_COUNTER_TABLE", "LOGGER", "PFC_WD", "PORT", "SSH_SERVER", "SWITCH_HASH",
        "SWITCH_TRIMMING",
    }  # fmt: skip
    assert all(find_rule(edit(Op.REMOVE, table, field)) is rule for rule, table, field in REMOVALS)


@pytest.mark.parametrize(("rule", "table", "field"), REMOVALS)
def test_a_plan_says_of_each_such_removal_and_addition_what_stays(
    plan_of: Callable[..., Plan], change: Callable[..., Change], rule: TreatmentRule, table: str, field: str
) -> None:
    gone, came = edit(Op.REMOVE, table, field), edit(Op.ADD, table, field)
    place = f"{table} {field}".rstrip()
    changes = [change(**{name: getattr(one, name) for name in ("op", "table", "key", "field", "before", "after")})
               for one in (gone, came)]  # fmt: skip
    removing, adding = (plan_of(one) for one in changes)
    assert f"without effect: removal of {place} on leaf1: {rule.keeps}" in texts(removing)
    assert rule.keeps in plan_markdown(removing)
    assert plan_json(removing)["changes"][0]["effect"] == "none"
    assert parse_plan(json.dumps(plan_json(removing)), "plan.json")
    # What is written in place of the removal takes it back after all.
    instead = [one for one in removal_edits(gone) if one.op is not Op.REMOVE]
    assert (f"no rollback: {place} on leaf1: {rule.keeps}" in texts(adding)) is not bool(instead)
    fresh = planned(DeviceState.CHANGED, "leaf", unprovisioned=True)
    assert not [one for one in texts(plan_of(*changes, leaf1=fresh)) if rule.keeps in one]


def test_rows_without_a_step_are_named_on_screen_and_in_the_file(plan_of: Callable[..., Plan]) -> None:
    kept = (Kept("SWITCH_HASH|GLOBAL", "orchagent refuses its removal"),)
    device = planned(DeviceState.UNCHANGED, "leaf", running_sha256="aa", kept=kept)
    plan = plan_of(leaf1=device, leaf2=device, leaf3=having(device, kept=()))
    assert "stays: SWITCH_HASH|GLOBAL on leaf1, leaf2: orchagent refuses its removal" in texts(plan)
    document = plan_json(plan)
    assert document["devices"]["leaf1"]["kept"] == [
        {"place": "SWITCH_HASH|GLOBAL", "why": "orchagent refuses its removal"}
    ]
    assert "kept" not in document["devices"]["leaf3"]
