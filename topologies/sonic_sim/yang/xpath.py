"""XPath 1.0, as much of it as the conditions of the models use, over the tables of a configuration.

The tree is that of the YANG data: the module, the table, its lists and containers, the leaves. A step is found by the
name without its module. An expression is read once into a function of (node, current node).
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from sonic_sim.yang.model import Form, models

Document = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the tree; what is not set lies below it."""

    document: Document
    table: str | None = None
    form: Form | None = None
    key: str = ""
    leaf: str = ""
    value: str = ""
    entry: str = ""
    at_module: bool = False

    def up(self) -> "Node":
        """Return the parent."""
        if self.leaf and self.entry:
            return Node(self.document, self.table, self.form, self.key, entry=self.entry)
        if self.leaf or self.entry:
            return Node(self.document, self.table, self.form, self.key)
        if self.form is not None:
            return Node(self.document, self.table)
        return Node(self.document, at_module=self.table is not None)

    def down(self, name: str, entry: tuple[str, str] | None = None) -> Iterator["Node"]:
        """Yield the children of a name; of a list, where ``entry`` is its one key and a value, that entry alone."""
        if self.table is None or self.at_module:
            yield from self._table(name)
        elif self.form is None:
            model = models()[self.table]
            form = next((one for one in model.forms if one.name == name), None)
            rows = self.document.get(self.table, {})
            keys: Iterable[str] = rows if form is not None else ()
            if form is not None and entry is not None and [leaf.name for leaf in form.keys] == [entry[0]]:
                keys = (entry[1],) if entry[1] in rows else ()
            for key in keys:
                if model.form_of(key) is form:
                    yield Node(self.document, self.table, form, key)
        elif not self.leaf:
            yield from self._leaves(self.form, name)

    def _table(self, name: str) -> Iterator["Node"]:
        if self.table is None and not self.at_module:
            yield Node(self.document, at_module=True)
        elif self.document.get(name):
            yield Node(self.document, name)

    def _leaves(self, form: Form, name: str) -> Iterator["Node"]:
        row = self.document[self.table or ""][self.key]
        if form.inner and not self.entry and name == form.inner[0]:
            yield from (Node(self.document, self.table, form, self.key, entry=key) for key in row)
        if self.entry:
            columns = form.columns()
            for leaf, value in zip(columns, (self.entry, str(row[self.entry])), strict=True):
                if leaf.name == name:
                    yield self._leaf(name, value)
            return
        for leaf, part in zip(form.keys, self.key.split("|"), strict=False):
            if leaf.name == name:
                yield self._leaf(name, part)
        if form.inner or name not in form.leaves:
            return
        value = row.get(name, form.defaults.get(name))
        for one in value if isinstance(value, list) else () if value is None else (value,):
            yield self._leaf(name, str(one))

    def _leaf(self, name: str, value: str) -> "Node":
        return Node(self.document, self.table, self.form, self.key, name, value, self.entry)


Value = bool | float | str | Sequence[Node]
Expression = Callable[[Node, Node], Value]

_TOKEN = re.compile(
    r"\s*(?:(?P<literal>'[^']*'|\"[^\"]*\")|(?P<number>\d+(?:\.\d+)?)|(?P<sign>\.\.|<=|>=|!=|[\]\[()/,.=<>+*|])|"
    r"(?P<name>[A-Za-z_][\w-]*(?::[A-Za-z_][\w-]*)?)|(?P<minus>-))"
)


