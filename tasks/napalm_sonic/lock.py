"""The configuration lock: a flock on the switch that falls with the session.

SONiC's own commands lock nothing (the updater's lock is an empty stub, sonic-facts §3.1), so two drivers would
interleave their writes. The lock is held by a process on an exec channel; the kernel frees it when the session ends,
however it ends.
"""

import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from napalm.base.exceptions import ConnectionClosedException, LockError

from napalm_sonic.paths import HOLDER_FILE, LOCK_FILE, staged

if TYPE_CHECKING:
    import paramiko

    from napalm_sonic.session import Session

_BUSY_EXIT = 75
_RETRY_S = 1.0
_RELEASE_S = 5.0


@dataclass
class Lock:
    """The lock of one device. ``acquire`` may be called again while held; ``release`` always works."""

    session: "Session"
    wait_s: float = 0.0
    _channel: "paramiko.Channel | None" = field(default=None)

    @property
    def held(self) -> bool:
        """True while this session has the lock and the channel that holds it stands."""
        return self._channel is not None and not self._channel.closed

    def acquire(self) -> None:
        """Take the lock; raises LockError that names the holder where one is known."""
        if self.held:
            return
        deadline = time.monotonic() + self.wait_s
        while not self._try():
            if time.monotonic() >= deadline:
                raise LockError(f"{self.session.hostname}: the configuration is locked{self._holder()}")
            time.sleep(min(_RETRY_S, max(0.0, deadline - time.monotonic())))
        self._announce()

    def release(self) -> None:
        """Give the lock back and wait, within bounds, until the switch has let go of it: the next one may be quick."""
        channel, self._channel = self._channel, None
        if channel is None or channel.closed:
            return
        with suppress(OSError, EOFError):
            channel.shutdown_write()
            channel.status_event.wait(_RELEASE_S)
            channel.close()

    def _try(self) -> bool:
        command = self.session.as_root(f"flock -n -E {_BUSY_EXIT} {LOCK_FILE} sh -c 'echo locked; exec cat'")
        channel = self.session.channel(command)
        channel.settimeout(self.session.command_timeout_s)
        try:
            first = channel.recv(64)
        except TimeoutError as error:
            channel.close()
            raise LockError(f"{self.session.hostname}: no answer to the lock request") from error
        if first.startswith(b"locked"):
            self._channel = channel
            return True
        exit_status = channel.recv_exit_status()
        said = channel.recv_stderr(4096).decode("utf-8", "replace").strip()
        channel.close()
        if exit_status == _BUSY_EXIT:
            return False
        if exit_status == -1 and not self.session.alive():
            raise ConnectionClosedException(f"{self.session.hostname}: the session was lost while locking")
        raise LockError(f"{self.session.hostname}: cannot lock the configuration: {said or exit_status}")

    def _announce(self) -> None:
        """Leave a note that says who holds the lock, for the one who waits."""
        path = staged("holder")
        note = {"by": who(), "since": int(time.time())}
        self.session.upload(path, json.dumps(note).encode())
        self.session.run_root(f"cp {path} {HOLDER_FILE}")
        self.session.remove(path)

    def _holder(self) -> str:
        done = self.session.run_root(f"cat {HOLDER_FILE}")
        try:
            note = json.loads(done.stdout)
            since = time.strftime("%H:%M:%S UTC", time.gmtime(note["since"]))
            return f" by {note['by']} since {since}"
        except (ValueError, KeyError, TypeError):
            return " by another session"


def who() -> str:
    """Return a name for this client that a person can follow: user, host and process."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or str(os.getuid())
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"
