"""Run a command and let nothing that it started outlive it: ``python run_guarded.py COMMAND…``.

Simulators, revert timers and Ansible's workers lead sessions of their own: neither the end of a test run nor its
terminal reaches them. Their orphans come to this process, which is a subreaper (prctl(2)), and it ends them when the
command ends, is killed, or when whoever started it is killed. There are two such processes, one inside the other, so
that killing one leaves the work to the other. Whoever ends the guard by SIGTERM interrupts the command, as a terminal's
Ctrl-C does: a test run has time to take its labs down, which no process tree shows. Where there is no prctl the command
is run alone.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_COMMAND_ENDS_S = 90.0
_ORPHANS_END_S = 10.0


class _ToldToEnd(BaseException):
    """SIGTERM came: somebody wants an end, or the parent is gone."""


def main() -> int:
    """Run the command of the command line; return its exit status, 128 and the number where a signal ended it."""
    command = sys.argv[1:]
    if not sys.platform.startswith("linux"):
        os.execvp(command[0], command)
    signal.signal(signal.SIGTERM, _tell)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the command, which cleans up
    _end_with(os.getppid())
    return _guarded(lambda: _guarded(lambda: _execute(command)))


def _guarded(work: Callable[[], int]) -> int:
    """Do ``work`` in a child, and end whatever is left of it; return its status."""
    _prctl(_SET_CHILD_SUBREAPER, 1)
    # A SIGTERM that comes before there is somebody to catch it waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    parent, child, status = os.getpid(), os.fork(), 128 + signal.SIGTERM
    if child == 0:
        try:
            _end_with(parent)
            os._exit(work())
        finally:
            os._exit(1)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        status = _wait(child)
    except _ToldToEnd:
        with contextlib.suppress(_ToldToEnd, OSError):
            _interrupt_descendants()
            _wait(child, time.monotonic() + _COMMAND_ENDS_S)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_descendants()
    return status


def _execute(command: list[str]) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        return 127


def _wait(child: int, deadline: float | None = None) -> int:
    """Return the child's status; collects orphans that end meanwhile. Raises ChildProcessError where time is up."""
    while True:
        ended, status = os.waitpid(-1, 0 if deadline is None else os.WNOHANG)
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if not ended:
            if deadline is not None and time.monotonic() > deadline:
                raise ChildProcessError(f"{child} does not end")
            time.sleep(0.01)


def _interrupt_descendants() -> None:
    """Send SIGINT to all below this process that a terminal's Ctrl-C would reach, at once; guards ignore it."""
    stopped: list[int] = []
    while new := [pid for pid in _descendants(os.getpid()) if pid not in stopped and _signal(pid, signal.SIGSTOP)]:
        stopped += new
    for number in (signal.SIGINT, signal.SIGCONT):
        for pid in stopped:
            _signal(pid, number)


def _signal(pid: int, number: int) -> bool:
    """Send a signal to a process of this process group; return whether it was one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) == os.getpgrp():
            os.kill(pid, number)
            return True
    return False


def _end_descendants() -> None:
    """Kill all that is left below this process, also what they start meanwhile."""
    deadline = time.monotonic() + _ORPHANS_END_S
    while (left := _descendants(os.getpid())) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                # "pid (name) state ppid …"; the name may hold anything, also parentheses
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(path.name))
    found, open_ones = [], [root]
    while open_ones:
        below = children.get(open_ones.pop(), [])
        found += below
        open_ones += below
    return found


def _end_with(parent: int) -> None:
    """Get SIGTERM when ``parent`` ends, which it may have done already."""
    _prctl(_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise _ToldToEnd


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def _tell(_number: int, _frame: FrameType | None) -> None:
    raise _ToldToEnd


if __name__ == "__main__":
    sys.exit(main())
