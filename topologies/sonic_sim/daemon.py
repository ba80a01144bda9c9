"""The background process of a simulated fabric: the event loop, and the socket by which it is controlled.

Started by `sonic_sim.control.up` as ``python -m sonic_sim.daemon FOLDER SCALE [owned]``; it writes one line to its
standard output when it answers. Requests and answers are one line of JSON each; ``{"error": text}`` is a refusal.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from sonic_sim.clock import Clock
from sonic_sim.errors import SimulatorError, disk_text
from sonic_sim.kept import write_whole
from sonic_sim.simulation import Simulation
from sonic_sim.spec import SimCable, spec_from_json

# Bytes of a request; a specification is passed by its file, whatever its size.
_LINE_LIMIT = 1 << 20
# How long a fabric without its owner may take to end by itself; one that calculates routes of thousands of switches
# hears of nothing meanwhile, and is ended.
_BUSY_S = 5.0


class Daemon:
    """One simulation and its control socket."""

    def __init__(self, folder: Path, clock: Clock, *, owned: bool = False) -> None:
        """Prepare. The owner holds the other end of standard input, a pipe: a fabric that is ``owned`` ends with it."""
        self.simulation = Simulation(folder, clock, keeps=not owned)
        self.folder = folder
        self.ended = asyncio.Event()
        self.owned = owned
        self._lost = False
        self._stopped = threading.Event()
        self._sockets = ""

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request. Raises SimulatorError."""
        verb = request["verb"]
        if verb in ("up", "fault", "clear-fault", "replace", "power"):
            return await self._change(verb, request)
        if verb == "status":
            return {**self.simulation.status(), "pid": os.getpid()}
        if verb == "cable":
            self.simulation.plug(request["a"], request["b"])
        elif verb == "rewire":
            cables = {kind: [SimCable(a, b) for a, b in request[kind]] for kind in ("out", "moved", "new")}
            return dict(self.simulation.rewire(**cables))
        elif verb == "pass-time":
            self.simulation.pass_time(request["seconds"])
        elif verb == "watch":
            return {"carrying": self.simulation.watch.begin()}
        elif verb == "watched":
            return {"moments": self.simulation.watch.moments}
        elif verb == "down":
            self.ended.set()
        else:
            raise SimulatorError(f"unknown request {verb}")
        return {}

    async def _change(self, verb: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request that opens or closes listeners, which takes a while."""
        simulation = self.simulation
        if verb == "up":
            return await simulation.reconcile(spec_from_json(Path(request["spec"]).read_bytes()))
        if verb == "power":
            await simulation.power(request["nodes"], powered=request["powered"])
            return {}
        device = request["device"]
        if verb == "replace":
            return {**await simulation.replace(device)}
        if verb == "clear-fault":
            return {"cleared": await simulation.clear_fault(device, request["kind"])}
        return {"armed": await simulation.fault(device, request["kind"], request["details"])}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            line = await reader.readline()
            try:
                answer = await self.answer(json.loads(line))
            except (SimulatorError, ValueError, KeyError, TypeError) as error:
                answer = {"error": str(error) or type(error).__name__}
            except OSError as error:
                answer = {"error": disk_text(self.folder, error)}
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()

    async def run(self) -> None:
        """Listen until somebody ends it."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.ended.set)
        if self.owned:
            threading.Thread(target=self._watch_owner, args=(loop,), daemon=True).start()
        await self.simulation.start()
        # The path of a socket may have about a hundred characters, so it is in a folder of its own with a short name.
        with tempfile.TemporaryDirectory(prefix="sonic-sim-") as folder_of_socket:
            self._sockets = folder_of_socket
            path = f"{folder_of_socket}/control"
            server = await asyncio.start_unix_server(self.serve, path, limit=_LINE_LIMIT)
            self._report_ready(path)
            async with server:
                await self.ended.wait()
            await self.simulation.stop()
        with contextlib.suppress(OSError):
            (self.folder / "process.json").unlink()
        if self._lost:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._stopped.set()

    def _report_ready(self, socket: str) -> None:
        """Write the process file and the line for the process that waits; from then on standard output is the log."""
        process = {"pid": os.getpid(), "socket": socket}
        write_whole(self.folder / "process.json", json.dumps(process).encode())
        # The pipe is broken where nobody waits any more.
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write("ready\n")
            sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def _watch_owner(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait in a thread of its own until the owner is gone, then end the fabric and remove its folder.

        A fabric that is too busy to end by itself is ended after ``_BUSY_S`` seconds.
        """
        while os.read(sys.stdin.fileno(), 1):
            pass
        self._lost = True
        # The loop may have ended already.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self.ended.set)
        if not self._stopped.wait(_BUSY_S):
            for folder in (self.folder, self._sockets):
                shutil.rmtree(folder, ignore_errors=True)
            os._exit(1)


def main() -> int:
    """Run the process of the folder and scale on the command line."""
    folder = Path(sys.argv[1])
    scale = float(sys.argv[2])

    async def run_daemon() -> None:
        # Made here, because its events belong to the running loop.
        await Daemon(folder, Clock(scale), owned="owned" in sys.argv[3:]).run()

    asyncio.run(run_daemon())
    return 0


if __name__ == "__main__":
    sys.exit(main())
