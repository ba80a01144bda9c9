"""XPath 1.0, as much of it as the conditions of the models use, over the tables of a configuration.

The tree is that of the YANG data: the module, the table, its lists and containers, the leaves. A step is found by the
name without its module. An expression is read once into a function of (node, current node).
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

from sonic_sim.yang.model import Form, models

Document = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the tree; the first field that is not set, and all after it, are below the place."""

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

    def down(self, name: str, entry: "KeyValue | None" = None) -> Iterator["Node"]:
        """Yield the children with a name.

        If ``entry`` names the only key of a list, only the list's entry with that value is yielded.
        """
        if self.table is None or self.at_module:
            yield from self._table(name)
        elif self.form is None:
            yield from self._entries(self.table, name, entry)
        elif not self.leaf:
            yield from self._leaves(self.form, name)

    def _table(self, name: str) -> Iterator["Node"]:
        """Yield the module, or the table of a name if it has rows."""
        # The first step of an absolute path names the module, the second one the table.
        if self.table is None and not self.at_module:
            yield Node(self.document, at_module=True)
        elif self.document.get(name):
            yield Node(self.document, name)

    def _entries(self, table: str, name: str, entry: "KeyValue | None") -> Iterator["Node"]:
        """Yield the entries of the list, or the container, with a name."""
        model = models()[table]
        rows = self.document.get(table, {})
        for form in model.forms:
            if form.name != name:
                continue
            keys: Iterable[str] = rows
            # The entry of a key is looked up: most conditions of the models ask for one of many rows.
            if entry is not None and [leaf.name for leaf in form.keys] == [entry.key]:
                keys = [entry.value] if entry.value in rows else []
            for key in keys:
                if model.form_of(key) is form:
                    yield Node(self.document, table, form, key)
            return

    def _leaves(self, form: Form, name: str) -> Iterator["Node"]:
        """Yield the children of a row that have a name: a key, a field, or the entries of its inner list."""
        row = self.document[self.table or ""][self.key]
        if self.entry:
            yield from self._leaves_of_entry(form, name, str(row[self.entry]))
            return
        # A container has no keys, only a row of its name.
        for leaf, part in zip(form.keys, self.key.split("|"), strict=False):
            if leaf.name == name:
                yield self._leaf(name, part)
        if name in form.inner:
            # An entry of an inner list is a field of the row.
            for field_name in row:
                yield Node(self.document, self.table, form, self.key, entry=field_name)
        elif not form.inner and name in form.leaves:
            yield from self._fields(name, row.get(name, form.defaults.get(name)))

    def _leaves_of_entry(self, form: Form, name: str, text: str) -> Iterator["Node"]:
        """Yield the key of an inner list's entry, which is the name of its field, or the value, which is its text."""
        key, value = form.columns()
        if name == key.name:
            yield self._leaf(name, self.entry)
        if name == value.name:
            yield self._leaf(name, text)

    def _fields(self, name: str, value: Any) -> Iterator["Node"]:
        """Yield the node of a field, or a node for each member of a leaf-list; none if the field is not set."""
        members = value if isinstance(value, list) else [value]
        for member in members:
            if member is not None:
                yield self._leaf(name, str(member))

    def _leaf(self, name: str, value: str) -> "Node":
        return Node(self.document, self.table, self.form, self.key, name, value, self.entry)


class KeyValue(NamedTuple):
    """The name of a key of a list, and its value in one entry."""

    key: str
    value: str


Value = bool | float | str | Sequence[Node]
Expression = Callable[[Node, Node], Value]
"""A function of the node at which an expression is evaluated, and of ``current()``."""

_TOKEN = re.compile(
    r"\s*(?:(?P<literal>'[^']*'|\"[^\"]*\")|(?P<number>\d+(?:\.\d+)?)|(?P<sign>\.\.|<=|>=|!=|[\]\[()/,.=<>+*|])|"
    r"(?P<name>[A-Za-z_][\w-]*(?::[A-Za-z_][\w-]*)?)|(?P<minus>-))"
)


