"""An intent file of several fabrics as one document a fabric, so that everything after it sees one fabric.

``fabrics`` has the keys of each fabric; those at the top level hold for every fabric that does not state them itself.
A node's ``nics`` is a list of groups, each in one fabric. Every value keeps its place in the file.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from railweave.diagnostics import Diagnostic, Where, error
from railweave.intent.kinds import shown
from railweave.intent.paths import child
from railweave.intent.positions import Document, Value
from railweave.wording import either, nearest

MOST_LETTERS = 11
"""Linux allows 15 characters for an interface: the fabric's name, the number of the NIC and that of its port."""
_NAME = re.compile(rf"[a-z]{{1,{MOST_LETTERS}}}")
_OWN = ("topology", "addressing")
"""What every fabric has of its own."""
_OF_GROUP = ("first_stripe", "leaf")
"""What a group of NICs states of its node's place in the fabric."""

Fabrics = dict[str, dict[str, Value]]


class _Projection:
    """The document of one fabric, as it grows: values, with the places of them and of their keys."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.value: dict[str, Value] = {}
        self.places: dict[str, Where] = {}
        self.keys: dict[str, Where] = {}

    def take(self, value: Value, source: str, path: str) -> Value:
        """Return ``value``, which is at ``source`` in the file, and note its places for ``path``."""
        for known, own in ((self._document.places, self.places), (self._document.keys, self.keys)):
            for place, where in known.items():
                rest = place.removeprefix(source)
                if place == source or (rest != place and rest[0] in ".["):
                    own[path + rest] = where
        return value


def split_fabrics(document: Document) -> tuple[dict[str, Document], list[Diagnostic]]:
    """Return the document of every fabric by its name, and what is wrong with the division itself.

    A document without ``fabrics`` is that of its only fabric, whose name is empty.
    """
    if "fabrics" not in document.value:
        return {"": document}, []
    found = list(_structure(document))
    fabrics = _fabrics(document)
    if found:
        return {}, found
    return {name: _project(document, name, section) for name, section in fabrics.items()}, []


def group_order(document: Document) -> dict[str, tuple[str, ...]]:
    """Return the fabrics of each entry's groups of NICs by the entry's name, of a file that can be divided."""
    entries: list[Any] = _entries(document)
    return {entry["name"]: tuple(group["fabric"] for group in entry["nics"]) for entry in entries}


def _fabrics(document: Document) -> Fabrics:
    fabrics = document.value["fabrics"]
    known = fabrics.items() if isinstance(fabrics, dict) else ()
    return {name: section for name, section in known if isinstance(section, dict)}


def _structure(document: Document) -> Iterator[Diagnostic]:
    """Yield what keeps the file from being divided into fabrics."""
    fabrics, start = document.value["fabrics"], document.places["fabrics"]
    if not isinstance(fabrics, dict) or not fabrics:
        fix = "write a mapping of fabrics by name, like `backend: {topology: …}`"
        yield error("RW012", f"fabrics: expected a mapping, got {shown(fabrics)}", start, fix=fix)
        return
    for name in fabrics:
        yield from _section_structure(document, name, fabrics[name])
    for key in _OWN:
        if key in document.value:
            fix = f"`{key}` belongs in each of `fabrics`"
            yield error("RW010", f"unknown key `{key}` beside `fabrics`", document.keys[key], fix=fix)
    used: set[str] = set()
    wrong = [
        found
        for index, entry in enumerate(_entries(document))
        for found in _entry_structure(document, index, entry, list(fabrics), used)
    ]
    yield from wrong
    for name in fabrics:
        # Which fabrics the groups mean cannot be told where one of them is wrong.
        if name not in used and not wrong:
            fix = f"add a group `{{fabric: {name}, …}}` to the `nics` of a node, or leave the fabric out"
            yield error("RW016", f"fabric `{name}` has no nodes", document.places[child("fabrics", name)], fix=fix)


def _section_structure(document: Document, name: str, section: Value) -> Iterator[Diagnostic]:
    """Yield what is wrong with the name and the keys of one fabric."""
    path = child("fabrics", name)
    where = document.places[path]
    if not _NAME.fullmatch(name):
        fix = (
            f"name it with {MOST_LETTERS} lowercase letters at most, like `storage`, whose interfaces are `storage0` …"
        )
        yield error("RW015", f"{path}: `{name}` is no name of a fabric", document.keys[path], fix=fix)
    if not isinstance(section, dict):
        fix = "write its keys below it, or in `{ }`"
        yield error("RW012", f"{path}: expected a mapping, got {shown(section)}", where, fix=fix)
        return
    if "topology" not in section:
        fix = "add `topology`: the shape of the fabric"
        yield error("RW011", f"key `topology` is missing in `{path}`", where, fix=fix)
    if "nodes" in section:
        fix = "`nodes` belongs in the top level; its `nics` name the fabrics"
        yield error("RW010", f"unknown key `nodes` in `{path}`", document.keys[f"{path}.nodes"], fix=fix)


def _entry_structure(
    document: Document, index: int, entry: Value, names: list[str], used: set[str]
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the groups of one entry of nodes; the fabrics that they name are added to ``used``."""
    if not isinstance(entry, dict) or "nics" not in entry:
        return
    path = f"nodes[{index}]"
    for key in _OF_GROUP:
        if key in entry:
            fix = f"`{key}` belongs in the groups of `{path}.nics`, each in its fabric"
            yield error("RW010", f"unknown key `{key}` in `{path}`", document.keys[f"{path}.{key}"], fix=fix)
    groups = entry["nics"]
    if not isinstance(groups, list):
        fix = f"write one group a fabric, like `- {{fabric: {names[0]}, count: 8, speed: 400G}}`"
        where = document.places[f"{path}.nics"]
        yield error("RW012", f"{path}.nics: expected a list, as there are several fabrics", where, fix=fix)
        return
    seen: set[str] = set()
    for number, group in enumerate(groups):
        at = f"{path}.nics[{number}]"
        if not isinstance(group, dict):
            fix = "write its keys below it, or in `{ }`"
            yield error("RW012", f"{at}: expected a mapping, got {shown(group)}", document.places[at], fix=fix)
        elif (name := group.get("fabric")) is None:
            fix = f"add `fabric`: {either([f'`{one}`' for one in names])}"
            yield error("RW011", f"key `fabric` is missing in `{at}`", document.places[at], fix=fix)
        elif name not in names:
            guess = nearest(str(name), names)
            fix = f"did you mean `{guess}`?" if guess else f"write {either([f'`{one}`' for one in names])}"
            yield error("RW014", f"{at}.fabric: {shown(name)} is no fabric", document.places[f"{at}.fabric"], fix=fix)
        elif name in seen:
            fix = "keep one group of NICs a fabric"
            yield error("RW016", f"{at}: a second group in `{name}`", document.places[f"{at}.fabric"], fix=fix)
        else:
            seen.add(str(name))
    used |= seen


