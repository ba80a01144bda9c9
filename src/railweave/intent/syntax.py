"""Errors of YAML parsers in words that help to fix the file.

libyaml and PyYAML word the same error differently; both are recognized by a few characteristic words.
"""

from typing import Any, NamedTuple

from railweave.diagnostics import Diagnostic, Where, error


class _Explanation(NamedTuple):
    """What an error of a parser means in an intent, and what to do about it."""

    message: str
    fix: str


_UNCLOSED_QUOTE = _Explanation("a quote is opened and never closed", "close the quote")
_WRONG_INDENT = _Explanation("this line does not fit the ones above it", "indent it like the keys it belongs to")
# By characteristic words of libyaml or PyYAML; the first match counts.
_EXPLANATIONS = {
    "mapping values are not allowed": _Explanation(
        "unexpected `:`; no key can be here",
        "indent this line like the lines around it; put a value that holds `: ` in quotes",
    ),
    "',' or ']'": _Explanation("a list opened with `[` is not closed", "close it with `]`; separate items with commas"),
    "',' or '}'": _Explanation(
        "a mapping opened with `{` is not closed", "close it with `}`; separate entries with commas"
    ),
    "while scanning a quoted": _UNCLOSED_QUOTE,
    "while scanning a double-quoted": _UNCLOSED_QUOTE,
    "while scanning a single-quoted": _UNCLOSED_QUOTE,
    "could not find expected ':'": _Explanation(
        "this line has no `:` after its key", "write `key: value`, with a space after the `:` or the `-`"
    ),
    "while parsing a block collection": _Explanation(
        "expected an item of the list, got a key", "begin the line with `- `, or indent it otherwise"
    ),
    "expected key": _WRONG_INDENT,
    "expected <block end>": _WRONG_INDENT,
    "<document start>": _Explanation("there is text after the end of the document", "remove it, or the `...` above it"),
    "node content": _Explanation("a value is missing before this character", "write the value, or put it in quotes"),
    "escape character": _Explanation("unknown escape after a backslash", "use single quotes, or double the backslash"),
    "incompatible YAML document": _Explanation("this YAML version is unknown", "remove the `%YAML` line"),
}


def syntax_diagnostic(problem: Any, text: str, file: str) -> Diagnostic:
    """Return the error for ``problem``, the exception of a YAML parser about ``text``, which was read from ``file``."""
    # The context is the collection or scalar in which the error is; its mark is where that begins.
    context_mark = getattr(problem, "context_mark", None)
    mark = getattr(problem, "problem_mark", None) or context_mark
    context = str(getattr(problem, "context", None) or "")
    words = str(getattr(problem, "problem", None) or "")
    if mark is None:
        explanation = _explanation(context, words, "", 0)
        return error("RW003", explanation.message, Where(file, 1, 1), fix=explanation.fix)
    lines = text.splitlines()
    line = ""
    if mark.line < len(lines):
        line = lines[mark.line]
    explanation = _explanation(context, words, line, mark.column)
    # What is unfinished is reported where it begins: the parser notices it later, often at the end of the file.
    is_unfinished = "closed" in explanation.message or "no `:`" in explanation.message
    if is_unfinished and context_mark is not None:
        mark = context_mark
    return error("RW003", explanation.message, Where(file, mark.line + 1, mark.column + 1), fix=explanation.fix)


def _explanation(context: str, problem: str, line: str, column: int) -> _Explanation:
    """Return what a parser's words ``context`` and ``problem`` mean for an error in ``line``.

    ``column`` is counted from 0.
    """
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        return _Explanation("a tab cannot indent YAML", "indent with spaces")
    if "cannot start any token" in problem:
        character = line[column : column + 1]
        return _Explanation(f"a value cannot begin with `{character}`", "put the value in quotes")
    if "unknown escape" in problem:
        # PyYAML's context is then "while scanning a double-quoted scalar", which would be taken for an open quote.
        context = ""
    for words, explanation in _EXPLANATIONS.items():
        if words in problem or words in context:
            return explanation
    if context.startswith("while parsing a quoted"):
        return _UNCLOSED_QUOTE
    return _Explanation("this is not YAML", "compare the line with a reference intent; quote unusual text")
