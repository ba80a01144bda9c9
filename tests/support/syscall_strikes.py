"""Strikes at the n-th call to the operating system by which a process keeps its records: journal, locks, audit log.

The calls are those that change or lock a file below a folder: open for writing, write, fsync, truncate, rename, remove,
flock. `strike_at` is for a process that was forked to be struck; it stays armed until that process is gone.
"""

import builtins
import fcntl
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BY_PATH = ("open", "rename", "replace", "unlink", "mkdir")
_BY_HANDLE = ("write", "pwrite", "fsync", "ftruncate")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def strike_at(folder: Path, number: int, moment: str, strike: Callable[[], object]) -> None:
    """Call ``strike`` once at the ``number``-th call about a file below ``folder``, counted from 1.

    ``moment``: ``before`` the call, ``after`` it, or ``within`` a write, of which half is done. Where ``strike``
    returns an error number, every later call fails with it, as on a disk that became read-only.
    """
    one = _Strike(str(folder), number, moment, strike)
    for name in _BY_PATH:
        setattr(os, name, one.watched(getattr(os, name), _opened if name == "open" else _path))
    for name in _BY_HANDLE:
        setattr(os, name, one.watched(getattr(os, name), _of_handle, halves=name == "write"))
    fcntl.flock = one.watched(fcntl.flock, _of_handle)
    opens = one.watched(builtins.open, _opened_file)
    builtins.open, io.open = opens, opens


@dataclass(slots=True)
class _Strike:
    """A strike that is due, and how every later call is refused once it struck."""

    folder: str
    left: int
    moment: str
    strike: Callable[[], object]
    refusal: int = 0

    def watched(
        self, whole: Callable[..., Any], about: Callable[..., str], *, halves: bool = False
    ) -> Callable[..., Any]:
        """Return a call of the operating system that counts; ``about`` gives the file that it changes."""

        def call(*arguments: Any, **named: Any) -> Any:
            where = about(*arguments, **named)
            if not where.startswith(self.folder):
                return whole(*arguments, **named)
            self.left -= 1
            struck = self.left == 0
            if struck and halves and self.moment == "within":
                whole(arguments[0], arguments[1][: len(arguments[1]) // 2])
            if struck and self.moment != "after":
                self.refusal = _error_number(self.strike())
            if self.refusal:
                raise OSError(self.refusal, os.strerror(self.refusal), where)
            result = whole(*arguments, **named)
            if struck and self.moment == "after":
                self.refusal = _error_number(self.strike())
            return result

        return call


def _error_number(answer: object) -> int:
    return answer if isinstance(answer, int) else 0


def _path(path: Any, *_: Any, **__: Any) -> str:
    return str(os.path.abspath(path))


def _opened(path: Any, flags: int, *_: Any, **__: Any) -> str:
    return os.path.abspath(path) if flags & _WRITES else ""


def _opened_file(path: Any, mode: str = "r", *_: Any, **__: Any) -> str:
    writes = not isinstance(path, int) and any(letter in mode for letter in "wax+")
    return os.path.abspath(path) if writes else ""


def _of_handle(handle: Any, *_: Any, **__: Any) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{handle if isinstance(handle, int) else handle.fileno()}")
    except OSError:
        return ""
