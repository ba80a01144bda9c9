"""A change of a node as a transaction: whatever fails, and whenever, the node is as before or as intended."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from node_stand_in import PowerLostError, StandInNode, load

from railweave.catalog.load import load_catalog
from railweave.fabric.model import Fabric
from railweave.hosts.render import HostRenderer
from railweave.templates import find_templates
from railweave_hosts.bundle import bundle

pytestmark = pytest.mark.slow

Pod = Callable[..., Fabric]
PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"
NICS = {"nvidia": "connectx-7", "broadcom": "broadcom-thor2", "amd": "amd-pollara-400", "intel": ""}


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr("os.fsync", lambda file: None)
    load(PROGRAMS / "railweave_host.py", "railweave_host")
    found: ModuleType = load(PROGRAMS / "railweave_change.py", "railweave_change")
    return found


@pytest.fixture(params=NICS)
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def wanted(pod: Pod, vendor: str) -> dict[str, Any]:
    """Return the bundle of a node, cut to its first rail."""
    # No E810 has a port of 400G, the speed of this fabric: its tools are named instead.
    fabric = pod(nic="connectx-7", rest="hosts: {vendor: intel}") if vendor == "intel" else pod(nic=NICS[vendor])
    renderer = HostRenderer(fabric, find_templates())
    files = renderer.files(fabric.hosts[0])
    found = json.loads(
        base64.b64decode(bundle(files, renderer.places, fabric.policies.hosts.network, renderer.programs()))
    )
    document = found["document"]
    document["interfaces"] = document["interfaces"][:1]
    document["sysctl"] = {key: value for key, value in document["sysctl"].items() if "all" in key or "rail0" in key}
    return dict(found)


Make = Callable[[], StandInNode]


@pytest.fixture
def make(tmp_path: Path, vendor: str, change: ModuleType) -> Make:
    """Return a function that makes a node as it came."""
    made: list[StandInNode] = []

    def fresh() -> StandInNode:
        rdma = f"{load_catalog().vendor_pack(vendor).rdma_prefix}0"
        made.append(StandInNode(tmp_path / f"node{len(made)}", rdma, change.node, change))
        return made[-1]

    return fresh


def test_a_change_holds_and_a_rollback_takes_all_of_it_back(make: Make, wanted: dict[str, Any]) -> None:
    node = make()
    before = node.state()
    planned = node.run("check", wanted)
    assert node.state() == before
    done = node.run("apply", wanted)
    assert done["problems"] == []
    assert {(one["subject"], one["what"]) for one in planned["changes"]} == {
        (one["subject"], one["what"]) for one in done["changes"]
    }
    after = node.state()
    assert node.run("apply", wanted) == {"changes": [], "problems": [], "interrupted": False}
    assert node.run("rollback", wanted, dry_run=True)["changes"]
    assert node.state() == after

    rolled_back = node.run("rollback", wanted)
    assert rolled_back["problems"] == []
    assert node.state() == before
    assert node.run("rollback", wanted) == {"changes": [], "problems": []}


def test_whichever_step_is_refused_the_node_is_back_as_it_was(make: Make, wanted: dict[str, Any]) -> None:
    count = whole_change(make(), wanted)
    assert count > 10
    for number in range(1, count + 1, 3):
        node = make()
        before = node.state()
        node.fails_at = number
        answer = node.run("apply", wanted)
        if not answer["problems"]:  # the setting holds by another action
            assert node.run("check", wanted)["changes"] == []
            continue
        assert "out of order" in [one["message"] for one in answer["problems"]]
        assert (answer["changes"], answer["outcome"]) == ([], "the node is back at its snapshot")
        assert node.state() == before, number


def whole_change(node: StandInNode, wanted: dict[str, Any]) -> int:
    assert node.run("apply", wanted)["problems"] == []
    return node.changes


def test_power_lost_at_any_step_is_mended_by_the_next_run_or_rolled_back(make: Make, wanted: dict[str, Any]) -> None:
    first = make()
    count = whole_change(first, wanted)
    intended = first.state()
    for number in range(1, count + 1, 4):
        node = make()
        before = node.state()
        node.power_fails_at = number
        with pytest.raises(PowerLostError):
            node.run("apply", wanted)
        if number % 8 == 1:
            answer = node.run("apply", wanted)
            assert (answer["problems"], answer["interrupted"]) == ([], True)
            assert node.state() == intended
        assert node.run("rollback", wanted)["problems"] == []
        assert node.state() == before, "the snapshot is of before the first change"


def test_a_tool_that_is_missing_is_found_before_anything_is_changed(
    make: Make, wanted: dict[str, Any], vendor: str
) -> None:
    node = make()
    before = node.state()
    node.missing = {"nvidia": "cma_roce_tos", "broadcom": "dcb", "amd": "nicctl", "intel": "devlink"}[vendor]
    answer = node.run("apply", wanted)
    assert [one["message"] for one in answer["problems"]] == [f"{node.missing} is not installed"]
    assert (answer["changes"], answer["outcome"]) == ([], "nothing was changed")
    assert node.state()["kernel"] == before["kernel"]
    assert node.state()["files"] == before["files"]


def test_what_loads_a_file_is_run_where_its_daemon_runs(change: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    here = {change.SYSTEMD, "/run/udev/control"}
    monkeypatch.setattr("os.path.isdir", here.__contains__)
    monkeypatch.setattr("os.path.exists", here.__contains__)
    machine = change.node.Machine()
    files = ["/etc/udev/rules.d/90-railweave.rules", "/etc/systemd/system/railweave-host.service", "/etc/nccl.conf"]
    systemd, udev = ["systemctl", "daemon-reload"], ["udevadm", "control", "--reload"]
    assert change.loads(machine, files) == [systemd, udev]
    here.remove("/run/udev/control")
    assert change.loads(machine, files) == [systemd]
    here.clear()
    assert change.loads(machine, files) == []
