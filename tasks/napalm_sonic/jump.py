"""Switches behind a jump host: one SSH session to the jump host has a channel to each switch.

A process for every switch (``ProxyCommand``) costs 75 ms of CPU each, and an sshd refuses many logins at once
(``MaxStartups``). Here the first switch opens the session, all others share it as ``direct-tcpip`` channels (RFC 4254
section 7.2), and the last one closes it. The jump host's key is always checked.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import ConnectionException, ConnectTimeoutError

from napalm_sonic.host_check import check_host_key
from napalm_sonic.host_keys import KnownHostsError, broken_places, known_name
from napalm_sonic.login import HostKeyError, KnownHosts, connect, login_errors

if TYPE_CHECKING:
    import paramiko

_KEEPALIVE_S = 15
# SSH_OPEN_ADMINISTRATIVELY_PROHIBITED (RFC 4254, 5.1).
_FORBIDDEN = 1
_WAIT_FOR_CHANNEL_S = 600.0
_USERS_KNOWN_HOSTS = "~/.ssh/known_hosts"


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump host and its login.

    Without ``known_hosts`` its host key is in the user's own file. At most ``channels`` switches are reached at once.
    """

    host: str
    username: str
    port: int = 22
    password: str = field(default="", repr=False)
    key_file: str = ""
    passphrase: str = field(default="", repr=False)
    allow_agent: bool = True
    known_hosts: str = ""
    channels: int = 50

    def __str__(self) -> str:
        """Return the name of the jump host in known_hosts files."""
        return known_name(self.host, self.port)

    @property
    def known_hosts_file(self) -> Path:
        """Return the file with the jump host's key."""
        return Path(self.known_hosts or _USERS_KNOWN_HOSTS).expanduser()


def parse_jump(value: Any) -> Jump:
    """Return the jump host that the option ``jump`` describes; raises ValueError, which names the fault."""
    if not isinstance(value, Mapping):
        raise ValueError("optional_args 'jump' is a mapping: {'host': …, 'username': …}")
    types: dict[str, Any] = {option.name: option.type for option in fields(Jump)}
    for name, setting in value.items():
        if name not in types:
            raise ValueError(f"optional_args 'jump' has no key {name!r}; known: {', '.join(types)}")
        if not _is_valid(setting, types[name]):
            raise ValueError(f"optional_args 'jump' has a wrong {name!r}: {setting!r}")
    missing = [name for name in ("host", "username") if not value.get(name)]
    if missing:
        raise ValueError(f"optional_args 'jump' needs {' and '.join(missing)}")
    return Jump(**value)


def _is_valid(setting: Any, kind: type) -> bool:
    """Tell whether a setting has the type of its field; numbers (port, channels) must be above 0."""
    if kind is int and isinstance(setting, int) and setting <= 0:
        return False
    # Not by isinstance alone: a bool is an int, too, but not a valid port.
    return type(setting) is kind


class _SessionLostError(ConnectionException):  # type: ignore[misc]
    """The session to the jump host ended while a channel was being opened."""


def dial(jump: Jump, host: str, port: int, timeout_s: float) -> "Tunnel":
    """Return a channel through ``jump`` to ``host``, for use as a socket.

    Raises ConnectAuthError, ConnectTimeoutError or ConnectionException; the message tells failures of the jump host
    from those behind it.
    """
    with _gates_lock:
        gate = _gates.setdefault(jump, _Gate(jump))
    return gate.open(host, port, timeout_s)


class Tunnel:
    """A channel to one switch, which leaves its gate when it closes; otherwise it is paramiko's channel.

    Nothing may be sent after its close (RFC 4254, 5.3): a server that gets a message for a closed channel ends the
    whole session, with the channels of all other switches. paramiko alone would let one thread close a channel while
    another one writes, or reads and thereby announces its window.
    """

    def __init__(self, channel: "paramiko.Channel", gate: "_Gate") -> None:
        self._channel = channel
        self._gate = gate
        self._closed = threading.Lock()
        self._reading = threading.Lock()
        self._writing = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the channel."""
        return getattr(self._channel, name)

    def recv(self, size: int) -> bytes:
        """Return received data, empty once the channel is closed; raises TimeoutError like the channel."""
        with self._reading:
            if self._closed.locked():
                return b""
            return self._channel.recv(size)

    def send(self, data: bytes) -> int:
        """Send a part of ``data`` and return its length; raises OSError once the channel is closed."""
        with self._writing:
            if self._closed.locked():
                raise OSError("the channel is closed")
            return self._channel.send(data)

    def close(self) -> None:
        """Close the channel; safe to call more than once and from any thread."""
        if self._closed.acquire(blocking=False):
            # Wakes a thread that reads, which has the lock of reading.
            self._channel.in_buffer.close()
            with self._reading, self._writing:
                self._channel.close()
            self._gate.leave()


@contextmanager
def closed_on_failure(tunnel: Tunnel | None) -> Iterator[None]:
    """Close ``tunnel`` if the block raises."""
    try:
        yield
    except BaseException:
        if tunnel is not None:
            tunnel.close()
        raise


class _Gate:
    """The shared session to one jump host: opened for the first channel, closed with the last."""

    def __init__(self, jump: Jump) -> None:
        self._jump = jump
        self._lock = threading.Lock()
        self._free_channels = threading.BoundedSemaphore(jump.channels)
        self._client: paramiko.SSHClient | None = None
        self._users = 0

    def open(self, host: str, port: int, timeout_s: float) -> Tunnel:
        """Return a channel to a switch; raises ConnectTimeoutError if none becomes free, and what ``dial`` raises."""
        if not self._free_channels.acquire(timeout=_WAIT_FOR_CHANNEL_S):
            raise ConnectTimeoutError(f"jump host {self._jump}: all {self._jump.channels} channels are in use")
        try:
            try:
                return self._open_tunnel(host, port, timeout_s)
            except _SessionLostError:
                # The session broke after its last use; try once with a new one.
                return self._open_tunnel(host, port, timeout_s)
        except BaseException:
            self._free_channels.release()
            raise

    def _open_tunnel(self, host: str, port: int, timeout_s: float) -> Tunnel:
        """Return a channel to a switch as a user of the session; raises what ``_enter`` and ``_open_channel`` raise."""
        transport = self._enter(timeout_s)
        try:
            return Tunnel(_open_channel(transport, self._jump, host, port, timeout_s), self)
        except BaseException:
            self._leave()
            raise

    def _enter(self, timeout_s: float) -> "paramiko.Transport":
        """Add a user and return the session's transport; open the session if there is none or it is lost.

        Raises HostKeyError, ConnectAuthError, ConnectTimeoutError or ConnectionException.
        """
        with self._lock:
            transport = None
            if self._client is not None:
                transport = self._client.get_transport()
            if transport is None or not transport.is_active():
                self._close()
                self._client = _login(self._jump, timeout_s)
                transport = self._client.get_transport()
            if transport is None:
                raise ConnectionException(f"jump host {self._jump}: the session ended at once")
            self._users += 1
            return transport

    def leave(self) -> None:
        """Remove a user and free its channel."""
        self._leave()
        self._free_channels.release()

    def _leave(self) -> None:
        """Remove a user; the last one closes the session."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._close()

    def _close(self) -> None:
        """Close the session if there is one; the caller holds the lock."""
        if self._client is not None:
            client = self._client
            self._client = None
            client.close()


