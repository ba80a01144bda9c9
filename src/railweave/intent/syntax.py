"""Errors of YAML parsers in words that help to fix the file.

libyaml and PyYAML word the same error differently; both are recognized by a few characteristic words.
"""

from typing import Any

from railweave.diagnostics import Diagnostic, Where, error

_QUOTE = ("a quote is opened and never closed", "close the quote")
_INDENT = ("this line does not fit the ones above it", "indent it like the keys it belongs to")
# Words of libyaml or PyYAML with their meanings and fixes; the first match counts.
_MEANINGS: tuple[tuple[str, tuple[str, str]], ...] = (
    (
        "mapping values are not allowed",
        (
            "unexpected `:`; no key can be here",
            "indent this line like the lines around it; put a value that holds `: ` in quotes",
        ),
    ),
    ("',' or ']'", ("a list opened with `[` is not closed", "close it with `]`; separate items with commas")),
    ("',' or '}'", ("a mapping opened with `{` is not closed", "close it with `}`; separate entries with commas")),
    ("while scanning a quoted", _QUOTE),
    ("while scanning a double-quoted", _QUOTE),
    ("while scanning a single-quoted", _QUOTE),
    (
        "could not find expected ':'",
        ("this line has no `:` after its key", "write `key: value`, with a space after the `:` or the `-`"),
    ),
    (
        "while parsing a block collection",
        ("expected an item of the list, got a key", "begin the line with `- `, or indent it otherwise"),
    ),
    ("expected key", _INDENT),
    ("expected <block end>", _INDENT),
    ("<document start>", ("there is text after the end of the document", "remove it, or the `...` above it")),
    ("node content", ("a value is missing before this character", "write the value, or put it in quotes")),
    ("escape character", ("unknown escape after a backslash", "use single quotes, or double the backslash")),
    ("incompatible YAML document", ("this YAML version is unknown", "remove the `%YAML` line")),
)


def syntax_diagnostic(problem: Any, text: str, file: str) -> Diagnostic:
    """Return a parser's exception about ``text`` as a diagnostic."""
    opening = getattr(problem, "context_mark", None)
    mark = getattr(problem, "problem_mark", None) or opening
    context = str(getattr(problem, "context", None) or "")
    words = str(getattr(problem, "problem", None) or "")
    if mark is None:
        message, fix = _meaning(context, words, "", 0)
        return error("RW003", message, Where(file, 1, 1), fix=fix)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    message, fix = _meaning(context, words, line, mark.column)
    if opening is not None and ("closed" in message or "no `:`" in message):
        # The parser's own place is where it gave up, often the end of the file.
        mark = opening
    return error("RW003", message, Where(file, mark.line + 1, mark.column + 1), fix=fix)


def _meaning(context: str, problem: str, line: str, column: int) -> tuple[str, str]:
    """Return message and fix of an error in ``line``, at ``column`` from 0."""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab cannot indent YAML", "indent with spaces"
    if "cannot start any token" in problem:
        return f"a value cannot begin with `{line[column : column + 1]}`", "put the value in quotes"
    if "unknown escape" in problem:
        # Its context is the quoted scalar, which is closed.
        context = ""
    for words, meaning in _MEANINGS:
        if words in problem or words in context:
            return meaning
    if context.startswith("while parsing a quoted"):
        return _QUOTE
    return "this is not YAML", "compare the line with a reference intent; quote unusual text"
