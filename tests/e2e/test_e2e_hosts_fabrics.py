"""Nodes with NICs in two fabrics, set up for real: each fabric has its own files, and goes back without the other."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from namespace_nodes import Node, write_target
from shell_session import ROOT

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(CANNOT, reason="network namespaces need root and ip")]

PAGE = ROOT / "docs" / "how-to" / "several-fabrics.md"


class SharedNodes:
    """The project of the page, and a node with NICs in both of its fabrics."""

    def __init__(self, project: Any, folder: Path) -> None:
        self.project = project
        self.node = Node(folder, "gpu1", "mlx5_", ("backend0", "backend1", "storage0"))
        write_target(project.folder / "inventory/bench.yml", [self.node])

    def run(self, verb: str, fabric: str, status: int = 0) -> Any:
        consent = () if verb == "plan" else ("--yes",)
        words = ("hosts", verb, "--fabric", fabric, "--target", "bench", "--limit", "gpu1", *consent, "--json")
        return json.loads(self.project.run(*words, status=status).stdout)

    def state(self, fabric: str) -> str:
        """Return whether the node is as a fabric wants it."""
        return str(self.run("plan", fabric)["hosts"]["gpu1"]["state"])

    def leaves_by(self, target: str, source: str) -> str:
        """Return the NIC over which a packet leaves."""
        return self.node.ip("route", "get", target, "from", source).split("dev ")[1].split(maxsplit=1)[0]


@pytest.fixture
def shared(new_project: Any, tmp_path: Path) -> Iterator[SharedNodes]:
    found = re.search(r"^```yaml\n# (intent/\S+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None
    project = new_project("lab-4.yml")
    project.intent.write_text(found[2] + "hosts: {manage: true, frontend: eno1}\n")
    made = SharedNodes(project, tmp_path / "nodes")
    yield made
    made.node.remove()


def test_both_fabrics_of_a_node_hold_and_a_packet_leaves_by_the_nic_of_its_address(shared: SharedNodes) -> None:
    node = shared.node
    for fabric in ("backend", "storage"):
        assert shared.run("apply", fabric)["result"] == "done"
    assert [shared.leaves_by("10.32.0.3", one) for one in ("10.32.0.1", "10.32.0.65")] == ["backend0", "backend1"]
    assert shared.leaves_by("10.96.0.65", "10.96.0.1") == "storage0"
    # Without an address of its own a packet leaves by the fabric of its destination.
    assert "dev storage0" in node.ip("route", "get", "10.96.0.65")
    held = node.nic()
    assert [held[f"rdma mlx5_{number}"]["tos"] for number in range(3)] == ["106", "106", "106"]
    assert "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n" in node.file("/etc/nccl.conf").read_text()
    assert shared.state("storage") == "unchanged"
    node.ip("link", "set", "storage0", "mtu", "1500")
    assert [shared.state(fabric) for fabric in ("backend", "storage")] == ["unchanged", "changed"]


@pytest.mark.nightly
def test_what_one_fabric_gets_and_gives_back_leaves_the_other_as_it_is(shared: SharedNodes) -> None:
    node = shared.node
    shared.run("apply", "backend")
    before = {path: path.read_bytes() for path in node.file("/etc").rglob("*") if path.is_file()}
    shared.run("apply", "storage")
    assert node.file("/etc/railweave/storage.json").exists()
    assert os.access(node.file("/usr/local/sbin/railweave-host-storage"), os.X_OK)
    assert shared.run("rollback", "storage")["result"] == "done"
    assert {path: path.read_bytes() for path in node.file("/etc").rglob("*") if path.is_file()} == before
    assert shared.state("backend") == "unchanged"
    assert "10.96." not in node.ip("address")
    assert "storage0" not in node.ip("route", "show", "table", "all")
