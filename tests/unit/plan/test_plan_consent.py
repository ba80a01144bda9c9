"""What keeps a plan from being carried out."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from planned_devices import planned

from railweave.diagnostics import Blocker, Diagnostic
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.consent import DeployOptions, check_consent
from railweave.plan.model import DeviceState, Plan
from railweave.plan.moves import find_renumbering
from railweave.plan.offline import plan_offline
from railweave.sonic.delta.change import Change, Disruption, Method, Op
from railweave.sonic.delta.conflicts import Conflict
from railweave.templates import find_templates

REBASED = (("workload:", "addressing: {asn: {leaf: 4211000000}, loopbacks: 10.254.0.0/16}\nworkload:"),)


def codes(found: Iterable[Diagnostic]) -> list[str]:
    return [one.code for one in found]


def test_an_ordinary_change_needs_no_consent(recolored: Plan) -> None:
    assert check_consent(recolored, DeployOptions(single_step=True)) == ()


def test_a_reload_needs_consent(growth: Plan) -> None:
    (found,) = check_consent(growth, DeployOptions())
    assert found.code == "RW507"
    assert found.devices == ("lab-leaf3", "lab-leaf4")
    assert "--provision" in found.fix
    assert check_consent(growth, DeployOptions(provision=True)) == ()


def test_growth_renumbers_nothing(growth: Plan) -> None:
    assert find_renumbering(growth) == ()


def test_renumbering_names_each_identity(lab: Fabric, redesign: Callable[..., Fabric]) -> None:
    plan = plan_offline(lab, redesign(*REBASED), find_templates(), renumber=True)
    found = {(one.device, one.what): (one.before, one.after) for one in find_renumbering(plan)}
    assert found["lab-leaf1", "AS number"] == ("4210000000", "4211000000")
    assert found["lab-spine1", "Loopback0"] == ("10.255.128.0/32", "10.254.128.0/32")
    assert "RW506" in codes(check_consent(plan, DeployOptions(provision=True)))
    assert "RW506" not in codes(check_consent(plan, DeployOptions(provision=True, renumber=True)))


def test_renumbering_is_refused_offline_without_consent(lab: Fabric, redesign: Callable[..., Fabric]) -> None:
    with pytest.raises(RefusedError, match="AS number 4210000000 would become 4211000000"):
        plan_offline(lab, redesign(*REBASED), find_templates())


def addressed(change: Callable[..., Change], op: Op, key: str) -> Change:
    fields: dict[str, Any] = {"before": {}, "after": None} if op is Op.REMOVE else {"before": None, "after": {}}
    return change(table="INTERFACE", key=key, op=op, field=None, **fields)


def test_a_port_with_another_address_and_the_same_neighbor_is_renumbered(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    plan = plan_of(
        addressed(change, Op.REMOVE, "Ethernet0|10.0.0.0/31"), addressed(change, Op.ADD, "Ethernet0|10.0.0.8/31")
    )
    (found,) = find_renumbering(plan)
    assert str(found) == "leaf1: Ethernet0 10.0.0.0/31 would become 10.0.0.8/31"


def test_a_port_whose_cable_moves_takes_the_address_of_its_new_link(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    plan = plan_of(
        addressed(change, Op.REMOVE, "Ethernet0|10.0.0.0/31"),
        addressed(change, Op.ADD, "Ethernet0|10.0.0.8/31"),
        change(table="DEVICE_NEIGHBOR", key="Ethernet0", field="name", before="leaf1", after="leaf9"),
    )
    assert find_renumbering(plan) == ()


def test_a_device_that_was_never_deployed_has_no_identity_to_lose(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    fresh = planned(DeviceState.CHANGED, "leaf", unprovisioned=True)
    plan = plan_of(
        change(table="DEVICE_METADATA", key="localhost", field="bgp_asn", before="65100", after="4210000000"),
        leaf1=fresh,
    )
    assert find_renumbering(plan) == ()


def test_everything_in_the_way_is_told_at_once(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    device = planned(
        DeviceState.CHANGED,
        "leaf",
        conflicts=(
            Conflict("VLAN_MEMBER", "Vlan100|Ethernet0", "Ethernet0", "Ethernet0 is a member of Vlan100"),
            Conflict("frr", "router bgp 65100", "", "FRR has one BGP instance"),
        ),
        blockers=(Blocker("the device is an SN2700, the intended model an SN4700", "correct the model"),),
        pending=True,
    )
    plan = plan_of(change(field="description", method=Method.RELOAD), leaf1=device)
    found = check_consent(plan, DeployOptions())
    assert codes(found) == ["RW509", "RW505", "RW505", "RW507", "RW508"]
    assert all(one.fix and one.devices == ("leaf1",) for one in found)
    assert "VLAN_MEMBER|Vlan100|Ethernet0" in found[1].message
    assert "--remove-conflicting" in found[1].fix
    assert found[2].message == (
        "leaf1: the FRR line `router bgp 65100` is unmanaged and contradicts the intent: FRR has one BGP instance"
    )
    assert found[2].fix.startswith("remove the FRR line `router bgp 65100` on leaf1, or plan with --remove-conflicting")


@pytest.mark.parametrize(
    ("table", "key", "row", "asks"),
    [
        ("AAA", "authentication", {"login": "tacacs+"}, True),
        ("USER", "admin", {"password": "x"}, True),
        ("SSH_SERVER", "POLICIES", {"ports": "2222"}, True),
        ("ACL_TABLE", "ONLY", {"type": "CTRLPLANE", "services": ["SSH"]}, True),
        ("ACL_RULE", "ONLY|R1", {"PACKET_ACTION": "DROP"}, True),
        ("GNMI", "gnmi", {"client_auth": "false"}, True),
        ("RESTAPI", "config", {"allow_insecure": "true"}, True),
        ("ACL_TABLE", "DATA", {"type": "L3"}, False),
        ("SYSLOG_SERVER", "10.0.0.1", {}, False),
    ],
)
def test_changes_of_who_can_log_in_need_consent(
    plan_of: Callable[..., Plan], change: Callable[..., Change], table: str, key: str, row: dict[str, str], asks: bool
) -> None:
    for op, before, after in ((Op.ADD, None, row), (Op.REMOVE, row, None)):
        plan = plan_of(change(table=table, key=key, field=None, op=op, before=before, after=after))
        asked = asks or (table == "ACL_TABLE" and op is Op.REMOVE)
        assert codes(check_consent(plan, DeployOptions())) == ["RW525"] * asked
        assert check_consent(plan, DeployOptions(allow_lockout=True)) == ()


def test_rules_of_a_data_plane_acl_made_by_the_same_plan_need_no_consent(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    rows = [("ACL_TABLE", "DATA", {"type": "L3"}), ("ACL_RULE", "DATA|R1", {"PACKET_ACTION": "DROP"})]
    changes = [change(table=t, key=k, field=None, op=Op.ADD, before=None, after=row) for t, k, row in rows]
    assert check_consent(plan_of(*changes), DeployOptions()) == ()


def test_a_smaller_mtu_of_running_switches_needs_consent(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    lowered = change(before="9100", after="1500", disruption=Disruption.SESSION)
    (found,) = check_consent(
        plan_of(lowered, change(device="leaf2", before="9100", after="1500", disruption=Disruption.SESSION)),
        DeployOptions(),
    )
    assert (found.code, found.message) == (
        "RW524",
        "the MTU goes down, to 1500 bytes on leaf1 and 1 more: larger packets that GPU nodes still send would be"
        " dropped",
    )
    assert found.fix == (
        "lower the nodes before the switches with `railweave deploy --from REV`, where REV is the git revision that"
        " is deployed; or, where no node sends larger packets any more, deploy with --single-step"
    )
    assert found.devices == ("leaf1", "leaf2")
    assert check_consent(plan_of(lowered), DeployOptions(single_step=True)) == ()
    assert check_consent(plan_of(change(before="9100", after="9216")), DeployOptions()) == ()
    fresh = planned(DeviceState.CHANGED, "leaf", unprovisioned=True)
    assert check_consent(plan_of(lowered, leaf1=fresh), DeployOptions()) == ()


def test_a_device_without_changes_needs_no_consent(growth: Plan) -> None:
    quiet = growth.with_deltas({})
    assert check_consent(quiet, DeployOptions()) == ()
