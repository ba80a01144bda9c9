"""An SSH session to a switch: netmiko's connection, with an exec channel for each command.

Netmiko opens the connection (host keys, keys, jump hosts, SSH configuration). Commands then run on exec channels of
the same connection, which give exit status, stdout and stderr separately and byte by byte, unlike an interactive shell.
All errors of the layers below are raised as NAPALM's exceptions.
"""

import functools
import logging
import threading
import time
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

from napalm_sonic.bounds import TooLargeError, refuse_wide
from napalm_sonic.channel import answered_within, read_to_end
from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from napalm_sonic.host_check import check_host_key
from napalm_sonic.host_keys import known_name
from napalm_sonic.jump import Jump, Tunnel, closed_on_failure, dial
from napalm_sonic.login import KnownHosts, connect, login_errors
from napalm_sonic.login_key import with_key
from napalm_sonic.quoting import Quotes
from napalm_sonic.refused_commands import with_fix
from railweave.printable import printable
from railweave.secrets import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import paramiko

_MOST_SAID_CHARACTERS = 65536
_SHOWN_CHARACTERS = 200
# A command that prints nothing.
_SILENT = "true"
# After this time without an answer, a session is tested before it is used again.
_SILENT_S = 15.0
# paramiko closes the channels of a lost session first, and marks the session as lost later, in another thread.
_LOST_WITHIN_S = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Completed:
    """The result of a command: its exit status (-1: ended by a signal), stdout and stderr."""

    command: str
    exit_status: int
    stdout: str
    stderr: str

    def error_text(self) -> str:
        """Return the output of a failed command for a message, stderr first."""
        streams = (self.stderr[:_MOST_SAID_CHARACTERS], self.stdout[:_MOST_SAID_CHARACTERS])
        output = "\n".join(stream.strip() for stream in streams if stream.strip())
        return output or f"exit status {self.exit_status} without a word"