def _project(document: Document, name: str, section: Mapping[str, Value]) -> Document:
    """Return the document of one fabric: its own keys, those of the top level, and its part of the nodes."""
    made = _Projection(document)
    path = child("fabrics", name)
    top = document.value.get("fabric")
    if isinstance(top, str):
        made.value["fabric"] = f"{top}-{name}"
        made.places["fabric"] = document.places[path]
    elif "fabric" in document.value:
        made.value["fabric"] = made.take(top, "fabric", "fabric")
    entries = _nodes(document, name, made)
    whole = len(entries) == len(_entries(document))
    for key, value in document.value.items():
        if key == "nodes":
            made.value[key] = entries or value
        elif key not in {"fabric", "fabrics"} and key not in section:
            made.value[key] = made.take(value if whole else _partly(key, value), key, key)
    if "addressing" not in section:
        made.places["addressing"] = document.places[path]
    for key, value in section.items():
        made.value[key] = made.take(value, child(path, key), child("", key))
    return Document(made.value, made.places, made.keys, document.diagnostics)


def _partly(key: str, value: Value) -> Value:
    """Return a key of the top level for a fabric of some of the nodes: GPUs of the cluster are not those of it."""
    if key == "workload" and isinstance(value, dict):
        return {name: one for name, one in value.items() if name not in {"gpus", "growth"}}
    return value


def _nodes(document: Document, name: str, made: _Projection) -> list[Value]:
    """Return the entries of nodes that have NICs in the fabric, with these alone."""
    entries: list[Value] = []
    for index, entry in enumerate(_entries(document)):
        source, path = f"nodes[{index}]", f"nodes[{len(entries)}]"
        if not isinstance(entry, dict) or "nics" not in entry:
            entries.append(made.take(entry, source, path))
            continue
        groups: Any = entry["nics"]
        number = next((at for at, group in enumerate(groups) if group["fabric"] == name), None)
        if number is None:
            continue
        made.take(entry, source, path)
        _forget(made, f"{path}.nics")
        group = f"{source}.nics[{number}]"
        made.take(groups[number], group, f"{path}.nics")
        placed = {key: groups[number][key] for key in _OF_GROUP if key in groups[number]}
        for key, value in placed.items():
            made.take(value, f"{group}.{key}", f"{path}.{key}")
        nics = {key: one for key, one in groups[number].items() if key not in {"fabric", *_OF_GROUP}}
        entries.append({**entry, "nics": nics, **placed})
    return entries


def _forget(made: _Projection, path: str) -> None:
    """Remove the places of ``path`` and of what is below it."""
    for own in (made.places, made.keys):
        for place in [one for one in own if one == path or one.startswith((f"{path}.", f"{path}["))]:
            del own[place]


def _entries(document: Document) -> list[Value]:
    entries = document.value.get("nodes")
    return entries if isinstance(entries, list) else []
