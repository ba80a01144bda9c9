"""The exceptions that end a command, each with its exit status.

    RailweaveError            1
    ├── RefusedError          1   diagnostics with at least one error; nothing was done
    └── UsageError           64   the command line cannot be understood

Mistakes of the program itself are ordinary exceptions and travel to the top untouched.
"""

from collections.abc import Iterable

from railweave.diagnostics import Diagnostic, in_order


class RailweaveError(Exception):
    """A failure that a person can understand and mend; its text is shown without a traceback."""

    exit_status = 1


class RefusedError(RailweaveError):
    """The input was refused; ``diagnostics`` says where and why."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep the diagnostics in the order in which they are shown."""
        self.diagnostics = in_order(diagnostics)
        super().__init__("\n".join(map(_with_place, self.diagnostics)))


def _with_place(diagnostic: Diagnostic) -> str:
    """Return the message of a diagnostic behind its place, if it has one."""
    where = str(diagnostic.where)
    return f"{where}: {diagnostic.message}" if where else diagnostic.message


class UsageError(RailweaveError):
    """The command line cannot be understood."""

    exit_status = 64