def as_text(value: Value) -> str:
    """Return the string value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # A whole number is written without a point (XPath 1.0 section 4.2).
        return str(int(value)) if value == int(value) else str(value)
    if isinstance(value, str):
        return value
    # A set of nodes has the value of its first one.
    return value[0].value if value else ""


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
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _compare(sign: str, left: Value, right: Value) -> bool:
    """Compare two values as XPath does: for a set of nodes, it is enough that one of its nodes fits."""
    test = _COMPARE[sign]
    if isinstance(left, bool) or isinstance(right, bool):
        return test(as_truth(left), as_truth(right))
    # XPath 1.0 section 3.4: texts are compared as such only for equality, and only where neither side is a number.
    has_number = isinstance(left, float) or isinstance(right, float)
    is_numeric = sign not in ("=", "!=") or has_number
    convert: Callable[[Any], Any] = as_number if is_numeric else as_text
    for left_value in _values_of(left):
        for right_value in _values_of(right):
            if test(convert(left_value), convert(right_value)):
                return True
    return False


def _values_of(value: Value) -> list[Any]:
    """Return the values that a comparison tries: those of all nodes of a set, or the value itself."""
    if isinstance(value, list | tuple):
        return [node.value for node in value]
    return [value]


_SIGNS = {"*": operator.mul, "+": operator.add, "-": operator.sub}


def _calculation(sign: Callable[[float, float], float], left: Expression, right: Expression) -> Expression:
    """Return the expression that calculates with the numbers of two others."""
    return lambda node, current: sign(as_number(left(node, current)), as_number(right(node, current)))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "not": lambda value: not as_truth(value),
    "boolean": as_truth,
    "contains": lambda text, part: as_text(part) in as_text(text),
    "starts-with": lambda text, start: as_text(text).startswith(as_text(start)),
    "substring-before": lambda text, mark: as_text(text)[: max(as_text(text).find(as_text(mark)), 0)],
    "substring-after": lambda text, mark: as_text(text).partition(as_text(mark))[2],
    "string-length": lambda text: float(len(as_text(text))),
    "concat": lambda *texts: "".join(map(as_text, texts)),
    "count": lambda nodes: float(len(nodes)),
    "number": as_number,
    "string": as_text,
    "true": lambda: True,
    "false": lambda: False,
    "re-match": lambda text, pattern: re.fullmatch(as_text(pattern), as_text(text)) is not None,
}  # fmt: skip


@lru_cache(maxsize=512)
def read(text: str) -> Expression:
    """Return the function of an expression's text."""
    return _Reader(text).either()


@lru_cache(maxsize=512)
def is_absolute(text: str) -> bool:
    """Tell whether the value of an expression is the same at every node of a document."""
    reader = _Reader(text)
    reader.either()
    return reader.absolute


@lru_cache(maxsize=512)
def reach(text: str) -> tuple[str, ...] | None:
    """Return the tables that an expression looks at besides its own row; None if it stays in its own row."""
    # Text between quotes may look like the name of a table.
    plain = re.sub(r"'[^']*'", "", text)
    names = [name.rpartition(":")[2] for name in re.findall(r"[\w:-]+", plain)]
    tables = tuple(dict.fromkeys(name for name in names if name in models()))
    # Two steps up from a leaf lead to the other rows of its own table.
    return tables if tables or "../.." in plain else None


def _root(node: Node, current: Node) -> Value:
    return (Node(node.document),)


class _XPathToken(NamedTuple):
    """A token: the name of its group in ``_TOKEN``, and its text."""

    kind: str
    text: str


class _KeyTest(NamedTuple):
    """A test of a key of a list, ``[name=current()]`` or ``[name='text']``."""

    key: str
    value: Expression


