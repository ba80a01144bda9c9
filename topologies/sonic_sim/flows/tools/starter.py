"""Servers that listen, and the common start of flows: tests of a round begin together however slowly they start."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sonic_sim.flows.model import FlowModel, Transfer

GRACE_S = 0.25
"""Flows begin after so many real seconds in which no other tool started, if every server has its client."""
QUIET_S = 2.0
"""The same if servers still wait for their clients."""


@dataclass(slots=True, eq=False)
class Server:
    """A tool that listens on a TCP port of a node, and what its client tells it."""

    node: str
    port: int
    program: str
    details: Any = None
    client: "asyncio.Future[Any]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    ended: "asyncio.Future[bool]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class _WaitingTransfer(NamedTuple):
    """A transfer that is about to begin, and the future that is done when it has."""

    transfer: Transfer
    begun: "asyncio.Future[None]"


class Starter:
    """Lets flows begin together: time passes faster in tests than on this machine, so they wait for each other."""

    def __init__(
        self,
        model: FlowModel,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        grace_s: float = GRACE_S,
        quiet_s: float = QUIET_S,
    ) -> None:
        self.model = model
        self.sleep = sleep
        self.counted: Callable[[], None] = lambda: None
        self._grace_s = grace_s
        self._quiet_s = quiet_s
        # By node and port.
        self._servers: dict[tuple[str, int], Server] = {}
        self._waiting: list[_WaitingTransfer] = []
        # When the last tool started or ended.
        self._last_change_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def listen(self, node: str, port: int, program: str, details: Any) -> Server | None:
        """Return a new server that listens at a port; None if another one has the port."""
        if (node, port) in self._servers:
            return None
        server = Server(node, port, program, details)
        self._servers[node, port] = server
        self._restart_timer()
        return server

    def close(self, server: Server) -> None:
        """Let a server stop listening."""
        if self._servers.get((server.node, server.port)) is server:
            del self._servers[server.node, server.port]
        self._restart_timer()

    def connect(self, node: str, port: int, program: str) -> Server | None:
        """Return the server of a program that waits for a client at a port; None if none does."""
        server = self._servers.get((node, port))
        if server is None or server.program != program or server.client.done():
            return None
        return server

    async def begin(self, transfer: Transfer) -> None:
        """Let flows begin together with those of the other tools that are starting."""
        begun = asyncio.get_running_loop().create_future()
        self._waiting.append(_WaitingTransfer(transfer, begun))
        self._restart_timer()
        try:
            await begun
        except asyncio.CancelledError:
            self._waiting = [waiting for waiting in self._waiting if waiting.begun is not begun]
            raise

    def _restart_timer(self) -> None:
        """Wait for the whole time again, because a tool has started or ended."""
        loop = asyncio.get_running_loop()
        self._last_change_at = loop.time()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(self._grace_s, self._begin_waiting)

    def _begin_waiting(self) -> None:
        """Let all waiting transfers begin together.

        While a server has no client, nothing begins before no tool has started or ended for ``_quiet_s`` seconds: its
        client may still come.
        """
        if not self._waiting:
            return
        loop = asyncio.get_running_loop()
        quiet_s = loop.time() - self._last_change_at
        lacks_client = any(not server.client.done() for server in self._servers.values())
        if lacks_client and quiet_s < self._quiet_s:
            self._timer = loop.call_later(self._quiet_s - quiet_s, self._begin_waiting)
            return
        all_waiting = self._waiting
        self._waiting = []
        self.model.begin([waiting.transfer for waiting in all_waiting])
        for waiting in all_waiting:
            if not waiting.begun.done():
                waiting.begun.set_result(None)
