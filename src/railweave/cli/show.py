"""Printing for the commands: JSON for programs on standard output, words for people, warnings on standard error."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def console(*, stderr: bool = False) -> "Console":
    """Return a console that colors only on a terminal and never wraps below 100 columns in a file or pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 160
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def print_json(value: Mapping[str, Any]) -> None:
    """Print ``value`` as indented JSON."""
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def print_document(content: Mapping[str, Any]) -> None:
    """Print a document of ``--json`` with its version; ``railweave schema`` prints what it may hold."""
    from railweave.report.documents import versioned

    print_json(versioned(content))


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write ``value`` as indented JSON to a file of its owner alone; raises RailweaveError where that cannot be."""
    import orjson

    from railweave.files import write_private

    try:
        write_private(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as problem:
        raise RailweaveError(f"{path}: {problem.strerror}") from problem


def print_view(view: "RenderableType") -> None:
    """Print a view on standard output."""
    console().print(view)


def print_error(text: str) -> None:
    """Print one failure on standard error."""
    from rich.text import Text

    console(stderr=True).print(Text.assemble(("error: ", "bold red"), text))


def print_note(text: str) -> None:
    """Print one sentence on standard error that a person should know and that stops nothing."""
    from rich.text import Text

    console(stderr=True).print(Text(f"note: {text}", style="yellow"), soft_wrap=True)


def print_diagnostics(diagnostics: Iterable[Diagnostic], *, stderr: bool = True) -> None:
    """Print diagnostics for a person."""
    from railweave.report.diagnostics import diagnostics_view

    found = tuple(diagnostics)
    if found:
        console(stderr=stderr).print(diagnostics_view(found))
