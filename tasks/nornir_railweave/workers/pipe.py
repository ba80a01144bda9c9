"""A worker at the other end of a pipe: a process of this machine, or one that a command such as ssh starts elsewhere.

Each line is a message. The pipe is the life of the worker: it ends when its input does, and whoever waits for an
answer gets an error as soon as its output ends. A worker that is silent for too long is asked whether it is there, and
stopped where it does not answer: a session that hangs looks like one that is busy.
"""

import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import IO, cast

from nornir_railweave.workers.channel import WorkerLostError
from nornir_railweave.workers.message import HELLO, Answer, MessageError, Request, decode_answer, decode_request, encode
from nornir_railweave.workers.serving import Worker

# How often a silent worker is asked, within the time after which it counts as lost.
_BEATS = 3
_LONGEST_TEXT = 300
_READ = 4096
_END_S = 5.0


class PipeChannel:
    """The worker that ``command`` starts; ``label`` is its name in messages.

    After a worker was lost, the next request starts a new one, which knows nothing of what was begun.
    """

    def __init__(self, command: Sequence[str], label: str, silent_s: float, environ: Mapping[str, str] | None = None):
        """Start nothing yet. ``silent_s`` is after how many seconds without a message the worker counts as lost."""
        self._command = tuple(command)
        self._label = label
        self._silent_s = silent_s
        self._environ = environ
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def ask(self, request: Request, within_s: float, *, worker: str = "") -> Answer:
        """Return the answer of this channel's only worker, which is started if none runs.

        A worker that is silent for too long is greeted; it is killed if it stays silent. Raises WorkerLostError if it
        is lost, or if no answer comes within ``within_s`` seconds.
        """
        del worker
        running = self._started()
        waiting = running.send(request)
        deadline_s = time.monotonic() + within_s
        beat_s = self._silent_s / _BEATS
        while True:
            remaining_s = deadline_s - time.monotonic()
            with suppress(TimeoutError):
                return waiting.result(max(0.0, min(beat_s, remaining_s)))
            if time.monotonic() >= deadline_s:
                # An answer that comes later is ignored.
                running.drop(request.id)
                # A worker that does not even answer a greeting never started.
                if request.task == HELLO:
                    running.end()
                raise WorkerLostError(f"{self._label} did not answer within {within_s:g} s")
            if running.quiet_s() >= self._silent_s:
                running.end()
                raise WorkerLostError(running.silent)
            running.beat(request)

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            running = self._running
            self._running = None
        if running is not None:
            running.end(wait=True)

    @property
    def process_id(self) -> int:
        """Return the id of the worker's process, or of the command that reaches it; 0 if none runs."""
        if self._running is None:
            return 0
        return self._running.process.pid

    def _started(self) -> "_Running":
        with self._lock:
            if self._running is None or self._running.over:
                self._running = _Running(self._command, self._label, self._silent_s, self._environ)
            return self._running


