"""argparse for programs of a simulated switch: its output becomes the result of the run."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from sonic_sim.shell.programs import Result


class _EndError(Exception):
    """The parser ends the program."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Parser(argparse.ArgumentParser):
    """A parser that neither prints nor exits."""

    def __init__(self, prog: str, **settings: Any) -> None:
        """Make the parser of a program."""
        super().__init__(prog, formatter_class=_Formatter, **settings)
        self._printed: list[str] = []

    def parse(self, words: Sequence[str]) -> argparse.Namespace | Result:
        """Return the values of the options, or the result of a run that ends with help or an error."""
        self._printed.clear()
        try:
            return self.parse_args(words)
        except _EndError as end:
            text = "".join(self._printed)
            if end.status:
                return Result(end.status, err=text)
            return Result(0, out=text)

    def _print_message(self, message: str, file: Any = None) -> None:
        self._printed.append(message or "")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the run."""
        self._print_message(message or "")
        raise _EndError(status)


class _Formatter(argparse.RawTextHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=78)
