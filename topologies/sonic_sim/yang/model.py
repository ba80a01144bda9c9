"""The models of ``tables.txt``, read: of each table its module, its lists or containers, and their leaves."""

from dataclasses import dataclass, field

from sonic_sim.yang.kinds import Kind, kind_of, lines_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf, or a leaf-list where ``many``."""

    name: str
    kind: Kind
    mandatory: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A list, or a container where it has no keys; ``inner`` is the name of the list whose key and value rows map."""

    name: str
    keys: tuple[Leaf, ...]
    leaves: dict[str, Leaf] = field(default_factory=dict)
    inner: str = ""

    def columns(self) -> tuple[Leaf, Leaf]:
        """Return the key and the value of the inner list."""
        key, value = self.leaves.values()
        return key, value


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

    def leafref(self) -> str:
        """Return the path of the first key, as libyang prints leafrefs."""
        steps = (self.module, self.table, self.forms[0].name, self.forms[0].keys[0].name)
        return "".join(f"/{self.module}:{step}" for step in steps)


def _leaf(text: str) -> Leaf:
    name, _, kind = text.partition(":")
    return Leaf(name.rstrip("!*"), kind_of(kind or "text"), name.endswith("!"), name.endswith("*"))


def _models() -> dict[str, Model]:
    models: dict[str, Model] = {}
    form = Form("", ())
    for line in lines_of("tables"):
        words = line.split()
        if not line.startswith(" "):
            model = models[words[1]] = Model(words[1], words[0])
        elif line.startswith("  "):
            inner = words[0][1:] if words[0].startswith("@") else ""
            if inner:
                model.forms[-1] = form = Form(form.name, form.keys, form.leaves, inner)
            form.leaves.update((leaf.name, leaf) for leaf in map(_leaf, words[1:] if inner else words))
        else:
            form = Form(words[0].lstrip("."), tuple(map(_leaf, words[1:])))
            model.forms.append(form)
    return models


MODELS = _models()
"""The tables whose rows are checked."""
KNOWN = frozenset(MODELS) | frozenset(" ".join(lines_of("others")).split())
"""All tables that have a YANG model."""
