"""The lock of a whole session (``config_lock``): a flock on the switch that ends with the session.

A single change needs no such lock, as the switch's program locks while it works. This lock keeps others from changing
anything between two calls of a session. The kernel releases it when the session ends in any way.
"""

import os
import posixpath
import shlex
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from napalm.base.exceptions import ConnectionClosedException, LockError

from railweave_switch.host import SESSION_LOCK_FILE

if TYPE_CHECKING:
    import paramiko

    from napalm_sonic.session import Session

# Exit status of flock if the lock is taken: EX_TEMPFAIL of sysexits.h.
_BUSY_EXIT = 75
_RETRY_S = 1.0
_RELEASE_S = 5.0


class HeldError(LockError):  # type: ignore[misc]
    """Another client is about to drain the switch (``railweave_switch.holding``).

    ``hold`` is the name of its hold, and ``remaining_s`` how long the hold lasts at most.
    """

    def __init__(self, text: str, hold: str = "", message: str = "", remaining_s: float = 0.0) -> None:
        super().__init__(text)
        self.remaining_s = remaining_s
        self.hold = hold
        self.message = message


@dataclass
class Lock:
    """The lock of one device. ``acquire`` may be called again while held; ``release`` always works."""

    session: "Session"
    wait_s: float = 0.0
    _channel: "paramiko.Channel | None" = field(default=None)

    @property
    def held(self) -> bool:
        """True while this session has the lock, and the channel that holds it is open."""
        return self._channel is not None and not self._channel.closed

    @property
    def note(self) -> str:
        """Return the holder's name for the switch's program, empty while the lock is not held."""
        if self.held:
            return who()
        return ""

    def acquire(self) -> None:
        """Take the lock; raises LockError, which names the holder if it is known."""
        if self.held:
            return
        clock = self.session.clock
        deadline = clock.monotonic() + self.wait_s
        while not self._try_acquire():
            if clock.monotonic() >= deadline:
                raise LockError(f"{self.session.hostname}: the configuration is locked{self._holder_text()}")
            clock.sleep(min(_RETRY_S, max(0.0, deadline - clock.monotonic())))

    def release(self) -> None:
        """Release the lock."""
        channel = self._channel
        self._channel = None
        if channel is None or channel.closed:
            return
        with suppress(OSError, EOFError):
            channel.shutdown_write()
            # Until `cat` has ended the lock is held, and another session may ask for it at once.
            channel.status_event.wait(_RELEASE_S)
            channel.close()

    def _try_acquire(self) -> bool:
        """Take the lock if it is free; return False if another session has it.

        Raises LockError for every other failure, ConnectionClosedException if the session was lost.
        """
        # `cat` ends with the channel's input, and the lock with it.
        hold_lock = f"echo {shlex.quote(who())} >{SESSION_LOCK_FILE}; echo locked; exec cat"
        make_folder = f"mkdir -p -m 700 {posixpath.dirname(SESSION_LOCK_FILE)}"
        take_lock = f"exec flock -n -E {_BUSY_EXIT} {SESSION_LOCK_FILE} sh -c {shlex.quote(hold_lock)}"
        script = f"{make_folder} && {take_lock}"
        channel = self.session.channel(self.session.as_root(f"sh -c {shlex.quote(script)}"))
        channel.settimeout(self.session.command_timeout_s)
        try:
            output = channel.recv(64)
        except TimeoutError as error:
            channel.close()
            raise LockError(f"{self.session.hostname}: no answer to the lock request") from error
        if output.startswith(b"locked"):
            self._channel = channel
            return True
        exit_status = channel.recv_exit_status()
        error_text = channel.recv_stderr(4096).decode("utf-8", "replace").strip()
        channel.close()
        if exit_status == _BUSY_EXIT:
            return False
        # paramiko's exit status of a channel that was lost.
        if exit_status == -1 and not self.session.alive():
            raise ConnectionClosedException(f"{self.session.hostname}: the session was lost while locking")
        raise LockError(f"{self.session.hostname}: cannot lock the configuration: {error_text or exit_status}")

    def _holder_text(self) -> str:
        """Return in words who holds the lock, beginning with a space."""
        completed = self.session.run_root(f"cat {SESSION_LOCK_FILE}")
        if completed.exit_status == 0 and completed.stdout.strip():
            return f" by {completed.stdout.strip()}"
        return " by another session"


def who() -> str:
    """Return a name of this client for people: user, host and process."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or str(os.getuid())
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"
