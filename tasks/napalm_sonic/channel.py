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
    """Raise TimeoutError if a channel request in the block is not answered in time; paramiko waits without a limit."""
    # The type stubs do not declare private members.
    private: Any = channel
    wait_for_event = private._wait_for_event

    def wait_at_most() -> None:
        if not channel.event.wait(timeout_s):
            channel.close()
            raise TimeoutError("the request is not answered")
        # Returns at once now; raises what paramiko has noted if the request was refused.
        wait_for_event()

    private._wait_for_event = wait_at_most
    try:
        yield
    finally:
        # Deleted rather than set to the method again, with which the channel would refer to itself, and stay in memory
        # until the garbage collector runs.
        del private._wait_for_event


class _DataArrived(threading.Event):
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
    """Return stdout and stderr once the device has closed them; ``deadline`` is on the machine's steady clock.

    They share a flow window, so both have to be read at once. Raises CommandTimeoutException, and CommandErrorException
    for more than ``LONGEST_ANSWER_BYTES``.
    """
    stdout = io.BytesIO()
    stderr = io.BytesIO()
    arrived = _DataArrived()
    channel.in_buffer.set_event(arrived)
    channel.in_stderr_buffer.set_event(arrived)
    while True:
        if not arrived.wait(max(0.0, deadline - time.monotonic())):
            raise CommandTimeoutException(f"{command} did not end in time")
        arrived.take()
        # Looked at before the streams are read, so that data which came before the end is not missed.
        is_closed = channel.eof_received or channel.closed
        _read_ready(channel.recv_ready, channel.recv, stdout)
        _read_ready(channel.recv_stderr_ready, channel.recv_stderr, stderr)
        if stdout.tell() + stderr.tell() > LONGEST_ANSWER_BYTES:
            raise CommandErrorException(f"{command} answers more than {LONGEST_ANSWER_BYTES:,} bytes: refused")
        if is_closed:
            return stdout.getvalue(), stderr.getvalue()


def _read_ready(is_ready: Callable[[], bool], receive: Callable[[int], bytes], sink: io.BytesIO) -> None:
    """Move the data of a stream that has arrived."""
    while is_ready():
        sink.write(receive(_CHUNK_BYTES))
