"""The background process: SSH, SFTP, faults, kept state, growth, and what is refused."""

import base64
import contextlib
import hashlib
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import paramiko
import pytest
from sim_switches import sim_device

from railweave_switch.packing import INSTALLER, packed, packed_sha256
from sonic_sim import control
from sonic_sim.spec import SimCable, SimHost, SimSpec, spec_from_json

pytestmark = pytest.mark.slow

SPEC = SimSpec(
    "sim-test",
    (sim_device("leaf1", 1), sim_device("spine1", 2)),
    (SimHost("gpu1", "02:00:00:00:01:01"),),
    (SimCable("leaf1:Ethernet0", "spine1:Ethernet0"), SimCable("leaf1:Ethernet4", "gpu1:eth0")),
)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run one small fabric for the tests of this module."""
    folder = tmp_path_factory.mktemp("sim") / ("a-folder-with-a-long-name-" * 4)
    control.up(folder, SPEC)
    yield folder
    control.down(folder)


@contextlib.contextmanager
def login(state: Path, name: str) -> Iterator[paramiko.SSHClient]:
    """Log in with the keys of the endpoints file, host key checked."""
    endpoints = control.endpoints(state)
    client = paramiko.SSHClient()
    client.load_host_keys(endpoints.known_hosts)
    end = endpoints.devices[name]
    client.connect(end.address, end.port, endpoints.username, key_filename=endpoints.key_file, timeout=300,
                   allow_agent=False, look_for_keys=False)  # fmt: skip
    try:
        yield client
    finally:
        client.close()


def ask(state: Path, name: str, line: str) -> tuple[int, str]:
    """Run one command in an own session; return exit status and output."""
    with login(state, name) as client:
        transport = client.get_transport()
        assert transport is not None
        # Without SSHClient's file of standard input: the collector of garbage closes it, which fails after a drop.
        channel = transport.open_session(timeout=300)
        channel.settimeout(300)
        channel.exec_command(line)
        text = channel.makefile("rb").read().decode()
        return channel.recv_exit_status(), text


def mtu(state: Path) -> str:
    return ask(state, "leaf1", "sonic-db-cli CONFIG_DB HGET 'PORT|Ethernet0' mtu")[1].strip()


def test_the_endpoints_file_says_all_that_a_client_needs(state: Path) -> None:
    value = json.loads((state / "endpoints.json").read_text())
    assert set(value) == {"devices", "nodes", "username", "key_file", "known_hosts", "pid", "pace"}
    assert value["nodes"] == {}
    addresses = [one["address"] for one in value["devices"].values()]
    assert {"leaf1", "spine1"} <= value["devices"].keys()
    assert len(set(addresses)) == len(addresses)
    assert all(address.startswith("127.") for address in addresses)
    assert Path(value["key_file"]).stat().st_mode & 0o777 == 0o600


def test_files_travel_by_sftp_as_the_user_admin(state: Path) -> None:
    with login(state, "leaf1") as client, client.open_sftp() as sftp:
        with sftp.open("/tmp/railweave-1.patch", "w") as file:
            file.write("[]")
        sftp.chmod("/tmp/railweave-1.patch", 0o600)
        assert sftp.stat("/tmp/railweave-1.patch").st_mode == 0o100600
        assert "railweave-1.patch" in sftp.listdir("/tmp")
        assert sftp.open("/tmp/railweave-1.patch").read() == b"[]"
        sftp.remove("/tmp/railweave-1.patch")
        with pytest.raises(FileNotFoundError):
            sftp.stat("/tmp/railweave-1.patch")
        with pytest.raises(PermissionError):
            sftp.open("/etc/sonic/x", "w")


def test_a_lock_is_held_until_its_session_ends(state: Path) -> None:
    line = "sudo -n flock -n -E 75 /var/lib/railweave.lock sh -c 'echo locked; exec cat'"
    with login(state, "leaf1") as client:
        stdin, out, _ = client.exec_command(line, timeout=300)
        assert out.readline() == "locked\n"
        assert not stdin.closed, "the lock lives as long as its input is open"
        assert ask(state, "leaf1", line)[0] == 75
    deadline = time.monotonic() + 300
    while (status := ask(state, "leaf1", line.replace("; exec cat", ""))[0]) == 75 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert status == 0


def test_an_engineer_has_a_prompt(state: Path) -> None:
    with login(state, "leaf1") as client:
        shell = client.invoke_shell()
        shell.settimeout(300)
        shell.send(b"show platform summary\n")
        shell.send(b"exit\n")
        text = ""
        with contextlib.suppress(TimeoutError):
            while part := shell.recv(4096):
                text += part.decode()
    assert "admin@sonic:~$ " in text
    assert "HwSKU: ACS-MSN2700" in text


def test_a_password_does_not_open_a_switch(state: Path) -> None:
    end = control.endpoints(state).devices["leaf1"]
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    with pytest.raises(paramiko.SSHException):
        client.connect(end.address, end.port, "admin", "YourPaSsWoRd", allow_agent=False, look_for_keys=False)
    client.close()


def test_a_reload_in_the_background_drops_the_session_and_comes_back(state: Path) -> None:
    with login(state, "spine1") as client:
        transport = client.get_transport()
        _, out, _ = client.exec_command(
            "sudo -n systemd-run --collect --unit=x config reload -y -f /etc/sonic/config_db.json"
        )
        assert out.channel.recv_exit_status() == 0
        deadline = time.monotonic() + 300
        while transport is not None and transport.is_active() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert transport is not None
        assert not transport.is_active()
    while time.monotonic() < deadline:
        with contextlib.suppress(paramiko.SSHException, OSError):
            if "frr version" in ask(state, "spine1", "show runningconfiguration all")[1]:
                return
        time.sleep(0.02)
    pytest.fail("the switch did not come back")


def test_an_unreachable_switch_refuses_connections_until_cleared(state: Path) -> None:
    control.fault(state, "spine1", "unreachable")
    end = control.endpoints(state).devices["spine1"]
    with pytest.raises(ConnectionRefusedError), socket.create_connection((end.address, end.port), timeout=1):
        pass
    assert control.clear_fault(state, "spine1", "unreachable") == 1
    assert ask(state, "spine1", "true")[0] == 0


def test_another_switch_in_its_place_is_known_by_its_key_serial_and_mac(tmp_path: Path) -> None:
    control.up(tmp_path, SPEC)
    try:
        ask(tmp_path, "leaf1", "sudo sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' mtu 4000")
        mac = "sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' mac"
        old_mac, known = ask(tmp_path, "leaf1", mac)[1], (tmp_path / "known_hosts").read_text()
        made = control.replace(tmp_path, "leaf1")
        with pytest.raises(paramiko.BadHostKeyException):
            ask(tmp_path, "leaf1", "true")
        assert (tmp_path / "known_hosts").read_text() == known
        (tmp_path / "known_hosts").unlink()
        control.up(tmp_path, SPEC)
        assert mtu(tmp_path) == "9100"
        assert ask(tmp_path, "leaf1", mac)[1].strip() == made["mac"] != old_mac.strip()
        assert made["serial"] in ask(tmp_path, "leaf1", "show platform summary; show version")[1]
        cables = [(one["a"], one["b"]) for one in control.status(tmp_path)["cables"]]
        assert ("leaf1:Ethernet0", "spine1:Ethernet0") in cables
        with pytest.raises(control.SimulatorError, match="no device leaf7"):
            control.replace(tmp_path, "leaf7")
    finally:
        control.down(tmp_path)


def test_a_wrong_host_key_is_seen_and_the_right_one_comes_back(state: Path) -> None:
    control.fault(state, "spine1", "wrong-host-key")
    with pytest.raises(paramiko.BadHostKeyException), login(state, "spine1"):
        pass
    control.clear_fault(state, "spine1")
    assert ask(state, "spine1", "true")[0] == 0


def test_a_dropped_session_may_have_done_its_work_or_not(state: Path) -> None:
    before = mtu(state)
    control.fault(state, "leaf1", "drop-session", command="mtu Ethernet0 9000", moment="before")
    assert ask(state, "leaf1", "sudo config interface mtu Ethernet0 9000")[0] == -1
    assert mtu(state) == before
    control.fault(state, "leaf1", "drop-session", command="mtu Ethernet0 9000")
    assert ask(state, "leaf1", "sudo config interface mtu Ethernet0 9000")[0] == -1
    assert mtu(state) == "9000"
    ask(state, "leaf1", f"sudo config interface mtu Ethernet0 {before}")


def test_a_session_dropped_in_the_middle_of_a_patch_leaves_half_of_it(state: Path) -> None:
    patch = [{"op": "add", "path": f"/VLAN/Vlan{number}", "value": {"vlanid": str(number)}} for number in (11, 12)]
    whole = [{"op": "add", "path": "/VLAN", "value": {"Vlan10": {"vlanid": "10"}}}]
    for name, content in (("whole", whole), ("patch", patch)):
        with login(state, "leaf1") as client, client.open_sftp() as sftp, sftp.open(f"/tmp/{name}", "w") as file:
            file.write(json.dumps(content))
    assert ask(state, "leaf1", "sudo config apply-patch /tmp/whole")[0] == 0
    control.fault(state, "leaf1", "drop-session", command="apply-patch", moment="during")
    assert ask(state, "leaf1", "sudo config apply-patch /tmp/patch")[0] == -1
    assert ask(state, "leaf1", "sonic-db-cli CONFIG_DB KEYS 'VLAN|*'")[1].split() == ["VLAN|Vlan10", "VLAN|Vlan11"]


def test_a_refused_commit_fails_once_with_words_of_sonic(state: Path) -> None:
    control.fault(state, "leaf1", "refuse-commit")
    with login(state, "leaf1") as client, client.open_sftp() as sftp, sftp.open("/tmp/empty", "w") as file:
        file.write("{}")
    assert ask(state, "leaf1", "sudo config load -y /tmp/empty")[0] == 1
    assert ask(state, "leaf1", "sudo config load -y /tmp/empty")[0] == 0


def test_a_slow_switch_takes_its_time(state: Path) -> None:
    control.fault(state, "leaf1", "slow", seconds=0.3, times=1)
    started = time.monotonic()
    ask(state, "leaf1", "true")
    assert time.monotonic() - started >= 0.3
    assert control.status(state)["devices"]["leaf1"]["faults"] == []


@pytest.mark.parametrize(
    ("device", "kind", "details", "words"),
    [
        ("nobody", "slow", {}, "no device nobody"),
        ("leaf1", "nosuch", {}, "no fault 'nosuch'; there are: unreachable, slow"),
        ("leaf1", "clears", {}, "queue-drops; clear ends them$"),
        ("leaf1", "slow", {"color": 1}, "color"),
        ("leaf1", "errors", {"port": "Ethernet9"}, "leaf1 has no port Ethernet9; it has Ethernet0, Ethernet4"),
        ("leaf1", "power-cycle", {"port": "Ethernet0"}, "power-cycle is a fault of the whole switch: omit the port"),
        ("leaf1", "drop-session", {"moment": "later"}, "moment 'later' is not one of before, during, after"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(
    state: Path, device: str, kind: str, details: dict[str, object], words: str
) -> None:
    with pytest.raises(control.SimulatorError, match=words):
        control.fault(state, device, kind, **details)


def test_a_simulator_that_hangs_is_not_said_to_be_missing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = json.loads((state / "process.json").read_bytes())["pid"]
    monkeypatch.setattr(control, "_ANSWER_S", 0.2)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(
            control.SimulatorError, match=r"did not answer within 0\.2 s: it is too large for this machine"
        ):
            control.status(state)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_cable_moves_and_stays_moved(state: Path) -> None:
    control.cable(state, "leaf1:Ethernet8", "spine1:Ethernet0")
    assert "Ethernet8" in ask(state, "leaf1", "show lldp table")[1]
    again = control.up(state, SPEC)
    assert again.unplugged == (("leaf1:Ethernet0", "spine1:Ethernet0"),)
    control.cable(state, "leaf1:Ethernet0", "spine1:Ethernet0")
    assert control.up(state, SPEC).unplugged == ()
    with pytest.raises(control.SimulatorError, match="no device or host nobody"):
        control.cable(state, "nobody:Ethernet0", "leaf1:Ethernet0")
    with pytest.raises(control.SimulatorError, match="leaf1 has no port Ethernet999; it has Ethernet0, Ethernet4"):
        control.cable(state, "spine1:Ethernet0", "leaf1:Ethernet999")


def test_cables_of_a_phase_move_together_and_new_ones_take_the_ports_that_become_free(state: Path) -> None:
    uplink, other = (SimCable(f"leaf1:{port}", "spine1:Ethernet0") for port in ("Ethernet0", "Ethernet8"))
    new = SimCable("leaf1:Ethernet0", "spine1:Ethernet4")
    assert control.rewire(state, [], [other], [new]) == (1, 1)
    assert control.rewire(state, [], [other], [new]) == (0, 0)
    with pytest.raises(control.SimulatorError, match="no device or host nobody"):
        control.rewire(state, [new], [SimCable("nobody:Ethernet0", "leaf1:Ethernet8")])
    # What is refused has taken no cable out.
    assert control.rewire(state, [new], [uplink]) == (2, 0)
    assert control.up(state, SPEC).unplugged == ()


def test_a_node_that_is_off_has_no_link_until_it_is_on_again(state: Path) -> None:
    def link() -> str:
        return ask(state, "leaf1", "sonic-db-cli APPL_DB HGET PORT_TABLE:Ethernet4 oper_status")[1].strip()

    assert link() == "up"
    control.power(state, ["gpu1"], powered=False)
    assert link() == "down"
    assert "gpu1" not in ask(state, "leaf1", "show lldp table")[1]
    control.up(state, SPEC)
    assert link() == "down"
    control.power(state, ["gpu1"], powered=True)
    assert link() == "up"
    with pytest.raises(control.SimulatorError, match="no GPU node gpu7, leaf1; there are: gpu1"):
        control.power(state, ["gpu1", "gpu7", "leaf1"], powered=False)
    assert link() == "up"


def test_growth_adds_devices_and_resets_none(state: Path) -> None:
    ask(state, "leaf1", "sudo config interface mtu Ethernet0 8000")
    grown = replace(
        SPEC,
        devices=(*SPEC.devices, sim_device("leaf2", 3)),
        cables=(*SPEC.cables, SimCable("leaf2:Ethernet0", "spine1:Ethernet4")),
    )
    before = control.endpoints(state)
    found = control.up(state, grown)
    assert found.added == ("leaf2",)
    assert found.pid == before.pid
    assert found.devices["leaf1"] == before.devices["leaf1"]
    assert mtu(state) == "8000"
    assert "spine1" not in ask(state, "leaf2", "show lldp table")[1]
    assert "Ethernet0" in ask(state, "leaf2", "show lldp table")[1]


def test_another_model_is_refused_with_the_way_out(state: Path) -> None:
    other = sim_device("leaf1", 1, ports=8)
    with pytest.raises(control.SimulatorError, match="sim down"):
        control.up(state, replace(SPEC, devices=(other, SPEC.devices[1])))


def test_state_faults_and_armed_timers_survive_the_end_of_the_process(state: Path) -> None:
    ask(state, "leaf1", "sudo config interface mtu Ethernet0 7000")
    control.fault(state, "leaf1", "bgp-down")
    with login(state, "leaf1") as client:
        install = f"sudo python3 -I -S -c {shlex.quote(INSTALLER)} install --sha256 {packed_sha256()}"
        stdin, out, _ = client.exec_command(install, timeout=300)
        stdin.write(base64.b64encode(packed()))
        stdin.channel.shutdown_write()
        assert json.loads(out.read())["outcome"] == "installed"
        asked = {"version": 1, "id": "1", "last": "", "kind": "commit", "deadline_s": 600, "steps": [], "after": {}}
        asked["before"] = {"PORT": {"Ethernet0": {"mtu": "7000"}}}
        steps = [{"kind": "load", "document": {"PORT": {"Ethernet0": {"mtu": "7500"}}}}]
        asked["rollback"] = {"steps": steps, "rows": {"PORT": {"Ethernet0": {"mtu": "7500"}}}}
        data = json.dumps(asked)
        digest = hashlib.sha256(data.encode()).hexdigest()
        line = f"sudo /usr/local/bin/railweave-switch apply --length {len(data)} --sha256 {digest}"
        stdin, out, _ = client.exec_command(line, timeout=300)
        stdin.write(data)
        stdin.channel.shutdown_write()
        assert json.loads(out.read())["outcome"] == "applied"
    pid = control.endpoints(state).pid
    socket_of_it = Path(json.loads((state / "process.json").read_text(encoding="utf-8"))["socket"])
    os.kill(pid, signal.SIGKILL)
    found = control.up(state, SPEC)
    assert not socket_of_it.parent.exists()
    assert found.pid != pid
    assert found.added == ()
    assert [one["kind"] for one in control.status(state)["devices"]["leaf1"]["faults"]] == ["bgp-down"]
    assert mtu(state) == "7000"
    control.pass_time(state, 300)
    assert mtu(state) == "7000"
    control.pass_time(state, 300)
    assert mtu(state) == "7500"
    with pytest.raises(control.SimulatorError, match="time does not go back"):
        control.pass_time(state, -1)
    control.clear_fault(state, "leaf1")


def test_two_starts_at_once_give_one_process(tmp_path: Path) -> None:
    spec = replace(SPEC, fabric="sim-test-two", devices=SPEC.devices[:1], cables=(), hosts=())
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(control.up(tmp_path / "s", spec).pid)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert len(found) == 2
        assert len(set(found)) == 1
    finally:
        assert control.down(tmp_path / "s")
    assert not (tmp_path / "s").exists()
    assert not control.down(tmp_path / "s")
    assert control.status(tmp_path / "s")["running"] is False


def test_nothing_is_asked_of_a_simulator_that_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(control.SimulatorError, match="sim up"):
        control.endpoints(tmp_path)
    with pytest.raises(control.SimulatorError, match="sim up"):
        control.cable(tmp_path, "a:b", "c:d")


def test_a_fabric_ends_with_its_owner_and_leaves_no_folder(tmp_path: Path) -> None:
    owned, owner = os.pipe()
    folder = tmp_path / "owned"
    ends = control.up(folder, SPEC, control.SimOptions(owner=owned))
    os.close(owned)
    handle = os.pidfd_open(ends.pid)
    os.close(owner)
    assert select.select([handle], [], [], 60)[0]
    os.close(handle)
    assert not folder.exists()


_BUSY = """
import sys, time
from sonic_sim import daemon, simulation
daemon._BUSY_S = 0.2
simulation.Simulation.status = lambda self: (sys.stderr.write("busy\\n"), time.sleep(60))
sys.exit(daemon.main())
"""


def test_a_fabric_that_hears_of_nothing_ends_with_its_owner_too(tmp_path: Path) -> None:
    """As one that calculates the routes of thousands of switches: its event loop does nothing else meanwhile."""
    folder = tmp_path / "owned"
    folder.mkdir()
    words = [sys.executable, "-c", _BUSY, str(folder), "0.001", "owned"]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, stderr=PIPE) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        assert daemon.stderr is not None
        assert daemon.stdout.readline() == b"ready\n"
        process = json.loads((folder / "process.json").read_text(encoding="utf-8"))
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(process["socket"])
            asking.sendall(b'{"verb": "status"}\n')
            assert daemon.stderr.readline() == b"busy\n"
            daemon.stdin.close()
            assert daemon.wait(30) == 1
    assert not folder.exists()
    assert not Path(process["socket"]).parent.exists()


def test_a_specification_travels_as_json() -> None:
    assert spec_from_json(SPEC.to_json()) == SPEC
    with pytest.raises(ValueError, match="not a simulator specification"):
        spec_from_json('{"fabric": 1}')
