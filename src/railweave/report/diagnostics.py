"""Diagnostics for a person: the place, the source line with a caret, the fix; and as JSON."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.diagnostics import Diagnostic, Severity, has_errors, in_order
from railweave.jsonable import as_json
from railweave.report.layout import verdict
from railweave.secrets import shown_text
from railweave.wording import compact, counted

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_LONGEST_LINE = 160
_OVERRIDES = re.compile(r"""(^|[\s{,])["']?overrides["']?\s*:""")
_TOP_KEY = re.compile(r"""[A-Za-z"']""")


def diagnostics_json(diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return ``{"diagnostics": [...]}``, errors first (the contract of ``check --json``)."""
    return {"diagnostics": as_json(in_order(diagnostics))}


def diagnostics_view(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None) -> RenderableType:
    """Return every diagnostic for a person.

    ``sources`` holds texts that are not on disk, by file name; other files are read, and a file that cannot be read
    only loses its source line.
    """
    known = dict(sources or {})
    shown: list[RenderableType] = []
    for one in in_order(diagnostics):
        shown += [*_view(one, known), Text()]
    return Group(*shown[:-1])


def _view(one: Diagnostic, sources: dict[str, str]) -> Iterable[RenderableType]:
    yield Text.assemble((f"{one.severity.value}[{one.code}]", _STYLES[one.severity]), ": ", (one.message, "bold"))
    if one.where.file:
        path = f" ({one.where.path})" if one.where.path else ""
        yield Text.assemble(("  --> ", "dim"), f"{one.where}{path}")
        yield from _source(one, sources)
    if one.devices:
        yield Text.assemble(("  devices: ", "dim"), compact(one.devices))
    if one.fix:
        yield Text.assemble(("  fix: ", "green"), one.fix)


def _source(one: Diagnostic, sources: dict[str, str]) -> Iterable[Text]:
    line = _line(one, sources)
    if line is None:
        return
    number = str(one.where.line)
    yield Text.assemble((f"  {number} | ", "dim"), line)
    if 1 <= one.where.column <= len(line) + 1:
        # A tab before the caret stays a tab, so that the caret stands under its character.
        lead = "".join("\t" if each == "\t" else " " for each in line[: one.where.column - 1])
        yield Text.assemble((f"  {' ' * len(number)} | ", "dim"), lead, ("^", _STYLES[one.severity]))


def _line(one: Diagnostic, sources: dict[str, str]) -> str | None:
    """Return the source line of a diagnostic, without its secrets; None where it is not known or too long to help.

    Rows of overrides may hold a secret that nothing in the line tells, so their lines are not shown.
    """
    name = one.where.file
    if not one.where.line:
        return None
    if name not in sources:
        try:
            sources[name] = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            sources[name] = ""
    lines = sources[name].splitlines()
    if one.where.line > len(lines) or len(lines[one.where.line - 1]) > _LONGEST_LINE:
        return None
    return None if _is_override(lines[: one.where.line]) else shown_text(lines[one.where.line - 1])


def _is_override(lines: Sequence[str]) -> bool:
    """Tell whether the last of ``lines`` belongs to the overrides of an intent."""
    for line in reversed(lines):
        if _OVERRIDES.search(line):
            return True
        if _TOP_KEY.match(line):
            return False
    return False


def diagnostics_summary(diagnostics: Iterable[Diagnostic], subject: str) -> Text:
    """Return one line: how many errors and warnings ``subject`` has."""
    severities = Counter(one.severity for one in in_order(diagnostics))
    errors, warnings = severities[Severity.ERROR], severities[Severity.WARNING]
    if not errors and not warnings:
        return verdict(True, f"{subject}: no errors, no warnings")
    return verdict(False if errors else None, f"{subject}: {counted(errors, 'error')}, {counted(warnings, 'warning')}")


def yang_summary(diagnostics: Iterable[Diagnostic], switches: int, releases: Sequence[str]) -> Text:
    """Return how many switches were valid by the models of ``releases``; with ``switches`` 0, that none was asked."""
    models = f"the YANG models of {', '.join(releases)}"
    if not switches:
        return verdict(None, f"no switch was validated by {models}: the intent has no fabric yet")
    if has_errors(diagnostics):
        return verdict(False, f"validated by {models}; see the errors above")
    return verdict(True, f"CONFIG_DB of {counted(switches, 'switch')}: valid by {models}")
