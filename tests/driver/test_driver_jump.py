"""Switches behind a jump host: one session there, a channel each, every fault named after the side that has it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from napalm.base.exceptions import ConnectAuthError, ConnectionException
from paramiko.buffered_pipe import BufferedPipe

from napalm_sonic.driver import SonicDriver
from napalm_sonic.jump import Tunnel
from napalm_sonic.options import parse_options


@dataclass
class JumpHost:
    """A jump host on loopback: who logged in, which channels were asked for, and whether it forwards."""

    port: int = 0
    known_hosts: Path = Path()
    forwards: bool = True
    logins: int = 0
    asked: list[tuple[str, int]] = field(default_factory=list)
    connections: list[Any] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    loop: Any = None

    def options(self, **given: Any) -> dict[str, Any]:
        login = {"host": "127.0.0.1", "port": self.port, "username": "ops", "password": "through"}
        return {**login, "allow_agent": False, "known_hosts": str(self.known_hosts), **given}


class JumpFront(asyncssh.SSHServer):
    def __init__(self, jump: JumpHost) -> None:
        self.jump = jump

    def connection_made(self, conn: Any) -> None:
        self.connection = conn
        self.jump.connections.append(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        with self.jump.changed:
            self.jump.connections.remove(self.connection)
            self.jump.changed.notify_all()

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        self.jump.logins += (username, password) == ("ops", "through")
        return (username, password) == ("ops", "through")

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        self.jump.asked.append((dest_host, dest_port))
        if not self.jump.forwards:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "no forwarding")
        return True


@pytest.fixture
def jump(tmp_path: Path, host_key: asyncssh.SSHKey, authority: asyncssh.SSHKey) -> Iterator[JumpHost]:
    made = JumpHost(known_hosts=tmp_path / "jump_hosts")
    made.loop = loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> Any:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=lambda: JumpFront(made),
            server_host_keys=[host_key],
            server_host_certs=[authority.generate_host_certificate(host_key, "jump", principals=["127.0.0.*"])],
        )

    async def stop() -> None:
        server.close()
        for connection in list(made.connections):
            connection.abort()
        await asyncio.gather(server.wait_closed(), *(connection.wait_closed() for connection in made.connections))
        pending = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(300)
    made.port = server.get_port()
    public = host_key.export_public_key("openssh").decode().strip()
    made.known_hosts.write_text(f"[127.0.0.1]:{made.port} {public}\n")
    yield made
    asyncio.run_coroutine_threadsafe(stop(), loop).result(300)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(300)
    loop.close()


def settled(jump: JumpHost) -> bool:
    """Wait until the jump host saw all sessions end."""
    with jump.changed:
        return jump.changed.wait_for(lambda: not jump.connections, 300)


def test_a_switch_is_reached_through_the_jump_host_alone(served: Any, jump: JumpHost) -> None:
    with served.driver(jump=jump.options()) as driver:
        assert driver.cli(["echo one"]) == {"echo one": "one\n"}
        assert driver.revert_timer.read().running.frr, "the switch's program went up, its answer came back"
    assert jump.asked == [("127.0.0.1", served.port)]
    assert settled(jump), "the session to the jump host ends with the last switch"


def test_many_switches_share_one_login_to_the_jump_host(served: Any, jump: JumpHost) -> None:
    ready, done = threading.Barrier(6), threading.Barrier(6)

    def work(number: int) -> str:
        with served.driver(jump=jump.options()) as driver:
            ready.wait(300)
            said = str(driver.cli([f"echo {number}"])[f"echo {number}"])
            # asyncssh ends the whole session where a channel closes with data under way
            done.wait(300)
            return said

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(work, range(6))) == [f"{number}\n" for number in range(6)]
    assert (jump.logins, len(jump.asked)) == (1, 6)
    assert settled(jump)


def test_channels_at_once_are_bounded(served: Any, jump: JumpHost) -> None:
    at_once, most, lock = 0, 0, threading.Lock()

    def work(_: int) -> None:
        nonlocal at_once, most
        with served.driver(jump=jump.options(channels=2)) as driver:
            with lock:
                at_once += 1
                most = max(most, at_once)
            driver.cli(["echo x"])
            with lock:
                at_once -= 1

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(work, range(5)))
    assert len(jump.asked) == 5
    assert most <= 2


# The connection is broken off in the middle, so sockets may end with their last reference.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_jump_session_that_broke_is_opened_again(served: Any, jump: JumpHost) -> None:
    with served.driver(jump=jump.options()) as first:
        assert first.is_alive()["is_alive"]
        jump.loop.call_soon_threadsafe(jump.connections[-1].abort)
        with served.driver(jump=jump.options()) as second:
            assert second.cli(["echo on"]) == {"echo on": "on\n"}
    assert jump.logins == 2
    assert settled(jump)


def refusal(served: Any, jump: JumpHost, **options: Any) -> str:
    driver: SonicDriver = served.driver(jump=jump.options(**options))
    with pytest.raises(ConnectionException) as refused:
        driver.open()
    return str(refused.value)


def test_an_unknown_jump_host_key_is_refused_before_any_login(served: Any, jump: JumpHost, tmp_path: Path) -> None:
    said = refusal(served, jump, known_hosts=str(tmp_path / "none"))
    assert "host key is unknown. " in said
    assert "railweave trust" in said
    assert (jump.logins, jump.asked) == (0, [])


def test_a_changed_jump_host_key_is_refused(served: Any, jump: JumpHost) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().strip()
    jump.known_hosts.write_text(f"# of the site\n[127.0.0.1]:{jump.port} {other}\n")
    assert f"not the known one ({jump.known_hosts} line 2)" in refusal(served, jump)
    assert jump.logins == 0


@pytest.mark.parametrize(("rest", "line"), [("ssh-ed25519", 1), ("ssh-ed25519 AAAA", 1), ("nonsense x", 1)])
def test_a_line_of_which_no_key_can_be_read_is_named(served: Any, jump: JumpHost, rest: str, line: int) -> None:
    jump.known_hosts.write_text(f"[127.0.0.1]:{jump.port} {rest}\n")
    assert f"unknown ({jump.known_hosts} line {line}: no key can be read there)" in refusal(served, jump)


def test_a_file_that_cannot_be_read_is_named(served: Any, jump: JumpHost) -> None:
    jump.known_hosts.unlink()
    jump.known_hosts.mkdir()
    assert f"{jump.known_hosts} cannot be read: Is a directory" in refusal(served, jump)


def test_a_revoked_jump_host_key_is_refused_and_a_certified_one_accepted(
    served: Any, jump: JumpHost, authority: asyncssh.SSHKey
) -> None:
    recorded = jump.known_hosts.read_text(encoding="utf-8")
    jump.known_hosts.write_text(f"{recorded}@revoked * {recorded.split(' ', 1)[1]}")
    assert f"host key is revoked (@revoked, {jump.known_hosts} line 2)" in refusal(served, jump)
    assert jump.logins == 0
    public = authority.export_public_key("openssh").decode()
    jump.known_hosts.write_text(f"@cert-authority [127.0.0.*]:* {public}")
    with served.driver(jump=jump.options()) as driver:
        assert driver.cli(["echo one"]) == {"echo one": "one\n"}


def test_a_wrong_login_is_said_to_be_the_jump_hosts(served: Any, jump: JumpHost) -> None:
    driver = served.driver(jump=jump.options(password="wrong"))
    with pytest.raises(ConnectAuthError, match="jump host"):
        driver.open()


def test_a_jump_host_that_forbids_forwarding_is_said_to_do_so(served: Any, jump: JumpHost) -> None:
    jump.forwards = False
    assert "AllowTcpForwarding" in refusal(served, jump)
    assert settled(jump), "a refused channel leaves no session open"


def test_a_switch_that_does_not_answer_behind_the_jump_host_is_named(served: Any, jump: JumpHost) -> None:
    served.port = 1
    assert "127.0.0.1:1 through jump host" in refusal(served, jump)
    assert settled(jump)


def test_the_switchs_own_host_key_is_checked_through_the_jump_host(served: Any, jump: JumpHost) -> None:
    served.known_hosts.write_text(f"\n[127.0.0.1]:{served.port} ssh-rsa\n")
    assert f"unknown ({served.known_hosts} line 2: no key can be read there)" in refusal(served, jump)
    assert settled(jump)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("jump1", "mapping"),
        ({"host": "j"}, "needs username"),
        ({"host": "j", "username": "x", "prot": 1}, "no key 'prot'"),
        ({"host": "j", "username": "x", "port": "22"}, "wrong 'port'"),
        ({"host": "j", "username": "x", "port": True}, "wrong 'port'"),
        ({"host": "j", "username": "x", "channels": 0}, "wrong 'channels'"),
    ],
)
def test_a_wrong_jump_option_is_refused_with_words(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_options({"jump": given}, 10)


def test_secrets_of_a_jump_host_never_show() -> None:
    options = parse_options({"jump": {"host": "j", "username": "x", "password": "hush", "passphrase": "hush"}}, 10)
    assert "hush" not in repr(options)


class BusyChannel:
    """A channel on which one thread writes until it is let go; notes what happens on it, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.writing, self.let_go = threading.Event(), threading.Event()
        self.in_buffer = BufferedPipe()

    def send(self, data: bytes) -> int:
        self.writing.set()
        assert self.let_go.wait(300)
        self.told.append("sent")
        return len(data)

    def recv(self, size: int) -> bytes:
        data: Any = self.in_buffer.read(size, 20)  # bytes, whatever its stub says
        self.told.append("read")
        return bytes(data)

    def close(self) -> None:
        self.told.append("closed")


class Gate:
    def leave(self) -> None:
        pass


def test_nothing_is_sent_on_a_channel_after_its_close() -> None:
    channel = BusyChannel()
    tunnel = Tunnel(channel, Gate())  # type: ignore[arg-type]
    with ThreadPoolExecutor(3) as pool:
        sent, read = pool.submit(tunnel.send, b"abc"), pool.submit(tunnel.recv, 10)
        assert channel.writing.wait(300)
        closed = pool.submit(tunnel.close)
        assert read.result(300) == b"", "the close wakes who reads"
        assert not closed.done()
        channel.let_go.set()
        assert sent.result(300) == 3
        closed.result(300)
    assert channel.told == ["read", "sent", "closed"]
    with pytest.raises(OSError, match="closed"):
        tunnel.send(b"more")
    assert tunnel.recv(10) == b""
    tunnel.close()
    assert channel.told[2:] == ["closed"]
