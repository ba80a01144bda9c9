"""A process that fills in the templates of a project: with bounded time, memory and output, and without an environment.

Jinja's sandbox keeps a template from Python, but not from a loop without end or a text of many gigabytes, and whoever
opens a pull request writes templates. The process starts with the first template, serves all of them, and ends with
its standard input. A request is a pickle of ours; an answer is JSON, because what made it is not.
"""

import contextlib
import json
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, cast

from railweave.templates.filling import TemplateFaultError, Templates

_LENGTH = struct.Struct(">Q")
_START = (
    "import sys; sys.path[:] = {path!r}; from railweave.templates.worker import serve; serve({folders!r}, {bounds!r})"
)


class Bounds(NamedTuple):
    """What one template may take: seconds of CPU time, bytes of memory of the process, bytes of text."""

    cpu_s: float = 10
    memory_bytes: int = 1 << 30
    text_bytes: int = 8 << 20


class TemplateWorker:
    """Fills in the templates of some folders in another process, which is started when it is needed and missing."""

    def __init__(self, folders: Sequence[Path], bounds: Bounds | None = None) -> None:
        self._folders = [str(folder) for folder in folders]
        self._bounds = bounds or Bounds()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def fill(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of template ``name`` with ``values``; raises TemplateFaultError, also beyond a bound."""
        with self._lock:
            process = self._started()
            try:
                _send(cast("IO[bytes]", process.stdin), pickle.dumps((name, dict(values))))
                answer = json.loads(_receive(cast("IO[bytes]", process.stdout)))
            except (OSError, EOFError):
                raise TemplateFaultError(f"template {name}: {self._ended(process)}") from None
            except BaseException:  # interrupted: the answer to this request must not be read as that to another
                self._process = None
                _end(process, self._owner)
                raise
        if fault := answer.get("fault"):
            raise TemplateFaultError(fault)
        return str(answer["text"])

    def _started(self) -> "subprocess.Popen[bytes]":
        # A process that was forked off, as `render` does, must not share the pipes of its parent.
        if self._process is None or self._owner != os.getpid():
            bounds = (self._bounds.cpu_s, self._bounds.memory_bytes, self._bounds.text_bytes)
            start = _START.format(path=sys.path, folders=self._folders, bounds=bounds)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
            )
            self._owner = os.getpid()
            weakref.finalize(self, _end, self._process, self._owner)
        return self._process

    def _ended(self, process: "subprocess.Popen[bytes]") -> str:
        self._process = None
        process.wait()  # whoever closes its pipes ends
        _end(process, self._owner)
        if process.returncode == -signal.SIGPROF:
            return f"not done after {self._bounds.cpu_s} s of computing; bound its loops"
        return "its process ended; it may need too much memory"


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    if owner == os.getpid():
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()


def serve(folders: Sequence[str], bounds: tuple[float, int, int]) -> None:
    """Answer requests on standard input until it ends: the worker's own side."""
    limits = Bounds(*bounds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which then closes the pipe
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    templates = Templates([Path(folder) for folder in folders])
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            name, values = pickle.loads(_receive(sys.stdin.buffer))  # noqa: S301  the parent's own
            signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)
            _send(sys.stdout.buffer, json.dumps(_filled(templates, name, values, limits)).encode())


def _filled(templates: Templates, name: str, values: Mapping[str, object], limits: Bounds) -> dict[str, str]:
    parts: list[str] = []
    size_bytes = 0
    try:
        for piece in templates.pieces(name, values):
            size_bytes += len(piece.encode())
            if size_bytes > limits.text_bytes:
                return {"fault": f"template {name}: its text is longer than {limits.text_bytes:,} bytes"}
            parts.append(piece)
        return {"text": "".join(parts)}
    except TemplateFaultError as fault:
        memory = isinstance(fault.__cause__, MemoryError)
        more = f"needs more than {limits.memory_bytes:,} bytes of memory" if memory else ""
        return {"fault": f"{fault}: {more}" if more else str(fault)}
    except UnicodeEncodeError as fault:
        return {"fault": f"template {name}: its text is no Unicode: {fault.reason}"}


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """Return a message; raises EOFError at the end."""
    data = b""
    for size in (_LENGTH.size, None):
        asked = _LENGTH.unpack(data)[0] if size is None else size
        data = pipe.read(asked)
        if len(data) < asked:
            raise EOFError
    return data
