"""Two fabrics of one intent on real FRR: each a lab of its own, with nodes that have NICs in both."""

import re
from pathlib import Path
from typing import Any

import pytest
from shell_session import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

PAGE = ROOT / "docs" / "how-to" / "several-fabrics.md"


def two_fabrics(folder: Path) -> str:
    """Write the intent that the page shows, and name the fabric in which GPUs meet."""
    found = re.search(r"^```yaml\n# (intent/\S+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None
    (folder / found[1]).write_text(found[2])
    return f"{Path(found[1]).name}#backend"


SHOWN = """
railweave lab up --fabric backend
railweave lab up --fabric storage
railweave deploy --fabric backend --target lab --yes --provision
railweave deploy --fabric storage --target lab --yes --provision
docker exec clab-pod1-backend-gpu1 ping -c 1 -I 10.96.0.1 10.96.0.65
"""
"""What the page shows; the first line is run by `start_lab`."""
COMMANDS = [line.split()[1:] for line in SHOWN.splitlines() if line]


@pytest.fixture(scope="module")
def labs(start_lab: Any) -> Any:
    rig = start_lab(two_fabrics)
    rig.run(*COMMANDS[1])
    return rig


def test_each_fabric_is_deployed_without_the_other(labs: Any, proves: Any) -> None:
    for words in COMMANDS[2:4]:
        assert labs.json(*words)["result"] == "done"
    for name in ("backend", "storage"):
        assert labs.verify("--fabric", name, "--wait", "60")["ok"] is True
        assert labs.plan("--fabric", name)["changes"] == []
    proves("two fabrics of one intent, each deployed and verified apart, none changes what the other has")


def test_a_node_in_both_reaches_each_by_its_own_nics(labs: Any, proves: Any) -> None:
    names = {line.split("@")[0] for line in labs.on("gpu1", "ls /sys/class/net").split()}
    assert {"backend0", "backend1", "storage0"} <= names
    assert labs.on("gpu1", "ip route get 10.96.0.65 from 10.96.0.1").split("dev ")[1].split()[0] == "storage0"
    assert labs.on("gpu1", "ip route get 10.32.0.3 from 10.32.0.1").split("dev ")[1].split()[0] == "backend0"
    for source, target in (("10.96.0.1", "10.96.0.3"), ("10.96.0.1", "10.96.0.65"), ("10.32.0.1", "10.32.0.3")):
        assert labs.pings("gpu1", f"-M do -s 8972 -I {source} {target}"), (source, target)
    labs.docker(*COMMANDS[4])
    proves("a node in two labs: 9000 bytes to storage over storage0, to GPUs over backend0")


def test_a_fabric_does_not_lead_into_the_other(labs: Any) -> None:
    for switch, prefix in (("leaf1", "10.96.0.0/26"), ("spine1", "10.96.0.0/26")):
        told = labs.on(f"pod1-backend-{switch}", f"vtysh -c 'show ip route {prefix} json'", status=None)
        assert "10.96." not in told


def test_the_node_in_one_of_them_is_in_its_lab(labs: Any) -> None:
    folder = labs.folder / ".railweave" / "lab" / "pod1-storage"
    topology = (folder / "topology.clab.yml").read_text()
    assert "clab-pod1-backend-gpu1:\n      kind: ext-container" in topology
    assert (folder / "nodes" / "store1").is_dir()
    assert not (folder / "nodes" / "gpu1").exists()
