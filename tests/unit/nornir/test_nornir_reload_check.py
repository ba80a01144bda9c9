"""What a reload would refuse is known when it is planned: rows, reasons and the commands that remove them."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from counted_fabric import Counted, deployed_fabric
from recording import run

from railweave.api.deploying import DeployOptions, deploy
from railweave.api.observing import plan
from railweave.api.project import Project
from railweave.api.rolling_back import rollback
from railweave.errors import RefusedError

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
    blockers = planned.devices[LEAF].blockers
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
