"""GPU nodes set up for real: each a network namespace with a folder for its files, reached through ansible-runner.

Addresses, rules, routes, MTU and sysctls are the kernel's own; the vendors' tools are recorders that keep state.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from by_night import sampled
from namespace_nodes import RAILS, Node, write_target

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(CANNOT, reason="network namespaces need root and ip")]

PASSWORD = "correct-horse-battery"


class Nodes:
    """A project whose target reaches some nodes of lab-4."""

    def __init__(self, project: Any, folder: Path) -> None:
        self.project, self.folder = project, folder
        self.nodes: dict[str, Node] = {}

    def add(self, *names: str, rdma_prefix: str = "mlx5_") -> None:
        for name in names:
            self.nodes[name] = Node(self.folder, name, rdma_prefix)

    def target(self, **keys: Any) -> None:
        """Write the target that reaches the nodes."""
        write_target(self.project.folder / "inventory/bench.yml", self.nodes.values(), **keys)

    def run(self, verb: str, *words: str, status: int = 0, **environ: str) -> Any:
        consent = () if verb == "plan" else ("--yes",)
        limit = ("--limit", ",".join(self.nodes))
        words = ("hosts", verb, "--target", "bench", *limit, *consent, *words, "--json")
        return json.loads(self.project.run(*words, status=status, **environ).stdout)

    def collect(self) -> Path:
        """Collect the facts of the nodes, and return their folder."""
        out: Path = self.project.folder / "facts"
        words = ("facts", "collect", "--target", "bench", "--limit", ",".join(self.nodes), "--out", str(out))
        assert self.project.json(*words)["nodes"] == list(self.nodes)
        return out

    def check(self, facts: Path, status: int = 0) -> dict[str, str]:
        """Return what the check of ``facts`` finds wrong, by code."""
        found = self.project.json("check", "--facts", str(facts), status=status)["diagnostics"]
        return {one["code"]: one["message"] for one in found if one["severity"] == "error"}

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]


@pytest.fixture
def nodes(new_project: Any, tmp_path: Path) -> Iterator[Nodes]:
    project = new_project("lab-4.yml")
    with project.intent.open("a") as intent:
        intent.write("hosts: {manage: true, frontend: eno1}\n")
    made = Nodes(project, tmp_path / "nodes")
    yield made
    for node in made.nodes.values():
        node.remove()


def states(run: Any) -> dict[str, str]:
    return {name: host["state"] for name, host in run["hosts"].items()}


def settings(run: Any, name: str) -> dict[tuple[str, str], tuple[Any, Any]]:
    changes = run["hosts"][name]["changes"]
    return {(one["subject"], one["what"]): (one["before"], one["after"]) for one in changes}


@pytest.mark.nightly
def test_nodes_are_set_up_once_and_a_second_run_changes_nothing(nodes: Nodes) -> None:
    nodes.add("gpu1", "gpu2")
    nodes.target()
    planned = nodes.run("plan")
    assert states(planned) == {"gpu1": "changed", "gpu2": "changed"}
    assert not nodes["gpu1"].calls()
    assert not nodes["gpu1"].file("/etc").exists()
    assert nodes["gpu1"].ip("-4", "address").strip() == ""

    applied = nodes.run("apply")
    assert applied["result"] == "done"
    assert settings(planned, "gpu1").keys() <= settings(applied, "gpu1").keys()
    assert_linux_is_set(nodes["gpu1"], ["10.32.0.1/31", "10.32.0.65/31"])
    assert_linux_is_set(nodes["gpu2"], ["10.32.0.3/31", "10.32.0.67/31"])
    assert_mellanox_is_set(nodes["gpu1"])
    calls = nodes["gpu1"].calls()

    again = nodes.run("apply")
    assert (again["result"], states(again)) == ("unchanged", {"gpu1": "unchanged", "gpu2": "unchanged"})
    assert nodes.run("plan")["summary"]["unchanged"] == 2
    assert nodes["gpu1"].calls() == calls


def assert_linux_is_set(node: Node, addresses: list[str]) -> None:
    links = {one["ifname"]: one for one in json.loads(node.ip("-j", "address"))}
    for number, (rail, address) in enumerate(zip(RAILS, addresses, strict=True)):
        own, gateway = address.split("/")[0], address.split("/")[0].rsplit(".", 1)
        via = f"{gateway[0]}.{int(gateway[1]) - 1}"
        assert links[rail]["mtu"] == 9000
        assert [
            f"{one['local']}/{one['prefixlen']}" for one in links[rail]["addr_info"] if one["family"] == "inet"
        ] == [address]
        table = str(100 + number)
        assert node.ip("route", "show", "table", table).split() == ["default", "via", via, "dev", rail]
        assert f"10.32.0.0/11 via {via} dev {rail} metric {table}" in node.ip("route")
        assert f"{1000 + number}:\tfrom {own} lookup {table}" in node.ip("rule")
        assert node.sysctl(f"net.ipv4.conf.{rail}.rp_filter") == "2"
        # A packet leaves on the rail whose address it carries, wherever it goes.
        assert f"dev {rail}" in node.ip("route", "get", "10.40.0.1", "from", own)
    assert (node.sysctl("net.ipv4.conf.all.arp_ignore"), node.sysctl("net.ipv4.conf.all.arp_announce")) == ("1", "2")
    assert "NCCL_IB_TC=106\n" in node.file("/etc/nccl.conf").read_text()
    assert "NCCL_SOCKET_IFNAME=eno1\n" in node.file("/etc/nccl.conf").read_text()
    unit = node.file("/etc/systemd/system/multi-user.target.wants/railweave-rdma.service")
    assert os.readlink(unit) == "../railweave-rdma.service"
    assert os.access(node.file("/usr/local/sbin/railweave-host"), os.X_OK)


def assert_mellanox_is_set(node: Node) -> None:
    held = node.nic()
    for number, rail in enumerate(RAILS):
        port = held[rail]
        assert (port["dcbx"], port["trust"], port["pause"]) == ("OS controlled", "dscp", "off")
        assert port["pfc"] == [0, 0, 0, 1, 0, 0, 0, 0]
        assert {dscp for dscp, priority in port["dscp"].items() if priority == 3} == {"26"}
        assert port["dscp"]["48"] == 6
        assert held[f"rdma mlx5_{number}"] == {"mode": "2", "tos": "106"}
        ecn = node.folder / "sys/class/net" / rail / "ecn"
        assert [(ecn / point / "enable/3").read_text().strip() for point in ("roce_np", "roce_rp")] == ["1", "1"]
        assert (ecn / "roce_np/cnp_dscp").read_text() == "48"
        assert (ecn / "roce_np/cnp_802p_prio").read_text() == "6"
        assert (node.folder / f"sys/class/infiniband/mlx5_{number}/tc/1/traffic_class").read_text() == "106"


@pytest.mark.nightly
def test_a_node_changed_by_hand_is_found_and_mended(nodes: Nodes) -> None:
    nodes.add("gpu1")
    nodes.target()
    nodes.run("apply")
    node = nodes["gpu1"]
    node.ip("link", "set", "rail0", "mtu", "1500")
    node.ip("route", "del", "default", "table", "101")
    node.ip("rule", "add", "from", "10.32.0.65", "lookup", "main", "priority", "900")
    node.file("/etc/sysctl.d/90-railweave.conf").write_text("# emptied\n")
    node.file("/etc/systemd/network/10-railweave-rail7.network").write_text("[Match]\nName=rail7\n")
    held = node.nic()
    held["rail1"]["pfc"], held["rail0"]["dscp"]["26"] = [0] * 8, 0
    (node.folder / "state.json").write_text(json.dumps(held))

    found = settings(nodes.run("plan", "--exit-code", status=2), "gpu1")
    assert found == {
        ("/etc/sysctl.d/90-railweave.conf", "content"): ("differs", "as intended"),
        ("/etc/systemd/network/10-railweave-rail7.network", "content"): ("present", "absent"),
        ("rail0", "mtu"): ("1500", "9000"),
        ("rail0", "dscp to priority"): ("26:0", "26:3"),
        ("rail1", "route default table 101"): (None, "via 10.32.0.64 dev rail1"),
        ("rail1", "rule"): (
            "900: from 10.32.0.65 table 254 1001: from 10.32.0.65 table 101",
            "1001: from 10.32.0.65 table 101",
        ),
        ("rail1", "pfc"): ("0 0 0 0 0 0 0 0", "0 0 0 1 0 0 0 0"),
    }
    assert settings(nodes.run("apply"), "gpu1") == found
    assert nodes.run("plan", "--exit-code")["summary"]["unchanged"] == 1
    assert_linux_is_set(node, ["10.32.0.1/31", "10.32.0.65/31"])
    assert_mellanox_is_set(node)


@pytest.mark.parametrize("rdma_prefix", sampled(["mlx5_", "bnxt_re"], every=2))
def test_collected_facts_fit_a_node_that_is_set_up_and_tell_what_was_changed_by_hand(
    nodes: Nodes, rdma_prefix: str
) -> None:
    if rdma_prefix == "bnxt_re":
        nodes.project.edit(
            ("speed: 100G, ports: 1, model: connectx-6", "speed: 100G, ports: 1, model: broadcom-thor"),
        )
    nodes.add("gpu1", rdma_prefix=rdma_prefix)
    nodes.target()
    before = nodes.check(nodes.collect(), status=1)
    assert {"Q-3", "N-2", "N-3"} <= before.keys()

    nodes.run("apply")
    node, calls = nodes["gpu1"], nodes["gpu1"].calls()
    facts = nodes.collect()
    assert nodes.check(facts) == {}
    read = json.loads((facts / "gpu1.json").read_text())
    assert (facts / "gpu1.json").stat().st_mode & 0o777 == 0o600
    nic = read["nics"]["rail0"]
    assert {dscp: nic["dscp_to_priority"][dscp] for dscp in ("26", "48")} == {"26": 3, "48": 6}
    assert {"to": "default", "via": "10.32.0.0", "table": "100", "metric": 0} in nic["routes"]
    assert any("dcqcn" in what for what in nic["settings"])
    apart = {"dscp_to_priority", "routes", "settings"}
    assert {key: value for key, value in nic.items() if key not in apart} == {
        "speed_gbps": 100,
        "mtu": 9000,
        "state": "up",
        "addresses": ["10.32.0.1/31"],
        "tables": [100],
        "rule_priorities": [1000],
        "autoneg": "off",
        "fec": "rs",
        "trust": "dscp",
        "pfc": [3],
        "roce_tos": 106,
        "cnp_dscp": 48,
        "pause_rx": "off",
        "pause_tx": "off",
    }
    assert read["nccl"]["NCCL_IB_TC"] == "106"
    assert read["sysctl"]["net.ipv4.conf.rail1.rp_filter"] == "2"

    node.ip("link", "set", "rail0", "mtu", "9500")
    node.ip("rule", "del", "from", "10.32.0.65")
    held = node.nic()
    held["rail1"]["pfc"], held["rail0"]["fec"] = [0] * 8, "Off"
    (node.folder / "state.json").write_text(json.dumps(held))
    found = nodes.check(nodes.collect(), status=1)
    assert found.keys() == {"M-1", "N-2", "P-5", "Q-3"}
    assert "gpu1:rail0 has an MTU of 9500 bytes, lab-leaf1:Ethernet0 of 9100" in found["M-1"]
    assert "gpu1:rail1 pauses no priority and lab-leaf2:Ethernet0 3" in found["Q-3"]
    assert node.calls() == calls  # reading changed nothing


@pytest.mark.nightly
def test_a_plan_tells_what_the_firmware_lacks_and_where_a_restart_is_pending_and_sets_neither(nodes: Nodes) -> None:
    nodes.add("gpu1")
    nodes.target()
    nodes.run("apply")
    planned = nodes.run("plan", "--exit-code")
    assert states(planned) == {"gpu1": "unchanged"}
    notes = {(one["subject"], one["what"]): one for one in planned["hosts"]["gpu1"]["notes"]}
    assert notes.keys() == {(rail, what) for rail in RAILS for what in ("ROCE_CC_PRIO_MASK_P1", "CNP_DSCP_P1")}
    pending, unset = notes["rail0", "ROCE_CC_PRIO_MASK_P1"], notes["rail1", "CNP_DSCP_P1"]
    assert (pending["restart_pending"], unset["restart_pending"]) == (True, False)
    assert pending["text"] == "255 until the NIC restarts, 8 then: a restart is pending"
    assert unset["text"] == "0, and 48 fits: `mlxconfig -d 0000:1a:00.0 set CNP_DSCP_P1=48`, then a restart"
    limit = ("hosts", "plan", "--target", "bench", "--limit", "gpu1")
    assert "NIC firmware (reported, never changed by railweave):" in nodes.project.run(*limit).stdout

    held = nodes["gpu1"].nic()
    fitting = {"LINK_TYPE_P1": ["ETH(2)"] * 2, "ROCE_CC_PRIO_MASK_P1": ["8"] * 2}
    fitting |= {"CNP_DSCP_P1": ["48"] * 2, "CNP_802P_PRIO_P1": ["6"] * 2}
    held |= {f"firmware 0000:{number}a:00.0": fitting for number in range(2)}
    (nodes["gpu1"].folder / "state.json").write_text(json.dumps(held))
    assert nodes.run("plan")["hosts"]["gpu1"]["notes"] == []


def test_the_unit_sets_a_restarted_node_from_its_own_files(nodes: Nodes) -> None:
    nodes.add("gpu1")
    nodes.target()
    nodes.run("apply")
    node = nodes["gpu1"]
    unit = node.file("/etc/systemd/system/railweave-rdma.service").read_text()
    (command,) = [line.removeprefix("ExecStart=") for line in unit.splitlines() if line.startswith("ExecStart=")]
    program, *verbs = command.split()
    # What a reboot takes away: addresses, routes, rules, and everything that the NICs held.
    for rail in RAILS:
        node.ip("address", "flush", "dev", rail)
        node.ip("link", "set", rail, "down", "mtu", "1500")
    (node.folder / "state.json").unlink()
    words = [str(node.python), str(node.file(program)), *verbs]
    words += ["--document", str(node.file("/etc/railweave/rails.json")), "--root", str(node.folder)]
    subprocess.run(words, check=True, timeout=60, capture_output=True)
    assert nodes.run("plan", "--exit-code")["summary"]["unchanged"] == 1
    assert_mellanox_is_set(node)


@pytest.mark.nightly
def test_broadcom_nics_are_set_by_their_own_tools(nodes: Nodes) -> None:
    nodes.project.edit(
        ("speed: 100G, ports: 1, model: connectx-6", "speed: 100G, ports: 1, model: broadcom-thor"),
    )
    nodes.add("gpu1", rdma_prefix="bnxt_re")
    nodes.target()
    assert states(nodes.run("apply")) == {"gpu1": "changed"}
    node = nodes["gpu1"]
    assert "bnxt_setupcc.sh -d bnxt_re0 -i rail0 -m 3 -r 3 -s 26 -c 6 -p 48 -b 90 -u 4" in node.calls()
    for number, rail in enumerate(RAILS):
        port = node.nic()[rail]
        assert port["pfc"] == [0, 0, 0, 1, 0, 0, 0, 0]
        assert port["app"] == {"26": "3", "48": "6"}
        cc = node.folder / f"sys/kernel/config/bnxt_re/bnxt_re{number}/ports/1/cc"
        assert [(cc / name).read_text().strip() for name in ("roce_dscp", "cnp_dscp")] == ["0x1a", "0x30"]
    calls = node.calls()
    assert nodes.run("apply")["result"] == "unchanged"
    assert node.calls() == calls
    assert "NCCL_IB_HCA==bnxt_re0:1,bnxt_re1:1\n" in node.file("/etc/nccl.conf").read_text()


@pytest.mark.nightly
def test_amd_nics_are_set_port_by_port_and_read_back(nodes: Nodes) -> None:
    # A Pollara has no single port of 100G, the speed of this small fabric.
    nodes.project.edit(
        ("speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16", "speed: 400G, ports: 1, model: amd-pollara-400"),
        (
            "model: sonic-vs, count: 2, downlink_speed: 100G, uplink_speed: 100G",
            "model: nokia-ixr7220-h4-64d, count: 2",
        ),
        ("spine: {model: sonic-vs", "spine: {model: nokia-ixr7220-h4-64d"),
    )
    nodes.add("gpu1", rdma_prefix="ionic_")
    nodes.target()
    run = nodes.run("apply")
    assert states(run) == {"gpu1": "changed"}, run
    node = nodes["gpu1"]
    for number in range(2):
        card = node.nic()[f"card 0000:{number}a:00.0"]
        assert (card["pause"], card["type"], card["no_drop"]) == (True, "DSCP", [3])
        assert {dscp: priority for dscp, priority in enumerate(card["dscp"]) if priority} == {26: 3, 48: 6}
        assert card["schedule"] == {
            "0": ["DWRR", "10", "N/A"],
            "3": ["DWRR", "90", "N/A"],
            "6": ["strict", "N/A", "10"],
        }
        assert node.nic()[f"dcqcn ionic_{number}"] == {"status": "Enabled", "cnp": "48"}
    calls = node.calls()
    assert sum("-p 04908130-1aa0-4242-4242-000011010000" in call for call in calls) >= 4
    assert nodes.run("apply")["result"] == "unchanged"
    assert node.calls() == calls
    assert nodes.check(nodes.collect()) == {}

    held = node.nic()
    held["card 0000:1a:00.0"]["no_drop"] = [0]
    (node.folder / "state.json").write_text(json.dumps(held))
    assert settings(nodes.run("plan"), "gpu1") == {
        ("rail1", "pfc"): ("0:enable 3:disable", "0:disable 3:enable"),
    }
    assert "gpu1:rail1 pauses 0 and lab-leaf2:Ethernet0 3" in nodes.check(nodes.collect(), status=1)["Q-3"]


@pytest.mark.nightly
def test_a_tool_that_refuses_stops_the_change_before_the_next_batch(nodes: Nodes) -> None:
    nodes.add("gpu1", "gpu2", "gpu3")
    nodes.target(batches={"canary": 1, "size": 1, "max_failures": 0})
    (nodes["gpu1"].folder / "refuse").write_text("cma_roce_tos")
    run = nodes.run("apply", status=1)
    assert run["result"] == "stopped"
    assert states(run) == {"gpu1": "failed", "gpu2": "not-attempted", "gpu3": "not-attempted"}
    assert "recorder: out of order" in run["hosts"]["gpu1"]["error"]
    assert run["hosts"]["gpu1"]["error"].endswith("; nothing was changed")
    assert nodes["gpu1"].ip("-4", "address").strip() == ""
    assert not any(nodes[name].file("/etc").exists() for name in nodes.nodes)

    nodes.target(batches={"canary": 1, "size": 1, "max_failures": 1})
    within = nodes.run("apply", status=1)
    assert states(within) == {"gpu1": "failed", "gpu2": "changed", "gpu3": "changed"}


def test_nodes_are_drained_changed_resumed_and_rolled_back(nodes: Nodes, tmp_path: Path) -> None:
    nodes.add("gpu1", "gpu2")
    log = tmp_path / "hooks"
    hooks = {verb: f"sh -c 'echo {verb} $0 >> {log}' {{name}}" for verb in ("drain", "resume")}
    nodes.target(batches={"canary": 2}, hooks=hooks)
    run = nodes.run("apply")
    assert states(run) == {"gpu1": "changed", "gpu2": "changed"}
    assert run["rdma_test"] == "RDMA not tested: on gpu1, ib_write_bw is not installed"
    called = log.read_text().splitlines()
    assert [sorted(called[:2]), sorted(called[2:])] == [["drain gpu1", "drain gpu2"], ["resume gpu1", "resume gpu2"]]
    assert_linux_is_set(nodes["gpu1"], ["10.32.0.1/31", "10.32.0.65/31"])
    assert nodes.run("apply")["result"] == "unchanged"
    assert log.read_text().splitlines() == called

    back = nodes.run("rollback")
    assert (back["result"], states(back)) == ("done", {"gpu1": "changed", "gpu2": "changed"})
    for node in nodes.nodes.values():
        assert node.ip("-4", "address").strip() == ""
        assert not node.file("/etc/nccl.conf").exists()
        assert node.nic()["rail0"]["pfc"] == [0] * 8
    assert nodes.run("rollback")["result"] == "unchanged"


def test_an_rdma_device_of_another_name_is_told_before_anything_is_set(nodes: Nodes) -> None:
    nodes.add("gpu1")
    nodes.target()
    device = nodes["gpu1"].folder / "sys/class/net/rail1/device/infiniband"
    (device / "mlx5_1").rename(device / "mlx5_5")
    run = nodes.run("plan", status=1)
    assert "the RDMA device of rail1 is mlx5_5, and NCCL_IB_HCA names mlx5_1" in run["hosts"]["gpu1"]["error"]


def test_unmanaged_nodes_are_planned_and_never_changed(nodes: Nodes) -> None:
    nodes.project.edit(("manage: true", "manage: false"))
    nodes.add("gpu1")
    nodes.target()
    assert states(nodes.run("plan")) == {"gpu1": "changed"}
    refused = nodes.run("apply", status=1)
    assert [one["code"] for one in refused["diagnostics"]] == ["RW805"]
    assert not nodes["gpu1"].file("/etc").exists()


def test_an_interrupt_ends_the_change_and_leaves_nothing_behind(nodes: Nodes, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    nodes.add("gpu1", "gpu2")
    nodes.target(batches={"canary": 1, "size": 1, "max_failures": 9})
    nodes.project.environ |= {"TMPDIR": str(scratch)}
    running = nodes.project.start("hosts", "apply", "--target", "bench", "--limit", "gpu1,gpu2", "--yes")
    nodes.project.wait_until(lambda: list(scratch.glob("railweave-hosts-*/artifacts")), 120, "ansible-runner began")
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=240)[0]
    assert running.returncode == 130, said
    assert list(scratch.glob("railweave-hosts-*")) == []
    assert programs_with(str(scratch)) == [], "Ansible's workers lead sessions of their own"
    assert not nodes["gpu2"].file("/etc").exists()


def programs_with(text: str) -> list[str]:
    """Return the command lines of all programs that have a text in them or in their environment."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            command = contents(path / "cmdline")
            if text.encode() in command + contents(path / "environ"):
                found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


