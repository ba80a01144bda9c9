"""Fixtures of the driver's tests: NAPALM's own harness on recorded answers, and a small switch behind real SSH."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh
import jsonpatch
import pytest
from napalm.base.test import conftest as harness
from napalm.base.test.double import BaseTestDouble

from napalm_sonic.driver import SonicDriver
from napalm_sonic.session import Completed, Session
from railweave.sonic.document import running_from
from railweave.sonic.frr import FrrDocument, apply_delta, parse_frr, render_frr

# NAPALM's harness


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each folder of recorded answers."""
    harness.pytest_generate_tests(metafunc, __file__)


@pytest.fixture(scope="class")
def set_device_parameters(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give the harness the driver, and the driver with recorded answers."""
    request.cls.driver = SonicDriver
    request.cls.patched_driver = RecordedDriver
    request.cls.vendor = "sonic"
    harness.NAPALM_OPTIONAL_ARGS = {}
    harness.set_device_parameters(request)
    yield
    request.cls.device.close()


class RecordedDriver(SonicDriver):
    """The driver on recorded answers."""

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Any = None
    ) -> None:
        super().__init__(hostname, username, password, timeout, optional_args)
        self.patched_attrs = ["device"]
        self.device = RecordedSession()

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass


class RecordedSession(BaseTestDouble, Session):  # type: ignore[misc]
    """A session that reads its answers from files: ``<command>.txt``, and ``<command>.exit`` where it is not 0."""

    def __init__(self) -> None:
        Session.__init__(self, "recorded", "admin", "", 60.0)
        BaseTestDouble.__init__(self)

    def alive(self) -> bool:
        return True

    def run(self, command: str, timeout_s: float | None = None) -> Completed:
        name = self.sanitize_text(command)
        answer = Path(self.find_file(f"{name}.txt")).read_text(encoding="utf-8")
        status = Path(self.find_file(f"{name}.txt")).with_suffix(".exit")
        exit_status = int(status.read_text()) if status.exists() else 0
        return Completed(command, exit_status, answer, "") if exit_status == 0 else Completed(command, 1, "", answer)


# A small switch

FACTORY = {
    "DEVICE_METADATA": {
        "localhost": {
            "hostname": "leaf1",
            "hwsku": "Force10-S6000",
            "platform": "x86_64-kvm_x86_64-r0",
            "mac": "52:54:00:00:00:01",
            "docker_routing_config_mode": "split-unified",
            "type": "ToRRouter",
        }
    },
    "PORT": {
        "Ethernet0": {"admin_status": "up", "lanes": "25,26,27,28", "mtu": "9100", "speed": "40000"},
        "Ethernet4": {"admin_status": "up", "lanes": "29,30,31,32", "mtu": "9100", "speed": "40000"},
    },
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
    "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "48": "6"}},
    "SNMP_COMMUNITY": {"public": {"TYPE": "RO"}},
    "TACPLUS": {"global": {"passkey": "s3cret"}},
}
FACTORY_FRR = """frr version 10.3
frr defaults traditional
hostname leaf1
!
router bgp 65001
 bgp router-id 10.1.0.1
 neighbor 10.0.0.1 remote-as 65000
 !
 address-family ipv4 unicast
  network 10.1.0.1/32
 exit-address-family
exit
!
end
"""

Answer = tuple[int, str, str]


@dataclass
class SmallSwitch:
    """A switch in memory: two stores, some files, and the commands that change them.

    ``refuse`` answers commands that begin with a text; ``cut_after`` drops the connection when such a command has
    had its effect; ``ignore`` answers 0 and does nothing, as SONiC sometimes does.
    """

    tables: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(FACTORY)))
    frr: str = FACTORY_FRR
    root: Path = field(default_factory=Path)
    files: dict[str, str] = field(default_factory=dict)
    refuse: dict[str, Answer] = field(default_factory=dict)
    ignore: set[str] = field(default_factory=set)
    cut_after: str = ""
    commands: list[str] = field(default_factory=list)
    locked: bool = False
    saved: bool = False
    on_command: Callable[[str], None] | None = None

    def execute(self, command: str) -> Answer:
        """Run one command."""
        command = command.removeprefix("sudo -n ")
        self.commands.append(command)
        if self.on_command is not None:
            self.on_command(command)
        for prefix, answer in self.refuse.items():
            if command.startswith(prefix):
                return answer
        if any(command.startswith(prefix) for prefix in self.ignore):
            return 0, "", ""
        for prefix, run in self._verbs().items():
            if command.startswith(prefix):
                return run(command.removeprefix(prefix).strip())
        return 127, "", f"bash: {command.split()[0]}: command not found\n"

    def document(self) -> dict[str, Any]:
        """Return what runs."""
        return {**self.tables, "bgpraw": self.frr}

    def state(self) -> dict[str, Any]:
        """Return the state of the last commit."""
        state = self.files.get("/var/lib/railweave/state.json")
        return json.loads(state) if state else {}

    def _verbs(self) -> dict[str, Callable[[str], Answer]]:
        return {
            "show runningconfiguration all": lambda _: (0, json.dumps(self.document()), ""),
            "cat ": self._cat,
            "mkdir ": lambda _: (0, "", ""),
            "rm -f ": self._remove,
            "cp ": self._copy,
            "install -m 755 ": self._copy,
            "config apply-patch ": self._patch,
            "config load -y ": self._load,
            "config save -y": self._save,
            "sonic-db-cli CONFIG_DB HDEL ": self._hdel,
            "vtysh -f ": self._vtysh_file,
            "vtysh -c 'write memory'": lambda _: (0, "", ""),
            "setsid -f ": self._reload,
            "/usr/local/bin/railweave-confirm ": self._confirm,
            "echo ": lambda text: (0, text + "\n", ""),
            "sleep ": self._sleep,
            "false": lambda _: (1, "out\n", "it is false\n"),
            "noise ": lambda text: (0, "x" * int(text), "y" * int(text)),
        }

    def read(self, path: str) -> str | None:
        """Return a file of the switch; uploads lie in the SFTP root."""
        if path.startswith("/tmp/"):
            file = self.root / path.lstrip("/")
            return file.read_text(encoding="utf-8") if file.exists() else None
        return self.files.get(path)

    def _cat(self, path: str) -> Answer:
        if path == "/proc/1/comm":
            return 0, "tini\n", ""
        text = self.read(path)
        return (1, "", f"cat: {path}: No such file or directory\n") if text is None else (0, text, "")

    def _copy(self, words: str) -> Answer:
        source, target = words.split()
        self.files[target] = self.read(source) or ""
        return 0, "", ""

    def _remove(self, path: str) -> Answer:
        self.files.pop(path, None)
        return 0, "", ""

    def _patch(self, path: str) -> Answer:
        try:
            self.tables = jsonpatch.apply_patch(self.tables, self.read(path) or "")
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            return 2, "Patch Applier: localhost: Patch application starting.\n", f"Usage: config\n\nError: {error}\n"
        return 0, "Patch applied successfully.\n", ""

    def _load(self, path: str) -> Answer:
        self.load(json.loads(self.read(path) or "{}"))
        return 0, "Running command: /usr/local/bin/sonic-cfggen -j file --write-to-db\n", ""

    def load(self, document: dict[str, Any]) -> None:
        for table, rows in document.items():
            for key, row in rows.items():
                if row is None:
                    self.tables.get(table, {}).pop(key, None)
                else:
                    self.tables.setdefault(table, {}).setdefault(key, {}).update(row)
            if not self.tables.get(table):
                self.tables.pop(table, None)

    def _hdel(self, words: str) -> Answer:
        import shlex

        key, *fields = shlex.split(words)
        table, _, row = key.partition("|")
        for name in fields:
            self.tables.get(table, {}).get(row, {}).pop(name.removesuffix("@"), None)
        return 0, f"{len(fields)}\n", ""

    def _vtysh_file(self, path: str) -> Answer:
        text = self.files.get(path.replace("/etc/frr", "/etc/sonic/frr"))
        if text is None:
            return 1, "", f"Can't open configuration file {path}\n"
        self.apply_frr(text)
        return 0, "", ""

    def apply_frr(self, text: str) -> None:
        """Apply FRR lines; removing what is not there changes nothing."""
        after = apply_delta(text, parse_frr(self.frr))
        real = tuple(entry for entry in after.entries if not entry.line.startswith("no neighbor"))
        self.frr = render_frr(FrrDocument(real, after.system))

    def _save(self, _: str) -> Answer:
        self.saved = True
        self.files["/etc/sonic/config_db.json"] = json.dumps(self.tables)
        return 0, "", ""

    def _sleep(self, seconds: str) -> Answer:
        time.sleep(float(seconds))
        return 0, "", ""

    def _reload(self, _: str) -> Answer:
        self.tables = json.loads(self.files["/var/lib/railweave/reload.json"])
        self.tables["VERSIONS"] = {"DATABASE": {"VERSION": "version_202505_01"}}
        self.frr = self.files.get("/etc/sonic/frr/frr.conf", "frr version 10.3\n")
        self.files["/var/lib/railweave/reload.log"] = "Stopping SONiC target ...\nexit 0\n"
        return 0, "", ""

    def _confirm(self, words: str) -> Answer:
        verb, path = words.split()
        state = self.state()
        status = state.get("status", "none")
        allowed = {
            "arm": status == "prepared",
            "confirm": status == "armed",
            "revert": status in ("prepared", "armed", "failed"),
            "status": True,
        }[verb]
        if allowed and verb == "arm":
            state.update(status="armed", deadline_at=time.time() + state["deadline_s"], pid=1)
        if allowed and verb == "confirm":
            state.update(status="confirmed")
        if allowed and verb == "revert":
            self.revert(state)
            state.update(status="reverted")
        if state:
            self.files[path] = json.dumps(state)
        line = json.dumps({"status": state.get("status", "none"), "id": state.get("id"), "by": "me", "error": None})
        return (0 if allowed else 3), line + "\n", ""

    def revert(self, state: dict[str, Any]) -> None:
        for step in json.loads(self.files[state["rollback"]])["steps"]:
            if step["kind"] == "load":
                self.load(step["document"])
            elif step["kind"] == "hdel":
                table, _, row = step["key"].partition("|")
                for name in step["fields"]:
                    self.tables[table][row].pop(name, None)
            elif step["kind"] == "vtysh":
                self.apply_frr(step["text"])
            elif step["kind"] == "reload":
                self.tables, self.frr = step["config_db"], step["frr"]
            elif step["kind"] == "save":
                self._save("")


class SshFront(asyncssh.SSHServer):
    """The SSH side of a small switch: one user, one password."""

    def __init__(self, connections: "list[asyncssh.SSHServerConnection]") -> None:
        self._connections = connections

    def connection_made(self, conn: "asyncssh.SSHServerConnection") -> None:
        self._connections.append(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == ("admin", "right")


@dataclass
class Served:
    """A small switch behind SSH on loopback."""

    switch: SmallSwitch
    port: int
    known_hosts: Path

    def driver(self, **optional_args: Any) -> SonicDriver:
        """Return a driver for it, not opened."""
        arguments = {
            "port": self.port,
            "alt_key_file": str(self.known_hosts),
            "system_host_keys": False,
            "allow_agent": False,
            "reload_poll": 0.02,
            **optional_args,
        }
        return SonicDriver("127.0.0.1", "admin", "right", timeout=10, optional_args=arguments)


async def _handle(switch: SmallSwitch, process: "asyncssh.SSHServerProcess[str]") -> None:
    command = process.command
    if command is None:  # netmiko's shell: a prompt, then silence
        process.stdout.write("admin@leaf1:~$ ")
        await process.stdin.read()
        process.exit(0)
        return
    if "flock " in command:
        await _hold_lock(switch, process)
        return
    answer = await asyncio.get_running_loop().run_in_executor(None, switch.execute, command)
    if switch.cut_after and command.removeprefix("sudo -n ").startswith(switch.cut_after):
        switch.cut_after = ""
        process.get_extra_info("connection").abort()
        return
    process.stdout.write(answer[1])
    process.stderr.write(answer[2])
    process.exit(answer[0])


async def _hold_lock(switch: SmallSwitch, process: "asyncssh.SSHServerProcess[str]") -> None:
    switch.commands.append("flock")
    if switch.locked:
        process.exit(75)
        return
    switch.locked = True
    try:
        process.stdout.write("locked\n")
        await process.stdin.read()
        switch.locked = False
        process.exit(0)
    except (asyncssh.Error, OSError):
        return
    finally:
        switch.locked = False


@pytest.fixture(scope="session")
def host_key() -> asyncssh.SSHKey:
    """A host key; making one takes longer than a test."""
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def served(tmp_path: Path, host_key: asyncssh.SSHKey) -> Iterator[Served]:
    """A small switch behind real SSH and SFTP on loopback."""
    root = tmp_path / "root"
    (root / "tmp").mkdir(parents=True)
    switch = SmallSwitch(root=root)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    connections: list[asyncssh.SSHServerConnection] = []

    async def start() -> asyncssh.SSHAcceptor:
        async def handle(process: "asyncssh.SSHServerProcess[str]") -> None:
            await _handle(switch, process)

        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=lambda: SshFront(connections),
            server_host_keys=[host_key],
            process_factory=handle,
            sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=str(root).encode()),
            line_editor=False,
        )

    async def stop(server: asyncssh.SSHAcceptor) -> None:
        server.close()
        for connection in connections:
            connection.abort()
        await server.wait_closed()
        await asyncio.sleep(0.01)
        pending = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    known_hosts = tmp_path / "known_hosts"
    public = host_key.export_public_key("openssh").decode().strip()
    known_hosts.write_text(f"[127.0.0.1]:{server.get_port()} {public}\n")
    yield Served(switch, server.get_port(), known_hosts)
    asyncio.run_coroutine_threadsafe(stop(server), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def driver(served: Served) -> Iterator[SonicDriver]:
    """An open driver on a small switch."""
    with served.driver() as opened:
        yield opened


@pytest.fixture
def switch(served: Served) -> SmallSwitch:
    """The switch that ``driver`` speaks to."""
    assert running_from(served.switch.document()).frr
    return served.switch
