"""The session over ``docker exec``: what it promises, on a program that answers as Docker's client does."""

import hashlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from napalm.base.exceptions import (
    CommandTimeoutException,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    ConnectTimeoutError,
    LockError,
)

from napalm_sonic.container_session import ContainerSession
from napalm_sonic.driver import SonicDriver
from napalm_sonic.lock import Lock

RUNS_HERE = """
[ "$1 $2 $3" = "exec --interactive switch" ] || { echo "Error: No such container: $3" >&2; exit 1; }
shift 3
echo $$ >> pids
exec "$@"
"""
"""A container is this machine: Docker's client would pass on input, output and exit status just so."""

BUSY = "flock -n -E 75 lock sh -c 'echo locked; exec cat'"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what makes `docker` a program of a given shell text, run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")

    def install(text: str) -> None:
        program = tmp_path / "bin" / "docker"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh{text}\n")
        program.chmod(0o755)

    return install


@pytest.fixture
def session(docker: Callable[[str], None]) -> Iterator[ContainerSession]:
    docker(RUNS_HERE)
    session = ContainerSession("switch", "admin", "", 300.0, command_timeout_s=300.0)
    session.open()
    yield session
    session.close()


def test_status_and_both_streams_come_apart(session: ContainerSession) -> None:
    done = session.run("printf 'a\\r\\n'; echo b >&2; exit 3")
    assert (done.exit_status, done.stdout, done.stderr) == (3, "a\r\n", "b\n")


def test_a_command_sees_the_end_of_its_input(session: ContainerSession) -> None:
    assert session.run("cat; echo over").stdout == "over\n"


def test_much_on_both_streams_blocks_nothing(session: ContainerSession) -> None:
    done = session.run("head -c 3000000 /dev/zero | tr '\\0' x; head -c 2000000 /dev/zero | tr '\\0' y >&2")
    assert (len(done.stdout), len(done.stderr)) == (3_000_000, 2_000_000)


def test_big_input_arrives_byte_for_byte(session: ContainerSession) -> None:
    data = hashlib.shake_256(b"switch").digest(4_000_000)
    assert session.run("sha256sum", data=data).stdout.split()[0] == hashlib.sha256(data).hexdigest()


def test_everything_runs_as_root_without_sudo(session: ContainerSession) -> None:
    assert session.as_root("config save -y") == "config save -y"


def test_a_command_that_hangs_is_given_up_and_the_session_goes_on(session: ContainerSession) -> None:
    began = time.monotonic()
    with pytest.raises(CommandTimeoutException, match="'sleep 300' did not end in time"):
        session.run("sleep 300", 0.2)
    assert time.monotonic() - began < 250
    assert session.run("echo on").stdout == "on\n"


def test_the_lock_is_held_by_one_session_and_falls_with_it(session: ContainerSession) -> None:
    other = ContainerSession("switch", "admin", "", 300.0)
    other.open()
    first = session.channel(BUSY)
    first.settimeout(300)
    assert first.recv(64) == b"locked\n"
    second = other.channel(BUSY)
    second.settimeout(300)
    assert (second.recv(64), second.recv_exit_status(), second.closed) == (b"", 75, True)
    second.close()
    assert not first.closed
    first.shutdown_write()
    assert first.status_event.wait(300)
    first.close()
    third = other.channel(BUSY)
    third.settimeout(300)
    assert third.recv(64) == b"locked\n"
    third.close()
    other.close()


def test_the_drivers_lock_works_on_it(session: ContainerSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("napalm_sonic.lock.SESSION_LOCK_FILE", "state/lock")
    lock, late = Lock(session), Lock(session)
    lock.acquire()
    assert lock.held
    with pytest.raises(LockError, match=r"locked by .* \(process \d+\)"):
        late.acquire()
    lock.release()
    late.acquire()
    late.release()


def kept_pid(folder: Path) -> int:
    return int((folder / "pids").read_text().split()[0])


def test_a_container_that_stops_is_a_lost_session(session: ContainerSession, tmp_path: Path) -> None:
    assert session.alive()
    with pytest.raises(ConnectionClosedException, match="the session was lost during"):
        session.run(f"kill -9 {kept_pid(tmp_path)}; exit 137")
    assert not session.alive()
    with pytest.raises(ConnectionClosedException, match="the session is closed"):
        session.run("true")
    session.close()
    session.open()
    assert session.run("echo back").stdout == "back\n"


def test_a_container_that_is_gone_between_two_commands_is_a_lost_session(
    session: ContainerSession, tmp_path: Path
) -> None:
    process = os.pidfd_open(kept_pid(tmp_path))
    signal.pidfd_send_signal(process, signal.SIGKILL)
    assert select.select([process], [], [], 60)[0], "it did not end"
    os.close(process)
    with pytest.raises(ConnectionClosedException):
        session.channel("true")


def test_a_container_that_no_longer_takes_commands_is_told_in_dockers_words(
    session: ContainerSession, docker: Callable[[str], None]
) -> None:
    docker("\necho 'Error response from daemon: container switch is paused' >&2; exit 1")
    with pytest.raises(ConnectionException, match="is paused"):
        session.run("true")


@pytest.mark.parametrize(
    ("said", "error", "meaning"),
    [
        ("Error: No such container: switch", ConnectionException, "start the lab"),
        ("Error response from daemon: Container 1a2b is not running", ConnectionException, "does not run"),
        ("Cannot connect to the Docker daemon at unix:///x", ConnectionException, "docker info"),
        ("permission denied while trying to connect to the Docker daemon", ConnectAuthError, "as root"),
        ("OCI runtime exec failed: no sh", ConnectionException, "OCI runtime"),
    ],
)
def test_what_keeps_a_session_from_opening_is_told_with_the_way_out(
    docker: Callable[[str], None], said: str, error: type[Exception], meaning: str
) -> None:
    docker(f"\necho '{said}' >&2; exit 1")
    with pytest.raises(error, match=meaning):
        ContainerSession("switch", "admin", "", 300.0).open()


def test_a_docker_that_gives_no_answer_is_given_up(docker: Callable[[str], None]) -> None:
    docker("\nexec sleep 30")
    with pytest.raises(ConnectTimeoutError, match=r"within 0\.2 s"):
        ContainerSession("switch", "admin", "", 0.2).open()


def test_a_missing_docker_is_named() -> None:
    with pytest.raises(ConnectionException, match="Docker is not installed"):
        ContainerSession("switch", "admin", "", 5.0, docker="/nowhere/docker").open()


def test_the_driver_takes_the_transport_by_option() -> None:
    assert isinstance(SonicDriver("switch", "", "", 60, {"transport": "docker"}).device, ContainerSession)
    assert not isinstance(SonicDriver("switch", "", "", 60, {"transport": "ssh"}).device, ContainerSession)
    with pytest.raises(ValueError, match="'transport' is one of ssh, docker, not 'telnet'"):
        SonicDriver("switch", "", "", 60, {"transport": "telnet"})
