"""Where a command reads and writes: an SSH channel, a pipe, a file or nothing."""

from collections.abc import Callable
from typing import Protocol


class Stdin(Protocol):
    """Standard input."""

    async def read(self) -> str:
        """Return all text up to the end."""

    async def readline(self) -> str:
        """Return one line with its end, empty at the end of the input."""


class TextStdin:
    """Input that is all there already."""

    def __init__(self, text: str = "") -> None:
        """Hold the text."""
        self._rest = text

    async def read(self) -> str:
        """Return the rest of the text."""
        text = self._rest
        self._rest = ""
        return text

    async def readline(self) -> str:
        """Return the next line."""
        line, newline, self._rest = self._rest.partition("\n")
        return line + newline


class Streams:
    """The three streams of a command; ``terminal`` where they are one terminal."""

    def __init__(
        self, stdin: Stdin, out: Callable[[str], None], err: Callable[[str], None], *, terminal: bool = False
    ) -> None:
        """Join the three."""
        self.stdin = stdin
        self.out = out
        self.err = err
        self.terminal = terminal


class Captured:
    """Streams that keep the written text."""

    def __init__(self, stdin: Stdin | str = "") -> None:
        """Begin with nothing written."""
        self.written: list[str] = []
        self.complained: list[str] = []
        source = TextStdin(stdin) if isinstance(stdin, str) else stdin
        self.streams = Streams(source, self.written.append, self.complained.append)

    @property
    def stdout(self) -> str:
        """The text written to standard output."""
        return "".join(self.written)

    @property
    def stderr(self) -> str:
        """The text written to standard error."""
        return "".join(self.complained)
