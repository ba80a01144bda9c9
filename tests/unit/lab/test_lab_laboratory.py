"""Bringing a lab up, without Docker: image names, ports, keys, readiness, and how it is reached then."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from nornir_railweave.lab import laboratory
from nornir_railweave.lab.containerlab import ContainerlabError
from nornir_railweave.lab.folder import LabFolder
from nornir_railweave.lab.keys import write_keys
from nornir_railweave.target.reach import resolve
from nornir_railweave.target.target_file import load_target
from railweave.api.design.intent import load_designed
from railweave.errors import RefusedError

ROOT = Path(__file__).resolve().parents[3]
SWITCHES = ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2")


def lab_of(folder: Path, ports: dict[str, int], *, own_image: bool = True) -> LabFolder:
    for name in ports:
        (folder / "nodes" / name).mkdir(parents=True)
    return LabFolder(folder, "lab", ports, own_image=own_image)


def test_the_images_name_changes_with_what_it_is_built_from(tmp_path: Path) -> None:
    for name in ("lab_node", "sonic_sim"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.py").write_text("x = 1\n")
    first = laboratory.image_tag(tmp_path)
    (tmp_path / "sonic_sim" / "__pycache__").mkdir()
    (tmp_path / "sonic_sim" / "__pycache__" / "code.pyc").write_text("cache")
    assert laboratory.image_tag(tmp_path) == first
    (tmp_path / "sonic_sim" / "code.py").write_text("x = 2\n")
    assert laboratory.image_tag(tmp_path) != first


def test_a_port_that_another_program_holds_is_named_with_its_switch(tmp_path: Path, listening: Any) -> None:
    port = listening(b"")
    with pytest.raises(ContainerlabError, match=f"port {port} .* lab-leaf1"):
        laboratory.refuse_used_ports(lab_of(tmp_path, {"lab-leaf1": port}))


def test_a_switch_is_ready_when_ssh_greets(tmp_path: Path, listening: Any) -> None:
    laboratory.wait_for_switches(lab_of(tmp_path, {"lab-leaf1": listening(b"SSH-2.0-OpenSSH")}), 5)


def test_a_switch_behind_a_proxy_that_says_nothing_is_not_ready(tmp_path: Path, listening: Any, docker: Any) -> None:
    docker("exit 0")
    lab = lab_of(tmp_path, {"lab-leaf1": listening(b"")}, own_image=False)
    with pytest.raises(ContainerlabError, match="lab-leaf1: no SSH within"):
        laboratory.wait_for_switches(lab, 0.3)


def test_private_keys_are_for_their_owner_and_every_switch_has_its_own_host_key(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, dict.fromkeys(SWITCHES[:2], 20001) | {"lab-leaf2": 20002})
    write_keys(lab)
    keys = [tmp_path / "id_ed25519", *(tmp_path / "nodes" / name / "ssh_host_ed25519_key" for name in lab.ssh_ports)]
    assert {stat.S_IMODE(os.stat(key).st_mode) for key in keys} == {0o600}
    assert len({key.read_bytes() for key in keys}) == 3
    known = (tmp_path / "known_hosts").read_text().splitlines()
    assert [line.split()[0] for line in known] == ["[127.0.0.1]:20001", "[127.0.0.1]:20002"]
    assert len({line.split()[2] for line in known}) == 2


def reached(tmp_path: Path, ports: dict[str, int], *, own_image: bool = True) -> Any:
    folder = tmp_path / "lab" / "lab"
    folder.mkdir(parents=True)
    laboratory.note_endpoints(LabFolder(folder, "lab", ports, own_image=own_image))
    target = load_target(ROOT / "inventory" / "lab.yml")
    return resolve(load_designed(ROOT / "intent" / "lab-4.yml").fabric, target, tmp_path, {})


def test_a_running_lab_is_reached_on_loopback_with_its_own_key(tmp_path: Path) -> None:
    found = reached(tmp_path, {name: 20000 + place for place, name in enumerate(SWITCHES)})
    assert {(one.host, one.port) for one in found.values()} == {("127.0.0.1", 20000 + place) for place in range(4)}
    options = found["lab-leaf1"].options
    assert options["key_file"] == str(tmp_path / "lab" / "lab" / "id_ed25519")
    assert options["ssh_strict"] is True


def test_images_of_others_are_reached_with_the_inventorys_login(tmp_path: Path) -> None:
    found = reached(tmp_path, dict.fromkeys(SWITCHES, 20000), own_image=False)
    assert "key_file" not in found["lab-leaf1"].options


def test_containers_are_reached_by_name_over_docker_exec(tmp_path: Path) -> None:
    folder = tmp_path / "lab" / "lab"
    folder.mkdir(parents=True)
    laboratory.note_endpoints(LabFolder(folder, "lab", {}, own_image=False, containers=SWITCHES))
    target = load_target(ROOT / "inventory" / "lab.yml")
    found = resolve(load_designed(ROOT / "intent" / "lab-4.yml").fabric, target, tmp_path, {})
    assert {name: one.host for name, one in found.items()} == {name: f"clab-lab-{name}" for name in SWITCHES}
    assert found["lab-leaf1"].options["transport"] == "docker"


def test_every_switch_of_another_image_is_prepared(tmp_path: Path, docker: Any) -> None:
    docker(f'echo "$@" >> {tmp_path}/calls')
    laboratory.prepare_containers(LabFolder(tmp_path, "lab", {}, own_image=False, containers=SWITCHES))
    calls = sorted((tmp_path / "calls").read_text().splitlines())
    assert calls == [f"exec clab-lab-{name} sh /lab/prepare.sh" for name in SWITCHES]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("echo no such table; exit 1", "lab-leaf1 cannot be prepared.*\n  no such table"), ("sleep 5", "within 0.2 s")],
)
def test_a_switch_that_cannot_be_prepared_is_named(tmp_path: Path, docker: Any, text: str, meaning: str) -> None:
    docker(f"exec {text}" if text.startswith("sleep") else text)
    with pytest.raises(ContainerlabError, match=meaning):
        laboratory.prepare_containers(LabFolder(tmp_path, "lab", {}, own_image=False, containers=SWITCHES), 0.2)


def test_a_virtual_machine_is_ready_when_docker_calls_it_healthy(tmp_path: Path, docker: Any, listening: Any) -> None:
    status = tmp_path / "status"
    docker(f'echo "$@" >> {tmp_path}/calls; case $1 in inspect) cat {status};; logs) echo no login prompt;; esac')
    lab = LabFolder(tmp_path, "lab", {"lab-leaf1": listening(b"SSH-2.0-OpenSSH")}, own_image=False, kind="sonic-vm")
    status.write_text("starting\n")
    with pytest.raises(ContainerlabError, match=r"lab-leaf1: not healthy within 0\.3 s.*\n  no login prompt"):
        laboratory.wait_for_switches(lab, 0.3)
    status.write_text("healthy\n")
    laboratory.wait_for_switches(lab, 5)
    assert "inspect --format {{.State.Health.Status}} clab-lab-lab-leaf1" in (tmp_path / "calls").read_text()


def test_a_switch_that_the_lab_was_not_cabled_for_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        reached(tmp_path, dict.fromkeys(SWITCHES[:3], 20000))
    (fault,) = refused.value.diagnostics
    assert (fault.code, fault.devices) == ("RW604", ("lab-spine2",))
    assert "lab up" in fault.fix


def test_a_lab_that_does_not_run_is_told_so(tmp_path: Path) -> None:
    target = load_target(ROOT / "inventory" / "lab.yml")
    with pytest.raises(RefusedError, match="no lab of lab runs"):
        resolve(load_designed(ROOT / "intent" / "lab-4.yml").fabric, target, tmp_path, {})
