"""The `railweave` command run inside the test's own process, as if a person had typed it in a folder.

A process of its own costs a second of imports each time. What it would isolate is put back by hand: the folder, the
environment, and both outputs by their descriptors, so that what programs started by the command print is kept too.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import BinaryIO


class TooLongError(BaseException):
    """A command did not end in its time. No handler of the command takes this for a failure of its own."""


def run_here(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], seconds: float, *, together: bool = False
) -> "subprocess.CompletedProcess[str]":
    """Return what ``railweave WORDS`` did in ``folder``; raises TooLongError after ``seconds``.

    ``together`` gives both outputs in their order as ``stdout``, as a terminal shows them.
    """
    from railweave.cli.main import main

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _placed(folder, environ), _caught(1, out), _caught(2, out if together else err), _bounded(seconds, words):
            status = main(list(words))
        return subprocess.CompletedProcess(["railweave", *words], status, _text(out), _text(err))


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")


@contextlib.contextmanager
def _placed(folder: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Stand in ``folder`` with ``environ`` and nothing else and nobody at the keyboard, and come back."""
    there, before, typed, keyboard = Path.cwd(), dict(os.environ), sys.stdin, os.dup(0)
    os.chdir(folder)
    _set_environment(environ)
    try:
        with Path(os.devnull).open(encoding="utf-8") as sys.stdin:
            os.dup2(sys.stdin.fileno(), 0)
            yield
    finally:
        os.dup2(keyboard, 0)
        os.close(keyboard)
        sys.stdin = typed
        _set_environment(before)
        os.chdir(there)


def _set_environment(wanted: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)


@contextlib.contextmanager
def _caught(descriptor: int, file: BinaryIO) -> Iterator[None]:
    """Send what goes to standard output (1) or error (2) to ``file``, from this process and from its children."""
    name = {1: "stdout", 2: "stderr"}[descriptor]
    stream = getattr(sys, name)
    stream.flush()
    kept = os.dup(descriptor)
    os.dup2(file.fileno(), descriptor)
    try:
        with open(descriptor, "w", buffering=1, encoding="utf-8", closefd=False) as caught:
            setattr(sys, name, caught)
            yield
    finally:
        setattr(sys, name, stream)
        os.dup2(kept, descriptor)
        os.close(kept)


@contextlib.contextmanager
def _bounded(seconds: float, words: Sequence[str]) -> Iterator[None]:
    """Raise TooLongError in the command after ``seconds``, and again as long as it clings to life."""

    def strike(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError(f"railweave {' '.join(words)} took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
