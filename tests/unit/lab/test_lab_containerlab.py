"""The wrapper of Containerlab's command line, on a stub that answers as version 0.69.3 does."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from nornir_railweave.lab.containerlab import Containerlab, ContainerlabError, ContainerNode, readable_fault

INSPECTED = {
    "pod": [
        {"lab_name": "pod", "name": "clab-pod-pod-leaf1", "kind": "sonic-vs", "state": "running",
         "ipv4_address": "172.20.1.3/24", "ipv6_address": "N/A", "image": "x", "container_id": "1", "status": "Up"},
        {"lab_name": "pod", "name": "clab-pod-gpu1", "kind": "linux", "state": "running",
         "ipv4_address": "N/A", "ipv6_address": "N/A", "image": "x", "container_id": "2", "status": "Up"},
    ]
}  # fmt: skip
NODES = (
    ContainerNode("gpu1", "running"),
    ContainerNode("pod-leaf1", "running"),
)


@pytest.fixture
def lab(stub: Any, tmp_path: Path) -> Any:
    def make(**answers: tuple[int, str, str]) -> Containerlab:
        return Containerlab(tmp_path / "topology.clab.yml", "pod", str(stub(answers)))

    return make


def calls(tmp_path: Path) -> list[list[str]]:
    return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


def test_a_deployed_lab_is_read_back_by_inspecting_it(lab: Any, tmp_path: Path) -> None:
    assert lab(inspect=(0, json.dumps(INSPECTED), "")).deploy() == NODES
    topology = str(tmp_path / "topology.clab.yml")
    assert calls(tmp_path) == [["deploy", "-t", topology], ["inspect", "--all", "-f", "json"]]


def test_the_program_never_asks_the_network_for_newer_versions(lab: Any, tmp_path: Path) -> None:
    lab().destroy()
    environ = json.loads((tmp_path / "environ").read_text())
    assert environ["CLAB_VERSION_CHECK"] == "disable"
    assert environ["CLAB_LABDIR_BASE"] == str(tmp_path)


def test_a_failed_deployment_is_cleaned_up_before_it_is_told(lab: Any, tmp_path: Path) -> None:
    with pytest.raises(ContainerlabError, match="eth1"):
        lab(deploy=(1, "", "Error: could not create link eth1")).deploy()
    assert calls(tmp_path)[-1] == ["destroy", "-t", str(tmp_path / "topology.clab.yml"), "--cleanup"]


def test_a_lab_that_runs_already_is_not_destroyed_by_a_second_deployment(lab: Any, tmp_path: Path) -> None:
    with pytest.raises(ContainerlabError, match="runs already"):
        lab(deploy=(1, "", "containers [clab-pod-gpu1] already exist. Add '--reconfigure' flag")).deploy()
    assert [call[0] for call in calls(tmp_path)] == ["deploy"]


def test_a_lab_that_does_not_run_has_no_nodes(lab: Any) -> None:
    assert lab(inspect=(1, "", "no containers found")).inspect() == ()
    assert lab(inspect=(0, "{}", "")).inspect() == ()


def test_the_list_of_versions_before_0_68_is_read_too_and_other_labs_are_left_out(lab: Any) -> None:
    other = {"lab_name": "other", "name": "clab-other-gpu1", "kind": "linux", "state": "running"}
    answer = json.dumps({"containers": [*INSPECTED["pod"], other]})
    assert lab(inspect=(0, answer, "")).inspect() == NODES


@pytest.mark.parametrize(
    ("version", "kind", "meaning"),
    [
        ("0.44.3", "sonic-vs", r"0\.44\.3 is too old for a lab of kind sonic-vs, which needs 0\.45\.0"),
        ("0.55.1", "sonic-vm", r"0\.55\.1 is too old for a lab of kind sonic-vm, which needs 0\.56\.0 or newer"),
        ("0.55.1", "sonic-vs", ""),
        ("0.100.0", "sonic-vm", ""),
    ],
)
def test_a_containerlab_too_old_for_the_kind_is_refused(lab: Any, version: str, kind: str, meaning: str) -> None:
    asked = lab(version=(0, f"    version: {version}\n", ""))
    with pytest.raises(ContainerlabError, match=meaning) if meaning else contextlib.nullcontext():
        asked.refuse_too_old(kind)


@pytest.mark.parametrize(
    ("version", "mac"), [("0.78.2", ""), ("0.79.0", "{{ .MacAddress }}"), ("1.0.0", "{{ .MacAddress }}")]
)
def test_a_machine_states_its_mac_address_where_containerlab_fills_it_in(lab: Any, version: str, mac: str) -> None:
    assert lab(version=(0, f"    version: {version}\n", "")).machine_mac() == mac


def test_nodes_that_were_added_by_a_lab_of_their_own_are_listed_with_the_folder_of_its_topology(lab: Any) -> None:
    beside = {"lab_name": "pod_2", "name": "clab-pod-gpu2", "kind": "linux", "state": "running"}
    other = {"lab_name": "pod-2", "name": "clab-pod-2-gpu2", "kind": "linux", "state": "running"}
    answer = {**INSPECTED, "pod_2": [{**beside, "absLabPath": "/labs/pod/more-2.clab.yml"}], "pod-2": [other]}
    found = lab(inspect=(0, json.dumps(answer), "")).inspect()
    assert found == (NODES[0], ContainerNode("gpu2", "running", "/labs/pod"), NODES[1])


def test_the_version_is_read_from_what_it_prints(lab: Any) -> None:
    assert (
        lab(version=(0, "\x1b[38;2;0mlogo\x1b[0m\n    version: 0.69.3\n     commit: none\n", "")).version() == "0.69.3"
    )
    with pytest.raises(ContainerlabError, match="which version"):
        lab(version=(0, "nothing", "")).version()


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ("table", "cannot be read: JSON"),
        ("[]", "cannot be read"),
        ('{"pod": [{"kind": "linux"}]}', r"pod\.0\.name: Field"),
    ],
)
def test_an_answer_of_another_form_is_a_fault(lab: Any, answer: str, meaning: str) -> None:
    with pytest.raises(ContainerlabError, match=meaning):
        lab(inspect=(0, answer, "")).inspect()


def test_a_missing_program_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(ContainerlabError, match=r"not installed.*0\.69\.3.*--target sim"):
        Containerlab(tmp_path / "t.yml", "pod", str(tmp_path / "nowhere")).deploy()


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("Error: this containerlab command requires root privileges or root via SUID to run", "needs root"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "Docker"),
        ("Error response from daemon: pull access denied for sonic, repository does not exist", "an image"),
        ("Error: No such image: docker-sonic-vs:latest", "an image"),
        ("Bind for 127.0.0.1:22001 failed: port is already allocated", "a port"),
        (
            '"specify mac-address per network" requires API version 1.44, but the Docker daemon API version is 1.41',
            "this Containerlab needs a newer Docker",
        ),
        ('Error: CPU virtualization support is required for node "pod-leaf1" (sonic-vm)', "a virtual machine needs"),
        ("Conflict. The container name \"/clab-pod-gpu1\" is already in use by container", "runs already"),
        ("invalid pool request: Pool overlaps with other one on this address space", "overlaps"),
        ("something else", "containerlab deploy failed"),
    ],
)  # fmt: skip
def test_faults_that_people_meet_are_told_in_words(said: str, meaning: str) -> None:
    told = readable_fault(("deploy",), said)
    assert meaning in told.splitlines()[0]
    assert said in told, "the program's own words stay"
