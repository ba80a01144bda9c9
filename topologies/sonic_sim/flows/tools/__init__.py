"""The tools of nodes, as the fabric answers them: perftest, iperf3, and nccl-tests by mpirun or srun."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from sonic_sim.flows.model import FlowModel
from sonic_sim.flows.tools import collectives, iperf3, perftest
from sonic_sim.flows.tools.run import Run, ToolError
from sonic_sim.flows.tools.starter import Starter

Write = Callable[[str, str], None]
"""Takes the name of a stream, stdout or stderr, and text for it."""


class Request(Protocol):
    """A tool that was started on a node."""

    @property
    def node(self) -> str:
        """The node."""

    @property
    def argv(self) -> Sequence[str]:
        """The words of the command."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Its environment."""


class Tools:
    """Answers the tools of all nodes of a fabric."""

    def __init__(self, model: FlowModel, starter: Starter | None = None) -> None:
        self.model = model
        self.starter = starter or Starter(model)

    async def answer_tool(self, request: Request, write: Write) -> int:
        """Carry out a tool, and return its exit status. If it is cancelled, its flows and its server end."""

        def say(text: str, stream: str = "stdout") -> None:
            if text:
                write(stream, text)

        words = list(request.argv)
        name = words[0].rpartition("/")[2]
        run = Run(self.model, self.starter, request.node, name, words[1:], request.environment, say)
        try:
            return await self._tool(name)(run)
        except ToolError as error:
            say(error.output)
            say(error.text, "stderr")
            return error.status

    def _tool(self, name: str) -> Callable[[Run], Awaitable[int]]:
        """Return what carries out a tool. Raises ToolError for one that is not simulated."""
        if name in perftest.PROGRAMS:
            return perftest.run
        if name == "iperf3":
            return iperf3.run
        if name in ("mpirun", "mpiexec", "srun") or name in collectives.PROGRAMS:
            return collectives.run
        raise ToolError(f"{name}: not simulated\n", status=127)
