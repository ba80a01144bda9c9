"""The SSH server of a simulated node, which listens while the node runs."""

import asyncio
import contextlib
from dataclasses import dataclass, field

from sonic_sim.nodes.session import NodeSession
from sonic_sim.ssh import asyncssh
from sonic_sim.ssh_options import SSH_OPTIONS


class _Login(asyncssh.SSHServer):
    """One connection."""

    def __init__(self, listener: "NodeListener") -> None:
        self._listener = listener
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """Count the connection."""
        self._connection = conn
        self._listener.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._connection is not None:
            self._listener.connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        """Ask for a key. Every name logs in as root, the only user with a home."""
        return True

    def session_requested(self) -> NodeSession:
        """Open a session."""
        return NodeSession(self._listener.pid)


@dataclass(eq=False)
class NodeListener:
    """The listening socket of one node."""

    address: str
    port: int
    # The node's host key.
    key: asyncssh.SSHKey
    # The key by which clients log in.
    client_key: asyncssh.SSHKey
    # The node's first process, 0 while it is off.
    pid: int = 0
    connections: set[asyncssh.SSHServerConnection] = field(default_factory=set)
    _acceptor: asyncssh.SSHAcceptor | None = None

    async def open(self) -> None:
        """Listen."""
        self._acceptor = await asyncssh.listen(
            self.address,
            self.port,
            server_factory=lambda: _Login(self),
            server_host_keys=[self.key],
            authorized_client_keys=asyncssh.import_authorized_keys(self.client_key.export_public_key().decode()),
            # Bytes: modules of Ansible and files of SFTP pass through.
            encoding=None,
            line_editor=False,
            **SSH_OPTIONS,
        )

    async def close(self) -> None:
        """Stop listening and cut all sessions, as a node does that loses power."""
        if self._acceptor is not None:
            self._acceptor.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._acceptor.wait_closed(), 0.5)
            self._acceptor = None
        for connection in list(self.connections):
            connection.abort()
