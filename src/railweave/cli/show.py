"""Printing for the commands: results on standard output, as JSON or for a person; messages on standard error.

All that a command prints goes through here, and resolved secrets are masked before it is wrapped or encoded.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from railweave.diagnostics import Diagnostic, Severity
from railweave.errors import RailweaveError
from railweave.masking import masked

if TYPE_CHECKING:
    from typing import TextIO

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from railweave.plan.model import Plan

_Value = TypeVar("_Value")
_LINES = 25
"""The height of a screen whose width is given: rich takes both or neither."""


def console(*, stderr: bool = False) -> "Console":
    """Return a console that colors only on a terminal; a file or pipe has COLUMNS of the environment, else 160."""
    from rich.console import Console

    stream = _stream(stderr=stderr)
    # With None rich takes the width of the terminal, or COLUMNS.
    width = None
    if stream.isatty():
        width = dumb_columns(stream)
    elif "COLUMNS" not in os.environ:
        width = 160
    height = None
    if width is not None:
        height = _LINES
    # Text is shown as it is: rich would color numbers and paths, and draw a picture for a text such as `:rack:`.
    return Console(stderr=stderr, width=width, height=height, highlight=False, soft_wrap=False, emoji=False)


def _stream(*, stderr: bool) -> "TextIO":
    """Return the stream as it is now: a caller may have replaced those of the interpreter's start."""
    if stderr:
        return sys.stderr
    return sys.stdout


def dumb_columns(stream: "TextIO") -> int | None:
    """Return the width of a terminal that TERM calls dumb, where rich assumes 80 columns; None for any other stream."""
    is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    if not is_dumb or not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    # A width of 0 means that it is unknown.
    if columns.isdecimal():
        return int(columns) or None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


def print_result(
    value: _Value,
    document: "Callable[[_Value], Mapping[str, Any]]",
    view: "Callable[[_Value], RenderableType]",
    *,
    as_json: bool,
) -> None:
    """Print the document of a value for ``--json``, else its view."""
    if as_json:
        print_document(document(value))
    else:
        print_view(view(value))


def print_json(value: Mapping[str, Any]) -> None:
    """Print ``value`` as indented JSON."""
    import orjson

    from railweave.printable import printable_json

    document = masked(value)
    try:
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        # orjson refuses halves of surrogate pairs and integers of more than 64 bits, which files of others may hold.
        text = json.dumps(document, indent=2)
    sys.stdout.write(printable_json(text) + "\n")


def print_document(content: Mapping[str, Any]) -> None:
    """Print a document of ``--json`` with its version; ``railweave schema`` prints its schema."""
    from railweave.report.documents import versioned

    print_json(versioned(content))


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write ``value`` as indented JSON to a file that only its owner can read; raises RailweaveError."""
    import orjson

    write_output(path, orjson.dumps(masked(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def write_output(path: Path, data: bytes) -> None:
    """Write ``data`` to a file that only its owner can read; raises RailweaveError."""
    from railweave.files import write_private

    try:
        write_private(path, data)
    except OSError as exc:
        message = f"{path}: {exc.strerror}"
        if path.is_dir():
            message += f": name a file in it, such as {path / 'plan.json'}"
        elif not path.parent.is_dir():
            message += f": make its folder first, `mkdir -p {shlex.quote(str(path.parent))}`"
        raise RailweaveError(message) from exc


def print_plan(
    plan: "Plan", *, as_json: bool = False, as_markdown: bool = False, problems: Sequence[Diagnostic] = ()
) -> None:
    """Print ``plan`` as JSON, as markdown for a pull request, or for a person; then what prevents its deployment."""
    from railweave.plan.document import plan_json
    from railweave.report.plan import plan_markdown, plan_view

    if as_markdown and not as_json:
        print_text(plan_markdown(plan))
    else:
        print_result(plan, plan_json, plan_view, as_json=as_json)
    print_diagnostics(problems)


def print_rehearsals(plan: "Plan", *beside: Path, as_markdown: bool = False) -> None:
    """Print a line for each stored rehearsal of exactly ``plan``, also of those beside its files ``beside``."""
    from railweave.api.simulator.rehearsal_files import stored

    rehearsals = stored(plan, *beside)
    if not rehearsals:
        return
    from railweave.report.rehearsal import stored_line

    for rehearsal in rehearsals:
        if as_markdown:
            print_text(f"\n{stored_line(rehearsal, markdown=True)}")
        else:
            print_view(stored_line(rehearsal))


def stop_result(*, was_running: bool) -> str:
    """Return the result of stopping a lab or a simulated fabric."""
    if was_running:
        return "stopped"
    return "was not running"


class _Printable:
    """A view whose text cannot steer the terminal, whoever chose it, and whose lines end with their last word."""

    def __init__(self, view: "RenderableType") -> None:
        self._view = view

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Segment]":
        """Yield the segments of the view with what a terminal would obey removed; rich's own control codes stay."""
        from rich.segment import Segment

        for line in Segment.split_lines(self._segments(console, options)):
            yield from _without_trailing_blanks(line)
            yield Segment.line()

    def _segments(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Segment]":
        """Yield the segments of the view, masked and printable; rich's own control codes are unchanged."""
        from rich.segment import Segment

        from railweave.printable import printable

        for segment in console.render(self._view, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(masked(segment.text)), segment.style)