@dataclass
class Session:
    """The connection to one device. Not for several threads at once."""

    hostname: str
    username: str
    password: str
    # Time limit to connect, and for answers to requests of SSH itself.
    timeout_s: float
    # Further arguments of netmiko's connection.
    netmiko_arguments: "Mapping[str, Any]" = field(default_factory=dict)
    # Default time limit of a command.
    command_timeout_s: float = 60.0
    # Run commands of root by sudo; off for the login root.
    sudo: bool = True
    jump: Jump | None = None
    clock: Clock = SYSTEM_CLOCK
    # Hides secrets of the running configuration in messages.
    quotes: Quotes = field(default_factory=Quotes)
    # netmiko's connection, None while closed.
    _connection: Any = None
    # Time of the last answer on the clock.
    _heard_s: float = 0.0
    # Text that the login prints before the output of commands.
    _noise: str = ""

    def open(self) -> None:
        """Connect. Raises ConnectAuthError, ConnectTimeoutError or ConnectionException, with a fix in the message."""
        if self._connection is None:
            self._connection = _connect(self)
            self._heard_s = self.clock.monotonic()

    def close(self) -> None:
        """End the connection; safe to call at any time and more than once."""
        connection = self._connection
        # First, so that the session counts as closed even if the disconnect fails.
        self._connection = None
        if connection is not None:
            connection.disconnect()

    def log_in_again(self) -> None:
        """Open a second session and close it; raises like ``open``.

        A session from before a change of AAA or of an ACL may survive it, although no new login is possible.
        """
        second = replace(self, _connection=None)
        try:
            second.open()
        finally:
            second.close()

    def alive(self) -> bool:
        """Return whether the transport is active, without a request to the device."""
        transport = self._held_transport()
        return transport is not None and transport.is_active()

    def answers(self) -> bool:
        """Return whether the session can be used; after a silence it is tested with a request.

        A connection to a switch that was cut off looks active until TCP times out.
        """
        if not self.alive():
            return False
        if self.clock.monotonic() - self._heard_s < _SILENT_S:
            return True
        transport = self._transport()
        # The request has no time limit of its own; closing the transport ends it.
        time_limit = threading.Timer(self.timeout_s, transport.close)
        time_limit.start()
        try:
            transport.global_request("keepalive@openssh.com", wait=True)
        finally:
            time_limit.cancel()
        self._heard_s = self.clock.monotonic()
        return self.alive()

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        """Run a command with ``data`` as its input and return its result, with any exit status.

        Raises CommandTimeoutException after ``timeout_s`` (default: the session's), ConnectionClosedException if the
        session is lost, CommandErrorException for an answer of more than ``LONGEST_ANSWER_BYTES``.
        """
        if timeout_s is None:
            timeout_s = self.command_timeout_s
        began = time.monotonic()
        deadline = began + timeout_s
        with self._napalm_errors(command):
            channel = self.channel(command)
            try:
                if data:
                    channel.settimeout(self.command_timeout_s)
                    channel.sendall(data)
                channel.shutdown_write()
                stdout, stderr = read_to_end(channel, deadline, f"{self.hostname}: {command!r}")
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
        """Return an output as text; raises CommandErrorException if it would take too much memory."""
        try:
            refuse_wide(stream)
        except TooLargeError as error:
            raise CommandErrorException(f"{self.hostname}: {command!r}: the answer is refused: {error}") from None
        return stream.decode("utf-8", "replace")

    def run_checked(self, command: str) -> str:
        """Run a command and return its stdout; raises CommandErrorException for any exit status but 0."""
        done = self.run(command)
        if done.exit_status != 0:
            output = with_fix(self.quotes.shown(done.error_text()))
            raise CommandErrorException(f"{self.hostname}: {command!r} failed: {output}")
        return done.stdout

    def refuse_noise(self) -> None:
        """Raise CommandErrorException if the login prints text before the output of commands, with that text.

        This takes a command, so it is called only after an answer could not be parsed.
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
        if self.sudo:
            return f"sudo -n {command}"
        return command

    def channel(self, command: str) -> "paramiko.Channel":
        """Start a command and return its open channel."""
        with self._napalm_errors(command):
            channel = self._transport().open_session(timeout=self.timeout_s)
            with answered_within(channel, self.timeout_s):
                channel.exec_command(command)
        return channel

    def _transport(self) -> "paramiko.Transport":
        """Return the active transport of the session; raises ConnectionClosedException if it is lost or closed."""
        transport = self._held_transport()
        if transport is None or not transport.is_active():
            raise ConnectionClosedException(f"{self.hostname}: the SSH session is closed")
        return transport

    def _held_transport(self) -> "paramiko.Transport | None":
        """Return the transport of netmiko's connection, active or not; None while the session is closed."""
        client = getattr(self._connection, "remote_conn_pre", None)
        if client is None:
            return None
        transport: paramiko.Transport | None = client.get_transport()
        return transport

    def _exit_status(self, channel: "paramiko.Channel", deadline: float, command: str) -> int:
        """Return the exit status of a command that has closed its output, -1 if a signal ended it.

        Raises CommandTimeoutException if it does not come until ``deadline``, ConnectionClosedException if the session
        is lost.
        """
        if not channel.status_event.wait(max(0.0, deadline - time.monotonic())):
            raise CommandTimeoutException(f"{self.hostname}: no exit status in time from {command!r}")
        exit_status = channel.exit_status
        # To paramiko, -1 is the exit status of a command that a signal ended, and of a lost channel.
        if exit_status == -1 and self._is_lost():
            raise ConnectionClosedException(f"{self.hostname}: the session was lost while {command!r} ran")
        return exit_status

    def _is_lost(self) -> bool:
        """Return whether the whole session is lost, after one of its channels was closed."""
        transport = self._held_transport()
        if transport is not None:
            # paramiko's thread ends with the session.
            transport.join(_LOST_WITHIN_S)
        return not self.alive()

    @contextmanager
    def _napalm_errors(self, what: str) -> "Iterator[None]":
        """Raise errors of paramiko and the operating system in the block as NAPALM's exceptions.

        ``what`` is the command, for the message.
        """
        import paramiko

        try:
            yield
        except (paramiko.SSHException, EOFError, OSError) as error:
            # Only the error of a closed channel can come before paramiko marks its session as lost, so only then wait.
            if isinstance(error, OSError) and not isinstance(error, TimeoutError):
                is_lost = self._is_lost()
            else:
                is_lost = not self.alive()
            if is_lost:
                raise ConnectionClosedException(f"{self.hostname}: the session was lost during {what}") from error
            if isinstance(error, TimeoutError):
                raise CommandTimeoutException(f"{self.hostname}: no answer in time during {what}") from error
            raise ConnectionException(f"{self.hostname}: {what} failed: {error}") from error


def _noise_text(noise: str) -> str:
    """Describe the text that a login prints, with the fix."""
    lines = [line.strip() for line in noise.splitlines() if line.strip()]
    quote = printable(" / ".join(lines))[:_SHOWN_CHARACTERS]
    return (
        f'the login prints text before answers, so that none can be read: "{quote}"; let the shell of this login print '
        f"it in interactive sessions only, or let sshd do so by Banner"
    )


