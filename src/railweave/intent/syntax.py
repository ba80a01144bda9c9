"""What a YAML parser's complaint means, in words that help to mend the file.

libyaml and PyYAML word the same fault differently; both are recognized by a few telling words.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explanation:
    """A fault of YAML syntax: what is wrong and what to do."""

    message: str
    fix: str


_EXPLANATIONS: tuple[tuple[str, Explanation], ...] = (
    (
        "mapping values are not allowed",
        Explanation(
            "unexpected `:`; no key can be here",
            "indent this line like the lines around it; put a value that holds `: ` in quotes",
        ),
    ),
    (
        "',' or ']'",
        Explanation("a list opened with `[` is not closed", "close it with `]`; separate items with commas"),
    ),
    (
        "',' or '}'",
        Explanation("a mapping opened with `{` is not closed", "close it with `}`; separate entries with commas"),
    ),
    ("while scanning a quoted", Explanation("a quote is opened and never closed", "close the quote")),
    ("while scanning a double-quoted", Explanation("a quote is opened and never closed", "close the quote")),
    ("while scanning a single-quoted", Explanation("a quote is opened and never closed", "close the quote")),
    (
        "could not find expected ':'",
        Explanation("this line has no `:` after its key", "write `key: value`, with a space after the `:` or the `-`"),
    ),
    (
        "while parsing a block collection",
        Explanation("expected an item of the list, got a key", "begin the line with `- `, or indent it otherwise"),
    ),
    (
        "expected key",
        Explanation("this line does not fit the ones above it", "indent it like the keys it belongs to"),
    ),
    (
        "expected <block end>",
        Explanation("this line does not fit the ones above it", "indent it like the keys it belongs to"),
    ),
    (
        "<document start>",
        Explanation("there is text after the end of the document", "remove it, or the `...` above it"),
    ),
    ("node content", Explanation("a value is missing before this character", "write the value, or put it in quotes")),
    ("escape character", Explanation("unknown escape after a backslash", "use single quotes, or double the backslash")),
    ("incompatible YAML document", Explanation("this YAML version is unknown", "remove the `%YAML` line")),
)

_TAB = Explanation("a tab cannot indent YAML", "indent with spaces")
_UNKNOWN = Explanation("this is not YAML", "compare the line with a reference intent; quote unusual text")


def explain(context: str, problem: str, line: str, column: int) -> Explanation:
    """Return the explanation of a parser's complaint about ``line``, at ``column`` from 0."""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return _TAB
    if "cannot start any token" in problem:
        return Explanation(f"a value cannot begin with `{line[column : column + 1]}`", "put the value in quotes")
    if "unknown escape" in problem:
        context = ""
    for words, explanation in _EXPLANATIONS:
        if words in problem or words in context:
            return explanation
    if context.startswith("while parsing a quoted"):
        return Explanation("a quote is opened and never closed", "close the quote")
    return _UNKNOWN
