"""The nodes of a simulated fabric: which of them run, how they are reached, and what starts and ends them."""

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from sonic_sim.errors import SimulatorError
from sonic_sim.nodes import machines
from sonic_sim.nodes.login import NodeListener
from sonic_sim.nodes.node import BOOT, Node
from sonic_sim.nodes.session import environment, inside
from sonic_sim.nodes.tools import Answer, ToolRequest, Write
from sonic_sim.spec import SimHost

# Units that nodes start take CPU; the namespaces of one are made in a few hundredths of a second.
_BOOTS_AT_ONCE = 4
_NEEDED = ("nsenter", "setsid", "ip")
# What the programs of a node are run by.
_ON_A_NODE = ("/usr/bin/python3", "/usr/bin/sleep", "/usr/local")


def why_not() -> str:
    """Return why this machine cannot run nodes, empty if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "they are Linux namespaces, which only root can make"
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    missing += [path for path in _ON_A_NODE if not Path(path).exists()]
    if missing:
        return f"this machine lacks {', '.join(missing)}"
    return ""


class Cluster:
    """All nodes of a fabric that are machines; those without NICs are only the far ends of cables."""

    def __init__(self, folder: Path, answer: Answer) -> None:
        """``folder`` keeps their disks; ``answer`` answers the tools that ask for the fabric."""
        self.folder = folder
        self._answer = answer
        # Brings the counters of a node's NICs up to date, for who counts only when asked.
        self.count: Callable[[str], None] = lambda name: None
        self.nodes: dict[str, Node] = {}
        # Which nodes do not run that should, and why.
        self.problem = ""
        self._machines: asyncio.subprocess.Process | None = None
        self._asking = asyncio.Lock()
        self._boots = asyncio.Semaphore(_BOOTS_AT_ONCE)

    async def reconcile(self, hosts: Iterable[SimHost], listener: Callable[[str], NodeListener]) -> None:
        """Start the nodes of ``hosts`` that do not run yet; ``listener`` returns the SSH server of a node by its name.

        Nodes that run take over changes when they start again. If nodes cannot be started, ``problem`` says why.
        """
        new: list[SimHost] = []
        for host in hosts:
            if host.name in self.nodes:
                self.nodes[host.name].next_host = host
            elif host.nics:
                new.append(host)
        if not new:
            return
        self.problem = ""
        reason = why_not()
        if not reason:
            reason = await self._start_machines()
        if reason:
            self.problem = f"the GPU nodes are not started: {reason}; the switches run alone"
            return
        for host in new:
            self.nodes[host.name] = Node(host, self.folder / host.name, listener(host.name), self._answer_tool)
        await self._start(new)

    async def _start(self, hosts: Sequence[SimHost]) -> None:
        """Start nodes; those that fail are forgotten, and ``problem`` names them."""
        starts = (self.power(host.name, on=host.powered) for host in hosts)
        results = await asyncio.gather(*starts, return_exceptions=True)
        failures = {host.name: result for host, result in zip(hosts, results, strict=True) if result is not None}
        for name, failure in failures.items():
            if not isinstance(failure, SimulatorError):
                raise failure
            # The next `sim up` tries again.
            del self.nodes[name]
            self.problem = f"not started: {', '.join(failures)}: {failure}"

    async def power(self, name: str, *, on: bool) -> None:
        """Start or end a node, unless it is in that state already. Raises SimulatorError."""
        node = self.nodes.get(name)
        if node is None or bool(node.listener.pid) is on:
            return
        if not on:
            await self._ask({"end": await node.lose_power()})
            return
        async with self._boots:
            node.prepare()
            answer = await self._ask({"boot": node.boot_request()})
            await node.begin(answer["pid"])
            # Drivers show all their counters from the start.
            self.count(name)
            node.publish()
            if node.has_boot_work():
                await _run(node.listener.pid, ["/usr/bin/python3", "-IS", BOOT])
            await node.listener.open()

    async def reboot(self, name: str) -> None:
        """Let a node lose power and start again. Raises SimulatorError."""
        await self.power(name, on=False)
        await self.power(name, on=True)

    async def _answer_tool(self, request: ToolRequest, write: Write) -> int:
        """Answer a tool of a node, and return the tool's exit status."""
        node = self.nodes[request.node]
        # Of ethtool only requests for counters come here (``programs/nic.py``).
        if request.argv[0] == "ethtool":
            self.count(request.node)
            node.publish()
            write("stdout", f"NIC statistics:\n{node.statistics(request.argv[-1])}")
            return 0
        node.forget_settings()
        return await self._answer(request, write)

    async def stop(self) -> None:
        """End all nodes; nothing of them is left but their disks."""
        await asyncio.gather(*(node.lose_power() for node in self.nodes.values()))
        self.nodes.clear()
        if self._machines is not None and self._machines.stdin is not None:
            self._machines.stdin.close()
            await self._machines.wait()
            self._machines = None

    async def _start_machines(self) -> str:
        """Start the process that boots nodes, unless it runs; return why it does not start, empty for success."""
        if self._machines is not None:
            return ""
        pipe = asyncio.subprocess.PIPE
        words = [sys.executable, "-IS", machines.__file__]
        child = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())
        if child.stdout is None or child.stderr is None:
            raise TypeError("its streams must be pipes")
        first = json.loads(await child.stdout.readline() or b"{}")
        if "pid" in first:
            self._machines = child
            return ""
        await child.wait()
        lines = (await child.stderr.read()).decode(errors="replace").strip().splitlines()
        return f"this machine makes no namespaces: {first.get('error') or lines[-1:]}"

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the process that boots nodes, and return its answer. Raises SimulatorError."""
        child = self._machines
        if child is None or child.stdin is None or child.stdout is None:
            raise SimulatorError("no node runs")
        async with self._asking:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            line = await child.stdout.readline()
        answer = json.loads(line or b'{"error": "the process of all nodes ended"}')
        if "error" in answer:
            raise SimulatorError(f"the node did not start: {answer['error']}")
        return dict(answer)


async def _run(pid: int, command: list[str]) -> None:
    """Run a command on a node to its end."""
    null = asyncio.subprocess.DEVNULL
    words = inside(pid, command)
    child = await asyncio.create_subprocess_exec(*words, stdin=null, stdout=null, stderr=null, env=environment())
    with contextlib.suppress(ProcessLookupError):
        await child.wait()