_gates: dict[Jump, _Gate] = {}
_gates_lock = threading.Lock()


def _login(jump: Jump, timeout_s: float) -> "paramiko.SSHClient":
    """Return a client that is logged in to the jump host.

    Raises HostKeyError, ConnectAuthError, ConnectTimeoutError or ConnectionException.
    """
    import paramiko

    client = paramiko.SSHClient()
    where = f"jump host {jump}"
    known_hosts = KnownHosts((jump.known_hosts_file,), str(jump))
    unknown_key = _unknown_key_fix(jump)
    changed_key = "If the jump host was reinstalled, record the new key (`railweave trust --replace`)"
    transport_factory = _checking_transport(client, known_hosts, where, unknown_key=unknown_key)
    try:
        with login_errors(
            where, jump.username, timeout_s, known_hosts=known_hosts, unknown_key=unknown_key, changed_key=changed_key
        ):
            client.connect(
                jump.host,
                jump.port,
                username=jump.username,
                password=jump.password or None,
                key_filename=jump.key_file or None,
                passphrase=jump.passphrase or None,
                allow_agent=jump.allow_agent,
                look_for_keys=jump.allow_agent and not jump.key_file,
                sock=connect(jump.host, jump.port, timeout_s),
                timeout=timeout_s,
                banner_timeout=timeout_s,
                auth_timeout=timeout_s,
                transport_factory=transport_factory,
            )
    except BaseException:
        client.close()
        raise
    transport = client.get_transport()
    if transport is not None:
        transport.set_keepalive(_KEEPALIVE_S)
    return client


def _unknown_key_fix(jump: Jump) -> str:
    """Return in words what to do if the jump host's key is not recorded."""
    return (
        f"{jump.known_hosts_file} does not hold it; record it with `railweave trust`, or by ssh-keyscan and a look at "
        f"the fingerprint"
    )


def _checking_transport(
    client: "paramiko.SSHClient", hosts: KnownHosts, where: str, *, unknown_key: str
) -> "Callable[..., paramiko.Transport]":
    """Return the ``transport_factory`` of paramiko's ``connect`` that checks the host key.

    Raises HostKeyError if no key is recorded, ConnectionException if the files cannot be read.
    """
    import paramiko

    try:
        host_keys, factory = check_host_key(client, hosts.files, hosts.name, paramiko.RejectPolicy())
    except KnownHostsError as error:
        raise ConnectionException(f"{where}: cannot connect: {error}") from error
    # Before the connection: without a recorded key it could only be refused.
    if not host_keys.keys and not host_keys.authorities:
        raise HostKeyError(where, changed=False, fix=unknown_key, at=broken_places(hosts.files, hosts.name))
    return factory


def _open_channel(
    transport: "paramiko.Transport", jump: Jump, host: str, port: int, timeout_s: float
) -> "paramiko.Channel":
    """Return a channel from the jump host to a switch.

    Raises _SessionLostError if the session to the jump host ended, else ConnectTimeoutError or ConnectionException.
    """
    import paramiko

    where = f"{host}:{port} through jump host {jump}"
    began = time.monotonic()
    try:
        return transport.open_channel("direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=timeout_s)
    except paramiko.ChannelException as error:
        if error.code == _FORBIDDEN:
            raise ConnectionException(f"{where}: the jump host forbids forwarding (AllowTcpForwarding)") from error
        raise ConnectionException(f"{where}: cannot connect: {error.text}") from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        # paramiko raises no error of its own for a channel that is not opened in time.
        if time.monotonic() - began >= timeout_s:
            raise ConnectTimeoutError(f"{where}: no answer within {timeout_s:g} s") from error
        message = f"{where}: {error or 'the session to the jump host was lost'}"
        if transport.is_active():
            raise ConnectionException(message) from error
        raise _SessionLostError(message) from error
