"""One SSH session to a switch: netmiko's connection, an exec channel for each command.

Netmiko opens the connection (host keys, keys, jump hosts, SSH configuration). Commands then run on exec channels of
the same connection: exit status, stdout and stderr are apart and byte-exact, which a screen-scraped shell cannot give.
Every error of the layers below leaves this module as one of NAPALM's.
"""

import functools
import io
import logging
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    ConnectionClosedException,
    ConnectionException,
)

from napalm_sonic.bounds import LONGEST_ANSWER_BYTES, TooLargeError, refuse_wide
from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from napalm_sonic.host_check import check_host_key
from napalm_sonic.host_keys import known_name
from napalm_sonic.jump import Jump, Tunnel, closed_on_failure, dial
from napalm_sonic.login import KnownHosts, connect, login_errors
from napalm_sonic.login_key import with_key
from napalm_sonic.quoting import Quotes
from railweave.printable import printable
from railweave.secrets import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import paramiko

_CHUNK_BYTES = 65536
_MOST_SAID_CHARACTERS = 65536
_SHOWN_CHARACTERS = 200
_SILENT = "true"
"""A command that prints nothing."""
_SILENT_S = 15.0
"""After so long without an answer a session is asked for a sign of life before it is used again."""
_LOST_WITHIN_S = 2.0
"""paramiko ends the channels of a lost session first and says that it is lost after that, from a thread of its own."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Completed:
    """What a command left: its exit status (-1: ended by a signal), stdout and stderr."""

    command: str
    exit_status: int
    stdout: str
    stderr: str

    def error_text(self) -> str:
        """Return what the device said, the error stream first, for a message to a person."""
        streams = (self.stderr[:_MOST_SAID_CHARACTERS], self.stdout[:_MOST_SAID_CHARACTERS])
        said = "\n".join(part.strip() for part in streams if part.strip())
        return said or f"exit status {self.exit_status} without a word"


@dataclass
class Session:
    """The connection to one device. Not for several threads at once."""

    hostname: str
    username: str
    password: str
    timeout_s: float
    netmiko_arguments: "Mapping[str, Any]" = field(default_factory=dict)
    command_timeout_s: float = 60.0
    sudo: bool = True
    jump: Jump | None = None
    clock: Clock = SYSTEM_CLOCK
    quotes: Quotes = field(default_factory=Quotes)
    _connection: Any = None
    _heard_s: float = 0.0
    _noise: str = ""

    def open(self) -> None:
        """Connect. Raises ConnectAuthError, ConnectTimeoutError or ConnectionException, with what to do about it."""
        if self._connection is None:
            self._connection = _connect(self)
            self._heard_s = self.clock.monotonic()

    def close(self) -> None:
        """End the connection; safe to call at any time and more than once."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()

    def log_in_again(self) -> None:
        """Open a second session beside this one and end it; raises what ``open`` raises.

        A session that was open before a change of AAA or of an ACL may outlive it while nobody gets in any more.
        """
        second = replace(self, _connection=None)
        try:
            second.open()
        finally:
            second.close()

    def alive(self) -> bool:
        """Say whether the transport still stands; asks nothing of the device."""
        transport = self._held_transport()
        return transport is not None and transport.is_active()

    def answers(self) -> bool:
        """Say whether the session can be used; the far end of one that was silent for a while is asked.

        A switch that was cut off says no goodbye, and its connection seems to stand until TCP gives it up.
        """
        if not self.alive():
            return False
        if self.clock.monotonic() - self._heard_s < _SILENT_S:
            return True
        transport = self._transport()
        # Its end wakes the wait below, which has no bound of its own.
        bound = threading.Timer(self.timeout_s, transport.close)
        bound.start()
        try:
            transport.global_request("keepalive@openssh.com", wait=True)
        finally:
            bound.cancel()
        self._heard_s = self.clock.monotonic()
        return self.alive()

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        """Run a command with ``data`` as its input and return what it left, whatever its exit status.

        Raises CommandTimeoutException after ``timeout_s`` (default: the session's), ConnectionClosedException where
        the session is lost, CommandErrorException for an answer of more than ``LONGEST_ANSWER_BYTES``.
        """
        began = time.monotonic()
        deadline = began + (self.command_timeout_s if timeout_s is None else timeout_s)
        with self._errors(command):
            channel = self.channel(command)
            try:
                if data:
                    channel.settimeout(self.command_timeout_s)
                    channel.sendall(data)
                channel.shutdown_write()
                stdout, stderr = _drain(channel, deadline, f"{self.hostname}: {command!r}")
                exit_status = self._exit_status(channel, deadline, command)
            finally:
                channel.close()
        self._heard_s = self.clock.monotonic()
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug(
                "%s: %s: exit status %d, %.3f s",
                self.hostname,
                shown_text(command),
                exit_status,
                time.monotonic() - began,
            )
        return Completed(command, exit_status, self._text(command, stdout), self._text(command, stderr))

    def _text(self, command: str, stream: bytes) -> str:
        try:
            refuse_wide(stream)
        except TooLargeError as error:
            raise CommandErrorException(f"{self.hostname}: {command!r}: the answer is refused: {error}") from None
        return stream.decode("utf-8", "replace")

    def run_checked(self, command: str) -> str:
        """Run a command and return its stdout; raises CommandErrorException for any exit status but 0."""
        done = self.run(command)
        if done.exit_status != 0:
            raise CommandErrorException(f"{self.hostname}: {command!r} failed: {self.quotes.shown(done.error_text())}")
        return done.stdout

    def refuse_noise(self) -> None:
        """Raise CommandErrorException, with the text, where the login prints some before the answers of commands.

        It takes a command, so it is asked only where an answer could not be read.
        """
        with suppress(CommandTimeoutException, ConnectionException, CommandErrorException, OSError):
            noise = self.run(_SILENT).stdout.strip()
            if noise:
                self._noise = noise
        if self._noise:
            raise CommandErrorException(f"{self.hostname}: {_noise_text(self.quotes.shown(self._noise))}")

    def run_root(self, command: str) -> Completed:
        """Run a command as root (``sudo -n``, unless the login already is root)."""
        return self.run(self.as_root(command))

    def as_root(self, command: str) -> str:
        """Return the command with the prefix that makes it run as root."""
        return f"sudo -n {command}" if self.sudo else command

    def channel(self, command: str) -> "paramiko.Channel":
        """Start a command and return its open channel."""
        with self._errors(command):
            channel = self._transport().open_session(timeout=self.timeout_s)
            with _answered_within(channel, self.timeout_s):
                channel.exec_command(command)
        return channel

    def _transport(self) -> "paramiko.Transport":
        transport = self._held_transport()
        if transport is None or not transport.is_active():
            raise ConnectionClosedException(f"{self.hostname}: the SSH session is closed")
        return transport

    def _held_transport(self) -> "paramiko.Transport | None":
        client = getattr(self._connection, "remote_conn_pre", None)
        return client.get_transport() if client is not None else None

    def _exit_status(self, channel: "paramiko.Channel", deadline: float, command: str) -> int:
        if not channel.status_event.wait(max(0.0, deadline - time.monotonic())):
            raise CommandTimeoutException(f"{self.hostname}: no exit status in time from {command!r}")
        exit_status = channel.exit_status
        if exit_status == -1 and self._is_lost():
            raise ConnectionClosedException(f"{self.hostname}: the session was lost while {command!r} ran")
        return exit_status

    def _is_lost(self) -> bool:
        """Say whether a channel that ended without a word ended with its session: then paramiko's thread ends too."""
        if (transport := self._held_transport()) is not None:
            transport.join(_LOST_WITHIN_S)
        return not self.alive()

    @contextmanager
    def _errors(self, what: str) -> "Iterator[None]":
        """Turn what paramiko and the operating system raise into NAPALM's exceptions."""
        import paramiko

        try:
            yield
        except (paramiko.SSHException, EOFError, OSError) as error:
            closed = isinstance(error, OSError) and not isinstance(error, TimeoutError)
            if self._is_lost() if closed else not self.alive():
                raise ConnectionClosedException(f"{self.hostname}: the session was lost during {what}") from error
            if isinstance(error, TimeoutError):
                raise CommandTimeoutException(f"{self.hostname}: no answer in time during {what}") from error
            raise ConnectionException(f"{self.hostname}: {what} failed: {error}") from error


