"""The start of an SSH session, to a switch or to a jump host: the socket, and what a failure means."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from napalm.base.exceptions import ConnectAuthError, ConnectionException, ConnectTimeoutError

from napalm_sonic.host_keys import broken_places, known_places

# A switch that reloads closes no connection: its unanswered keepalives do after this time.
_DEAD_AFTER_MS = 60_000


class HostKeyError(ConnectionException):  # type: ignore[misc]
    """The host key of ``where`` is unknown, or is ``changed``: it differs from the recorded one.

    ``at`` is the place of the recorded key. For an unknown key it names the lines about ``where`` that cannot be read.
    """

    def __init__(self, where: str, *, changed: bool, fix: str, at: str = "") -> None:
        self.where = where
        self.changed = changed
        self.at = at
        if changed:
            state = "not the known one"
            note = at
            fix = f"{fix}; else someone may stand between"
        else:
            state = "unknown"
            note = f"{at}: no key can be read there"
        if at:
            state += f" ({note})"
        super().__init__(f"{where}: the host key is {state}. {fix}")


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """The known_hosts files that a login goes by, and the name of its host in them."""

    files: tuple[Path, ...]
    name: str


def connect(host: str, port: int, timeout_s: float) -> socket.socket:
    """Return a connected socket. Raises OSError.

    Nagle's algorithm is off: with it every step of an SSH session waits 40 ms (measured). A switch that reloads does
    not close its connections, so unanswered keepalives end them after a minute.
    """
    connection = socket.create_connection((host, port), timeout_s)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Only Linux has it; it also counts while keepalives are unanswered.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_AFTER_MS)
    return connection


@contextmanager
def login_errors(
    where: str, username: str, timeout_s: float, *, known_hosts: KnownHosts, unknown_key: str, changed_key: str
) -> Iterator[None]:
    """Raise ConnectAuthError, ConnectTimeoutError, HostKeyError or ConnectionException for what fails in the block.

    ``unknown_key`` and ``changed_key`` say what to do about the host key.
    """
    import paramiko
    from netmiko.exceptions import NetmikoBaseException

    try:
        yield
    except paramiko.AuthenticationException as error:
        raise ConnectAuthError(f"{where}: login as {username!r} was refused; check user, password or key") from error
    except paramiko.BadHostKeyException as error:
        at = known_places(known_hosts.files, known_hosts.name)
        raise HostKeyError(where, changed=True, fix=changed_key, at=at) from error
    except socket.gaierror as error:
        raise ConnectionException(
            f"{where}: the name cannot be resolved ({error.strerror}); check the address of the inventory, and DNS"
        ) from error
    except TimeoutError as error:
        raise ConnectTimeoutError(
            f"{where}: no answer within {timeout_s:g} s; check the address of the inventory, routes and firewalls"
        ) from error
    except (NetmikoBaseException, paramiko.SSHException, EOFError, OSError, ValueError) as error:
        if "not found in known_hosts" in str(error):
            at = broken_places(known_hosts.files, known_hosts.name)
            raise HostKeyError(where, changed=False, fix=unknown_key, at=at) from error
        raise ConnectionException(f"{where}: cannot connect: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return why there is no session, and what to check if the library's message does not say it."""
    if isinstance(error, ConnectionRefusedError):
        return f"{error.strerror}; check address and port of the inventory, and that SSH runs there"
    # paramiko's words for a server that speaks another protocol, or nothing.
    if "SSH protocol banner" in str(error):
        return "what answers there is not SSH; check address and port of the inventory"
    return str(getattr(error, "strerror", None) or error)
