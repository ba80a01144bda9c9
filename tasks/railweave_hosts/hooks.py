"""Commands of this machine around each node's change: take it out of the scheduler, and give it back.

A node that does not drain is not touched; one that is not verified stays drained.
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

from railweave.fabric.model import Host
from railweave_hosts.node_pattern import checked_pattern, fill_pattern

_POLL_S = 5.0
_LONGEST = 300


def _split(text: str) -> str:
    if not shlex.split(text):
        raise ValueError("a command")
    return checked_pattern(text)


Command = Annotated[str, AfterValidator(_split)]
Seconds = Annotated[int, Field(ge=1, le=86400)]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands over ``{name}``, ``{kind}``, ``{number}`` and ``{fabric}``, run without a shell.

    ``drain`` takes a node out of service; ``drained``, repeated until it exits with 0, tells that nothing runs there
    any more; ``drain_timeout_s`` bounds both. ``resume`` gives the node back, once its settings are verified.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", frozen=True)
    drain: Command | None = None
    drained: Command | None = None
    resume: Command | None = None
    drain_timeout_s: Annotated[Seconds, Field(validation_alias="drain_timeout")] = 3600
    resume_timeout_s: Annotated[Seconds, Field(validation_alias="resume_timeout")] = 60

    def __bool__(self) -> bool:
        """Tell whether there is anything to run."""
        return bool(self.drain or self.drained or self.resume)


class HookLog(Protocol):
    """Where it is written down which nodes are drained, so that the next run gives back what a killed one left."""

    def left_drained(self) -> frozenset[str]:
        """Return the nodes that were drained and not given back; raises RailweaveError where that is not known."""

    def note(self, step: str, nodes: Sequence[str]) -> None:
        """Write down that nodes are ``draining``, or that they were ``resumed``; raises RailweaveError."""


class Unlogged:
    """Nothing is written down."""

    def left_drained(self) -> frozenset[str]:
        """Return that nothing is known to be left."""
        return frozenset()

    def note(self, step: str, nodes: Sequence[str]) -> None:
        """Do nothing."""


class HookRunner:
    """Runs hooks on nodes, ``at_once`` of them at a time; ``log`` has what is drained by a hook that can be undone."""

    def __init__(self, hooks: Hooks, fabric: str, at_once: int, log: HookLog | None = None) -> None:
        self._hooks, self._fabric, self._at_once = hooks, fabric, at_once
        self._log: HookLog = log if log is not None and hooks.resume is not None else Unlogged()
        self._running: set[int] = set()
        self._stopped = threading.Event()

    def drain(self, hosts: Iterable[Host]) -> Mapping[str, str]:
        """Drain ``hosts``; return why each failed, empty where it did not. Raises RailweaveError where that cannot be
        written down."""
        listed = list(hosts)
        if listed:
            self._log.note("draining", [host.name for host in listed])
        return self._each(listed, self._drain)

    def left_drained(self) -> frozenset[str]:
        """Return the nodes that an earlier run drained and did not give back."""
        return self._log.left_drained()

    def resume(self, hosts: Iterable[Host]) -> Mapping[str, str]:
        """Give ``hosts`` back; return as ``drain`` does."""
        done = self._each(hosts, lambda host: self._run(self._hooks.resume, host, self._hooks.resume_timeout_s))
        if resumed := [name for name, why in done.items() if not why]:
            self._log.note("resumed", resumed)
        return done

    def _each(self, hosts: Iterable[Host], work: Callable[[Host], str]) -> Mapping[str, str]:
        listed, pool = list(hosts), ThreadPoolExecutor(self._at_once)
        try:
            return dict(zip((host.name for host in listed), pool.map(work, listed), strict=True))
        except BaseException:
            # The commands lead sessions of their own: an interrupt of ours does not reach them.
            self._stopped.set()
            for process in tuple(self._running):
                _kill(process)
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _drain(self, host: Host) -> str:
        deadline = time.monotonic() + self._hooks.drain_timeout_s
        wrong = self._run(self._hooks.drain, host, self._hooks.drain_timeout_s)
        while not wrong and self._hooks.drained:
            left_s = deadline - time.monotonic()
            said = self._run(self._hooks.drained, host, max(left_s, _POLL_S))
            if not said:
                return ""
            if left_s <= _POLL_S:
                return f"not drained within {self._hooks.drain_timeout_s} s: {said}"
            if self._stopped.wait(_POLL_S):
                return "interrupted"
        return wrong

    def _run(self, command: str | None, host: Host, timeout_s: float) -> str:
        """Run a command, and whatever it starts no longer than ``timeout_s``; return what went wrong."""
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
                    said = process.communicate(timeout=timeout_s)[0].decode(errors="replace")
                except subprocess.TimeoutExpired:
                    _kill(process.pid)
                    return f"`{shown}` did not end within {timeout_s:.0f} s"
                finally:
                    self._running.discard(process.pid)
        except OSError as fault:
            return f"`{shown}`: {fault.strerror}"
        lines = said.strip().splitlines()
        last = lines[-1] if lines else f"status {process.returncode}"
        return f"`{shown}`: {last[:_LONGEST]}" if process.returncode else ""


def _kill(session: int) -> None:
    """End a command and what it started."""
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)
