"""A process that fills in the templates of a project, with bounded time, memory and output and no environment.

Jinja's sandbox keeps a template away from Python, but not from an endless loop or a text of many gigabytes, and anyone
who opens a pull request can write templates. The process starts with the first template, serves all of them, and ends
with its standard input. Requests are pickled, as they come from us; answers are JSON, as they come from untrusted code.
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

from railweave.diagnostics import Where
from railweave.templates.filling import TemplateFaultError, Templates

_LENGTH = struct.Struct(">Q")
_START = (
    "import sys; sys.path[:] = {path!r}; from railweave.templates.worker import serve; serve({folders!r}, {bounds!r})"
)


class Bounds(NamedTuple):
    """Limits for one template: seconds of CPU time, bytes of memory of the process, bytes of text."""

    cpu_s: float = 10
    memory_bytes: int = 1 << 30
    text_bytes: int = 8 << 20


class TemplateWorker:
    """Fills in the templates of a list of folders in another process, which starts when it is first needed."""

    def __init__(self, folders: Sequence[Path], bounds: Bounds | None = None) -> None:
        self._folders = [str(folder) for folder in folders]
        self._bounds = bounds or Bounds()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def fill(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of template ``name`` with ``values``; raises TemplateFaultError, also at a limit."""
        with self._lock:
            process = self._started()
            try:
                _send(cast("IO[bytes]", process.stdin), pickle.dumps((name, dict(values))))
                answer = json.loads(_receive(cast("IO[bytes]", process.stdout)))
            except (OSError, EOFError):
                message, fix = self._ended(process)
                raise TemplateFaultError(message, Where(name), fix=fix) from None
            except BaseException:  # interrupted: the next request must not read the answer to this one
                self._process = None
                _end(process, self._owner)
                raise
        fault = answer.get("fault")
        if fault:
            where = Where(str(fault["file"]), int(fault["line"]), 1)
            raise TemplateFaultError(str(fault["message"]), where, fix=str(fault["fix"]))
        return str(answer["text"])

    def _started(self) -> "subprocess.Popen[bytes]":
        """Return the process, started if necessary."""
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

    def _ended(self, process: "subprocess.Popen[bytes]") -> tuple[str, str]:
        """Return why the process ended, and the fix."""
        self._process = None
        process.wait()  # it closes its pipes only when it ends
        _end(process, self._owner)
        # The interval timer counts CPU time and sends SIGPROF, which ends a process that does not handle it.
        if process.returncode == -signal.SIGPROF:
            return f"the template is not done after {self._bounds.cpu_s} s of computing", "bound its loops"
        return "the process that fills in the template ended", "make the template use less memory"


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    """End the process; a fork of its owner leaves it alone."""
    if owner != os.getpid():
        return
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def serve(folders: Sequence[str], bounds: tuple[float, int, int]) -> None:
    """Run the worker process: answer requests on standard input until it ends.

    ``folders`` are those of the templates, and ``bounds`` the fields of ``Bounds``.
    """
    limits = Bounds(*bounds)
    # Ctrl-C reaches the parent too, which then closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for kind, limit in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(kind, (limit, limit))
    templates = Templates([Path(folder) for folder in folders])
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            name, values = pickle.loads(_receive(sys.stdin.buffer))  # noqa: S301  the parent's own
            signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)
            _send(sys.stdout.buffer, json.dumps(_filled(templates, name, values, limits)).encode())


def _filled(templates: Templates, name: str, values: Mapping[str, object], limits: Bounds) -> dict[str, object]:
    """Return the answer to a request: an object with the ``text``, or with the ``fault``, its place and fix."""
    parts: list[str] = []
    size_bytes = 0
    try:
        for piece in templates.pieces(name, values):
            size_bytes += len(piece.encode())
            if size_bytes > limits.text_bytes:
                return _fault_answer(f"its text is longer than {limits.text_bytes:,} bytes", Where(name), _LESS_TEXT)
            parts.append(piece)
        return {"text": "".join(parts)}
    except TemplateFaultError as fault:
        (diagnostic,) = fault.diagnostics
        if isinstance(fault.__cause__, MemoryError):
            message = f"the template needs more than {limits.memory_bytes:,} bytes of memory"
            return _fault_answer(message, diagnostic.where, _LESS_TEXT)
        return _fault_answer(diagnostic.message, diagnostic.where, diagnostic.fix)
    except UnicodeEncodeError as fault:
        return _fault_answer(f"its text is not Unicode: {fault.reason}", Where(name), "write text of Unicode")


_LESS_TEXT = "make the template write less"


def _fault_answer(message: str, where: Where, fix: str) -> dict[str, object]:
    return {"fault": {"message": message, "file": where.file, "line": where.line, "fix": fix}}


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """Return a message; raises EOFError at the end."""
    # A message is its length in 8 bytes, and that many bytes.
    (length,) = _LENGTH.unpack(_read_exactly(pipe, _LENGTH.size))
    return _read_exactly(pipe, length)


def _read_exactly(pipe: IO[bytes], size: int) -> bytes:
    """Return the next ``size`` bytes; raises EOFError if the pipe ends before."""
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