def _connect(session: Session) -> Any:
    """Return a new netmiko connection for a session, through its jump host if it has one.

    Raises ConnectAuthError, ConnectTimeoutError, HostKeyError or ConnectionException, with a fix in the message.
    """
    port = int(session.netmiko_arguments.get("port") or 22)
    where = f"{session.hostname}:{port}"
    timeout_s = float(session.netmiko_arguments.get("conn_timeout") or session.timeout_s)
    unknown_key = (
        "Add it to known_hosts (ssh-keyscan, compare the fingerprint) or to the file named by optional_args "
        "alt_key_file; ssh_strict=False accepts any key, in labs only"
    )
    changed_key = "If the switch was reinstalled, remove its old line (ssh-keygen -R) and add the new key"
    known_hosts = KnownHosts(_known_hosts_files(session.netmiko_arguments), known_name(session.hostname, port))
    tunnel = None
    if session.jump is not None:
        tunnel = dial(session.jump, session.hostname, port, timeout_s)
    with (
        closed_on_failure(tunnel),
        login_errors(
            where,
            session.username,
            session.timeout_s,
            known_hosts=known_hosts,
            unknown_key=unknown_key,
            changed_key=changed_key,
        ),
    ):
        return _log_in(session, tunnel)


def _known_hosts_files(arguments: "Mapping[str, Any]") -> tuple[Path, ...]:
    """Return the files with the host keys of switches that netmiko's arguments select."""
    files = []
    if arguments.get("system_host_keys"):
        files.append(_USERS_KNOWN_HOSTS)
    if arguments.get("alt_host_keys"):
        files.append(str(arguments["alt_key_file"]))
    return tuple(Path(file).expanduser() for file in files)


_USERS_KNOWN_HOSTS = "~/.ssh/known_hosts"


def _log_in(session: Session, tunnel: Tunnel | None) -> Any:
    """Return netmiko's connection of a session, through the tunnel if there is one."""
    arguments: dict[str, Any] = {
        "conn_timeout": session.timeout_s,
        "banner_timeout": session.timeout_s,
        "auth_timeout": session.timeout_s,
        **session.netmiko_arguments,
    }
    if tunnel is not None:
        arguments["sock"] = tunnel
    return _connection_class()(
        device_type="linux",
        host=session.hostname,
        username=session.username,
        password=session.password,
        **arguments,
    )


def _keep_alive(client: Any, interval_s: float) -> None:
    """Send keepalives on a session, so that the loss of the switch is noticed; 0: send none."""
    transport = client.get_transport()
    if interval_s and transport is not None:
        transport.set_keepalive(interval_s)


@functools.cache
def _connection_class() -> type[Any]:
    """Return the class of our connections. It is defined here so that netmiko is imported late."""
    from netmiko.linux import LinuxSSH

    class ExecOnly(LinuxSSH):
        """A ``linux`` connection without a shell: the wait for its prompt would take 0.3 s a device."""

        def _connect_params_dict(self) -> dict[str, Any]:
            """Connect the socket here, so that it can be tuned for SSH."""
            parameters: dict[str, Any] = super()._connect_params_dict()
            if parameters.get("sock") is None:
                parameters["sock"] = connect(parameters["hostname"], parameters["port"], parameters["timeout"])
            self._known_name = known_name(parameters["hostname"], parameters["port"])
            return parameters

        def _build_ssh_client(self) -> Any:
            """Load only the known keys of this host, not whole files."""
            client = self._get_ssh_client_instance()
            files = _known_hosts_files(vars(self))
            _, self._transport_factory = check_host_key(client, files, self._known_name, self.key_policy)
            return client

        def establish_connection(self, width: int = 511, height: int = 1000) -> None:
            """Connect without netmiko's shell: a terminal that nobody reads fills up and stops."""
            parameters = self._connect_params_dict()
            self.remote_conn_pre = self._build_ssh_client()
            try:
                self.remote_conn_pre.connect(**with_key(parameters), transport_factory=self._transport_factory)
            except BaseException:
                self.paramiko_cleanup()
                raise
            _keep_alive(self.remote_conn_pre, self.keepalive)

        def _try_session_preparation(self, force_data: bool = True) -> None:
            """Do nothing, as there is no shell to wait for."""

        def cleanup(self, command: str = "exit") -> None:
            """Do nothing, as there is no shell to leave."""

    return ExecOnly
