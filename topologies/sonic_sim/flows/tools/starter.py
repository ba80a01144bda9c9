"""Servers that listen, and the common start of flows: tests of a round begin together however slowly they start."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from sonic_sim.flows.model import FlowModel, Transfer

GRACE_S = 0.25
"""Real seconds without another tool after which flows begin, where every server has its client."""
QUIET_S = 2.0
"""The same where servers still wait for one."""


@dataclass(slots=True, eq=False)
class Server:
    """A tool that listens on a TCP port of a node, and what its client tells it."""

    node: str
    port: int
    program: str
    details: Any = None
    client: "asyncio.Future[Any]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    ended: "asyncio.Future[bool]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Starter:
    """Time passes faster in tests than on this machine, so flows wait until all that start with them have come."""

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
        self._servers: dict[tuple[str, int], Server] = {}
        self._waiting: list[tuple[Transfer, asyncio.Future[None]]] = []
        self._came_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def listen(self, node: str, port: int, program: str, details: Any) -> Server | None:
        """Return a server; None where another one has the port."""
        if (node, port) in self._servers:
            return None
        self._servers[node, port] = Server(node, port, program, details)
        self._came()
        return self._servers[node, port]

    def close(self, server: Server) -> None:
        """Let a server listen no more."""
        if self._servers.get((server.node, server.port)) is server:
            del self._servers[server.node, server.port]
        self._came()

    def connect(self, node: str, port: int, program: str) -> Server | None:
        """Return the server of a program that waits for a client; None where the connection is refused."""
        server = self._servers.get((node, port))
        if server is None or server.program != program or server.client.done():
            return None
        return server

    async def begin(self, transfer: Transfer) -> None:
        """Let flows begin together with those of the other tools that are starting."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((transfer, future))
        self._came()
        try:
            await future
        except asyncio.CancelledError:
            self._waiting = [entry for entry in self._waiting if entry[1] is not future]
            raise

    def _came(self) -> None:
        loop = asyncio.get_running_loop()
        self._came_at = loop.time()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(self._grace_s, self._consider)

    def _consider(self) -> None:
        if not self._waiting:
            return
        loop = asyncio.get_running_loop()
        quiet_s = loop.time() - self._came_at
        waits = any(not server.client.done() for server in self._servers.values())
        if waits and quiet_s < self._quiet_s:
            self._timer = loop.call_later(self._quiet_s - quiet_s, self._consider)
            return
        waiting = self._waiting
        self._waiting = []
        self.model.begin([transfer for transfer, _ in waiting])
        for _, future in waiting:
            if not future.done():
                future.set_result(None)
