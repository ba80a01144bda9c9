"""Plans of tenants: new rules before old ones go, no rules of others, and no tenant that leaves its nodes alone."""

from collections.abc import Mapping

from railweave.api.design.intent import design_text
from railweave.fabric.model import Fabric
from railweave.plan.build import build_plan
from railweave.plan.consent import conflicts
from railweave.plan.leaks import filter_checks, leaks_before
from railweave.plan.model import Plan, Reading
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.steps import LoadStep, steps_of
from railweave.sonic.document import RunningConfig
from railweave.sonic.isolation import isolation_of
from railweave.sonic.render.configure import configure
from railweave.sonic.rows import ConfigDb
from railweave.templates import find_templates

POD = """\
fabric: pod
workload: {kind: inference}
nodes: [{name: gpu, count: 8, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}]
sonic: {acl_rules: 1024}
topology:
  rails: 2
  stripe: 4
  oversubscription: "8:1"
  leaf: {model: sonic-vs, uplink_speed: 100G, downlink_speed: 100G}
  spine: {model: sonic-vs, count: 4}
tenants:
"""
TEAMS = "  - {name: a, nodes: gpu1-2}\n  - {name: b, nodes: [gpu3, gpu5]}\n  - {name: c, nodes: [gpu4, gpu6-8]}\n"
MOVED = TEAMS.replace("gpu1-2", "gpu1").replace("gpu3,", "gpu2-3,")


def fabric_of(tenants: str) -> Fabric:
    return design_text(POD + tenants, "pod.yml").fabric


def running_of(fabric: Fabric) -> dict[str, ConfigDb]:
    return {one.name: configure(fabric, one, find_templates()).config_db() for one in fabric.switches}


def plan_of(fabric: Fabric, running: Mapping[str, ConfigDb]) -> Plan:
    readings = {}
    for switch in fabric.switches:
        config = configure(fabric, switch, find_templates())
        readings[switch.name] = Reading(diff(switch.name, RunningConfig(running[switch.name], config.frr), config))
    return build_plan(fabric, readings, target="sim", intent_sha256="")


def without(tables: ConfigDb, table: str, key: str) -> ConfigDb:
    return {**tables, table: {name: row for name, row in tables[table].items() if name != key}}


def a_rule(tables: ConfigDb, start: str) -> str:
    return next(key for key in tables["ACL_RULE"] if key.partition("|")[2].startswith(start))


def test_a_move_changes_rules_of_its_two_tenants_in_one_wave_and_no_other_row() -> None:
    plan = plan_of(fabric_of(MOVED), running_of(fabric_of(TEAMS)))
    assert not conflicts(plan)
    assert plan.waves == (("pod-leaf1", "pod-leaf2", "pod-leaf3", "pod-leaf4"),)
    changes = [change for delta in plan.deltas.values() for change in delta]
    assert {change.table for change in changes} == {"ACL_RULE"}
    assert {tuple(change.key.split(".")[1:3]) for change in changes} == {("a", "a"), ("b", "b")}
    assert {change.op for change in changes} == {Op.ADD, Op.REMOVE}, "a rule is never changed in its place"
    assert {(str(change.method), str(change.disruption)) for change in changes} == {("write", "none")}


def test_new_rules_come_before_old_ones_go() -> None:
    fabric = fabric_of(MOVED)
    running = running_of(fabric_of(TEAMS))["pod-leaf1"]
    config = configure(fabric, fabric.switches[0], find_templates())
    before = RunningConfig(running, config.frr)
    steps = steps_of(diff("pod-leaf1", before, config).delta, before)
    loads = [step.document["ACL_RULE"] for step in steps if isinstance(step, LoadStep)]
    assert len(loads) == len(steps) == 2
    added, removed = loads
    assert None not in added.values()
    assert set(removed.values()) == {None}


def test_a_move_beside_a_changed_rule_of_a_third_tenant_is_refused() -> None:
    running = running_of(fabric_of(TEAMS))
    key = a_rule(running["pod-leaf1"], "allow.c.c.")
    running["pod-leaf1"] = without(running["pod-leaf1"], "ACL_RULE", key)
    (refused,) = conflicts(plan_of(fabric_of(MOVED), running))
    assert refused.code == "RW545"
    assert refused.message == "pod-leaf1: nodes of a and b move, and rules of c would change too"
    # Without the move it is drift, which a deployment remediates.
    drift = plan_of(fabric_of(TEAMS), running)
    assert not conflicts(drift)
    assert [change.key for change in drift.deltas["pod-leaf1"]] == [key]


def test_a_tenant_is_not_removed_while_its_nodes_stay() -> None:
    running = running_of(fabric_of(TEAMS))
    gone = TEAMS.replace("  - {name: a, nodes: gpu1-2}\n", "")
    refused = conflicts(plan_of(fabric_of(gone), running))
    assert {one.code for one in refused} == {"RW546"}
    assert refused[0].message == ("pod-leaf1: tenant `a` is removed while gpu1, gpu2 stay, which would be cut off")
    assert not conflicts(plan_of(fabric_of(gone.replace("[gpu3,", "[gpu1-3,")), running))


def test_a_verification_names_the_tenants_and_the_rule_of_a_path() -> None:
    fabric = fabric_of(TEAMS)
    isolation = isolation_of(fabric)
    assert isolation is not None
    tables = running_of(fabric)["pod-leaf1"]
    leaf = fabric.switches[0]
    assert [(check.subject, check.ok) for check in filter_checks(isolation, leaf, tables)] == [
        (f"Ethernet{4 * port}", True) for port in range(4)
    ]
    (name,) = tables["ACL_TABLE"]
    first, *_ = filter_checks(isolation, leaf, without(tables, "ACL_RULE", f"{name}|deny"))
    assert (first.ok, first.actual) == (False, "nodes of a reach nodes of b (no rule drops it at Ethernet0)")


def test_a_leak_on_a_switch_is_told_by_name_before_the_plan_closes_it() -> None:
    fabric = fabric_of(TEAMS)
    running = running_of(fabric)
    (name,) = running["pod-leaf2"]["ACL_TABLE"]
    running["pod-leaf2"] = without(running["pod-leaf2"], "ACL_RULE", f"{name}|deny")
    plan = plan_of(fabric, running)
    intended = running_of(fabric)
    leaks = leaks_before(fabric, plan.deltas, lambda device: intended[device])
    assert {leak.device for leak in leaks} == {"pod-leaf2"}
    assert {leak.path for leak in leaks} >= {"nodes of a reach nodes of b", "nodes of a reach addresses of switches"}
    assert not leaks_before(fabric, {}, lambda device: intended[device])
