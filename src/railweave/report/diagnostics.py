"""Diagnostics for a terminal, with place, source line, caret and fix, and as JSON."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import as_json
from railweave.diagnostics import Diagnostic, Severity, Where, has_errors, in_order
from railweave.report.layout import verdict
from railweave.report.quoted_line import quoted_line
from railweave.wording import compact, counted

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_LONGEST_LINE = 160


def diagnostics_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return ``{"diagnostics": [...]}``, errors first (the document of ``check --json``)."""
    return {"diagnostics": as_json(in_order(diagnostics))}


def diagnostics_view(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None) -> RenderableType:
    """Return every diagnostic for a terminal.

    ``sources`` holds texts that are not on disk, by file name; other files are read, and a file that cannot be read
    only loses its source line.
    """
    files = dict(sources or {})
    shown: list[RenderableType] = []
    for diagnostic in in_order(diagnostics):
        if shown:
            shown.append(Text())
        shown += _view(diagnostic, files)
    return Group(*shown)


def _view(diagnostic: Diagnostic, files: dict[str, str]) -> Iterable[RenderableType]:
    """Yield the lines of a diagnostic: code and message, place with source line, devices and fix."""
    where = diagnostic.where
    code = f"{diagnostic.severity.value}[{diagnostic.code}]"
    yield Text.assemble((code, _STYLES[diagnostic.severity]), ": ", (diagnostic.message, "bold"))
    if where.file:
        place = f"{where} ({where.path})" if where.path else str(where)
        yield Text.assemble(("  --> ", "dim"), place)
        yield from _source(diagnostic, files)
    if diagnostic.devices:
        yield Text.assemble(("  devices: ", "dim"), compact(diagnostic.devices))
    if diagnostic.fix:
        yield Text.assemble(("  fix: ", "green"), diagnostic.fix)


def _source(diagnostic: Diagnostic, files: dict[str, str]) -> Iterable[Text]:
    """Yield the source line of a diagnostic, and a caret below the column that it names; nothing without the line."""
    where = diagnostic.where
    line = _source_line(where, files)
    if line is None:
        return
    number = str(where.line)
    yield Text.assemble((f"  {number} | ", "dim"), line)
    if 1 <= where.column <= len(line) + 1:
        # Tabs stay tabs, so that the caret is below its character whatever their width.
        lead = re.sub(r"[^\t]", " ", line[: where.column - 1])
        yield Text.assemble((f"  {' ' * len(number)} | ", "dim"), lead, ("^", _STYLES[diagnostic.severity]))


def _source_line(where: Where, files: dict[str, str]) -> str | None:
    """Return the source line at ``where`` without its secrets.

    None if it is unknown, too long to help or must not be shown. Files that are read are added to ``files``.
    """
    name = where.file
    if not where.line:
        return None
    if name not in files:
        try:
            files[name] = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            # The diagnostic is complete without its source line, so the file is not tried again either.
            files[name] = ""
    lines = files[name].splitlines()
    if where.line > len(lines) or len(lines[where.line - 1]) > _LONGEST_LINE:
        return None
    return quoted_line(lines[: where.line])


def diagnostics_summary(diagnostics: Iterable[Diagnostic], subject: str) -> Text:
    """Return one line: how many errors and warnings ``subject`` has."""
    severities = Counter(diagnostic.severity for diagnostic in in_order(diagnostics))
    errors = severities[Severity.ERROR]
    warnings = severities[Severity.WARNING]
    if not errors and not warnings:
        return verdict(True, f"{subject}: no errors, no warnings")
    counts = f"{subject}: {counted(errors, 'error')}, {counted(warnings, 'warning')}"
    if errors:
        return verdict(False, counts)
    return verdict(None, counts)


def yang_summary(diagnostics: Iterable[Diagnostic], switches: int, releases: Sequence[str]) -> Text:
    """Return the result of the validation by the models of ``releases``; ``switches`` is 0 if none was validated."""
    models = f"the YANG models of {', '.join(releases)}"
    if not switches:
        return verdict(None, f"no switch was validated by {models}: the intent has no fabric yet")
    if has_errors(diagnostics):
        return verdict(False, f"validated by {models}; see the errors above")
    return verdict(True, f"CONFIG_DB of {counted(switches, 'switch')}: valid by {models}")
