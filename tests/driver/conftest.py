"""Fixtures of the driver's tests: NAPALM's own harness on recorded answers, and a small switch behind real SSH."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from napalm.base.test import conftest as harness
from napalm.base.test.double import BaseTestDouble
from small_switch import SmallSwitch

from napalm_sonic.driver import SonicDriver
from napalm_sonic.session import Completed, Session
from railweave.sonic.document import running_from

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

    def answers(self) -> bool:
        return True

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        name = self.sanitize_text(command)
        answer = Path(self.find_file(f"{name}.txt")).read_text(encoding="utf-8")
        status = Path(self.find_file(f"{name}.txt")).with_suffix(".exit")
        exit_status = int(status.read_text()) if status.exists() else 0
        return Completed(command, exit_status, answer, "") if exit_status == 0 else Completed(command, 1, "", answer)


# A small switch behind SSH


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
        return SonicDriver("127.0.0.1", "admin", "right", timeout=60, optional_args=arguments)


async def _handle(switch: SmallSwitch, process: "asyncssh.SSHServerProcess[str]") -> None:
    command = process.command
    if command is None:  # netmiko's shell: a prompt, then silence
        process.stdout.write("admin@leaf1:~$ ")
        await process.stdin.read()
        process.exit(0)
        return
    if "flock " in command:
        await _hold_lock(switch, process, command)
        return
    reads = any(word in command for word in (" apply ", " amend ", " install "))
    stdin = await process.stdin.read() if reads else ""
    answer = await asyncio.get_running_loop().run_in_executor(None, switch.execute, command, stdin)
    if switch.is_cut:
        switch.is_cut = False
        process.get_extra_info("connection").abort()
        return
    process.stdout.write(answer[1])
    process.stderr.write(answer[2])
    process.exit(answer[0])


async def _hold_lock(switch: SmallSwitch, process: "asyncssh.SSHServerProcess[str]", command: str) -> None:
    switch.commands.append("flock")
    if switch.locked:
        process.exit(75)
        return
    switch.locked = True
    switch.holder = command.partition("echo ")[2].partition(" >")[0].strip("'\"")
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


@pytest.fixture(scope="session")
def authority() -> asyncssh.SSHKey:
    """The key of an authority that signs host certificates."""
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def served(tmp_path: Path, host_key: asyncssh.SSHKey, authority: asyncssh.SSHKey) -> Iterator[Served]:
    """A small switch behind real SSH and SFTP on loopback."""
    switch = SmallSwitch()
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
            server_host_certs=[authority.generate_host_certificate(host_key, "leaf1", principals=["127.0.0.1"])],
            process_factory=handle,
            line_editor=False,
        )

    async def stop(server: asyncssh.SSHAcceptor) -> None:
        server.close()
        for connection in connections:
            connection.abort()
        await asyncio.gather(server.wait_closed(), *(connection.wait_closed() for connection in connections))
        pending = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(300)
    known_hosts = tmp_path / "known_hosts"
    public = host_key.export_public_key("openssh").decode().strip()
    known_hosts.write_text(f"[127.0.0.1]:{server.get_port()} {public}\n")
    yield Served(switch, server.get_port(), known_hosts)
    asyncio.run_coroutine_threadsafe(stop(server), loop).result(300)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(300)
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