class SshServer:
    """A real SSH server on loopback that runs what it is asked on this machine, as root's login on a node does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.logins = 0
        self.connections: list[asyncssh.SSHServerConnection] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> "SshServer":
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(20)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()

    def known_hosts(self, key: asyncssh.SSHKey) -> Path:
        path = self.folder / "known_hosts"
        path.write_text(f"[127.0.0.1]:{self.port} {key.export_public_key().decode()}")
        return path

    async def _listen(self) -> int:
        owner = self

        class Login(asyncssh.SSHServer):
            def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
                owner.connections.append(conn)

            def begin_auth(self, username: str) -> bool:
                return True

            def password_auth_supported(self) -> bool:
                return True

            def validate_password(self, username: str, password: str) -> bool:
                owner.logins += password == PASSWORD
                return password == PASSWORD

        self._server = await asyncssh.create_server(
            Login, "127.0.0.1", 0, server_host_keys=[self.key], process_factory=self._run, encoding=None
        )
        return int(self._server.get_port())

    async def _close(self) -> None:
        self._server.close()
        for connection in self.connections:
            connection.abort()
            await connection.wait_closed()
        await self._server.wait_closed()

    async def _run(self, process: Any) -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_shell(process.command, stdin=pipe, stdout=pipe, stderr=pipe)
        await asyncio.gather(
            self._pass(process.stdin, child.stdin),
            self._pass(child.stdout, process.stdout),
            self._pass(child.stderr, process.stderr),
        )
        process.exit(await child.wait())

    async def _pass(self, source: Any, sink: Any) -> None:
        while data := await source.read(65536):
            sink.write(data)
        if isinstance(sink, asyncio.StreamWriter):
            sink.close()  # the program's input ends; its outputs end with it


def ssh_target(nodes: Nodes, server: SshServer, known_hosts: Path) -> None:
    node = nodes["gpu1"]
    nodes.target(
        connection="ssh",
        nodes={"gpu1": {"address": "127.0.0.1", "python": str(node.python), "root": str(node.folder)}},
        ssh={"port": server.port, "password_env": "NODE_PASSWORD", "known_hosts": str(known_hosts)},
    )


def test_a_node_is_reached_by_ssh_and_its_host_key_is_checked(nodes: Nodes, tmp_path: Path) -> None:
    nodes.add("gpu1")
    with SshServer(tmp_path) as server:
        stranger = asyncssh.generate_private_key("ssh-ed25519")
        ssh_target(nodes, server, server.known_hosts(stranger))
        refused = nodes.run("apply", status=1, NODE_PASSWORD=PASSWORD)
        assert states(refused) == {"gpu1": "unreachable"}, refused
        assert server.logins == 0

        ssh_target(nodes, server, server.known_hosts(server.key))
        assert states(nodes.run("apply", NODE_PASSWORD=PASSWORD)) == {"gpu1": "changed"}
        assert server.logins > 0
        assert states(nodes.run("plan", NODE_PASSWORD=PASSWORD)) == {"gpu1": "unchanged"}
    assert_linux_is_set(nodes["gpu1"], ["10.32.0.1/31", "10.32.0.65/31"])


def test_no_file_of_a_run_holds_a_secret_and_none_is_left(nodes: Nodes, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    nodes.add("gpu1")
    seen: list[str] = []
    with SshServer(tmp_path) as server:
        ssh_target(nodes, server, server.known_hosts(server.key))
        words = ["hosts", "plan", "--target", "bench", "--limit", "gpu1"]
        nodes.project.environ |= {"NODE_PASSWORD": PASSWORD, "TMPDIR": str(scratch)}
        running = nodes.project.start(*words)
        while running.poll() is None:
            # A walk that lives with files and folders that vanish meanwhile.
            files = [Path(folder, name) for folder, _, names in os.walk(scratch) for name in names]
            seen += [str(path) for path in files if path.is_file() and PASSWORD.encode() in contents(path)]
            seen += arguments_with_the_secret()
        said = running.communicate(timeout=10)[0]
    assert running.returncode == 0, said
    assert seen == []
    assert list(scratch.iterdir()) == []


def contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def arguments_with_the_secret() -> list[str]:
    lines = [contents(path / "cmdline") for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [line.decode(errors="replace") for line in lines if PASSWORD.encode() in line]
