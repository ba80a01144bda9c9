"""The models of ``tables.txt``, read: of each table its module, its lists or containers, and their leaves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from sonic_sim.yang.kinds import Kind, kind_of, lines_of


@dataclass(frozen=True, slots=True)
class Target:
    """What a leafref names: a leaf of a form of a table, and the reference as libyang prints it."""

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
        """What its leafrefs name."""
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
        """Return how many entries the list may have, None where nothing says so."""
        return next((int(one.text) for one in self.conditions if (one.word, one.leaf) == ("max-elements", ".")), None)


@dataclass(frozen=True, slots=True)
class Model:
    """One table."""

    table: str
    module: str
    forms: list[Form] = field(default_factory=list)

    def form_of(self, key: str) -> Form | None:
        """Return the list or container that a row's key fits."""
        parts = key.count("|") + 1
        return next((one for one in self.forms if (len(one.keys) == parts if one.keys else one.name == key)), None)

    def path(self, form: Form, key: str) -> str:
        """Return the path of a row as libyang prints it."""
        named = zip(form.keys, key.split("|"), strict=False)
        chosen = "".join(f"[{leaf.name}='{part}']" for leaf, part in named)
        return f"/{self.module}:{self.module}/{self.table}/{form.name}{chosen}"


def _target(table: str, path: str) -> Target:
    """Return what a leafref names: ``TABLE``, ``TABLE/FORM/leaf``, or a path relative to a leaf of a table."""
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
    found = _MARKS.fullmatch(text)
    name, marks, kind = found.groups() if found else (text, "", None)
    return Leaf(name, kind_of(kind or "text"), table, "!" in marks, "*" in marks, "#" in marks)


@cache
def models() -> Mapping[str, Model]:
    """Return the tables that have a YANG model. Read when first asked for: few commands do."""
    found: dict[str, Model] = {}
    model = Model("", "")
    form = Form("", ())
    for line in lines_of("tables"):
        words = line.split()
        if not line.startswith(" "):
            model = found[words[1]] = Model(words[1], words[0])
        elif line.startswith("  ") and "\t" in line:
            word, name, text, message = (*line[2:].split("\t"), "")[:4]
            if word == "default":
                form.defaults[name] = text
            else:
                form.conditions.append(Condition(word, name, text.replace("\\n", "\n").replace("\\t", "\t"), message))
        elif line.startswith("  "):
            form.inner.extend(word[1:] for word in words if word.startswith("@"))
            form.leaves.update(
                (word.name, word) for word in (_leaf(model.table, one) for one in words if one[0] != "@")
            )
        else:
            form = Form(words[0].lstrip("."), tuple(_leaf(model.table, word) for word in words[1:]))
            model.forms.append(form)
    return found