def _without_trailing_blanks(line: "Sequence[Segment]") -> "Sequence[Segment]":
    """Return a line without the blanks at its end, which tables fill their last column with; colored blanks stay."""
    from rich.segment import Segment

    for index in reversed(range(len(line))):
        segment = line[index]
        is_colored = segment.style is not None and segment.style.bgcolor is not None
        if segment.control or is_colored:
            return line[: index + 1]
        text = segment.text.rstrip(" ")
        if text:
            return [*line[:index], Segment(text, segment.style)]
    return ()


def print_view(view: "RenderableType", *, stderr: bool = False, soft_wrap: bool = False) -> None:
    """Print a view on standard output, or on standard error."""
    console(stderr=stderr).print(_Printable(_masked_view(view)), soft_wrap=soft_wrap)


def _masked_view(view: "RenderableType") -> "RenderableType":
    """Return a view whose texts are masked before they are wrapped, which may cut a secret in two."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if isinstance(view, str):
        return masked(view)
    if isinstance(view, Text):
        plain = masked(view.plain)
        if plain == view.plain:
            return view
        # The styles of parts of the text are dropped: their positions do not fit the masked text.
        return Text(plain, view.style)
    if isinstance(view, Group):
        return Group(*map(_masked_view, view.renderables), fit=view.fit)
    if isinstance(view, Padding):
        view.renderable = _masked_view(view.renderable)
    if isinstance(view, Table):
        for column in view.columns:
            # rich has no public way to replace the cells of a table.
            column._cells = [*map(_masked_view, column.cells)]
    return view


def print_text(text: str, *, end: str = "\n", stderr: bool = False) -> None:
    """Print a text as it is, such as markdown."""
    # Standard error is flushed by the line, and a question ends without one.
    print(masked(text), end=end, file=_stream(stderr=stderr), flush=stderr)


def print_error(text: str) -> None:
    """Print one failure on standard error."""
    from rich.text import Text

    print_view(Text.assemble(("error: ", "bold red"), text), stderr=True)


def print_note(text: str) -> None:
    """Print a note on standard error: one sentence that stops nothing."""
    from rich.text import Text

    print_view(Text(f"note: {text}", style="yellow"), stderr=True, soft_wrap=True)


def print_diagnostics(diagnostics: Iterable[Diagnostic], *, stderr: bool = True) -> None:
    """Print diagnostics for a person."""
    from railweave.report.diagnostics import diagnostics_view

    collected = tuple(diagnostics)
    if collected:
        print_view(diagnostics_view(collected), stderr=stderr)


def print_design_diagnostics(diagnostics: Iterable[Diagnostic], intent: Path) -> None:
    """Print the errors and warnings of an intent on standard error, and count its information, which `check` shows."""
    from railweave.wording import command_line, counted

    collected = tuple(diagnostics)
    print_diagnostics(diagnostic for diagnostic in collected if diagnostic.severity is not Severity.INFO)
    count = sum(diagnostic.severity is Severity.INFO for diagnostic in collected)
    if count:
        check = command_line("check", intent=str(intent))
        print_note(f"{intent}: {counted(count, 'info diagnostic')}; run `{check}` for details")
