"""supervisord over its socket: like `supervisorctl`, which takes a third of a second to import."""

import http.client
import socket
import sys
import xmlrpc.client
from pathlib import Path

SOCKET = Path("/run/supervisor.sock")
# A process that does not end is killed after 10 s (stopwaitsecs); a machine that is busy for others takes longer.
_ANSWERS_S = 60.0

# Faults of a process that is in the asked state: ALREADY_STARTED and NOT_RUNNING of supervisor/xmlrpc.py.
_SETTLED = (60, 70)


class _Connection(http.client.HTTPConnection):
    """HTTP over the socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_ANSWERS_S)
        self.sock.connect(str(SOCKET))


class _Transport(xmlrpc.client.Transport):
    """XML-RPC over the socket."""

    def make_connection(self, host: str) -> http.client.HTTPConnection:  # type: ignore[override]
        connection = _Connection(host)
        # `close` of the base class closes the connection that is noted here.
        self._connection = host, connection
        return connection


def runs() -> bool:
    """Tell whether supervisord runs here."""
    return SOCKET.exists()


def start(*programs: str) -> None:
    """Start programs one after the other, each until it runs; one that runs stays as it is."""
    _ask("startProcess", programs)


def stop(*programs: str) -> None:
    """Stop programs one after the other, each until it has ended."""
    _ask("stopProcess", programs)


def _ask(method: str, programs: tuple[str, ...]) -> None:
    """Call a method of supervisord for each program; report an error and go on with the next one.

    A container that runs no supervisord, but single commands of SONiC only, has no programs.
    """
    if not runs():
        return
    with xmlrpc.client.ServerProxy("http://localhost", transport=_Transport()) as server:
        for program in programs:
            try:
                getattr(server.supervisor, method)(program)
            except xmlrpc.client.Fault as fault:
                if fault.faultCode not in _SETTLED:
                    print(f"supervisord: {program}: {fault.faultString}", file=sys.stderr)
            except OSError as exc:
                print(f"supervisord: {program}: {exc}", file=sys.stderr)
