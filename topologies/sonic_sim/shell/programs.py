"""The list of programs: a handler is a function of (device, words, input) and returns exit status and texts."""

import importlib
import posixpath
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from sonic_sim.device import Device
from sonic_sim.files import ROOT, canonical
from sonic_sim.locks import Holder
from sonic_sim.shell.streams import Streams

if TYPE_CHECKING:
    import asyncio


class Wait(Enum):
    """How long a command takes, where that is not a number of seconds."""

    FOR_EVER = "for ever"


@dataclass(frozen=True, slots=True)
class Call:
    """One run of a program. ``argv[0]`` is its name; ``stdin`` is filled for programs that read it."""

    device: Device
    argv: list[str]
    stdin: str = ""
    user: str = ROOT
    cwd: str = "/root"
    terminal: bool = False
    variables: Mapping[str, str] | None = None

    def path(self, text: str) -> str:
        """Return an absolute path for a path argument."""
        return canonical(text, self.cwd)

    def read(self, text: str) -> str:
        """Return the text of a file, or of standard input. Raises FileNotFoundError, PermissionError."""
        return self.stdin if text == "/dev/stdin" else self.device.files.read(self.path(text), self.user).decode()


@dataclass(frozen=True, slots=True)
class Result:
    """What a program did: exit status, texts, and the seconds that it takes on a switch; ``ends`` are called when these
    are over: until then others meet what it holds."""

    exit: int = 0
    out: str = ""
    err: str = ""
    seconds: float | Wait = 0.0
    cwd: str | None = None
    ends: tuple[Callable[[], None], ...] = ()


class ProgramError(Exception):
    """A Python program on the switch ended with a traceback; the text is its last line."""

    def traceback(self) -> str:
        """Return the traceback without its frames."""
        return f"Traceback (most recent call last):\n  ...\n{self}\n"


@dataclass(slots=True)
class OpenFile:
    """A file that is open under a number; a lock taken by ``flock NUMBER`` is held until it is closed."""

    path: str
    holder: Holder | None = None


class CallingShell(Protocol):
    """The shell as programs see it that start others."""

    device: Device
    user: str
    cwd: str

    def child(self, user: str | None = None) -> "CallingShell":
        """Return a shell for a command inside this one, perhaps of another user."""

    async def run_line(self, line: str, streams: Streams) -> int:
        """Run a command line; return the exit status."""

    async def execute(self, argv: list[str], streams: Streams) -> int:
        """Run one command by its words."""

    def spawn(self, work: Coroutine[Any, Any, int]) -> object:
        """Let something run that outlives this command and the session."""

    @property
    def opened(self) -> Mapping[str, OpenFile]:
        """Return the files that are open under a number from 3 on."""

    @property
    def jobs(self) -> Sequence["asyncio.Task[int]"]:
        """Return the background commands of this shell."""


Handler = Callable[[Call], Result]
Runner = Callable[[CallingShell, list[str], Streams], Awaitable[int]]


def _never(argv: list[str]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Program:
    """A program: a handler, or (for programs that start others) ``runs``."""

    handler: Handler | None = None
    runs: Runner | None = None
    reads_stdin: Callable[[list[str]], bool] = _never


_commands: dict[str, Program] = {}
_modules: dict[str, str] = {}
"""The module of each program, which registers it."""


def add_module(module: str, names: Iterable[str]) -> None:
    """Tell which programs a module registers; it is imported when one of them is first looked for."""
    _modules.update(dict.fromkeys(names, module))


def program(*names: str, reads_stdin: Callable[[list[str]], bool] = _never) -> Callable[[Handler], Handler]:
    """Register a handler under its names."""

    def register(handler: Handler) -> Handler:
        for name in names:
            _commands[name] = Program(handler=handler, reads_stdin=reads_stdin)
        return handler

    return register


def runner(*names: str) -> Callable[[Runner], Runner]:
    """Register a program that runs other programs or reads its input while it runs."""

    def register(function: Runner) -> Runner:
        for name in names:
            _commands[name] = Program(runs=function)
        return function

    return register


_PROGRAM_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")


def find_command(word: str, device: Device) -> Program | None:
    """Return the program that a word starts, or None."""
    # Some images lack sudo or systemd.
    if posixpath.basename(word) in device.spec.without:
        return None
    if "/" not in word:
        return _command(word)
    if posixpath.dirname(word) not in _PROGRAM_FOLDERS:
        return None
    # The program is there once a driver has installed it.
    if word == "/usr/local/bin/railweave-switch" and not device.files.exists(word):
        return None
    return _command(posixpath.basename(word))


def _command(name: str) -> Program | None:
    if name not in _commands and name in _modules:
        importlib.import_module(_modules[name])
    return _commands.get(name)


def always(argv: list[str]) -> bool:
    """Say of a program that it reads its input whatever its words are."""
    return True
