"""A process with all that it started: stopped and continued together, as a machine that sleeps stops them."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path


def tree(pid: int) -> list[int]:
    """Return a process and all that come from it, the youngest first."""
    parents = dict(_parents())
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one and child not in found]
    return found[::-1]


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])


def stop(pid: int) -> list[int]:
    """Stop a process with all that it started; return whom."""
    return [one for one in tree(pid) if _sent(one, signal.SIGSTOP)]


def go_on(pids: list[int]) -> None:
    """Let processes continue."""
    for one in pids:
        _sent(one, signal.SIGCONT)


def _sent(pid: int, what: signal.Signals) -> bool:
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        return False
    return True
