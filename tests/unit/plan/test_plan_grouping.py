"""Identical changes of many devices, shown once."""

from collections.abc import Callable
from dataclasses import replace

from planned_devices import planned

from railweave.plan.grouping import MOST_VARIANTS, first_provisioning, group_changes, shown_summary
from railweave.plan.model import DeviceState, Plan
from railweave.plan.moves import moved_cables
from railweave.report.changes import effect, subject
from railweave.sonic.delta.change import Change, Disruption, Op


def leaves(count: int) -> list[str]:
    return [f"leaf{number}" for number in range(1, count + 1)]


def test_the_same_change_on_many_devices_is_one_group(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    (group,) = group_changes(plan_of(*(change(device=name) for name in leaves(8))))
    assert group.devices == tuple(leaves(8))
    first = group.samples[0]
    assert (first.before, first.after, group.uniform, group.count) == ("9100", "9000", True, 8)


def test_the_same_change_on_many_rows_is_one_group(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    changes = [change(device=name, key=f"Ethernet{port}") for name in leaves(4) for port in range(64)]
    (group,) = group_changes(plan_of(*changes))
    assert len(group.keys) == 64
    assert group.keys[:2] == ("Ethernet0", "Ethernet1")
    assert group.count == 256


def test_the_same_cable_length_on_many_ports_is_one_group(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    lengths = {"table": "CABLE_LENGTH", "key": "AZURE", "op": Op.ADD, "before": None, "after": "40m"}
    changes = [change(device="spine1", field=f"Ethernet{port}", **lengths) for port in (8, 16, 104)]
    (group,) = group_changes(plan_of(*changes))
    assert group.keys == ("Ethernet8", "Ethernet16", "Ethernet104")
    assert (group.samples[0].after, group.uniform, group.count) == ("40m", True, 3)


def test_another_value_is_another_group(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    groups = group_changes(plan_of(change(device="leaf1"), change(device="leaf2", after="1500")))
    # One device each: these are summed up, and say that they differ.
    assert len(groups) == 1
    assert not groups[0].uniform
    assert len(groups[0].samples) == 2


def test_different_values_on_the_same_devices_stay_apart_while_they_are_few(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    changes = [change(device=n, key=f"E{k}", after=str(k)) for n in leaves(2) for k in range(MOST_VARIANTS)]
    assert len(group_changes(plan_of(*changes))) == MOST_VARIANTS
    more = [*changes, *(change(device=n, key="E99", after="99") for n in leaves(2))]
    (group,) = group_changes(plan_of(*more))
    assert group.count == len(more)


def test_every_change_is_in_exactly_one_group(growth: Plan, recolored: Plan) -> None:
    for plan in (growth, recolored):
        fresh = first_provisioning(plan)
        count = fresh.rows + fresh.lines if fresh else 0
        assert sum(group.count for group in group_changes(plan)) + count == shown_summary(plan).total


def test_operations_and_disruptions_are_never_mixed(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    changes = [
        change(op=Op.ADD, before=None),
        change(op=Op.REMOVE, after=None),
        change(disruption=Disruption.FLAP),
    ]
    assert len(group_changes(plan_of(*changes))) == 3


def test_the_most_disruptive_group_comes_first(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    changes = [change(key=str(index), disruption=each) for index, each in enumerate(Disruption)]
    shown = [group.disruption for group in group_changes(plan_of(*changes))]
    assert shown == [Disruption.RELOAD, Disruption.FLAP, Disruption.SESSION, Disruption.NONE]


def line(change: Callable[..., Change], device: str, asn: int, text: str) -> Change:
    return change(device=device, table="frr", key=f"router bgp {asn}", field=text, op=Op.ADD, before=None, after=None)


def test_the_same_line_in_every_devices_own_bgp_instance_is_one_group(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    changes = [line(change, name, 4210000000 + number, "timers bgp 3 9") for number, name in enumerate(leaves(4))]
    (group,) = group_changes(plan_of(*changes))
    assert group.context == "router bgp"
    assert group.keys == ("timers bgp 3 9",)
    assert group.uniform


def test_lines_of_each_devices_own_are_counted(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    changes = [line(change, name, 1, f"neighbor 10.0.0.{number} remote-as 2") for number, name in enumerate(leaves(4))]
    (group,) = group_changes(plan_of(*changes))
    assert not group.uniform
    assert len(group.keys) == 4
    assert group.devices == tuple(leaves(4))


def test_a_line_of_frr_that_replaces_another_is_one_update(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    changes = []
    for name in leaves(2):
        changes.append(replace(line(change, name, 1, "timers bgp 3 9"), op=Op.REMOVE))
        changes.append(line(change, name, 1, "timers bgp 4 12"))
        changes.append(line(change, name, 1, "bgp bestpath as-path multipath-relax"))
    plan = plan_of(*changes)
    updated, added = group_changes(plan)
    assert (updated.op, updated.keys, updated.devices) == (Op.UPDATE, ("timers bgp",), ("leaf1", "leaf2"))
    assert (subject(updated), effect(updated)) == ("frr router bgp: timers bgp", "3 9 → 4 12")
    assert (added.op, added.count) == (Op.ADD, 2)
    assert (shown_summary(plan).total, plan.summary.total) == (4, 6)


def test_all_first_provisioning_is_one_value(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    changes = [change(key=f"Ethernet{port}", field=field) for port in range(8) for field in ("mtu", "fec", "alias")]
    lines = [line(change, "leaf1", 1, "timers bgp 3 9"), change(table="QUEUE", key="Ethernet0|3")]
    plan = plan_of(*changes, *lines, leaf1=planned(DeviceState.CHANGED, "leaf", unprovisioned=True))
    fresh = first_provisioning(plan)
    assert fresh is not None
    assert (fresh.devices, fresh.rows, fresh.tables, fresh.lines) == (("leaf1",), 25, 2, 1)
    assert group_changes(plan) == ()
    assert first_provisioning(plan_of(*changes)) is None


def test_the_code_point_change_is_two_lines_on_all_devices(recolored: Plan) -> None:
    groups = group_changes(recolored)
    assert [(group.table, group.field, one.before, one.after) for group in groups for one in group.samples[:1]] == [
        ("DSCP_TO_TC_MAP", "24", "0", "3"),
        ("DSCP_TO_TC_MAP", "26", "3", "0"),
    ]
    assert all(len(group.devices) == 4 for group in groups)


def test_a_cable_that_moves_is_named_with_both_its_places(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    plan = plan_of(
        change(table="DEVICE_NEIGHBOR", field="name", before="spine1", after="spine5"),
        change(table="DEVICE_NEIGHBOR", field="port", before="Ethernet8", after="Ethernet0"),
        change(device="leaf2", table="DEVICE_NEIGHBOR", field="port", before="Ethernet8", after="Ethernet0"),
        leaf2=planned(DeviceState.CHANGED, "leaf", unprovisioned=True),
    )
    (cable,) = moved_cables(plan)
    assert str(cable) == "leaf1:Ethernet0 from spine1:Ethernet8 to spine5:Ethernet0"


def test_growth_moves_no_cable(growth: Plan) -> None:
    assert moved_cables(growth) == ()
