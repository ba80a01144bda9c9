"""The file form of plans, and what binds a reviewed plan to the fabric."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from planned_devices import having, planned

from railweave.errors import RefusedError
from railweave.plan.document import parse_plan, plan_digest, plan_json
from railweave.plan.model import DeviceState, Plan
from railweave.plan.policy import PolicyViolation, RolloutPolicy, Share
from railweave.plan.resumption import check_binding
from railweave.sonic.delta.change import Change, Delta, Op


def written(plan: Plan) -> str:
    return json.dumps(plan_json(plan))


def test_a_plan_survives_its_file(growth: Plan) -> None:
    assert plan_json(parse_plan(written(growth), "plan.json")) == plan_json(growth)
    assert parse_plan(written(growth), "plan.json").waves == growth.waves


def test_the_document_has_the_keys_of_the_contract(growth: Plan) -> None:
    document = plan_json(growth)
    assert {"version", "fabric", "target", "intent_sha256", "devices", "changes", "summary"} <= document.keys()
    assert document["summary"].keys() == {"add", "update", "remove"}
    device = document["devices"]["lab-spine1"]
    assert {"running_sha256", "state", "unmanaged"} <= device.keys()
    assert document["changes"][0].keys() == {
        "device",
        "op",
        "table",
        "key",
        "field",
        "before",
        "after",
        "disruption",
        "method",
        "reason",
    }


def test_the_summary_counts_every_change(growth: Plan) -> None:
    summary = plan_json(growth)["summary"]
    assert sum(summary.values()) == len(list(growth.changes()))


def test_the_digest_is_of_the_document_whether_it_is_whole_or_hashed_as_it_comes(growth: Plan) -> None:
    document = plan_json(growth)
    content = {name: value for name, value in document.items() if name != "digest"}
    # The digest has the words of the first plans, whose files are still read.
    content["headline"] = content["headline"].replace("no renumbering", "moves no address")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert growth.summary.total > 256
    assert document["digest"] == plan_digest(growth) == hashlib.sha256(text.encode()).hexdigest()


def test_a_change_that_devices_share_is_hashed_with_the_name_of_each(growth: Plan) -> None:
    one = next(iter(growth.deltas.values())).changes[0]
    row = {"device": "", "text": '"device":""'}
    shared = replace(one, op=Op.UPDATE, table="DEVICE", key='"device":""', before=row, after=row, reason='"device":""')
    names = ('lab-"leaf1"', "lab-leaf2", "device")
    devices = dict.fromkeys(names, planned(DeviceState.CHANGED, "leaf"))
    plan = replace(growth, devices=devices, waves=(names,)).with_deltas(dict.fromkeys(names, Delta((shared, one))))
    assert [change["device"] for change in plan_json(plan)["changes"]] == [name for name in names for _ in range(2)]
    assert plan_digest(plan) == plan_json(plan)["digest"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[:-2], "not JSON"),
        (lambda _: "[]", "not a plan"),
        (lambda _: "{}", "not a plan"),
        (lambda text: text.replace('"version": 3', '"version": 1'), "an older railweave: it has version 1"),
        (lambda text: text.replace('"version": 3', '"version": 4'), "another railweave: it has version 4"),
        (lambda text: text.replace('"op": "add"', '"op": "remove"', 1), "changed after it was made"),
        (lambda text: text.replace('"digest": "', '"digest": "0'), "changed after it was made"),
    ],
)
def test_a_damaged_plan_is_refused_with_its_place(growth: Plan, damage: Callable[[str], str], words: str) -> None:
    with pytest.raises(RefusedError, match=words) as refused:
        parse_plan(damage(written(growth)), "plan.json")
    (found,) = refused.value.diagnostics
    assert found.where.file == "plan.json"
    assert found.fix


def test_an_unchanged_fabric_lets_its_plan_through(growth: Plan) -> None:
    reviewed = parse_plan(written(growth), "plan.json")
    assert check_binding(reviewed, growth, "plan.json") == ()


def test_a_plan_of_another_intent_is_refused(growth: Plan) -> None:
    (found,) = check_binding(growth, replace(growth, intent_sha256="0" * 64), "plan.json")
    assert "intent" in found.message


def test_a_plan_of_another_target_is_refused(growth: Plan) -> None:
    (found,) = check_binding(growth, replace(growth, target="production"), "plan.json")
    assert "target" in found.message


def moved(plan: Plan, name: str, **fields: Any) -> Plan:
    return replace(plan, devices={**plan.devices, name: having(plan.devices[name], **fields)})


def test_devices_that_moved_are_named(growth: Plan) -> None:
    fresh = moved(moved(growth, "lab-spine1", running_sha256="1"), "lab-leaf1", running_sha256="2")
    (found,) = check_binding(growth, fresh, "plan.json")
    assert found.devices == ("lab-leaf1", "lab-spine1")
    assert "2 devices changed" in found.message


def test_a_device_whose_hash_moved_is_named_though_the_digest_leaves_the_hash_out(
    growth: Plan, change: Callable[..., Change]
) -> None:
    name = "lab-leaf1"
    row = {"table": "SWITCH_HASH", "key": "GLOBAL", "field": "ecmp_hash", "after": ("DST_IP", "SRC_IP")}

    def with_hash(before: tuple[str, ...]) -> Plan:
        own = growth.deltas.get(name, Delta())
        return growth.with_deltas({**growth.deltas, name: Delta((*own, change(**row, before=before)))})

    reviewed = parse_plan(written(with_hash(("SRC_IP",))), "plan.json")
    assert check_binding(reviewed, with_hash(("SRC_IP",)), "plan.json") == ()
    for fresh in (growth, with_hash(("DST_IP",))):
        (found,) = check_binding(reviewed, fresh, "plan.json")
        assert (found.code, found.devices) == ("RW503", (name,))


def test_a_device_that_cannot_be_reached_now_is_left_to_its_own_rule(growth: Plan) -> None:
    gone = planned(DeviceState.UNREACHABLE, "spine", error="no route")
    fresh = replace(growth, devices={**growth.devices, "lab-spine1": gone})
    assert check_binding(growth, fresh, "plan.json") == ()


def test_another_rollout_policy_is_refused_before_anything_is_read(growth: Plan) -> None:
    strict = replace(growth, policy=RolloutPolicy(uplink_floor_percent=75, path_floor=2))
    (found,) = check_binding(strict, growth, "plan.json")
    assert found.code == "RW502"
    assert "each leaf keeps at least 75% of its uplinks; any two leaves keep at least 2 paths" in found.message


def test_a_policy_and_what_it_cannot_keep_survive_the_file(growth: Plan) -> None:
    violation = PolicyViolation("floor.uplinks", "too little", "lower it", ("lab-spine1",), two_sided=True)
    policy = RolloutPolicy(Share(percent=12.5), Share(count=2), 7, 62.5, 3)
    plan = replace(growth, policy=policy, violations=(violation,))
    again = parse_plan(json.dumps(plan_json(plan)), "plan.json")
    assert again.policy == policy
    assert again.violations == (violation,)


def test_a_device_that_was_never_reviewed_is_refused(growth: Plan) -> None:
    reviewed = moved(growth, "lab-spine1", state=DeviceState.UNREACHABLE, running_sha256="")
    (found,) = check_binding(reviewed, growth, "plan.json")
    assert found.devices == ("lab-spine1",)


def test_other_changes_from_the_same_start_are_refused(growth: Plan) -> None:
    name, delta = next(iter(growth.deltas.items()))
    other = Delta((replace(delta.changes[0], op=Op.REMOVE), *delta.changes[1:]))
    fresh = growth.with_deltas({**growth.deltas, name: other})
    (found,) = check_binding(growth, fresh, "plan.json")
    assert found.devices == (name,)


def test_secrets_never_reach_the_file(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    plan = plan_of(
        change(table="SNMP_COMMUNITY", key="hunter2", op=Op.ADD, field=None, before=None, after={"TYPE": "RO"}),
        change(table="TACPLUS", key="global", field="passkey", before="hunter2", after="hunter2"),
        change(
            table="RADIUS", key="global", op=Op.ADD, field=None, before=None, after={"passkey": "hunter2", "t": "5"}
        ),
        change(table="frr", key="router bgp 1", field="neighbor A password hunter2", before=None, after=None),
    )
    assert "hunter2" not in written(plan)
    assert '"t": "5"' in written(plan)