class _Running:
    """A worker that was started, and the requests that wait for its answers."""

    def __init__(self, command: Sequence[str], label: str, silent_s: float, environ: Mapping[str, str] | None) -> None:
        self._label = label
        self._silent_s = silent_s
        self._lock = threading.Lock()
        # A lock of its own: writing a request to a slow worker may take long, and answers are taken meanwhile.
        self._writing = threading.Lock()
        self._waiting: dict[str, Future[Answer]] = {}
        self._heard_s = time.monotonic()
        # A file and no pipe: nobody reads it while the worker runs, and a full pipe would stop the worker.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._over = threading.Event()
        self._why = ""
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=None if environ is None else {**os.environ, **environ},
                # Ctrl-C is the coordinator's: it finishes what it began.
                start_new_session=True,
            )
        except OSError as fault:
            self._said.close()
            raise WorkerLostError(f"{label}: `{command[0]}` cannot be started: {fault.strerror}") from fault
        self._to = cast(IO[bytes], self.process.stdin)
        self._from = cast(IO[bytes], self.process.stdout)
        # A write must not block for ever on a worker that reads nothing (`_write`).
        os.set_blocking(self._to.fileno(), False)
        threading.Thread(target=self._read, name=f"railweave-{label}", daemon=True).start()

    def send(self, request: Request) -> "Future[Answer]":
        """Send a request; return the future of its answer. Raises WorkerLostError if the worker does not read it."""
        waiting: Future[Answer] = Future()
        with self._lock:
            self._waiting[request.id] = waiting
        try:
            self._write(request)
        except TimeoutError:
            self.end()
            raise WorkerLostError(self.silent) from None
        except OSError:
            # The thread that reads the output sets the reason once the process has ended.
            if not self._over.wait(_END_S):
                self.end()
            self._tell_lost()
        return waiting

    def beat(self, like: Request) -> None:
        """Send a greeting with the project of the request ``like``; any answer shows that the worker is there."""
        with suppress(OSError):
            self._write(Request(HELLO, "", like.binding, like.expires_at))

    def _write(self, request: Request) -> None:
        """Write a whole message. Raises TimeoutError if the worker does not read it, and OSError if it has ended."""
        rest = encode(request) + b"\n"
        with self._writing:
            if self.over:
                raise BrokenPipeError
            writable = select.poll()
            writable.register(self._to, select.POLLOUT)
            while rest:
                if not writable.poll(self._silent_s * 1000):
                    raise TimeoutError
                written_bytes = os.write(self._to.fileno(), rest)
                rest = rest[written_bytes:]

    @property
    def over(self) -> bool:
        """Tell whether it has ended."""
        return self._over.is_set()

    @property
    def silent(self) -> str:
        """Return the reason for giving up one that hangs."""
        return f"{self._label} was silent for {self._silent_s:g} s"

    def quiet_s(self) -> float:
        """Return for how many seconds nothing was heard."""
        return time.monotonic() - self._heard_s

    def drop(self, request_id: str) -> None:
        """Ignore the answer to a request."""
        with self._lock:
            self._waiting.pop(request_id, None)

    def end(self, *, wait: bool = False) -> None:
        """Kill the worker; with ``wait`` return once it has ended."""
        with suppress(OSError):
            self.process.kill()
        if wait:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_S)

    def _read(self) -> None:
        """Take answers until the worker's output ends; then all requests that wait fail with WorkerLostError."""
        with self._from:
            for line in self._from:
                self._heard_s = time.monotonic()
                try:
                    answer = decode_answer(line)
                except MessageError:
                    # A login shell may print something of its own.
                    continue
                with self._lock:
                    waiting = self._waiting.pop(answer.id, None)
                if waiting is not None:
                    waiting.set_result(answer)
        self._why = f"{self._label} ended ({_status(self.process.wait())})" + self._last_words()
        self._over.set()
        self._tell_lost()
        with self._writing, suppress(OSError):
            self._to.close()
        self._said.close()

    def _tell_lost(self) -> None:
        """Raise WorkerLostError in all who wait for an answer, if the process has ended."""
        if not self.over:
            return
        with self._lock:
            lost = self._waiting
            self._waiting = {}
        for waiting in lost.values():
            waiting.set_exception(WorkerLostError(self._why))

    def _last_words(self) -> str:
        """Return the last line that the worker printed to standard error, after a colon; empty for none."""
        with suppress(OSError, ValueError):
            size = os.fstat(self._said.fileno()).st_size
            lines = os.pread(self._said.fileno(), _READ, max(0, size - _READ)).decode(errors="replace").splitlines()
            lines = [line for line in lines if line.strip()]
            if lines:
                return f": {lines[-1].strip()[:_LONGEST_TEXT]}"
        return ""


def _status(status: int) -> str:
    if status < 0:
        return f"signal {-status}"
    return f"exit status {status}"


def serve(worker: Worker, reading: Iterable[bytes], writing: IO[bytes], threads: int) -> None:
    """Answer the requests of a pipe until it ends; at most ``threads`` tasks are carried out at once.

    Tasks that still run when the pipe ends are not waited for: their sessions end with this process, and switches
    revert by themselves what was not confirmed.
    """
    lock = threading.Lock()

    def answer(request: Request) -> None:
        line = encode(worker.answer(request)) + b"\n"
        with lock, suppress(OSError):
            writing.write(line)
            writing.flush()

    tasks = ThreadPoolExecutor(threads)
    # A worker that is busy with all of its tasks still says that it is there.
    greetings = ThreadPoolExecutor(1)
    for line in reading:
        try:
            request = decode_request(line)
        except MessageError as fault:
            print(f"not a request: {fault}", file=sys.stderr)
            continue
        pool = greetings if request.task == HELLO else tasks
        pool.submit(answer, request)
    tasks.shutdown(wait=False, cancel_futures=True)
    greetings.shutdown(wait=False, cancel_futures=True)


def own_pipe() -> tuple[IO[bytes], IO[bytes]]:
    """Return this process's standard input and output as a pipe of messages.

    What is printed from now on goes to standard error.
    """
    writing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, writing
