"""Local commands around each node's change: take the node out of the scheduler, and return it.

A node that does not drain is not changed; a node that is not verified stays drained.
"""

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import AfterValidator, ConfigDict, Field

from railweave.fabric.devices import Host
from railweave_hosts.node_pattern import checked_pattern, fill_pattern

_POLL_S = 5.0
# Characters of a command's last line of output in a message.
_LONGEST_OUTPUT = 300


def _checked_command(text: str) -> str:
    """Return a command; raises ValueError if it has no words, or an invalid pattern (``checked_pattern``)."""
    if not shlex.split(text):
        raise ValueError("a command")
    return checked_pattern(text)


Command = Annotated[str, AfterValidator(_checked_command)]
Seconds = Annotated[int, Field(ge=1, le=86400)]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands over ``{name}``, ``{kind}``, ``{number}`` and ``{fabric}``, run without a shell.

    ``drain`` takes a node out of service; ``drained`` is repeated until it exits with 0, when no job runs on the node;
    ``drain_timeout_s`` bounds both. ``resume`` returns the node to service once its settings are verified.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", frozen=True)
    drain: Command | None = None
    drained: Command | None = None
    resume: Command | None = None
    drain_timeout_s: Annotated[Seconds, Field(validation_alias="drain_timeout")] = 3600
    resume_timeout_s: Annotated[Seconds, Field(validation_alias="resume_timeout")] = 60

    def __bool__(self) -> bool:
        """Return whether any command is set."""
        return bool(self.drain or self.drained or self.resume)


class HookLog(Protocol):
    """A log of drained nodes, so that the next run resumes the nodes that a killed run left drained."""

    def left_drained(self) -> frozenset[str]:
        """Return the nodes that were drained and not resumed; raises RailweaveError if the log cannot be read."""

    def note(self, step: str, nodes: Sequence[str]) -> None:
        """Log that nodes are ``draining``, or that they were ``resumed``; raises RailweaveError."""


class Unlogged:
    """A log that records nothing."""

    def left_drained(self) -> frozenset[str]:
        """Return no nodes."""
        return frozenset()

    def note(self, step: str, nodes: Sequence[str]) -> None:
        """Do nothing."""


class HookRunner:
    """Runs hooks for nodes, ``at_once`` of them at a time; ``log`` records drained nodes if a hook can resume them."""

    def __init__(self, hooks: Hooks, fabric: str, at_once: int, log: HookLog | None = None) -> None:
        self._hooks = hooks
        self._fabric = fabric
        self._at_once = at_once
        self._log: HookLog = Unlogged()
        if log is not None and hooks.resume is not None:
            self._log = log
        self._running: set[int] = set()
        self._stopped = threading.Event()

    def drain(self, hosts: Iterable[Host]) -> Mapping[str, str]:
        """Drain ``hosts``; return the error of each by name, empty for success.

        Raises RailweaveError if the log cannot be written.
        """
        to_drain = list(hosts)
        if to_drain:
            # Logged before the first command: a run that is killed during it has drained nodes as well.
            self._log.note("draining", [host.name for host in to_drain])
        return self._each(to_drain, self._drain)

    def left_drained(self) -> frozenset[str]:
        """Return the nodes that an earlier run drained and did not resume."""
        return self._log.left_drained()

    def resume(self, hosts: Iterable[Host]) -> Mapping[str, str]:
        """Resume ``hosts``; return the error of each by name, empty for success.

        Raises RailweaveError if the log cannot be written.
        """
        errors = self._each(hosts, lambda host: self._run(self._hooks.resume, host, self._hooks.resume_timeout_s))
        resumed = [name for name, error in errors.items() if not error]
        if resumed:
            self._log.note("resumed", resumed)
        return errors

    def _each(self, hosts: Iterable[Host], work: Callable[[Host], str]) -> Mapping[str, str]:
        """Call ``work`` for each node, several at once; return the results by name.

        An exception or Ctrl-C ends all commands.
        """
        nodes = list(hosts)
        pool = ThreadPoolExecutor(self._at_once)
        try:
            return dict(zip((host.name for host in nodes), pool.map(work, nodes), strict=True))
        except BaseException:
            # The commands run in sessions of their own, which Ctrl-C at this terminal does not reach.
            self._stopped.set()
            for process in tuple(self._running):
                _kill(process)
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _drain(self, host: Host) -> str:
        """Drain a node and wait until its jobs have ended; return the error, empty for success."""
        deadline = time.monotonic() + self._hooks.drain_timeout_s
        error = self._run(self._hooks.drain, host, self._hooks.drain_timeout_s)
        if error or not self._hooks.drained:
            return error
        while True:
            left_s = deadline - time.monotonic()
            # At least one poll's time, so that a drain that used up the timeout is still asked once.
            error = self._run(self._hooks.drained, host, max(left_s, _POLL_S))
            if not error:
                return ""
            if left_s <= _POLL_S:
                return f"not drained within {self._hooks.drain_timeout_s} s: {error}"
            if self._stopped.wait(_POLL_S):
                return "interrupted"

    def _run(self, command: str | None, host: Host, timeout_s: float) -> str:
        """Run a command for a node, if there is one; return the error, empty for success.

        After ``timeout_s`` the command and everything that it started are ended.
        """
        if command is None:
            return ""
        words = [fill_pattern(word, host, self._fabric) for word in shlex.split(command)]
        shown = shlex.join(words)
        try:
            with subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process:
                self._running.add(process.pid)
                try:
                    output = process.communicate(timeout=timeout_s)[0].decode(errors="replace")
                except subprocess.TimeoutExpired:
                    _kill(process.pid)
                    return f"`{shown}` did not end within {timeout_s:.0f} s"
                finally:
                    self._running.discard(process.pid)
        except OSError as error:
            return f"`{shown}`: {error.strerror}"
        if process.returncode == 0:
            return ""
        lines = output.strip().splitlines() or [f"status {process.returncode}"]
        return f"`{shown}`: {lines[-1][:_LONGEST_OUTPUT]}"


def _kill(session: int) -> None:
    """End a command and what it started."""
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)
