"""Dividing an intent file with several fabrics into one document each, so that everything later sees one fabric.

``fabrics`` has the keys of each fabric; those at the top level apply to every fabric that does not state them itself.
A node's ``nics`` is a list of groups, each in one fabric. Every value keeps its place in the file.
"""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from railweave.diagnostics import Diagnostic, Where, error
from railweave.intent.kinds import shown
from railweave.intent.paths import child
from railweave.intent.positions import Document, Value
from railweave.wording import counted, either, nearest

# Linux allows 15 characters for an interface: the fabric's name, the number of the NIC and that of its port.
MOST_LETTERS = 11
_NAME = re.compile(rf"[a-z]{{1,{MOST_LETTERS}}}")
_KEYS_OF_FABRIC = ("topology", "addressing")
# Keys that a section of `fabrics` cannot have, and what of theirs names fabrics instead.
_KEYS_OF_ALL_FABRICS = {"nodes": "its `nics`", "tenants": "their `fabrics`"}
# The place of a node in a fabric: keys of an entry of nodes in a file with one fabric, of a group of NICs here.
_KEYS_OF_GROUP = ("first_stripe", "stripe", "share_leaves", "leaf")

Fabrics = dict[str, dict[str, Value]]


class _Projection:
    """The document of one fabric while it is built: its values, their places and those of their keys."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.value: dict[str, Value] = {}
        self.places: dict[str, Where] = {}
        self.keys: dict[str, Where] = {}

    def set_name(self, fabric: str, where: Where) -> None:
        """Set the name with which names of devices begin: that of the file followed by that of the fabric."""
        # A missing name is reported later, as in a file with one fabric.
        if "fabric" not in self._document.value:
            return
        name = self._document.value["fabric"]
        if isinstance(name, str):
            self.value["fabric"] = f"{name}-{fabric}"
            self.places["fabric"] = where
        else:
            self.value["fabric"] = self.take(name, "fabric", "fabric")

    def take(self, value: Value, source: str, path: str) -> Value:
        """Record the places of ``value`` under ``path``, and return it; ``source`` is its path in the file."""
        _copy_places(self._document.places, source, self.places, path)
        _copy_places(self._document.keys, source, self.keys, path)
        return value


def _copy_places(places: Mapping[str, Where], source: str, copies: dict[str, Where], path: str) -> None:
    """Copy the places of ``source`` and everything below it to ``path``."""
    for place, where in places.items():
        if not place.startswith(source):
            continue
        below = place.removeprefix(source)
        # Anything else is another key that begins with the same letters.
        if not below or below[0] in ".[":
            copies[path + below] = where


def split_fabrics(document: Document) -> tuple[dict[str, Document], list[Diagnostic]]:
    """Return the document of every fabric by name, and the errors that prevent the division.

    If there are errors, no document is returned. A document without ``fabrics`` has one fabric, with an empty name.
    """
    if "fabrics" not in document.value:
        return {"": document}, []
    diagnostics = list(_structure_errors(document))
    if diagnostics:
        return {}, diagnostics
    projections = {name: _project(document, name, section) for name, section in _sections(document).items()}
    return projections, []


Groups = tuple[tuple[str, ...], ...]
"""The groups of NICs of an entry of nodes: the fabrics of each, port by port where there are several."""


def group_order(document: Document) -> dict[str, Groups]:
    """Return the fabrics of the groups of NICs of each entry of nodes, by the name of the entry.

    ``document`` is one that ``split_fabrics`` can divide.
    """
    order: dict[str, Groups] = {}
    entries: list[Any] = _node_entries(document)
    for entry in entries:
        order[entry["name"]] = tuple(_fabrics_of(group) for group in entry["nics"])
    return order


def _fabrics_of(group: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fabrics of a group: port p of its NICs is in fabric p modulo their number."""
    fabrics = group["fabric"]
    if isinstance(fabrics, list):
        return tuple(fabrics)
    return (str(fabrics),)


def _sections(document: Document) -> Fabrics:
    """Return the keys of each fabric, by its name."""
    fabrics = document.value["fabrics"]
    if not isinstance(fabrics, dict):
        return {}
    return {name: section for name, section in fabrics.items() if isinstance(section, dict)}


def _structure_errors(document: Document) -> Iterator[Diagnostic]:
    """Yield the errors that prevent the division of the file into fabrics."""
    fabrics = document.value["fabrics"]
    start = document.places["fabrics"]
    if not isinstance(fabrics, dict) or not fabrics:
        fix = "write a mapping of fabrics by name, like `backend: {topology: …}`"
        yield error("RW012", f"fabrics: expected a mapping, got {shown(fabrics)}", start, fix=fix)
        return
    for name in fabrics:
        yield from _section_errors(document, name, fabrics[name])
    yield from _misplaced_key_errors(document)
    used_fabrics: set[str] = set()
    entry_diagnostics: list[Diagnostic] = []
    for index, entry in enumerate(_node_entries(document)):
        entry_diagnostics += _entry_errors(document, index, entry, list(fabrics), used_fabrics)
    if entry_diagnostics:
        # A wrong group may mean any of the fabrics, so none is reported as unused.
        yield from entry_diagnostics
        return
    yield from _unused_fabric_errors(document, [name for name in fabrics if name not in used_fabrics])