class _Reader:
    """A parser by recursive descent."""

    def __init__(self, text: str) -> None:
        self.tokens: list[_XPathToken] = []
        for match in _TOKEN.finditer(text.strip()):
            kind = match.lastgroup or ""
            self.tokens.append(_XPathToken(kind, match[kind]))
        # The index of the next token.
        self.position = 0
        self.absolute = True
        # How many predicates are open.
        self._tests = 0

    def peek(self) -> str:
        """Return the text of the next token, which is not consumed; empty at the end."""
        return self.tokens[self.position].text if self.position < len(self.tokens) else ""

    def take(self, *allowed: str) -> str:
        """Consume the next token and return its text.

        If tokens are ``allowed`` and it is none of them, it is not consumed, and the text is empty.
        """
        token = self.peek()
        if allowed and token not in allowed:
            return ""
        self.position += 1
        return token

    def either(self) -> Expression:
        """Read an expression: one part, or several joined by ``or``."""
        parts = [self.both()]
        while self.take("or"):
            parts.append(self.both())
        if len(parts) == 1:
            return parts[0]
        return lambda node, current: any(as_truth(part(node, current)) for part in parts)

    def both(self) -> Expression:
        """Read one comparison, or several joined by ``and``."""
        parts = [self.comparison()]
        while self.take("and"):
            parts.append(self.comparison())
        if len(parts) == 1:
            return parts[0]
        return lambda node, current: all(as_truth(part(node, current)) for part in parts)

    def comparison(self) -> Expression:
        """Read one calculation, or two with a sign that compares them."""
        left = self.product()
        sign = self.take(*_COMPARE)
        if not sign:
            return left
        right = self.product()
        return lambda node, current: _compare(sign, left(node, current), right(node, current))

    def product(self) -> Expression:
        """Read one path, or a calculation with several."""
        # One level for * and +: the conditions of the models never mix them.
        total = self.path()
        sign = self.take(*_SIGNS)
        while sign:
            total = _calculation(_SIGNS[sign], total, self.path())
            sign = self.take(*_SIGNS)
        return total

    def path(self) -> Expression:
        """Read a literal, a number, or a path from the root, the node, a call or an expression in parentheses."""
        kind, word = self.tokens[self.position]
        if kind == "literal":
            self.position += 1
            # Without its quotes.
            return lambda node, current: word[1:-1]
        if kind == "number":
            self.position += 1
            return lambda node, current: float(word)
        start: Expression
        if self.take("("):
            start = self.either()
            self.take(")")
        elif self.is_call():
            start = self.call(word)
        elif word == "/":
            start = _root
        else:
            # A relative path in a predicate starts at the node that is tested, not at the expression's.
            self.absolute = self.absolute and self._tests > 0
            start = self.step(lambda node, current: (node,))
        while self.take("/"):
            start = self.step(start)
        return start

    def is_call(self) -> bool:
        """Tell whether a call of a function comes next; ``text()`` is a step."""
        kind, word = self.tokens[self.position]
        next_tokens = self.tokens[self.position + 1 : self.position + 2]
        return kind == "name" and word != "text" and next_tokens == [_XPathToken("sign", "(")]

    def call(self, name: str) -> Expression:
        """Read the call of a function; ``current()`` is the node of the whole expression."""
        # The name and the opening parenthesis.
        self.position += 2
        arguments: list[Expression] = []
        while not self.take(")"):
            arguments.append(self.either())
            self.take(",")
        if name == "current":
            self.absolute = False
            return lambda node, current: (current,)
        function = _FUNCTIONS[name]
        return lambda node, current: function(*(argument(node, current) for argument in arguments))

    def step(self, start: Expression) -> Expression:
        """Read a step with its predicates, and return the path that leads from ``start`` over it."""
        # A step is found by the name without its module.
        name = self.take().rpartition(":")[2]
        if name == "text":
            # Its parentheses.
            self.position += 2
        tests: list[Expression] = []
        key_test: _KeyTest | None = None
        while self.take("["):
            start_of_test = self.position
            self._tests += 1
            tests.append(self.either())
            self._tests -= 1
            key_test = key_test or self.key_test(start_of_test)
            self.take("]")

        def walk(node: Node, current: Node) -> Value:
            entry = None
            if key_test is not None:
                entry = KeyValue(key_test.key, as_text(key_test.value(node, current)))
            nodes: list[Node] = []
            for origin in cast(Sequence[Node], start(node, current)):
                nodes.extend(_next_nodes(origin, name, entry))
            for test in tests:
                nodes = [tested for tested in nodes if as_truth(test(tested, current))]
            return nodes

        return walk

    def key_test(self, start: int) -> _KeyTest | None:
        """Return the test of a key in the tokens from ``start`` to here; None if they are another test."""
        name, *rest = [token.text for token in self.tokens[start : self.position]]
        key = name.rpartition(":")[2]
        if rest == ["=", "current", "(", ")"]:
            return _KeyTest(key, lambda node, current: (current,))
        if len(rest) == 2 and rest[0] == "=" and rest[1][0] == "'":
            literal = rest[1][1:-1]
            return _KeyTest(key, lambda node, current: literal)
        return None


def _next_nodes(origin: Node, name: str, entry: KeyValue | None) -> Iterable[Node]:
    """Return the nodes to which a step with a name leads."""
    if name in (".", "text"):
        return (origin,)
    if name == "..":
        return (origin.up(),)
    return origin.down(name, entry)
