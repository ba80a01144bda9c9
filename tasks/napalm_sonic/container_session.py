"""A session to a switch in a container, over ``docker exec`` instead of SSH.

``docker-sonic-vs`` has no sshd, no admin user and no sudo, so commands run as root. Exit status, stdout and stderr are
separate and byte for byte, as on SSH exec channels. A process that runs in the container for the whole session shows
that the session is alive: it ends when the container stops, and then the session is lost.
"""

import contextlib
import logging
import queue
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from napalm.base.exceptions import (
    CommandTimeoutException,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    ConnectTimeoutError,
)

from napalm_sonic.session import Completed, Session
from railweave.secrets import shown_text

# The process that runs for the whole session: it reports that it runs, then waits for the end of its input, which
# Docker closes when the client ends.
_KEEPER = "echo open; exec cat"

_CHUNK_BYTES = 65536
# Time within which that process ends after its container was killed.
_NOTICED_S = 1.0
# Exit statuses above this are of a command that a signal ended: 128 + its number, as in a shell.
_BY_SIGNAL = 128

# Messages of Docker itself, in place of a command's.
_DOCKERS_OWN = ("Error: No such container", "Error response from daemon", "Cannot connect to the Docker daemon")
_NO_RIGHT = "permission denied while trying to connect"
_log = logging.getLogger(__name__)