def _misplaced_key_errors(document: Document) -> Iterator[Diagnostic]:
    """Yield an error for each key at the top level that belongs in each of the fabrics."""
    for key in _KEYS_OF_FABRIC:
        if key in document.value:
            fix = f"`{key}` belongs in each of `fabrics`"
            yield error("RW010", f"unknown key `{key}` beside `fabrics`", document.keys[key], fix=fix)


def _unused_fabric_errors(document: Document, names: list[str]) -> Iterator[Diagnostic]:
    """Yield an error for each of the fabrics ``names``, which no group of NICs is in."""
    for name in names:
        fix = f"add a group `{{fabric: {name}, …}}` to the `nics` of a node, or leave the fabric out"
        yield error("RW016", f"fabric `{name}` has no nodes", document.places[child("fabrics", name)], fix=fix)


def _section_errors(document: Document, name: str, section: Value) -> Iterator[Diagnostic]:
    """Yield the errors in the name and the keys of one fabric."""
    path = child("fabrics", name)
    where = document.places[path]
    if not _NAME.fullmatch(name):
        fix = (
            f"name it with {MOST_LETTERS} lowercase letters at most, like `storage`, whose interfaces are `storage0` …"
        )
        yield error("RW015", f"{path}: invalid fabric name `{name}`", document.keys[path], fix=fix)
    if not isinstance(section, dict):
        fix = "write its keys below it, or in `{ }`"
        yield error("RW012", f"{path}: expected a mapping, got {shown(section)}", where, fix=fix)
        return
    if "topology" not in section:
        fix = "add `topology`: the shape of the fabric"
        yield error("RW011", f"key `topology` is missing in `{path}`", where, fix=fix)
    for key, names_fabrics in _KEYS_OF_ALL_FABRICS.items():
        if key in section:
            fix = f"`{key}` belongs in the top level; {names_fabrics} name the fabrics"
            yield error("RW010", f"unknown key `{key}` in `{path}`", document.keys[f"{path}.{key}"], fix=fix)


def _entry_errors(
    document: Document, index: int, entry: Value, names: list[str], used_fabrics: set[str]
) -> Iterator[Diagnostic]:
    """Yield the errors in the groups of one entry of nodes, and add the fabrics that they name to ``used_fabrics``.

    ``names`` are those of all fabrics.
    """
    # Reported later, as in a file with one fabric.
    if not isinstance(entry, dict) or "nics" not in entry:
        return
    path = f"nodes[{index}]"
    for key in _KEYS_OF_GROUP:
        if key in entry:
            fix = f"`{key}` belongs in the groups of `{path}.nics`, each in its fabric"
            yield error("RW010", f"unknown key `{key}` in `{path}`", document.keys[f"{path}.{key}"], fix=fix)
    groups: Any = entry["nics"]
    if not isinstance(groups, list):
        fix = f"write one group a fabric, like `- {{fabric: {names[0]}, count: 8, speed: 400G}}`"
        where = document.places[f"{path}.nics"]
        yield error("RW012", f"{path}.nics: expected a list, as there are several fabrics", where, fix=fix)
        return
    fabrics_above: set[str] = set()
    for number, group in enumerate(groups):
        diagnostic = _group_diagnostic(document, f"{path}.nics[{number}]", group, names, fabrics_above)
        if diagnostic is not None:
            yield diagnostic
        else:
            fabrics_above.update(_fabrics_of(group))
    used_fabrics |= fabrics_above


def _group_diagnostic(
    document: Document, path: str, group: Any, names: list[str], fabrics_above: Container[str]
) -> Diagnostic | None:
    """Return the error in a group of NICs; None if there is none.

    ``names`` are those of all fabrics, ``fabrics_above`` those of the groups above in the same entry of nodes.
    """
    if not isinstance(group, dict):
        fix = "write its keys below it, or in `{ }`"
        return error("RW012", f"{path}: expected a mapping, got {shown(group)}", document.places[path], fix=fix)
    choices = either([f"`{fabric}`" for fabric in names])
    name = group.get("fabric")
    if name is None:
        fix = f"add `fabric`: {choices}"
        return error("RW011", f"key `fabric` is missing in `{path}`", document.places[path], fix=fix)
    if isinstance(name, list):
        return _shared_group_diagnostic(document, path, group, names, fabrics_above)
    return _fabric_diagnostic(document, f"{path}.fabric", name, names, fabrics_above)


def _fabric_diagnostic(
    document: Document, path: str, name: Any, names: list[str], fabrics_above: Container[str]
) -> Diagnostic | None:
    """Return the error in ``name``, the name of a fabric at ``path`` in a group of NICs; None if there is none."""
    where = document.places[path]
    if name not in names:
        guess = nearest(str(name), names)
        if guess:
            fix = f"did you mean `{guess}`?"
        else:
            fix = f"write {either([f'`{fabric}`' for fabric in names])}"
        return error("RW014", f"{path}: unknown fabric {shown(name)}", where, fix=fix)
    if name in fabrics_above:
        group, _, _ = path.partition(".fabric")
        return error("RW016", f"{group}: a second group in `{name}`", where, fix="keep one group of NICs a fabric")
    return None


