"""The models of ``tables.txt``, read: of each table its module, its lists or containers, and their leaves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from sonic_sim.yang.kinds import Kind, kind_of, lines_of


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a leafref: a leaf of a form of a table, and the reference as libyang prints it."""

    table: str
    form: str
    leaf: str
    shown: str


@dataclass(frozen=True)
class Leaf:
    """A leaf, or a leaf-list if ``many``. If ``number``, sonic_yang makes a number of its text, by the type's name."""

    name: str
    kind: Kind
    table: str
    mandatory: bool = False
    many: bool = False
    number: bool = False

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The targets of its leafrefs."""
        return tuple(_target(self.table, path) for path in self.kind.references)

    @cached_property
    def is_leafref(self) -> bool:
        """Tell whether the leaf is a leafref itself, and not a union that has one."""
        return bool(self.kind.references) and not self.kind.parts


@dataclass(frozen=True, slots=True)
class Condition:
    """A statement of a leaf, or of a whole entry where the leaf is ``.``: ``must``, ``when``, ``unique`` and so on."""

    word: str
    leaf: str
    text: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A list, or a container where it has no keys; ``inner`` is the name of the list whose key and value rows map."""

    name: str
    keys: tuple[Leaf, ...]
    leaves: dict[str, Leaf] = field(default_factory=dict)
    inner: list[str] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)

    def columns(self) -> tuple[Leaf, Leaf]:
        """Return the leaves of the inner list: its key and its value."""
        key, value = self.leaves.values()
        return key, value

    def most(self) -> int | None:
        """Return how many entries the list may have; None for no limit."""
        for condition in self.conditions:
            if condition.word == "max-elements" and condition.leaf == ".":
                return int(condition.text)
        return None


@dataclass(frozen=True, slots=True)
class Model:
    """One table."""

    table: str
    module: str
    forms: list[Form] = field(default_factory=list)

    def form_of(self, key: str) -> Form | None:
        """Return the list or container that a row's key fits; None if it fits none."""
        parts = key.count("|") + 1
        for form in self.forms:
            # A container's only row has the name of the container.
            fits = len(form.keys) == parts if form.keys else form.name == key
            if fits:
                return form
        return None

    def path(self, form: Form, key: str) -> str:
        """Return the path of a row as libyang prints it."""
        keys = zip(form.keys, key.split("|"), strict=False)
        predicates = "".join(f"[{leaf.name}='{part}']" for leaf, part in keys)
        return f"/{self.module}:{self.module}/{self.table}/{form.name}{predicates}"


def _target(table: str, path: str) -> Target:
    """Return the target of a leafref of a table, by its path.

    ``path`` is relative to the leaf (``../../PORT_LIST/name``), absolute (``/m:MODULE/m:TABLE/m:FORM/m:leaf``), or
    short: ``TABLE/FORM/leaf``, or ``TABLE`` for its first key.
    """
    without_predicates = re.sub(r"\[[^]]*\]", "", path)
    if path.startswith(".."):
        # A path that leaves its table names the other one first.
        *other_table, form, leaf = without_predicates.replace("../", "").split("/")
        if other_table:
            table = other_table[0]
        return Target(table, form, leaf, path)
    if path.startswith("/"):
        # The first step is the module.
        _, _, *steps = without_predicates.split("/")
        table, form, leaf = (step.rpartition(":")[2] for step in steps)
        return Target(table, form, leaf, path)
    table, *rest = path.split("/")
    model = models()[table]
    form, leaf = rest or (model.forms[0].name, model.forms[0].keys[0].name)
    full_path = "".join(f"/{model.module}:{step}" for step in (model.module, table, form, leaf))
    return Target(table, form, leaf, full_path)


_LEAF = re.compile(r"(?P<name>[\w.-]+)(?P<marks>[!*#]*)(?::(?P<kind>.*))?", re.DOTALL)


def _leaf(table: str, text: str) -> Leaf:
    """Read a leaf in the notation of ``tables.txt``: its name, its marks, and its kind after a colon."""
    parts = _LEAF.fullmatch(text)
    if parts is None:
        return Leaf(text, kind_of("text"), table)
    marks = parts["marks"]
    return Leaf(
        parts["name"],
        kind_of(parts["kind"] or "text"),
        table,
        mandatory="!" in marks,
        many="*" in marks,
        number="#" in marks,
    )


@cache
def models() -> Mapping[str, Model]:
    """Return the tables that have a YANG model."""
    # Read when first asked for: few commands need them.
    by_table: dict[str, Model] = {}
    model = Model("", "")
    form = Form("", ())
    for line in lines_of("tables"):
        words = line.split()
        is_table = not line.startswith(" ")
        is_form = not is_table and not line.startswith("  ")
        if is_table:
            module, table = words[:2]
            model = Model(table, module)
            by_table[table] = model
        elif is_form:
            name, *keys = words
            form = Form(name.lstrip("."), tuple(_leaf(model.table, key) for key in keys))
            model.forms.append(form)
        elif "\t" in line:
            _add_statement(form, line)
        else:
            _add_leaves(model.table, form, words)
    return by_table


def _add_leaves(table: str, form: Form, words: list[str]) -> None:
    """Add leaves to a form, one a word; a word with ``@`` names its inner list."""
    for word in words:
        if word.startswith("@"):
            form.inner.append(word.removeprefix("@"))
        else:
            leaf = _leaf(table, word)
            form.leaves[leaf.name] = leaf


def _add_statement(form: Form, line: str) -> None:
    """Add a condition or a default to a form, from a line with its word, leaf, text and perhaps a message."""
    word, name, text, *messages = line[2:].split("\t")
    if word == "default":
        form.defaults[name] = text
        return
    message = messages[0] if messages else ""
    form.conditions.append(Condition(word, name, text.replace("\\n", "\n").replace("\\t", "\t"), message))
