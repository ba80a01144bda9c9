"""Diagnostics: what is wrong with an input, where, and how to fix it.

A diagnostic is a value. Functions gather all of them and return them; only the command at the top shows them and
chooses the exit status.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How severe a diagnostic is: only an error stops the command."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Where(NamedTuple):
    """A place in an input file; ``line`` and ``column`` count from 1, 0 is unknown. ``path`` is the intent path."""

    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""

    def __str__(self) -> str:
        """Return ``file:line:column``, or less where less is known."""
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


class Diagnostic(NamedTuple):
    """What is wrong, and where. ``code`` is a check's id (docs/reference/checks.md), or ``RW…`` outside the checks."""

    code: str
    severity: Severity
    message: str
    where: Where = Where()
    devices: tuple[str, ...] = ()
    fix: str = ""


class Blocker(NamedTuple):
    """Why something cannot be done, and the fix; the caller turns it into a diagnostic at a place.

    ``code`` overrides the caller's own code.
    """

    message: str
    fix: str
    code: str = ""


def error(
    code: str, message: str, where: Where | None = None, *, fix: str, devices: tuple[str, ...] = ()
) -> Diagnostic:
    """Return an error; every error names a fix."""
    return Diagnostic(
        code=code, severity=Severity.ERROR, message=message, where=where or Where(), devices=devices, fix=fix
    )


def warning(
    code: str, message: str, where: Where | None = None, *, fix: str, devices: tuple[str, ...] = ()
) -> Diagnostic:
    """Return a warning."""
    return Diagnostic(
        code=code, severity=Severity.WARNING, message=message, where=where or Where(), devices=devices, fix=fix
    )


def info(code: str, message: str, where: Where | None = None, *, fix: str = "") -> Diagnostic:
    """Return an information."""
    return Diagnostic(code=code, severity=Severity.INFO, message=message, where=where or Where(), devices=(), fix=fix)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Tell whether anything in ``diagnostics`` stops the command."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics, each once: errors first, then by place, then by code."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=_order))


def _order(diagnostic: Diagnostic) -> tuple[int, str, int, int, str]:
    """Return the key that diagnostics are sorted by."""
    where = diagnostic.where
    return _RANK[diagnostic.severity], where.file, where.line, where.column, diagnostic.code
