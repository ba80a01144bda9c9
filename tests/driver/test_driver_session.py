"""The SSH session: byte-exact commands, and every failure as NAPALM's own exception with a way out."""

import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncssh
import paramiko
import paramiko.pipe
import pytest
from driven_clock import DrivenClock
from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    ConnectTimeoutError,
)
from tests.driver.conftest import SshFront

from napalm_sonic import channel, session
from napalm_sonic.driver import SonicDriver


def test_a_command_gives_its_exit_status_and_both_streams_apart(driver: SonicDriver) -> None:
    done = driver.device.run("false")
    assert (done.exit_status, done.stdout, done.stderr) == (1, "out\n", "it is false\n")


def test_large_output_on_both_streams_does_not_stall(driver: SonicDriver) -> None:
    done = driver.device.run("noise 4000000")
    assert (len(done.stdout), len(done.stderr)) == (4_000_000, 4_000_000)


def test_cli_returns_each_output_under_its_command(driver: SonicDriver) -> None:
    assert driver.cli(["echo one", "echo two"]) == {"echo one": "one\n", "echo two": "two\n"}


def test_cli_raises_for_a_command_that_fails_and_quotes_it(driver: SonicDriver) -> None:
    with pytest.raises(CommandErrorException, match="command not found"):
        driver.cli(["nonsense"])


def test_cli_takes_a_list_only(driver: SonicDriver) -> None:
    with pytest.raises(TypeError):
        driver.cli("echo one")  # type: ignore[arg-type]


def test_a_slow_command_times_out_and_the_session_goes_on(driver: SonicDriver) -> None:
    with pytest.raises(CommandTimeoutException):
        driver.device.run("sleep 1", timeout_s=0.1)
    assert driver.cli(["echo on"]) == {"echo on": "on\n"}


def test_a_wrong_password_is_an_authentication_error(served: Any) -> None:
    driver = SonicDriver("127.0.0.1", "admin", "wrong", 10, served.driver()._options.netmiko | {"use_keys": False})
    with pytest.raises(ConnectAuthError, match="check user, password or key"):
        driver.open()
    assert driver.is_alive() == {"is_alive": False}


