"""The flows of a running simulator: they read the NICs of its nodes, and show their counters there."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sonic_sim.clock import Clock
from sonic_sim.device import Fabric
from sonic_sim.flows.model import FlowModel, use_model
from sonic_sim.flows.nics import FlowNic
from sonic_sim.flows.tools import Tools

# A node's NICs are read again after so long: programs on the node may have changed them.
_READ_AGAIN_S = 0.5
_SHOW_AGAIN_S = 5.0


class LiveNics(Mapping[str, Sequence[FlowNic]]):
    """The NICs of the nodes that run, read when they are asked for."""

    def __init__(self, names: Callable[[], Collection[str]], read: Callable[[str], Sequence[FlowNic]]) -> None:
        self._names = names
        self._read = read
        self._nics: dict[str, Sequence[FlowNic]] = {}
        # When the NICs of each node were read.
        self._read_at: dict[str, float] = {}

    def __getitem__(self, name: str) -> Sequence[FlowNic]:
        if name not in self._names():
            raise KeyError(name)
        now = time.monotonic()
        read_at = self._read_at.get(name)
        if read_at is None or now - read_at >= _READ_AGAIN_S:
            self._nics[name] = self._read(name)
            self._read_at[name] = now
        return self._nics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._names()))

    def __len__(self) -> int:
        return len(self._names())


class FlowService:
    """The model of a fabric, its tools, and the task that shows counters on nodes."""

    def __init__(self, net: Fabric, clock: Clock, nics: LiveNics, show: Callable[[str], None]) -> None:
        """``show`` lets a node show the counters of its NICs."""
        self.model = FlowModel(net, clock)
        self.tools = Tools(self.model)
        self._nics = nics
        self._show = show
        self._shown = -1
        self._task: asyncio.Task[None] | None = None
        use_model(net, self.model)
        self.model.nics.read = lambda: nics
        self.tools.starter.counted = self._show_once

    def start(self) -> None:
        """Show counters from now on, where nodes run."""
        if self._nics and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._show_for_ever())

    async def stop(self) -> None:
        """End the task."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def show_all(self) -> None:
        """Let all nodes show what their NICs have counted."""
        for name in self._nics:
            self.model.publish(name)
            self._show(name)

    def _show_once(self) -> None:
        """Show the counters of all nodes, once for flows that end together."""
        if self._shown != self.model.ended:
            self._shown = self.model.ended
            self.show_all()

    async def _show_for_ever(self) -> None:
        while True:
            await asyncio.sleep(_SHOW_AGAIN_S)
            self.show_all()
