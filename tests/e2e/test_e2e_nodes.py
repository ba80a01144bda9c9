"""GPU nodes that the simulator runs as machines: set up through SSH, isolated, restarted, and gone without a trace."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_rig import ROOT
from simulated_nodes import SimulatedNodes

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(CANNOT, reason="namespaces need root and ip")]


@pytest.fixture
def nodes(new_project: Any) -> Iterator[SimulatedNodes]:
    project = new_project("lab-4.yml")
    with project.intent.open("a") as intent:
        intent.write("hosts: {manage: true, frontend: eno1}\n")
    yield SimulatedNodes(project)
    project.run("sim", "down")


def changed(run: Any) -> list[str]:
    return [name for name, host in run["hosts"].items() if host["state"] != "unchanged"]


def test_nodes_are_set_up_restarted_and_read_and_drift_by_hand_is_found(nodes: SimulatedNodes) -> None:
    assert changed(nodes.hosts("plan")) == ["gpu1", "gpu2", "gpu3", "gpu4"]
    deployed = make_deploy(nodes.project)
    assert "done: 4 nodes changed" in deployed
    assert nodes.hosts("plan")["summary"]["unchanged"] == 4

    nodes.ssh("gpu1", "ip address flush dev eno1; echo kept > /root/file; mlnx_qos -i rail1 --trust pcp")
    nodes.project.run("sim", "fault", "gpu1", "power-cycle")
    # What was set by hand is lost; the node's own unit has set the rest again.
    assert nodes.ssh("gpu1", "cat /root/file") == "kept\n"
    assert nodes.hosts("plan")["summary"]["unchanged"] == 4
    facts = nodes.project.folder / "facts"
    nodes.project.run("facts", "collect", "--target", "sim", "--out", str(facts))
    assert json.loads((facts / "gpu1.json").read_text())["nics"]["rail0"]["speed_gbps"] == 100
    diagnostics = nodes.project.json("check", "--facts", str(facts))["diagnostics"]
    assert [item["message"] for item in diagnostics if item["severity"] == "error"] == []

    nodes.ssh("gpu3", "ip link set rail0 mtu 1500; mlnx_qos -i rail1 --pfc 0,0,0,0,0,0,0,0")
    run = nodes.hosts("plan", "--exit-code", status=2)
    assert changed(run) == ["gpu3"]
    assert [(one["subject"], one["what"]) for one in run["hosts"]["gpu3"]["changes"]] == [
        ("rail0", "mtu"),
        ("rail1", "pfc"),
    ]


def make_deploy(project: Any) -> str:
    """Return what `make deploy` says in the project, with the environment that the tests run in."""
    words = ["make", "-f", str(ROOT / "Makefile"), "-o", "setup", f"VENV={Path(sys.executable).parents[1]}"]
    words += ["TARGET=sim", f"INTENT={project.intent.relative_to(project.folder)}", "deploy"]
    environ = {key: value for key, value in project.environ.items() if key not in {"MAKEFLAGS", "MAKELEVEL"}}
    done = subprocess.run(
        words, cwd=project.folder, env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nodes_that_are_added_start_beside_those_that_run(nodes: SimulatedNodes) -> None:
    nodes.ssh("gpu1", "echo kept > /run/file")
    nodes.project.edit(("count: 4\n", "count: 8\n"), ("count: 2, downlink_speed", "count: 4, downlink_speed"))
    nodes.project.run("sim", "up")
    assert nodes.ssh("gpu8", "hostname") == "gpu8\n"
    assert nodes.ssh("gpu1", "cat /run/file") == "kept\n"

    nodes.project.run("sim", "power-off", "gpu8")
    nodes.ssh("gpu8", "true", status=255)
    assert not nodes.project.json("sim", "status")["nodes"]["gpu8"]["powered"]
    nodes.project.run("sim", "power-on", "gpu8")
    assert nodes.ssh("gpu8", "hostname") == "gpu8\n"


REFUSED = (
    "echo x > /usr/bin/x",
    "chmod 777 /usr/bin/env",
    "mount -o remount,rw /usr",
    "mount -t tmpfs none /mnt",
    "umount /usr",
    "mount --bind / /mnt",
    "unshare --mount sh -c 'mount -o remount,rw,bind /usr'",
    "echo 1 > /proc/sys/kernel/panic",
    "echo 1 > /proc/sys/vm/drop_caches",
    "echo b > /proc/sysrq-trigger",
    "echo x > /run/railweave-sim/x",
    "mknod /root/disk b 254 0",
    "nsenter --target 1 --mount --net true 2>/dev/null && ls {machine}",
    "ls /proc/{pid}",
    "kill -9 {pid}",
    "chroot /proc/1/root ls {machine}",
    "date -s 2001-01-01",
    "modprobe dummy",
    "cat {machine}",
)
"""What the root user of a node tries in vain."""


def test_the_root_user_of_a_node_touches_nothing_of_the_machine(nodes: SimulatedNodes, tmp_path: Path) -> None:
    machine = tmp_path / "of-the-machine"
    machine.write_text("secret\n")
    host = subprocess.Popen(["sleep", "600"])
    before = of_the_machine()
    try:
        for command in REFUSED:
            answer = nodes.ssh("gpu1", f"if {command.format(machine=machine, pid=host.pid)}; then echo DONE; fi")
            assert "DONE" not in answer, command
            assert "secret" not in answer
        # What it may change is its own.
        links = f"ip link add {OF_THE_NODE['link']} type veth; ip rule add from {OF_THE_NODE['source']} lookup 9"
        kernel = f"echo {OF_THE_NODE['setting']} > {SETTING_OF_A_NAMESPACE}"
        nodes.ssh("gpu1", f"set -e; hostname x; {kernel}; {links}")
        nodes.ssh("gpu1", f"rm -rf /etc; kill -9 -1; touch {machine}", status=1)
        nodes.ssh("gpu1", "mkdir -p /srv /etc && touch /srv/x /etc/shadow && reboot; true")
        assert host.poll() is None
        assert of_the_machine() == before
        assert machine.read_text() == "secret\n"
        assert nodes.ssh("gpu2", f"hostname; ip rule show from {OF_THE_NODE['source']}") == "gpu2\n"
    finally:
        host.kill()
        host.wait()


SETTING_OF_A_NAMESPACE = "/proc/sys/net/ipv4/icmp_ratelimit"
OF_THE_NODE = {"link": "of-gpu1", "source": "203.0.113.9", "setting": "1009"}
"""What the test sets on a node, by values that nothing else on the machine uses."""


def of_the_machine() -> dict[str, object]:
    """Return what a program that leaves its node would have changed on this machine.

    Labs that start and end meanwhile change links, routes and mounts: only what the test tried on a node is read.
    """
    links = json.loads(printed("ip", "-j", "link"))
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {
        "hostname": printed("hostname"),
        "links": [link["ifname"] for link in links if link["ifname"].startswith(OF_THE_NODE["link"])],
        "rules": printed("ip", "rule", "show", "from", OF_THE_NODE["source"]),
        "mounts": [(place, options) for _, _, _, _, place, options, *_ in mounts if place in {"/", "/usr", "/mnt"}],
        "setting": Path(SETTING_OF_A_NAMESPACE).read_text(),
        "files": [Path(file).read_text() for file in ("/etc/passwd", "/etc/hosts")],
        "root": sorted(os.listdir("/")),
    }


def printed(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_links_that_a_node_leaves_on_its_disk_lead_nowhere(nodes: SimulatedNodes, tmp_path: Path) -> None:
    target = tmp_path / "of-the-machine"
    target.mkdir()
    before = target.stat()
    leave = "; ".join(
        f"rm -rf {name}; ln -s {target} {name}" for name in ("/mnt", "/opt", "/etc", "/home", "/root/.ssh")
    )
    nodes.ssh("gpu1", f"{leave}; rm -rf /run/nics; ln -s {target} /run/nics", status=0)
    nodes.project.run("sim", "fault", "gpu1", "power-cycle")
    nodes.ssh("gpu1", "true; hostname")
    assert list(target.iterdir()) == []
    after = target.stat()
    assert (after.st_mode, after.st_uid, after.st_mtime) == (before.st_mode, before.st_uid, before.st_mtime)


def test_files_pass_by_sftp_and_scp_and_a_stranger_is_not_let_in(nodes: SimulatedNodes, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_bytes(bytes(range(256)) * 1000)
    *scp, place = nodes.words("scp", "gpu1", "-P")
    subprocess.run([*scp, "-p", str(own), f"{place}:/root/copy"], check=True, timeout=60)
    subprocess.run([*scp, f"{place}:/root/copy", str(tmp_path / "back")], check=True, timeout=60)
    assert (tmp_path / "back").read_bytes() == own.read_bytes()
    assert nodes.ssh("gpu1", "cat > /root/typed; cat /root/typed", stdin="typed\n") == "typed\n"
    assert "root" in nodes.ssh("gpu1", "stat -c %U /root/copy")
    nodes.ssh("gpu1", "exit 7", status=7)

    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    words = nodes.words("ssh", "gpu1", "-p")
    words[words.index("-i") + 1] = str(key)
    words[1:1] = ["-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
    refused = subprocess.run([*words, "true"], capture_output=True, text=True, timeout=60, check=False)
    assert (refused.returncode, "Permission denied" in refused.stderr) == (255, True)


@pytest.mark.parametrize("terminal", [(), ("-tt",)], ids=["command", "terminal"])
def test_a_program_ends_with_the_session_that_reads_it(nodes: SimulatedNodes, terminal: tuple[str, ...]) -> None:
    *words, place = nodes.words("ssh", "gpu1", "-p")
    with subprocess.Popen([*words, *terminal, place, "yes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.read(100)
        reader.kill()
    running = "pgrep -x yes || true"
    nodes.project.wait_until(lambda: nodes.ssh("gpu1", running) == "", 10, "the program ended")


def traces(folder: Path) -> list[str]:
    """Return the processes of a simulator: those that name its folder, and those whose root is a disk in it."""
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            # A mount anywhere shows in the table of some process.
            mounts = (process / "mountinfo").read_text()
        except OSError:
            continue
        if str(folder) in mounts or str(folder).encode() in command:
            left.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return left


@pytest.mark.parametrize("end", ["down", "killed", "parent killed"])
def test_nothing_of_a_node_is_left(nodes: SimulatedNodes, end: str) -> None:
    project = nodes.project
    folder = nodes.folder
    nodes.ssh("gpu1", "echo kept > /root/file; nohup sleep 600 > /dev/null 2>&1 &")
    pid = nodes.endpoints()["pid"]
    assert len(nodes_of(folder)) == 4
    if end == "down":
        project.run("sim", "down")
    else:
        victim = pid
        if end == "parent killed":
            (victim,) = children(pid, "nodes/machines.py")
        os.kill(victim, signal.SIGKILL)
        project.wait_until(lambda: not nodes_of(folder), 10, "the nodes ended")
        if end == "killed":
            # The next start has their disks; the one after that begins anew.
            project.run("sim", "up")
            assert nodes.ssh("gpu1", "cat /root/file") == "kept\n"
        project.run("sim", "down")
    project.wait_until(lambda: not traces(folder), 10, "no process and no mount")
    assert not folder.exists()


def test_an_interrupted_start_leaves_no_node(new_project: Any) -> None:
    project = new_project("pod-32.yml")
    with project.intent.open("a") as intent:
        intent.write("hosts: {manage: true}\n")
    folder = project.folder / ".railweave/sim/pod1"
    starting = project.start("sim", "up")
    machines = project.wait_until(lambda: makers_of_nodes(folder), 60, "the process that makes the nodes runs")[0]
    try:
        project.wait_until(lambda: stopped_with_nodes(machines), 60, "a node starts")
        assert len(nodes_of(folder)) < 32, "all nodes were there before the signal was sent"
        starting.send_signal(signal.SIGINT)
    finally:
        os.kill(machines, signal.SIGCONT)
    said = starting.communicate(timeout=60)[0]
    assert starting.returncode == 130, said
    project.wait_until(lambda: not traces(folder), 20, "no process and no mount")


def stopped_with_nodes(machines: int) -> bool:
    """Let the process that makes the nodes go on for a moment, and stop it; tell whether one is there.

    While it is stopped, the start cannot end before a signal is there.
    """
    os.kill(machines, signal.SIGCONT)
    time.sleep(0.01)
    os.kill(machines, signal.SIGSTOP)
    return bool(children(machines, "init"))


def makers_of_nodes(folder: Path) -> list[int]:
    """Return the process that makes the nodes of a simulated fabric, if it runs."""
    try:
        simulator = json.loads((folder / "process.json").read_text())["pid"]
        return children(simulator, "nodes/machines.py")
    except OSError:
        return []


def nodes_of(folder: Path) -> list[str]:
    """Return the first processes of nodes."""
    return [command for command in traces(folder) if command.startswith("init ")]


def children(pid: int, text: str) -> list[int]:
    """Return the children of a process whose command line has a text."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in listed if text in Path(f"/proc/{one}/cmdline").read_text()]