def _shared_group_diagnostic(
    document: Document, path: str, group: Mapping[str, Any], names: list[str], fabrics_above: Container[str]
) -> Diagnostic | None:
    """Return the error in the fabrics of a group whose ports are in several fabrics; None if there is none."""
    fabrics_of_group: list[str] = []
    for number, fabric in enumerate(group["fabric"]):
        place = f"{path}.fabric[{number}]"
        if fabric in fabrics_of_group:
            fix = "name each fabric once: its ports follow each other in turn"
            return error("RW016", f"{path}: `{fabric}` twice", document.places[place], fix=fix)
        diagnostic = _fabric_diagnostic(document, place, fabric, names, fabrics_above)
        if diagnostic is not None:
            return diagnostic
        fabrics_of_group.append(fabric)
    where = document.places[f"{path}.fabric"]
    if len(fabrics_of_group) < 2:
        fix = "write one fabric without brackets, or a fabric for each port of the NIC"
        return error("RW016", f"{path}.fabric: a list of {counted(len(fabrics_of_group), 'fabric')}", where, fix=fix)
    ports = str(group.get("ports", 1))
    if ports.isdigit() and int(ports) % len(fabrics_of_group):
        message = f"a NIC with {counted(int(ports), 'port')} does not reach {len(fabrics_of_group)} fabrics alike"
        return error("RW103", message, where, fix=f"give a NIC {len(fabrics_of_group)} ports or a multiple of it")
    return None


def _project(document: Document, name: str, section: Mapping[str, Value]) -> Document:
    """Return the document of one fabric: its own keys, those of the top level, and its part of the nodes.

    ``section`` are the keys of the fabric ``name`` itself.
    """
    projection = _Projection(document)
    path = child("fabrics", name)
    projection.set_name(name, document.places[path])
    entries = _take_nodes(document, name, projection)
    for key, value in document.value.items():
        if key == "nodes":
            projection.value[key] = entries or value
        elif key not in {"fabric", "fabrics", *section}:
            # A key of the section replaces that of the top level.
            projection.value[key] = projection.take(value, key, key)
    # The GPUs of a workload that the file states for all fabrics are those of all nodes.
    has_all_nodes = len(entries) == len(_node_entries(document))
    shared_keys = document.value.keys() - section.keys()
    if "workload" in shared_keys and not has_all_nodes:
        projection.value["workload"] = _without_gpus(document.value["workload"])
    if "addressing" not in section:
        # The default pools overlap those of other fabrics, which is reported at the fabric.
        projection.places["addressing"] = document.places[path]
    for key, value in section.items():
        projection.value[key] = projection.take(value, child(path, key), child("", key))
    return Document(projection.value, projection.places, projection.keys, document.diagnostics)


def _without_gpus(workload: Value) -> Value:
    """Return the workload without numbers of GPUs, for a fabric that has only some of the nodes."""
    if not isinstance(workload, dict):
        return workload
    return {key: value for key, value in workload.items() if key not in {"gpus", "growth"}}


def _take_nodes(document: Document, name: str, projection: _Projection) -> list[Value]:
    """Return the entries of nodes that have NICs in the fabric ``name``, with only these NICs.

    The places of the entries are recorded in ``projection``.
    """
    entries: list[Value] = []
    for index, entry in enumerate(_node_entries(document)):
        source = f"nodes[{index}]"
        path = f"nodes[{len(entries)}]"
        if not isinstance(entry, dict) or "nics" not in entry:
            # Reported later, as in a file with one fabric.
            entries.append(projection.take(entry, source, path))
            continue
        groups: Any = entry["nics"]
        for number, group in enumerate(groups):
            if name in _fabrics_of(group):
                projection.take(entry, source, path)
                _forget_places(projection, f"{path}.nics")
                nics = _take_group(group, f"{source}.nics[{number}]", path, projection)
                entries.append({**entry, **nics})
    return entries


def _take_group(group: dict[str, Value], source: str, path: str, projection: _Projection) -> dict[str, Value]:
    """Return the keys of a group of NICs as an entry of nodes has them in a file with one fabric.

    ``source`` is the path of the group in the file, ``path`` that of the entry in ``projection``.
    """
    projection.take(group, source, f"{path}.nics")
    nics = {key: value for key, value in group.items() if key not in {"fabric", *_KEYS_OF_GROUP}}
    keys: dict[str, Value] = {"nics": nics}
    for key in _KEYS_OF_GROUP:
        if key in group:
            keys[key] = projection.take(group[key], f"{source}.{key}", f"{path}.{key}")
    return keys


def _forget_places(projection: _Projection, path: str) -> None:
    """Remove the places of ``path`` and of everything below it from ``projection``."""
    for places in (projection.places, projection.keys):
        for place in list(places):
            if place == path or place.startswith((f"{path}.", f"{path}[")):
                del places[place]


def _node_entries(document: Document) -> list[Value]:
    entries = document.value.get("nodes")
    if not isinstance(entries, list):
        return []
    return entries
