"""The writer of NIC counters in the transaction of a node: it comes, drifts, goes and comes back with the rest."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from node_stand_in import StandInNode, load

from railweave.fabric.model import Fabric
from railweave.hosts.render import HostRenderer
from railweave.templates import find_templates
from railweave_hosts.bundle import bundle

Pod = Callable[..., Fabric]
Bundle = dict[str, Any]
PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"
TEXTFILE = "/srv/prom/railweave_nics.prom"
OURS = (
    "/etc/systemd/system/railweave-nic-counters.service",
    "/etc/systemd/system/railweave-nic-counters.timer",
    "/etc/systemd/system/timers.target.wants/railweave-nic-counters.timer",
    "/usr/local/sbin/railweave-nic-counters",
)


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr("os.fsync", lambda file: None)
    load(PROGRAMS / "railweave_host.py", "railweave_host")
    module: ModuleType = load(PROGRAMS / "railweave_change.py", "railweave_change")
    return module


@pytest.fixture
def wanted(pod: Pod) -> Callable[..., Bundle]:
    """Return a function that makes the bundle of a node with one rail, whose NIC nobody sets."""

    def make(directory: str = "/srv/prom") -> Bundle:
        rest = f"telemetry: {{nic_counters: {{directory: {directory}}}}}" if directory else ""
        fabric = pod(rest=rest)
        renderer = HostRenderer(fabric, find_templates())
        files = renderer.files(fabric.hosts[0])
        packed = bundle(files, renderer.places, fabric.policies.hosts.network, renderer.programs(), nic_settings=False)
        content: Bundle = json.loads(base64.b64decode(packed))
        document = content["document"]
        document["interfaces"] = document["interfaces"][:1]
        document["sysctl"] = {}
        return content

    return make


@pytest.fixture
def node(tmp_path: Path, change: ModuleType) -> StandInNode:
    return StandInNode(tmp_path / "node", "mlx5_0", change.node, change)


def place(node: StandInNode, path: str) -> Path:
    return node.root / path.lstrip("/")


def subjects(answer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(entry["subject"], entry["before"], entry["after"]) for entry in answer["changes"]}


def is_installed(node: StandInNode) -> list[bool]:
    return [place(node, path).is_symlink() or place(node, path).is_file() for path in (*OURS, TEXTFILE)]


def test_it_comes_and_a_rollback_takes_it_away(node: StandInNode, wanted: Callable[..., Bundle]) -> None:
    before = node.state()
    planned = subjects(node.run("check", wanted()))
    assert {subject for subject, _, _ in planned} >= {*OURS, TEXTFILE}
    assert not any(is_installed(node))
    assert node.run("apply", wanted())["problems"] == []
    assert all(is_installed(node))
    assert 'railweave_nic_info{port="rail0",rdma_device="mlx5_0"} 1\n' in place(node, TEXTFILE).read_text()
    assert node.run("apply", wanted()) == {"changes": [], "problems": [], "interrupted": False}
    assert node.run("rollback", wanted())["problems"] == []
    assert node.state() == before
    assert not any(is_installed(node))


def test_drift_is_found_and_mended(node: StandInNode, wanted: Callable[..., Bundle]) -> None:
    node.run("apply", wanted())
    place(node, TEXTFILE).unlink()
    place(node, OURS[1]).write_text("[Timer]\nOnUnitActiveSec=1d\n")
    place(node, OURS[2]).unlink()
    drift = subjects(node.run("check", wanted()))
    assert drift == {
        (TEXTFILE, "absent", "written"),
        (OURS[1], "differs", "as intended"),
        (OURS[2], "absent", "../railweave-nic-counters.timer"),
    }
    assert subjects(node.run("apply", wanted())) == drift
    assert node.run("check", wanted())["changes"] == []
    assert all(is_installed(node))


@pytest.mark.parametrize("directory", ["", "/srv/other"])
def test_without_the_key_or_in_another_folder_the_old_file_goes_and_a_rollback_writes_it_again(
    node: StandInNode, wanted: Callable[..., Bundle], directory: str
) -> None:
    node.run("apply", wanted())
    node.run("confirm", wanted())
    other = wanted(directory)
    assert (TEXTFILE, "present", "absent") in subjects(node.run("check", other))
    assert node.run("apply", other)["problems"] == []
    assert not place(node, TEXTFILE).exists()
    assert any(is_installed(node)) == bool(directory)
    assert node.run("check", other)["changes"] == []

    assert node.run("rollback", other)["problems"] == []
    assert all(is_installed(node))
    assert not place(node, "/srv/other/railweave_nics.prom").exists()
    assert node.run("check", wanted())["changes"] == []


def test_a_file_that_cannot_be_written_takes_the_node_back(node: StandInNode, wanted: Callable[..., Bundle]) -> None:
    # In the way of the new file.
    place(node, f"{TEXTFILE}.new").mkdir(parents=True)
    before = node.state()
    answer = node.run("apply", wanted())
    assert answer["outcome"] == "the node is back at its snapshot"
    assert f"{TEXTFILE}.new: Is a directory" in answer["problems"][0]["message"]
    assert node.state() == before


def test_what_keeps_the_file_from_being_written_does_not_keep_the_node_from_going_back(
    node: StandInNode, wanted: Callable[..., Bundle]
) -> None:
    node.run("apply", wanted())
    node.run("confirm", wanted())
    place(node, TEXTFILE).unlink()
    place(node, f"{TEXTFILE}.new").mkdir()
    before = node.state()
    answer = node.run("apply", wanted())
    assert answer["outcome"] == "the node is back at its snapshot"
    assert node.state() == before
    place(node, f"{TEXTFILE}.new").rmdir()
    assert node.run("apply", wanted())["problems"] == []
    assert all(is_installed(node))


@pytest.mark.parametrize(
    "counters",
    ["null", "5", '{"textfile": 5}', '{"textfile": "/etc/nccl.conf"}', '{"textfile": "/etc/railweave_nics.prom.d/x"}'],
)
def test_a_document_that_somebody_changed_makes_it_remove_nothing_else(
    node: StandInNode, wanted: Callable[..., Bundle], counters: str
) -> None:
    bare = wanted("")
    node.run("apply", bare)
    document = place(node, "/etc/railweave/rails.json")
    text = document.read_text().rstrip()
    document.write_text(text[:-1] + f', "nic_counters": {counters}}}')
    assert {subject for subject, _, _ in subjects(node.run("check", bare))} == {"/etc/railweave/rails.json"}
    assert node.run("apply", bare)["problems"] == []
    assert place(node, "/etc/nccl.conf").exists()


def test_systemd_runs_the_timer_as_long_as_its_file_is_there(
    node: StandInNode, wanted: Callable[..., Bundle], change: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change, "runs_systemd", lambda machine: True)
    monkeypatch.setattr(change, "LOADS", ())
    timer = "railweave-nic-counters.timer"
    node.run("apply", wanted())
    assert node.systemctl == [f"is-active {timer}", f"restart {timer}"]
    node.systemctl.clear()
    node.run("apply", wanted(""))
    # Before the files go: the service would write its file once more.
    assert node.systemctl == [f"stop {timer} railweave-nic-counters.service"]
    node.systemctl.clear()
    node.run("rollback", wanted(""))
    assert node.systemctl == [f"restart {timer}"]
