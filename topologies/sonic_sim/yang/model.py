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
    """A leaf, or a leaf-list where ``many``; ``number``: sonic_yang, which sees the name of the type, converts it."""

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
        """Tell a leafref from a union that has one."""
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
        """Return the key and the value of the inner list."""
        key, value = self.leaves.values()
        return key, value

    def most(self) -> int | None:
        """Return the largest number of entries of the list, None for no limit."""
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
        """Return the list or container that a row's key fits."""
        parts = key.count("|") + 1
        for form in self.forms:
            # A container's only row has the name of the container.
            fits = len(form.keys) == parts if form.keys else form.name == key
            if fits:
                return form
        return None

    def path(self, form: Form, key: str) -> str:
        """Return the path of a row as libyang prints it."""
        named = zip(form.keys, key.split("|"), strict=False)
        chosen = "".join(f"[{leaf.name}='{part}']" for leaf, part in named)
        return f"/{self.module}:{self.module}/{self.table}/{form.name}{chosen}"


def _target(table: str, path: str) -> Target:
    """Return the target of a leafref: ``TABLE``, ``TABLE/FORM/leaf``, or a path relative to a leaf of a table."""
    if path.startswith(".."):
        names = re.sub(r"\[[^]]*\]|\.\./", "", path).split("/")
        table = table if len(names) == 2 else names[0]
        return Target(table, names[-2], names[-1], path)
    if path.startswith("/"):
        table, form, leaf = (step.rpartition(":")[2] for step in re.sub(r"\[[^]]*\]", "", path).split("/")[2:])
        return Target(table, form, leaf, path)
    table, *rest = path.split("/")
    model = models()[table]
    form, leaf = rest or (model.forms[0].name, model.forms[0].keys[0].name)
    shown = "".join(f"/{model.module}:{step}" for step in (model.module, table, form, leaf))
    return Target(table, form, leaf, shown)


_MARKS = re.compile(r"([\w.-]+)([!*#]*)(?::(.*))?", re.DOTALL)


def _leaf(table: str, text: str) -> Leaf:
    match = _MARKS.fullmatch(text)
    if match is None:
        return Leaf(text, kind_of("text"), table)
    name, marks, kind = match.groups()
    return Leaf(name, kind_of(kind or "text"), table, "!" in marks, "*" in marks, "#" in marks)


@cache
def models() -> Mapping[str, Model]:
    """Return the tables that have a YANG model."""
    # Read when first asked for: few commands need them.
    read: dict[str, Model] = {}
    model = Model("", "")
    form = Form("", ())
    for line in lines_of("tables"):
        words = line.split()
        if not line.startswith(" "):
            model = read[words[1]] = Model(words[1], words[0])
        elif not line.startswith("  "):
            form = Form(words[0].lstrip("."), tuple(_leaf(model.table, word) for word in words[1:]))
            model.forms.append(form)
        elif "\t" in line:
            _take_statement(form, line)
        else:
            for word in words:
                if word.startswith("@"):
                    form.inner.append(word[1:])
                else:
                    leaf = _leaf(model.table, word)
                    form.leaves[leaf.name] = leaf
    return read


def _take_statement(form: Form, line: str) -> None:
    """Take a line of a form with a condition or a default: word, leaf, text and perhaps a message."""
    word, name, text, message = (*line[2:].split("\t"), "")[:4]
    if word == "default":
        form.defaults[name] = text
    else:
        form.conditions.append(Condition(word, name, text.replace("\\n", "\n").replace("\\t", "\t"), message))
