"""Adding to a lab that runs, without Docker: what is refused, in which order things are done, and what is removed."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from nornir_railweave.lab import growing, laboratory
from nornir_railweave.lab.containerlab import ContainerlabError
from nornir_railweave.lab.folder import LabFolder
from nornir_railweave.lab.keys import write_keys
from railweave.lab.cables import LabCable, LabTopology, read_record, record, waiting_end
from railweave.lab.growth import LabGrowth


def test_no_lab_is_started_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ContainerlabError, match="root"):
        growing.refuse_unable(LabFolder(tmp_path, "lab", {}, own_image=True))


LEAF, GPU = {"kind": "sonic-vs", "image": "node:1"}, {"kind": "linux", "image": "node:1"}
RUNNING = LabTopology({"lab-leaf1": LEAF, "gpu1": GPU}, (LabCable(("gpu1", "rail0"), ("lab-leaf1", "eth1")),))


@pytest.fixture
def programs(tmp_path: Path, stub: Any, docker: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what starts a lab in a folder of its own: Containerlab answers as given, all programs note their calls."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    docker(f'echo docker "$@" >> {tmp_path}/done')
    for name in ("tc", "ip"):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/done\n')
        program.chmod(0o755)
    folder = tmp_path / "labs" / "lab"
    folder.mkdir(parents=True)

    def make(*nodes: dict[str, str], ports: dict[str, int] | None = None, **answers: Any) -> LabFolder:
        told = [{"lab_name": "lab", "kind": "linux", "state": "running", **node} for node in nodes]
        version = (0, "    version: 0.69.3\n", "")
        stub({"version": version, "inspect": (0, json.dumps({"lab": told} if told else {}), ""), **answers})
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return LabFolder(folder, "lab", ports or {}, own_image=True)

    return make


NODES = ({"name": "clab-lab-lab-leaf1"}, {"name": "clab-lab-gpu1"})


def test_a_running_lab_is_what_was_noted_when_it_was_started(programs: Any) -> None:
    assert growing.running_topology(programs()) is None
    lab = programs(*NODES)
    (lab.folder / "running.json").write_bytes(record(RUNNING))
    assert growing.running_topology(lab) == RUNNING


@pytest.mark.parametrize(
    ("nodes", "noted", "meaning"),
    [
        (NODES, b"", r"a lab lab runs already, and .*running.json does not say with which nodes and cables: take it"),
        (NODES, b"{}", r"running.json does not say with which nodes and cables: .*`railweave lab down`"),
        (
            ({**NODES[0], "absLabPath": "/other/lab/topology.clab.yml"}, NODES[1]),
            record(RUNNING),
            r"a lab lab runs already, started from /other/lab: take it down first \(`railweave lab down`\)",
        ),
        (
            ({**NODES[0], "state": "exited"},),
            record(RUNNING),
            r"a lab lab runs already, but not all of it \(lab-leaf1: exited, gpu1: gone\): take it down first",
        ),
    ],
    ids=["no notes", "other notes", "other folder", "lost nodes"],
)
def test_a_lab_that_cannot_be_added_to_is_refused(programs: Any, nodes: Any, noted: bytes, meaning: str) -> None:
    lab = programs(*nodes)
    if noted:
        (lab.folder / "running.json").write_bytes(noted)
    with pytest.raises(ContainerlabError, match=meaning):
        growing.running_topology(lab)


def test_what_stands_in_the_way_is_told_with_the_way_out() -> None:
    obstacles = tuple(f"reason {number}" for number in range(8))
    with pytest.raises(ContainerlabError) as refused:
        growing.refuse_obstacles("lab", LabGrowth((), (), RUNNING, obstacles=obstacles))
    assert str(refused.value) == (
        "the running lab lab cannot be changed like this; nothing was done:\n"
        "  reason 0\n  reason 1\n  reason 2\n  reason 3\n  reason 4\n  reason 5 and 2 more\n"
        "start it anew (`railweave lab down` and `railweave lab up`), or undo the change of the intent or the image"
    )
    growing.refuse_obstacles("lab", LabGrowth((), (), RUNNING))


WITH_GPU2 = LabTopology(
    {**RUNNING.nodes, "gpu2": GPU}, (*RUNNING.cables, LabCable(("gpu2", "rail0"), ("lab-leaf1", "eth2")))
)
DOCUMENT: dict[str, Any] = {
    "name": "lab",
    "topology": {
        "nodes": {"clab-lab-gpu2": GPU},
        "links": [
            {"type": "host", "host-interface": "rw2", "endpoint": {"node": "clab-lab-gpu2", "interface": "rail0"}}
        ],
    },
}
GROWTH = LabGrowth(("gpu2",), (), WITH_GPU2, DOCUMENT, (("rw1", "rw2"),))


def told(tmp_path: Path) -> list[str]:
    return [" ".join(json.loads(line)) for line in (tmp_path / "calls").read_text().splitlines()]


def test_what_is_added_is_a_lab_beside_the_first_and_its_cables_are_connected(programs: Any, tmp_path: Path) -> None:
    lab = programs(*NODES)
    write_keys(lab)
    growing.grow(lab, GROWTH, lambda: None, {"gpu1": ("ip route add 10.0.0.0/26 via 10.0.0.0",)})
    file = lab.folder / "more-2.clab.yml"
    assert yaml.safe_load(file.read_text()) == {**DOCUMENT, "name": "lab_2"}
    assert told(tmp_path)[0] == f"deploy -t {file}"
    assert (tmp_path / "done").read_text().splitlines() == [
        "tc qdisc del dev rw1 clsact",
        "tc qdisc add dev rw1 clsact",
        "tc filter add dev rw1 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev rw2",
        "tc qdisc del dev rw2 clsact",
        "tc qdisc add dev rw2 clsact",
        "tc filter add dev rw2 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev rw1",
        "docker exec clab-lab-gpu1 sh -ec ip route add 10.0.0.0/26 via 10.0.0.0",
    ]
    assert read_record((lab.folder / "running.json").read_bytes()) == WITH_GPU2
    growing.grow(lab, GROWTH, lambda: None, {})
    assert yaml.safe_load((lab.folder / "more-3.clab.yml").read_text())["name"] == "lab_3"


def test_a_new_switch_gets_a_host_key_and_those_that_run_keep_theirs(programs: Any, listening: Any) -> None:
    port = listening(b"SSH-2.0-OpenSSH")
    lab = programs(*NODES, ports={"lab-leaf1": 1})
    (lab.folder / "nodes" / "lab-leaf1").mkdir(parents=True)
    write_keys(lab)
    laboratory.note_endpoints(lab)
    known, key = ((lab.folder / name).read_text() for name in ("known_hosts", "id_ed25519"))
    grown = replace(lab, ssh_ports={"lab-leaf1": 1, "lab-leaf2": port})
    growth = replace(GROWTH, added=("lab-leaf2",), joints=())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing, "refuse_used_ports", lambda new: None)
        growing.grow(grown, growth, (lab.folder / "nodes" / "lab-leaf2").mkdir, {})
    assert (lab.folder / "known_hosts").read_text().startswith(known)
    assert f"[127.0.0.1]:{port} ssh-ed25519" in (lab.folder / "known_hosts").read_text()
    assert (lab.folder / "id_ed25519").read_text() == key
    logins = {(lab.folder / "nodes" / name / "authorized_keys").read_text() for name in grown.ssh_ports}
    assert len(logins) == 1
    devices = json.loads((lab.folder / "endpoints.json").read_text())["devices"]
    assert {name: one["port"] for name, one in devices.items()} == {"lab-leaf1": 1, "lab-leaf2": port}


def test_what_cannot_be_added_is_removed_and_the_rest_runs_on(programs: Any, tmp_path: Path) -> None:
    lab = programs(*NODES, deploy=(1, "", "Error: could not create link"))
    write_keys(lab)
    (lab.folder / "running.json").write_bytes(record(RUNNING))
    (lab.folder / "nodes").mkdir()
    with pytest.raises(ContainerlabError, match="could not create link"):
        growing.grow(lab, GROWTH, (lab.folder / "nodes" / "gpu2").mkdir, {})
    assert {call for call in told(tmp_path) if call.startswith("destroy")} == {
        f"destroy -t {lab.folder}/more-2.clab.yml --cleanup"
    }
    assert sorted(path.name for path in lab.folder.iterdir()) == ["id_ed25519", "known_hosts", "nodes", "running.json"]
    assert not list((lab.folder / "nodes").iterdir())
    assert read_record((lab.folder / "running.json").read_bytes()) == RUNNING


def test_a_lab_goes_down_with_what_was_added_to_it(programs: Any, tmp_path: Path) -> None:
    lab = programs(*NODES)
    write_keys(lab)
    (lab.folder / "topology.clab.yml").write_text("topology: {nodes: {}, links: []}\n")
    growing.grow(lab, GROWTH, lambda: None, {})
    (tmp_path / "calls").unlink()
    assert laboratory.stop(lab)
    assert [call for call in told(tmp_path) if call.startswith("destroy")] == [
        f"destroy -t {lab.folder}/more-2.clab.yml --cleanup",
        f"destroy -t {lab.folder}/topology.clab.yml --cleanup",
    ]
    assert not lab.folder.exists()


def test_the_network_of_a_lab_goes_also_where_its_containers_are_gone(programs: Any, tmp_path: Path) -> None:
    lab = programs()
    assert not laboratory.stop(lab)
    assert "docker network rm railweave-lab" in (tmp_path / "done").read_text().splitlines()


def test_a_network_that_others_use_is_named(programs: Any, tmp_path: Path) -> None:
    lab = programs()
    said = "Error response from daemon: error while removing network: network railweave-lab has active endpoints"
    (tmp_path / "bin" / "docker").write_text(f'#!/bin/sh\n[ "$2" = rm ] && {{ echo "{said}" >&2; exit 1; }}\nexit 0\n')
    with pytest.raises(ContainerlabError, match=r"network railweave-lab is still there: .* active endpoints"):
        laboratory.stop(lab)
    assert not lab.folder.exists()


@pytest.mark.slow
def test_what_a_killed_process_has_left_is_removed_by_the_next(programs: Any, tmp_path: Path) -> None:
    lab = programs(*NODES)
    write_keys(lab)
    growing.grow(lab, GROWTH, lambda: None, {})
    growing.grow(lab, replace(GROWTH, document={**DOCUMENT, "name": "x"}, topology=WITH_GPU2), lambda: None, {})
    (lab.folder / "more-2.clab.yml").unlink()
    (lab.folder / "running.json").write_bytes(record(RUNNING))
    (tmp_path / "calls").unlink()
    assert growing.running_topology(lab) == RUNNING
    assert told(tmp_path)[1:] == [f"destroy -t {lab.folder}/more-3.clab.yml --cleanup"]
    assert not list(lab.folder.glob("more-*"))


def test_ends_that_cannot_be_connected_are_named_and_what_was_added_goes(programs: Any, tmp_path: Path) -> None:
    lab = programs(*NODES)
    write_keys(lab)
    (tmp_path / "bin" / "tc").write_text(
        '#!/bin/sh\n[ "$1" = qdisc ] || { echo "Error: TC classifier not found." >&2; exit 2; }\n'
    )
    with pytest.raises(ContainerlabError, match=r"rw1 and rw2 cannot be connected: Error: TC classifier not found\."):
        growing.grow(lab, GROWTH, lambda: None, {})
    assert told(tmp_path)[-1] == f"destroy -t {lab.folder}/more-2.clab.yml --cleanup"


def test_routes_that_a_node_does_not_take_are_told(programs: Any, docker: Any, tmp_path: Path) -> None:
    lab = programs(*NODES)
    write_keys(lab)
    (tmp_path / "bin" / "docker").write_text('#!/bin/sh\necho "RTNETLINK answers: File exists" >&2; exit 2\n')
    with pytest.raises(ContainerlabError, match="gpu1 does not take its new routes:\n  RTNETLINK answers: File exists"):
        growing.grow(lab, GROWTH, lambda: None, {"gpu1": ("ip route add 10.0.0.0/26 via 10.0.0.0",)})


def test_nodes_of_a_lab_are_those_that_were_added_too(docker: Any) -> None:
    docker('printf "clab-lab-gpu1 lab\\nclab-lab-gpu2 lab_2\\nclab-lab-2-gpu1 lab-2\\n"')
    assert laboratory.running_nodes("lab") == {"gpu1": "clab-lab-gpu1", "gpu2": "clab-lab-gpu2"}


def test_the_ends_that_wait_are_those_of_open_cables_and_of_cables_that_were_open(tmp_path: Path) -> None:
    joined = {"type": "veth", "endpoints": [{"node": "a", "interface": "eth1"}, {"node": "b", "interface": "eth2"}]}
    links = [*DOCUMENT["topology"]["links"], joined]
    file = tmp_path / "t.yml"
    file.write_text(yaml.safe_dump({"topology": {"links": links}}))
    assert laboratory.waiting_ends("lab", file) == [
        "rw2", waiting_end("lab", ("a", "eth1")), waiting_end("lab", ("b", "eth2")),
    ]  # fmt: skip
