"""The socket of a node, by which its network tests ask the fabric (``programs/tool.py``)."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

NAMES = ("ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat", "iperf3", "mpirun")
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", "reduce")
TOOLS = (*NAMES, *(f"{name}_perf" for name in COLLECTIVES))
"""The tools that a node has."""
# Bytes of a request: arguments and an environment.
_LINE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool that was started on a node."""

    node: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]


Write = Callable[[str, str], None]
"""Sends text for a stream, stdout or stderr, to the tool."""
Answer = Callable[[ToolRequest, Write], Awaitable[int]]
"""Answers a tool and returns its exit status; cancelled when the tool is killed."""


class ToolSocket:
    """The socket of one node, in the folder that it shares with the simulator."""

    def __init__(self, folder: Path, answer: Answer, node: str) -> None:
        """Prepare; nothing listens yet."""
        self._folder = folder
        self._answer = answer
        self._node = node
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen."""
        (self._folder / "tools.sock").unlink(missing_ok=True)
        # The path of a socket has at most about a hundred characters, so the folder is named by a handle.
        handle = os.open(self._folder, os.O_PATH | os.O_DIRECTORY)
        try:
            path = f"/proc/self/fd/{handle}/tools.sock"
            self._server = await asyncio.start_unix_server(self._serve, path, limit=_LINE_LIMIT)
            # Every user of the node may ask.
            Path(path).chmod(0o666)
        finally:
            os.close(handle)

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one tool, until the answer is complete or the tool closes its socket."""

        def write(stream: str, text: str) -> None:
            writer.write(_lines(stream, text))

        ended = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        with contextlib.closing(writer), contextlib.suppress(*ended):
            request = _request(self._node, await reader.readuntil(b"\0\0"))
            answering = asyncio.ensure_future(self._answer(request, write))
            # A tool sends nothing after its request, so its stream ends only when the tool does.
            tool_end = asyncio.ensure_future(reader.read())
            try:
                await asyncio.wait((answering, tool_end), return_when=asyncio.FIRST_COMPLETED)
                if answering.done():
                    writer.write(b"x%d\n" % answering.result())
                    await writer.drain()
            finally:
                answering.cancel()
                tool_end.cancel()


def _lines(stream: str, text: str) -> bytes:
    """Return text for a stream in the form of the answer's lines (``programs/tool.py``)."""
    letter = {"stdout": "o", "stderr": "e"}[stream]
    *whole_lines, last_part = text.split("\n")
    lines = [f"{letter}{line}\n" for line in whole_lines]
    if last_part:
        lines.append(f"{letter.upper()}{last_part}\n")
    return "".join(lines).encode()


def _request(node: str, data: bytes) -> ToolRequest:
    """Return the request in what a tool sent (``programs/tool.py``)."""
    argv = []
    environment = {}
    for word in data.decode(errors="replace").split("\0"):
        if word.startswith("a"):
            argv.append(word[1:])
        elif word.startswith("e"):
            name, _, value = word[1:].partition("=")
            environment[name] = value
    return ToolRequest(node, tuple(argv), environment)
