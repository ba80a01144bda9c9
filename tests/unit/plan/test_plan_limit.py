"""Plans that are limited to some switches: what they change, what they leave behind, and what they leave out of it."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import in_own_order
from railweave.plan.consent import DeployOptions, check_consent
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.headline import headline
from railweave.plan.limit import limit_diagnostics, limited
from railweave.plan.model import DeviceState, Plan, Reading
from railweave.plan.offline import plan_offline
from railweave.plan.resumption import check_binding
from railweave.report.plan_parts import remarks
from railweave.templates import find_templates

SYSLOG = ("workload:", "overrides: {leaf: {SYSLOG_SERVER: {10.9.9.9: {}}}}\nworkload:")
TIMERS = ("workload:", "bgp: {keepalive: 2, hold: 6}\nworkload:")
SHARES = (
    "workload:",
    "traffic_classes:\n"
    "  - {name: roce, role: rdma, dscp: [26], lossless: true, priority: 3, share: 70}\n"
    "  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}\n"
    "  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 30}\n"
    "workload:",
)
GROWN = (("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))
ALL = ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2")


@pytest.fixture(scope="module")
def logged(lab: Fabric, redesign: Callable[..., Fabric]) -> Plan:
    """A syslog server on both leaves: each leaf's own matter."""
    return plan_offline(lab, redesign(SYSLOG), find_templates())


def unread(fabric: Fabric, plan: Plan, name: str) -> Plan:
    device = replace(plan.devices[name], state=DeviceState.UNREACHABLE, reading=Reading(error="no answer"))
    return in_own_order(fabric, replace(plan, devices={**plan.devices, name: device}))


def test_a_limited_plan_has_the_changes_of_its_switches_and_names_those_behind(lab: Fabric, logged: Plan) -> None:
    plan = limited(lab, logged, {"lab-leaf1"})
    assert dict(plan.deltas) == {"lab-leaf1": logged.deltas["lab-leaf1"]}
    assert plan.waves == (("lab-leaf1",),)
    assert plan.behind == ("lab-leaf2",)
    assert plan.names(DeviceState.UNCHANGED) == ("lab-spine1", "lab-spine2")
    assert headline(plan).endswith("; 1 switch outside of the limit stays behind.")
    assert [remark.text for remark in remarks(plan, 0)] == [
        "limited to lab-leaf1",
        "stay behind, with changes that are not deployed: lab-leaf2",
    ]


def test_a_switch_left_behind_counts_for_its_neighbors_only_with_links_as_intended(
    lab: Fabric, logged: Plan, growth: Plan, redesign: Callable[..., Fabric]
) -> None:
    # Its syslog server concerns no link.
    assert limited(lab, logged, {"lab-leaf1"}).settled == {"lab-leaf2", "lab-spine1", "lab-spine2"}
    # Leaves that are not provisioned yet have no link that works.
    assert limited(redesign(*GROWN), growth, {"lab-spine1", "lab-spine2"}).settled == {"lab-leaf1", "lab-leaf2"}


def test_a_limit_to_all_switches_with_changes_leaves_none_behind(lab: Fabric, logged: Plan) -> None:
    plan = limited(lab, logged, {"lab-leaf1", "lab-leaf2"})
    assert plan.behind == ()
    assert plan.deltas == logged.deltas
    assert plan.waves == logged.waves


def test_a_limit_to_switches_as_intended_changes_nothing(lab: Fabric, logged: Plan) -> None:
    plan = limited(lab, logged, {"lab-spine2"})
    assert plan.deltas == {}
    assert headline(plan) == (
        "lab: no changes: both intents configure 1 device alike; 2 switches outside of the limit stay behind."
    )


def test_a_plan_file_keeps_its_limit_and_a_whole_plan_has_none(lab: Fabric, logged: Plan) -> None:
    plan = limited(lab, logged, {"lab-leaf1"})
    document = plan_json(plan)
    assert document["limit"] == ["lab-leaf1"]
    assert document["devices"]["lab-leaf2"]["state"] == "behind"
    assert plan_json(parse_plan(json.dumps(document), "plan.json")) == document
    assert "limit" not in plan_json(logged)


def test_a_plan_file_with_a_limit_is_not_bound_to_what_others_run(lab: Fabric, logged: Plan) -> None:
    plan = limited(lab, logged, {"lab-leaf1"})

    def moved(name: str) -> Plan:
        reading = replace(plan.devices[name].reading, running_sha256="b" * 64)
        return replace(plan, devices={**plan.devices, name: replace(plan.devices[name], reading=reading)})

    assert check_binding(plan, moved("lab-leaf2"), "plan.json") == ()
    assert [diagnostic.code for diagnostic in check_binding(plan, moved("lab-leaf1"), "plan.json")] == ["RW503"]


def test_scheduler_shares_are_each_switchs_own(lab: Fabric, redesign: Callable[..., Fabric]) -> None:
    head = redesign(SHARES)
    plan = plan_offline(lab, head, find_templates())
    assert set(plan.deltas) == set(ALL)
    assert limit_diagnostics(head, plan, {"lab-leaf2"}) == ()


def test_spines_may_go_before_the_leaves_that_do_not_run_yet(growth: Plan, redesign: Callable[..., Fabric]) -> None:
    head = redesign(*GROWN)
    plan = limited(head, growth, {"lab-spine1", "lab-spine2"})
    assert set(plan.behind) == {"lab-leaf3", "lab-leaf4"}
    # What needed --provision stays behind.
    assert check_consent(plan, DeployOptions()) == ()
    both = limited(head, growth, {"lab-spine1", "lab-spine2", "lab-leaf4"})
    assert both.behind == ("lab-leaf3",)


def test_a_switch_outside_of_the_limit_that_does_not_answer_stops_nothing(lab: Fabric, logged: Plan) -> None:
    plan = limited(lab, unread(lab, logged, "lab-leaf2"), {"lab-leaf1"})
    assert plan.names(DeviceState.UNREACHABLE) == ()
    assert plan.devices["lab-leaf2"].error == "no answer"
    assert remarks(plan, 0)[-1].text == "outside of the limit and not read: lab-leaf2"


def test_an_unread_neighbor_of_a_shared_change_stops_the_deployment(
    lab: Fabric, redesign: Callable[..., Fabric]
) -> None:
    head = redesign(TIMERS)
    plan = unread(head, plan_offline(lab, head, find_templates()), "lab-leaf2")
    plan = limited(head, plan, {"lab-leaf1", "lab-spine1", "lab-spine2"})
    assert plan.names(DeviceState.UNREACHABLE) == ("lab-leaf2",)
    with pytest.raises(RefusedError, match="lab-spine1, lab-spine2, which the limit leaves out"):
        limited(head, plan_offline(lab, head, find_templates()), {"lab-leaf1"})


def test_waves_count_what_is_out_of_service_beside_the_limit(lab: Fabric, redesign: Callable[..., Fabric]) -> None:
    head = redesign(TIMERS)
    plan = plan_offline(lab, head, find_templates())
    assert plan.disruptive
    out = replace(plan.devices["lab-spine2"].reading, out_of_service=True)
    plan = replace(plan, devices={**plan.devices, "lab-spine2": replace(plan.devices["lab-spine2"], reading=out)})
    narrow = limited(head, plan, ALL)
    assert [violation.key for violation in narrow.violations]