class ProcessChannel:
    """A running command in the container, with the methods of paramiko's channels that the lock uses."""

    def __init__(self, words: list[str]) -> None:
        """Start it. Raises OSError."""
        self._process = _start_client(words)
        self._timeout_s: float | None = None
        self._out: queue.Queue[bytes] = queue.Queue()
        self._err: queue.Queue[bytes] = queue.Queue()
        self.status_event = Ended(self._process)
        for stream, sink in ((self._process.stdout, self._out), (self._process.stderr, self._err)):
            threading.Thread(target=_pump, args=(stream, sink), daemon=True).start()

    @property
    def closed(self) -> bool:
        """True once the command has ended."""
        return self._process.poll() is not None

    def settimeout(self, timeout_s: float | None) -> None:
        """Limit the time of each following read."""
        self._timeout_s = timeout_s

    def recv(self, count: int) -> bytes:
        """Return the next part of stdout, ``b""`` at its end. Raises TimeoutError."""
        return self._next_piece(self._out)

    def recv_stderr(self, count: int) -> bytes:
        """Return the next part of stderr, ``b""`` at its end. Raises TimeoutError."""
        return self._next_piece(self._err)

    def recv_exit_status(self) -> int:
        """Wait until the command ends and return its exit status. Raises subprocess.TimeoutExpired."""
        return self._process.wait(self._timeout_s)

    def shutdown_write(self) -> None:
        """Close stdin: the command sees the end of its input."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def close(self) -> None:
        """End the client; Docker then closes the input of the command in the container."""
        self.shutdown_write()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def _next_piece(self, stream: "queue.Queue[bytes]") -> bytes:
        """Wait for the next part of a stream; raises TimeoutError if it does not come in time."""
        try:
            return stream.get(timeout=self._timeout_s)
        except queue.Empty:
            raise TimeoutError("no answer in time") from None


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process, with the method ``wait`` of paramiko's ``status_event``."""

    process: "subprocess.Popen[bytes]"

    def wait(self, timeout_s: float) -> bool:
        """Tell whether the process ended within ``timeout_s``."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True


def _start_client(words: list[str]) -> "subprocess.Popen[bytes]":
    """Start Docker's client in a session of its own, so that Ctrl-C in the terminal does not end it."""
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a client that still runs, without waiting for further output of its command."""
    if process.poll() is None:
        process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def _pump(stream: IO[bytes] | None, sink: "queue.Queue[bytes]") -> None:
    """Move the data of a stream into a queue until the stream ends; an empty piece marks the end."""
    if stream is None:
        return
    with stream, contextlib.suppress(OSError, ValueError):
        while piece := stream.read1(_CHUNK_BYTES):  # type: ignore[attr-defined]
            sink.put(piece)
    sink.put(b"")


@dataclass
class ContainerSession(Session):
    """The session to one container; ``hostname`` is its name. Not for several threads at once."""

    docker: str = "docker"
    _keeper: ProcessChannel | None = None

    def open(self) -> None:
        """Start the process that runs for the whole session.

        Raises ConnectAuthError, ConnectTimeoutError or ConnectionException.
        """
        if self._keeper is not None:
            return
        keeper = self._start(_KEEPER)
        keeper.settimeout(self.timeout_s)
        error_output = ""
        try:
            output = keeper.recv(_CHUNK_BYTES)
            if not output:
                error_output = keeper.recv_stderr(_CHUNK_BYTES).decode("utf-8", "replace").strip()
        except TimeoutError as error:
            keeper.close()
            raise ConnectTimeoutError(f"{self.hostname}: Docker gives no answer within {self.timeout_s:g} s") from error
        if not output.startswith(b"open"):
            keeper.close()
            raise _open_error(self.hostname, error_output)
        self._keeper = keeper

    def close(self) -> None:
        """End the session; safe to call at any time and more than once."""
        keeper = self._keeper
        # First, so that the session counts as closed even if closing fails.
        self._keeper = None
        if keeper is not None:
            keeper.close()

    def log_in_again(self) -> None:
        """Do nothing: access depends on Docker alone, which no configuration of the switch changes."""

    def alive(self) -> bool:
        """Return whether the process of the session still runs, without a request to the container."""
        return self._keeper is not None and not self._keeper.closed

    def answers(self) -> bool:
        """Return the same as ``alive``: Docker's client ends at once when the container stops."""
        return self.alive()

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        """Run a command with ``data`` as its input and return its result, with any exit status.

        Raises CommandTimeoutException after ``timeout_s`` (default: the session's), ConnectionClosedException if the
        session is lost, ConnectionException if Docker does not run the command.
        """
        self._refuse_closed()
        if timeout_s is None:
            timeout_s = self.command_timeout_s
        began = time.monotonic()
        quoted = repr(command)
        with self._running(command) as process:
            try:
                stdout, stderr = process.communicate(data, timeout=timeout_s)
            except subprocess.TimeoutExpired:
                if not self.alive():
                    raise ConnectionClosedException(f"{self.hostname}: the session was lost during {quoted}") from None
                raise CommandTimeoutException(f"{self.hostname}: {quoted} did not end in time") from None
        done = Completed(
            command, process.returncode, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
        )
        if done.exit_status != 0:
            self._refuse_lost(done, quoted)
        took_s = time.monotonic() - began
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s: %s: exit status %d, %.3f s", self.hostname, shown_text(quoted), done.exit_status, took_s)
        return done

    def as_root(self, command: str) -> str:
        """Return the command unchanged: in the container everything runs as root, and there may be no sudo."""
        return command

    def channel(self, command: str) -> Any:
        """Start a command and return its open channel."""
        self._refuse_closed()
        return self._start(command)

    @contextlib.contextmanager
    def _running(self, command: str) -> "Iterator[subprocess.Popen[bytes]]":
        """Run Docker's client with a command for the block, and end it after the block."""
        with self._readable_start():
            process = _start_client(self._client_words(command))
        try:
            yield process
        finally:
            _end(process)

    def _start(self, command: str) -> ProcessChannel:
        """Start a command and return its channel; raises ConnectionException if Docker's client cannot be started."""
        with self._readable_start():
            return ProcessChannel(self._client_words(command))

    def _client_words(self, command: str) -> list[str]:
        """Return the call of Docker's client that runs a command in the container."""
        return [self.docker, "exec", "--interactive", self.hostname, "sh", "-c", command]

    @contextlib.contextmanager
    def _readable_start(self) -> "Iterator[None]":
        """Raise ConnectionException with a readable message if Docker's client cannot be started."""
        try:
            yield
        except FileNotFoundError as error:
            raise ConnectionException(
                f"{self.hostname}: the transport is `docker`, and Docker is not installed here"
            ) from error
        except OSError as error:
            raise ConnectionException(f"{self.hostname}: Docker cannot be run: {error.strerror}") from error

    def _refuse_closed(self) -> None:
        """Raise ConnectionClosedException unless the process of the session runs."""
        if not self.alive():
            raise ConnectionClosedException(
                f"{self.hostname}: the session is closed: the container was stopped or left"
            )

    def _refuse_lost(self, done: Completed, quoted: str) -> None:
        """Raise ConnectionException if the command failed because the container stopped, or Docker did not run it."""
        was_killed = done.exit_status > _BY_SIGNAL
        if was_killed and self._keeper is not None:
            # The process of the session may still seem to run for a moment after its container was killed.
            self._keeper.status_event.wait(_NOTICED_S)
        if not self.alive():
            raise ConnectionClosedException(f"{self.hostname}: the session was lost during {quoted}")
        if done.stderr.startswith(_DOCKERS_OWN):
            raise ConnectionException(f"{self.hostname}: {quoted} failed: {done.stderr.strip()}")


def _open_error(container: str, output: str) -> ConnectionException:
    """Return the error for a session that could not be opened, with its fix, by the output of Docker."""
    if _NO_RIGHT in output:
        return ConnectAuthError(f"{container}: this user may not use Docker: run the command as root or with sudo")
    if "Cannot connect to the Docker daemon" in output:
        return ConnectionException(f"{container}: Docker does not answer: see that `docker info` works")
    if "No such container" in output:
        return ConnectionException(f"{container}: there is no such container: start the lab (`railweave lab up`)")
    if "is not running" in output or "is paused" in output:
        return ConnectionException(f"{container}: the container is there and does not run: {output}")
    return ConnectionException(f"{container}: `docker exec` failed: {output or 'without a word'}")
