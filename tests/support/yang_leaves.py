"""The leaves of SONiC's YANG models: which fields and row keys a table has, and what the models say of each.

Read from the text of the models, because a description is needed that no library gives for a leaf of a grouping.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*"|'[^']*'|[{};]|[^\s{};"']+""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of YANG with those inside it."""

    keyword: str
    argument: str
    inner: tuple["Statement", ...]

    def first(self, keyword: str) -> str:
        """Return the argument of the first inner statement of a kind; empty where there is none."""
        return next((one.argument for one in self.inner if one.keyword == keyword), "")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field of a table, or a part of its rows' key."""

    table: str
    name: str
    is_key: bool
    description: str


def leaves_of(folder: Path) -> Iterator[Leaf]:
    """Yield every leaf of every table in the models of one release."""
    modules = [_parse(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yang"))]
    # Names of groupings are told apart by their modules' prefixes, which SONiC's models never use twice for one name.
    groupings = {one.argument: one for module in modules for one in _below(module.inner) if one.keyword == "grouping"}
    for module in modules:
        for top in module.inner:
            if top.keyword == "container" and top.argument == module.argument:
                for table in top.inner:
                    if table.keyword == "container":
                        yield from _leaves(table.argument, table.inner, (), groupings)


def _below(statements: Sequence[Statement]) -> Iterator[Statement]:
    for one in statements:
        yield one
        yield from _below(one.inner)


def _leaves(
    table: str, statements: Sequence[Statement], keys: tuple[str, ...], groupings: Mapping[str, Statement]
) -> Iterator[Leaf]:
    for one in statements:
        if one.keyword in {"leaf", "leaf-list"}:
            yield Leaf(table, one.argument, one.argument in keys, " ".join(one.first("description").split()))
        elif one.keyword == "uses":
            yield from _leaves(table, groupings[one.argument.rpartition(":")[2]].inner, keys, groupings)
        elif one.keyword in {"container", "list", "choice", "case"}:
            own = tuple(one.first("key").split()) if one.keyword == "list" else keys
            yield from _leaves(table, one.inner, own, groupings)


def _parse(text: str) -> Statement:
    tokens = [one for one in _TOKEN.findall(text) if not one.startswith(("//", "/*"))]
    (module,), _ = _statements(tokens, 0)
    return module


def _statements(tokens: Sequence[str], at: int) -> tuple[tuple[Statement, ...], int]:
    """Return the statements up to the closing brace or the end, and where that is."""
    found: list[Statement] = []
    while at < len(tokens) and tokens[at] != "}":
        keyword, argument, at = tokens[at], "", at + 1
        while tokens[at] not in {"{", ";"}:
            word = tokens[at]
            argument += word[1:-1] if word[0] in "\"'" else word.removeprefix("+")
            at += 1
        inner: tuple[Statement, ...] = ()
        if tokens[at] == "{":
            inner, at = _statements(tokens, at + 1)
        found.append(Statement(keyword, argument, inner))
        at += 1
    return tuple(found), at