def _noise_text(noise: str) -> str:
    text = printable(" / ".join(line.strip() for line in noise.splitlines() if line.strip()))[:_SHOWN_CHARACTERS]
    return (
        f'the login prints text before answers, so that none can be read: "{text}"; let the shell of this login print '
        f"it in interactive sessions only, or let sshd do so by Banner"
    )


@contextmanager
def _answered_within(channel: "paramiko.Channel", timeout_s: float) -> "Iterator[None]":
    """Bound the wait for the answer to a channel request, for which paramiko waits for ever. Raises TimeoutError."""
    private: Any = channel
    wait = private._wait_for_event

    def bounded() -> None:
        if not channel.event.wait(timeout_s):
            channel.close()
            raise TimeoutError("the request is not answered")
        wait()

    private._wait_for_event = bounded
    try:
        yield
    finally:
        # Its own method set again would be a reference of the channel to itself, and keep it until garbage is searched.
        del private._wait_for_event


class _Arrived(threading.Event):
    """Set when a stream of a channel has more or ends.

    ``select`` on a channel makes paramiko write to a pipe, from its own thread, that closing the channel closes: a
    write that comes after it ends the whole session, or reaches whatever file has that number by then.
    """

    def clear(self) -> None:
        """Ignore the word of one stream that it is empty: the other may not be."""

    def take(self) -> None:
        """Wait anew for what comes from now on."""
        super().clear()


