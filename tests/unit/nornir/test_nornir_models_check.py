"""What a reload or the switch's models refuse is known when it is planned: rows, reasons and how to mend them."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from counted_fabric import Counted, deployed_fabric
from recording import run

from railweave.api.deployment.rollback import rollback
from railweave.api.deployment.rollout import deploy
from railweave.api.plans import plan
from railweave.api.project import Project
from railweave.errors import RefusedError
from railweave.plan.consent import DeployOptions
from railweave.plan.outcome import Outcome
from railweave.report.deployment import deploy_json
from railweave_switch.host import ModelsError
from sonic_sim.switch_host import SimulatedHost

pytestmark = pytest.mark.slow

INTENT = Path("intent/pod-32.yml")
LEAF = "pod1-leaf1"


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """pod-32 as intended, but for the name of one leaf: only a reload changes that."""
    monkeypatch.chdir(tmp_path)
    with deployed_fabric(tmp_path, INTENT.name) as counted:
        assert not plan(Project(INTENT), "sim").deltas
        counted.devices[LEAF].db.set_fields("DEVICE_METADATA|localhost", {"hostname": "renamed"})
        counted.clear()
        yield counted


def test_a_reload_that_the_switch_would_refuse_is_no_plan_and_its_fixes_make_it_one(pod: Counted) -> None:
    db = pod.devices[LEAF].db
    db.set_fields("STP|GLOBAL", {"priority": "4096"})
    db.set_fields("NTP_KEY|1", {"type": "md5", "value": "hidden-from-all"})
    db.set_fields("VLAN|Vlan300", {"vlanid": "301"})
    planned = plan(Project(INTENT), "sim")
    assert not planned.deltas
    blockers = planned.devices[LEAF].difference.blockers
    assert {one.code for one in blockers} == {"RW527"}, planned.devices[LEAF].error
    text = "\n".join(one.message for one in blockers)
    assert "table STP: the table has no YANG model" in text
    assert "NTP_KEY|1: the YANG model of its table has no list or field for it" in text
    assert "VLAN|Vlan300 vlanid: The vlanid must correspond to the VLAN name" in text
    assert "hidden-from-all" not in text
    assert "DEVICE_METADATA|localhost" in blockers[0].fix
    with pytest.raises(RefusedError, match="would refuse table STP"):
        deploy(Project(INTENT), "sim", DeployOptions(provision=True))
    for one in blockers:
        found = re.search("`(.*)`", one.fix)
        assert found
        assert run(pod.devices[LEAF], {"command": found[1]}).exit == 0, found[1]
    pod.clear()
    result = deploy(Project(INTENT), "sim", DeployOptions(provision=True))
    assert result is not None
    assert result.ok
    assert pod.asked[LEAF]["channels"] <= 8


def test_a_rollback_whose_reload_would_be_refused_is_refused_before_it_begins(pod: Counted) -> None:
    result = deploy(Project(INTENT), "sim", DeployOptions(provision=True))
    assert result is not None
    assert result.ok
    db = pod.devices[LEAF].db
    db.set_fields("STP|GLOBAL", {"priority": "4096"})
    with pytest.raises(RefusedError, match="would refuse table STP"):
        rollback(Project(INTENT), "sim", DeployOptions(provision=True))
    db.delete("STP|GLOBAL")
    assert rollback(Project(INTENT), "sim", DeployOptions(provision=True))
    assert db.get("DEVICE_METADATA|localhost")["hostname"] == "renamed"


def test_a_plan_with_a_reload_costs_one_more_command(pod: Counted) -> None:
    planned = plan(Project(INTENT), "sim")
    assert planned.reloading == (LEAF,)
    assert pod.asked[LEAF] == Counter(logins=1, channels=2)
    assert all(pod.asked[name] == Counter(logins=1, channels=1) for name in pod.asked if name != LEAF)


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """pod-32 as intended; the intent may be edited."""
    monkeypatch.chdir(tmp_path)
    with deployed_fabric(tmp_path, INTENT.name) as counted:
        assert not plan(Project(INTENT), "sim").deltas  # which puts the program on the switches
        yield counted


def override(rows: str) -> None:
    INTENT.write_text(f"{INTENT.read_text(encoding='utf-8')}overrides: {{leaf: {rows}}}\n", encoding="utf-8")


def test_rows_that_the_models_refuse_are_no_plan_and_one_switch_of_a_kind_is_asked(deployed: Counted) -> None:
    override("{VLAN: {Vlan300: {vlanid: '301'}}}")
    deployed.clear()
    planned = plan(Project(INTENT), "sim")
    refused = {name: device.difference.blockers for name, device in planned.devices.items()}
    ((name, blockers),) = ((name, blockers) for name, blockers in refused.items() if blockers)
    assert name == LEAF
    assert [one.code for one in blockers] == ["RW541"]
    assert "VLAN|Vlan300 vlanid as it would be written: The vlanid must correspond" in blockers[0].message
    assert "correct it in the intent" in blockers[0].fix
    assert {name: asked["channels"] for name, asked in deployed.asked.items() if asked["channels"] > 1} == {LEAF: 2}
    with pytest.raises(RefusedError, match=r"VLAN\|Vlan300"):
        deploy(Project(INTENT), "sim", DeployOptions())
    assert not any("VLAN|Vlan300" in device.db.rows for device in deployed.devices.values())


@pytest.mark.parametrize("reloads", [False, True])
def test_models_that_cannot_be_asked_refuse_plan_and_deployment_alike(
    deployed: Counted, monkeypatch: pytest.MonkeyPatch, reloads: bool
) -> None:
    def unavailable(*_: object) -> NoReturn:
        raise ModelsError("sonic_yang does not load /usr/local/yang-models: Could not load module sonic-port.yang")

    monkeypatch.setattr(SimulatedHost, "rejected_by_models", unavailable)
    assert not plan(Project(INTENT), "sim").deltas, "nobody is asked where nothing changes"
    if reloads:
        deployed.devices[LEAF].db.set_fields("DEVICE_METADATA|localhost", {"hostname": "renamed"})
    else:
        override("{VLAN: {Vlan300: {vlanid: '300'}}}")
    before = {name: dict(device.db.rows) for name, device in deployed.devices.items()}
    planned = plan(Project(INTENT), "sim")
    blockers = [one for device in planned.devices.values() for one in device.difference.blockers]
    assert [one.code for one in blockers] == ["RW527" if reloads else "RW541"]
    for one in blockers:
        assert one.message.startswith("the switch's YANG models cannot be asked: sonic_yang does not load")
        assert "/usr/local/yang-models" in one.fix
    with pytest.raises(RefusedError, match="cannot be asked: sonic_yang"):
        deploy(Project(INTENT), "sim", DeployOptions(provision=True))
    assert {name: dict(device.db.rows) for name, device in deployed.devices.items()} == before


def test_a_plan_without_changed_rows_asks_no_models(deployed: Counted) -> None:
    deployed.clear()
    assert not plan(Project(INTENT), "sim").deltas
    assert all(asked == Counter(logins=1, channels=1) for asked in deployed.asked.values())


def test_a_switch_that_refuses_what_another_of_its_kind_takes_is_asked_before_it_writes(deployed: Counted) -> None:
    """The plan asks the first leaf; the second lacks the row of a site that the change refers to."""
    override("{ACL_RULE: {'SITE|R1': {PRIORITY: '1', PACKET_ACTION: DROP, SRC_IP: 192.0.2.1/32}}}")
    leaves = [name for name in deployed.devices if "leaf" in name]
    for name in leaves:
        if name != "pod1-leaf2":
            deployed.devices[name].db.set_fields("ACL_TABLE|SITE", {"type": "L3", "stage": "ingress"})
    assert plan(Project(INTENT), "sim").deltas.keys() == {*leaves}
    result = deploy(Project(INTENT), "sim", DeployOptions())
    assert result is not None
    ended = result.devices["pod1-leaf2"]
    assert ended.outcome is Outcome.OLD
    assert "models refuse ACL_RULE|SITE|R1: Leafref" in ended.error
    assert "nothing was applied" in ended.error
    assert "ACL_RULE|SITE|R1" not in deployed.devices["pod1-leaf2"].db.rows


def test_a_switch_whose_orchagent_ends_for_good_is_broken_and_the_report_says_what_to_do(deployed: Counted) -> None:
    """The models take a map without an entry, orchagent does not; systemd has given up on it already."""
    override("{DSCP_TO_TC_MAP: {empty: {}}}")
    for device in deployed.devices.values():
        device.orchagent.restarts = [device.clock.now() + 600.0] * 3
    result = deploy(Project(INTENT), "sim", DeployOptions())
    assert result is not None
    ended = {name: one for name, one in result.devices.items() if one.outcome is Outcome.BROKEN}
    assert ended
    for name, one in ended.items():
        assert "orchagent" in one.error
        assert "exited: orchagent" in one.error
        assert "`sudo systemctl reset-failed swss && sudo systemctl restart swss` on the switch" in one.error
        assert "DSCP_TO_TC_MAP|empty" not in deployed.devices[name].db.rows
    assert {one["outcome"] for one in deploy_json(result)["devices"].values()} == {"broken", "not-attempted", "new"}
