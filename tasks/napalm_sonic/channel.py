"""Reading an exec channel of paramiko, with time limits where paramiko has none."""

import io
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
)

from napalm_sonic.bounds import LONGEST_ANSWER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import paramiko


_CHUNK_BYTES = 65536


@contextmanager
def answered_within(channel: "paramiko.Channel", timeout_s: float) -> "Iterator[None]":
    """Limit the wait for the answer to a channel request, which paramiko does not. Raises TimeoutError."""
    private: Any = channel
    wait = private._wait_for_event

    def bounded() -> None:
        if not channel.event.wait(timeout_s):
            channel.close()
            raise TimeoutError("the request is not answered")
        wait()

    private._wait_for_event = bounded
    try:
        yield
    finally:
        # To set the method again would make the channel refer to itself, and keep it until the garbage collector runs.
        del private._wait_for_event


class _Arrived(threading.Event):
    """Set when a stream of a channel has data or ends.

    Used in place of ``select``, for which paramiko writes to a pipe from its own thread: the pipe is closed with the
    channel, and a later write ends the whole session, or goes to another file with the same number.
    """

    def clear(self) -> None:
        """Do nothing: paramiko calls this when one stream is empty, while the other may have data."""

    def take(self) -> None:
        """Clear the event."""
        super().clear()


def read_to_end(channel: "paramiko.Channel", deadline: float, command: str) -> tuple[bytes, bytes]:
    """Read both streams until the device closes them. They share a flow window, so both have to be read at once."""
    stdout = io.BytesIO()
    stderr = io.BytesIO()
    arrived = _Arrived()
    channel.in_buffer.set_event(arrived)
    channel.in_stderr_buffer.set_event(arrived)
    while True:
        if not arrived.wait(max(0.0, deadline - time.monotonic())):
            raise CommandTimeoutException(f"{command} did not end in time")
        arrived.take()
        # Before the streams are read: data that came before the end is read in any case.
        ended = channel.eof_received or channel.closed
        _move(channel.recv_ready, channel.recv, stdout)
        _move(channel.recv_stderr_ready, channel.recv_stderr, stderr)
        if stdout.tell() + stderr.tell() > LONGEST_ANSWER_BYTES:
            raise CommandErrorException(f"{command} answers more than {LONGEST_ANSWER_BYTES:,} bytes: refused")
        if ended:
            return stdout.getvalue(), stderr.getvalue()


def _move(ready: Callable[[], bool], receive: Callable[[int], bytes], sink: io.BytesIO) -> None:
    while ready():
        sink.write(receive(_CHUNK_BYTES))