def as_text(value: Value) -> str:
    """Return the string value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else str(value)
    return value if isinstance(value, str) else value[0].value if value else ""


def as_number(value: Value) -> float:
    """Return the number, NaN where there is none."""
    if isinstance(value, bool | float):
        return float(value)
    try:
        return float(as_text(value))
    except ValueError:
        return float("nan")


def as_truth(value: Value) -> bool:
    """Return the truth value."""
    return bool(value)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: bool(one == other), "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other), "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other), ">=": lambda one, other: bool(one >= other),
}  # fmt: skip


def _compare(sign: str, one: Value, other: Value) -> bool:
    """Compare as XPath does: a set of nodes holds where one of its nodes does."""
    test = _COMPARE[sign]
    if isinstance(one, bool) or isinstance(other, bool):
        return test(as_truth(one), as_truth(other))
    left = [node.value for node in one] if isinstance(one, list | tuple) else [one]
    right = [node.value for node in other] if isinstance(other, list | tuple) else [other]
    numeric = sign not in ("=", "!=") or isinstance(one, float) or isinstance(other, float)
    kind: Callable[[Any], Any] = as_number if numeric else as_text
    return any(test(kind(a), kind(b)) for a in left for b in right)


_SIGNS = {"*": operator.mul, "+": operator.add, "-": operator.sub}


def _calculation(sign: Callable[[float, float], float], one: Expression, other: Expression) -> Expression:
    return lambda node, here: sign(as_number(one(node, here)), as_number(other(node, here)))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "not": lambda one: not as_truth(one),
    "boolean": as_truth,
    "contains": lambda one, other: as_text(other) in as_text(one),
    "starts-with": lambda one, other: as_text(one).startswith(as_text(other)),
    "substring-before": lambda one, mark: as_text(one)[: max(as_text(one).find(as_text(mark)), 0)],
    "substring-after": lambda one, mark: as_text(one).partition(as_text(mark))[2],
    "string-length": lambda one: float(len(as_text(one))),
    "concat": lambda *all_of: "".join(map(as_text, all_of)),
    "count": lambda one: float(len(one)),
    "number": as_number,
    "string": as_text,
    "true": lambda: True,
    "false": lambda: False,
    "re-match": lambda one, pattern: re.fullmatch(as_text(pattern), as_text(one)) is not None,
}  # fmt: skip


@lru_cache(maxsize=512)
def read(text: str) -> Expression:
    """Read an expression."""
    return _Reader(text).either()


@lru_cache(maxsize=512)
def is_absolute(text: str) -> bool:
    """Tell whether the value of an expression is the same at every node of a document."""
    reader = _Reader(text)
    reader.either()
    return reader.absolute


@lru_cache(maxsize=512)
def reach(text: str) -> tuple[str, ...] | None:
    """Return the tables that an expression looks at besides its own row, None where it stays in its own row."""
    plain = re.sub(r"'[^']*'", "", text)
    found = [name.rpartition(":")[2] for name in re.findall(r"[\w:-]+", plain)]
    tables = tuple(dict.fromkeys(name for name in found if name in models()))
    return tables if tables or "../.." in plain else None


def _root(node: Node, here: Node) -> Value:
    return (Node(node.document),)


class _Reader:
    """A parser by recursive descent."""

    def __init__(self, text: str) -> None:
        self.tokens = [(found.lastgroup or "", found[found.lastgroup or 0]) for found in _TOKEN.finditer(text.strip())]
        self.place = 0
        self.absolute = True
        self._tests = 0

    def peek(self) -> str:
        return self.tokens[self.place][1] if self.place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        found = self.peek()
        if wanted and found not in wanted:
            return ""
        self.place += 1
        return found

    def either(self) -> Expression:
        parts = [self.both()]
        while self.take("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else lambda node, here: any(as_truth(one(node, here)) for one in parts)

    def both(self) -> Expression:
        parts = [self.comparison()]
        while self.take("and"):
            parts.append(self.comparison())
        return parts[0] if len(parts) == 1 else lambda node, here: all(as_truth(one(node, here)) for one in parts)

    def comparison(self) -> Expression:
        left = self.product()
        sign = self.take(*_COMPARE)
        if not sign:
            return left
        right = self.product()
        return lambda node, here: _compare(sign, left(node, here), right(node, here))

    def product(self) -> Expression:
        total = self.path()
        while sign := self.take("*", "+", "-"):
            total = _calculation(_SIGNS[sign], total, self.path())
        return total

    def path(self) -> Expression:
        kind, word = self.tokens[self.place]
        if kind == "literal":
            self.place += 1
            return lambda node, here: word[1:-1]
        if kind == "number":
            self.place += 1
            return lambda node, here: float(word)
        start: Expression
        if self.take("("):
            start = self.either()
            self.take(")")
        elif kind == "name" and self.tokens[self.place + 1 : self.place + 2] == [("sign", "(")] and word != "text":
            start = self.call(word)
        elif word == "/":
            start = _root
        else:
            self.absolute = self.absolute and self._tests > 0
            start = self.step(lambda node, here: (node,))
        while self.take("/"):
            start = self.step(start)
        return start

    def call(self, name: str) -> Expression:
        self.place += 2
        given: list[Expression] = []
        while not self.take(")"):
            given.append(self.either())
            self.take(",")
        if name == "current":
            self.absolute = False
            return lambda node, here: (here,)
        function = _FUNCTIONS[name]
        return lambda node, here: function(*(one(node, here) for one in given))

    def step(self, start: Expression) -> Expression:
        name = self.take().rpartition(":")[2]
        if name == "text":
            self.place += 2
        tests: list[Expression] = []
        key: tuple[str, Expression] | None = None
        while self.take("["):
            start_of_test = self.place
            self._tests += 1
            tests.append(self.either())
            self._tests -= 1
            key = key or self.key_test(start_of_test)
            self.take("]")

        def walk(node: Node, here: Node) -> Value:
            found: list[Node] = []
            entry = (key[0], as_text(key[1](node, here))) if key else None
            for one in cast(Sequence[Node], start(node, here)):
                if name in (".", "text"):
                    found.append(one)
                elif name == "..":
                    found.append(one.up())
                else:
                    found.extend(one.down(name, entry))
            return [one for one in found if all(as_truth(test(one, here)) for test in tests)] if tests else found

        return walk

    def key_test(self, place: int) -> tuple[str, Expression] | None:
        """Return the name and the value of a test ``[name=current()]`` or ``[name='text']`` that was read there."""
        name, *rest = (word for _, word in self.tokens[place : self.place])
        if rest == ["=", "current", "(", ")"]:
            return name.rpartition(":")[2], lambda node, here: (here,)
        if len(rest) == 2 and rest[0] == "=" and rest[1][0] == "'":
            return name.rpartition(":")[2], lambda node, here: rest[1][1:-1]
        return None