def test_an_unknown_host_key_is_refused_by_default_and_the_message_says_what_to_do(served: Any, tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    with pytest.raises(ConnectionException, match=r"host key is unknown.*alt_key_file"):
        served.driver(alt_key_file=str(tmp_path / "none")).open()


def test_a_changed_host_key_is_refused(served: Any) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
    served.known_hosts.write_text(f"[127.0.0.1]:{served.port} {other}")
    with pytest.raises(ConnectionException, match="not the known one"):
        served.driver().open()


def test_an_unknown_host_key_is_accepted_only_when_asked(served: Any, tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    with served.driver(alt_key_file=str(tmp_path / "none"), ssh_strict=False) as driver:
        assert driver.is_alive() == {"is_alive": True}


def test_a_closed_port_is_a_connection_error(served: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionException, match="refused"):
            served.driver(port=free.getsockname()[1]).open()


def test_a_silent_port_is_a_timeout(served: Any) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises((ConnectTimeoutError, ConnectionException)):
            served.driver(port=silent.getsockname()[1], banner_timeout=0.3, conn_timeout=0.3).open()


def test_a_lost_session_whose_channels_end_first_is_a_closed_connection(
    driver: SonicDriver, switch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of paramiko that ends the channels may be held up before it says that the session is lost."""
    judged, channels = threading.Event(), vars(paramiko.Channel)
    end_channel, join, alive = channels["_unlink"], paramiko.Transport.join, session.Session.alive

    def held_up(channel: paramiko.Channel) -> None:
        end_channel(channel)
        judged.wait(5)

    def joined(transport: paramiko.Transport, timeout_s: float | None = None) -> None:
        judged.set()
        join(transport, timeout_s)

    def said(one: session.Session) -> bool:
        found = alive(one)
        judged.set()
        return found

    monkeypatch.setattr(paramiko.Channel, "_unlink", held_up)
    monkeypatch.setattr(paramiko.Transport, "join", joined)
    monkeypatch.setattr(session.Session, "alive", said)
    switch.cut_after = "echo"
    with pytest.raises(ConnectionClosedException, match="was lost while"):
        driver.device.run("echo on")


def test_a_session_cut_in_a_command_is_a_closed_connection(driver: SonicDriver, switch: Any) -> None:
    switch.cut_after = "echo"
    with pytest.raises(ConnectionClosedException):
        driver.cli(["echo bye"])
    assert driver.is_alive() == {"is_alive": False}
    with pytest.raises(ConnectionClosedException):
        driver.get_facts()


def test_closing_twice_and_closing_what_was_never_open_is_quiet(served: Any) -> None:
    driver = served.driver()
    driver.close()
    driver.open()
    driver.close()
    driver.close()
    assert driver.is_alive() == {"is_alive": False}


def test_a_driver_that_is_not_open_says_so(served: Any) -> None:
    with pytest.raises(ConnectionClosedException):
        served.driver().get_facts()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"prot": 22}, "did you mean 'port'"),
        ({"aply_timeout": 5}, "did you mean 'apply_timeout'"),
        ({"apply_timeout": "soon"}, "number of seconds"),
        ({"apply_timeout": -1}, "number of seconds"),
        ({"lock_disable": 1}, "true or false"),
    ],
)
def test_a_wrong_option_is_refused_with_the_right_word(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        SonicDriver("switch", "admin", "", optional_args=arguments)


def test_options_that_nornir_napalm_and_other_drivers_pass_are_accepted() -> None:
    SonicDriver("switch", "admin", "", 60, {"ssh_config_file": "~/.ssh/config", "secret": "x", "inline_transfer": True})


def test_a_second_login_shows_who_gets_in_now(driver: SonicDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session outlives what locks everybody out, so the one that is open says nothing of that."""
    answered: list[bool] = []
    monkeypatch.setattr(SshFront, "validate_password", lambda *_: answered[-1])
    answered.append(True)
    driver.device.log_in_again()
    answered.append(False)
    with pytest.raises(ConnectAuthError, match="check user, password or key"):
        driver.device.log_in_again()
    assert driver.cli(["echo on"]) == {"echo on": "on\n"}


# Bounds


def test_an_answer_that_is_too_long_is_refused_and_names_the_switch(
    driver: SonicDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "LONGEST_ANSWER_BYTES", 1_000_000)
    with pytest.raises(CommandErrorException, match=r"127\.0\.0\.1: .*more than 1,000,000 bytes: refused"):
        driver.device.run("noise 4000000")
    assert driver.cli(["echo on"]) == {"echo on": "on\n"}


def test_no_pipe_stands_between_a_session_and_its_answers(driver: SonicDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paramiko's thread may write to it after the channel has closed it, which ends the session of all channels."""
    monkeypatch.setattr(paramiko.pipe, "make_pipe", lambda: pytest.fail("a pipe was made"))
    assert driver.cli(["echo on"]) == {"echo on": "on\n"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("x" * 4_000_000, "more than 1,000,000 bytes: refused"),
        ("Traceback (most recent call last)", r"railweave-switch: Traceback"),
        ('{"version": 1, "outc', "railweave-switch: "),
        ("[]", "railweave-switch: "),
        ("{}", "railweave-switch: "),
    ],
    ids=["endless", "a traceback", "cut", "a list", "empty"],
)
def test_an_answer_of_the_switch_program_that_is_none_is_refused_and_names_the_switch(
    driver: SonicDriver, switch: Any, answer: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is taken for a lost session, after which the answer would be asked for again and again."""
    monkeypatch.setattr(channel, "LONGEST_ANSWER_BYTES", 1_000_000)
    driver.revert_timer.read()
    switch.refuse["/usr/local/bin/railweave-switch"] = (0, answer, "")
    for ask in (driver.revert_timer.read, driver.revert_timer.status, driver.changes.save):
        with pytest.raises(CommandErrorException, match=rf"127\.0\.0\.1: .*{told}"):
            ask()


class Frozen:
    """A channel whose request nobody ever answers."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.closed = False

    def _wait_for_event(self) -> None:
        self.event.wait()

    def close(self) -> None:
        self.closed = True


def test_a_request_that_is_never_answered_does_not_hold_a_worker() -> None:
    frozen: Any = Frozen()
    with pytest.raises(TimeoutError), channel.answered_within(frozen, 0.05):
        frozen._wait_for_event()
    assert frozen.closed


def test_a_channel_is_gone_with_its_last_reference_and_waits_for_no_garbage_search() -> None:
    """A wave makes hundreds of channels, which would keep their buffers until then."""
    answered: Any = Frozen()
    answered.event.set()
    with channel.answered_within(answered, 5):
        answered._wait_for_event()
    kept = weakref.ref(answered)
    del answered
    assert kept() is None


class Proxy:
    """A way to a switch that stops passing anything on, as a switch does that hangs."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.frozen = False
        self._ends: list[socket.socket] = [self._listener]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            near, _ = self._listener.accept()
            far = socket.create_connection(("127.0.0.1", self._target))
            self._ends += [near, far]
            threading.Thread(target=self._pass_on, args=(far, near), daemon=True).start()
            self._pass_on(near, far)

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not self.frozen:
                    sink.sendall(data)

    def close(self) -> None:
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def proxy(served: Any) -> Iterator[Proxy]:
    """A way to the switch that can be frozen."""
    made = Proxy(served.port)
    yield made
    made.close()


@pytest.fixture
def behind(served: Any, proxy: Proxy) -> Iterator[SonicDriver]:
    """An open driver that reaches the switch through the proxy."""
    known = served.known_hosts.read_text().replace(f":{served.port} ", f":{proxy.port} ")
    served.known_hosts.write_text(known)
    arguments = {**served.driver()._options.netmiko, "port": proxy.port}
    driver = SonicDriver("127.0.0.1", "admin", "right", 1, arguments)
    driver.device.clock = DrivenClock()
    with driver:
        yield driver


def test_a_switch_that_hangs_is_named_within_its_time(behind: SonicDriver, proxy: Proxy) -> None:
    assert behind.cli(["echo on"]) == {"echo on": "on\n"}
    proxy.frozen, behind.device.timeout_s = True, 0.2
    began = time.monotonic()
    for ask in (lambda: behind.cli(["echo off"]), lambda: behind.device.run("echo x", data=b"x"), behind.changes.save):
        with pytest.raises((ConnectionException, CommandTimeoutException), match=r"127\.0\.0\.1"):
            ask()
    assert time.monotonic() - began < 8


def test_a_session_that_was_silent_for_a_while_is_asked_before_it_is_used(behind: SonicDriver, proxy: Proxy) -> None:
    behind.device.clock.sleep(60)
    assert behind.is_alive() == {"is_alive": True}
    proxy.frozen, behind.device.timeout_s = True, 0.1
    behind.device.clock.sleep(60)
    assert behind.is_alive() == {"is_alive": False}


def test_a_session_that_answered_a_moment_ago_is_believed(behind: SonicDriver, proxy: Proxy) -> None:
    behind.cli(["echo on"])
    proxy.frozen, behind.device.timeout_s = True, 0.1
    behind.device.clock.sleep(10)
    assert behind.is_alive() == {"is_alive": True}
    behind.device.clock.sleep(10)
    assert behind.is_alive() == {"is_alive": False}


def test_no_terminal_is_opened_and_ciphers_that_authenticate_themselves_come_first(driver: SonicDriver) -> None:
    connection = driver.device._connection
    assert getattr(connection, "remote_conn", None) is None
    assert connection.remote_conn_pre.get_transport().remote_cipher == "aes128-gcm@openssh.com"