def _drain(channel: "paramiko.Channel", deadline: float, command: str) -> tuple[bytes, bytes]:
    """Read both streams until the far end closes them. They share a flow window: neither may wait."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    arrived = _Arrived()
    channel.in_buffer.set_event(arrived)
    channel.in_stderr_buffer.set_event(arrived)
    while True:
        if not arrived.wait(max(0.0, deadline - time.monotonic())):
            raise CommandTimeoutException(f"{command} did not end in time")
        arrived.take()
        ended = channel.eof_received or channel.closed
        _move(channel.recv_ready, channel.recv, stdout)
        _move(channel.recv_stderr_ready, channel.recv_stderr, stderr)
        if stdout.tell() + stderr.tell() > LONGEST_ANSWER_BYTES:
            raise CommandErrorException(f"{command} answers more than {LONGEST_ANSWER_BYTES:,} bytes: refused")
        if ended:
            return stdout.getvalue(), stderr.getvalue()


def _move(ready: Callable[[], bool], receive: Callable[[int], bytes], sink: io.BytesIO) -> None:
    while ready():
        sink.write(receive(_CHUNK_BYTES))


def _connect(session: Session) -> Any:
    """Return a netmiko connection of type ``linux`` that skips the wait for a shell prompt."""
    port = int(session.netmiko_arguments.get("port") or 22)
    where = f"{session.hostname}:{port}"
    timeout_s = float(session.netmiko_arguments.get("conn_timeout") or session.timeout_s)
    unknown = (
        "Add it to known_hosts (ssh-keyscan, compare the fingerprint) or to the file named by optional_args "
        "alt_key_file; ssh_strict=False accepts any key, in labs only"
    )
    changed = "If the switch was reinstalled, remove its old line (ssh-keygen -R) and add the new key"
    hosts = KnownHosts(_known_hosts_files(session.netmiko_arguments), known_name(session.hostname, port))
    tunnel = dial(session.jump, session.hostname, port, timeout_s) if session.jump is not None else None
    with (
        closed_on_failure(tunnel),
        login_errors(where, session.username, session.timeout_s, known=hosts, unknown_key=unknown, changed_key=changed),
    ):
        return _logged_in(session, tunnel)


def _known_hosts_files(arguments: "Mapping[str, Any]") -> tuple[Path, ...]:
    """Return the files that hold the keys of switches, by netmiko's arguments."""
    own = [_USERS_KNOWN_HOSTS] if arguments.get("system_host_keys") else []
    alternative = [str(arguments["alt_key_file"])] if arguments.get("alt_host_keys") else []
    return tuple(Path(file).expanduser() for file in (*own, *alternative))


_USERS_KNOWN_HOSTS = "~/.ssh/known_hosts"


def _logged_in(session: Session, tunnel: Tunnel | None) -> Any:
    return _connection_class()(
        device_type="linux",
        host=session.hostname,
        username=session.username,
        password=session.password,
        **{
            "conn_timeout": session.timeout_s,
            "banner_timeout": session.timeout_s,
            "auth_timeout": session.timeout_s,
            **session.netmiko_arguments,
            **({} if tunnel is None else {"sock": tunnel}),
        },
    )


@functools.cache
def _connection_class() -> type[Any]:
    from netmiko.linux import LinuxSSH

    class ExecOnly(LinuxSSH):
        """A ``linux`` connection whose shell is never read: waiting for its prompt would cost 0.3 s a device."""

        def _connect_params_dict(self) -> dict[str, Any]:
            """Connect the socket here, so that it can be tuned for SSH."""
            parameters: dict[str, Any] = super()._connect_params_dict()
            if parameters.get("sock") is None:
                parameters["sock"] = connect(parameters["hostname"], parameters["port"], parameters["timeout"])
            self._known_name = known_name(parameters["hostname"], parameters["port"])
            return parameters

        def _build_ssh_client(self) -> Any:
            """Load the known keys of this one host instead of whole files."""
            client = self._get_ssh_client_instance()
            files = _known_hosts_files(vars(self))
            _, self._transport_factory = check_host_key(client, files, self._known_name, self.key_policy)
            return client

        def establish_connection(self, width: int = 511, height: int = 1000) -> None:
            """Connect without the shell that netmiko asks for: a terminal that nobody reads fills and stops."""
            parameters = self._connect_params_dict()
            self.remote_conn_pre = self._build_ssh_client()
            try:
                self.remote_conn_pre.connect(**with_key(parameters), transport_factory=self._transport_factory)
            except BaseException:
                self.paramiko_cleanup()
                raise
            transport = self.remote_conn_pre.get_transport()
            if self.keepalive and transport is not None:
                transport.set_keepalive(self.keepalive)

        def _try_session_preparation(self, force_data: bool = True) -> None:
            """Prepare nothing, and above all do not wait for a shell that nobody reads."""

        def cleanup(self, command: str = "exit") -> None:
            """Leave the shell alone: closing the transport ends it."""

    return ExecOnly
