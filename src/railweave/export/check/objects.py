"""Custom resources and nodes of a cluster, compared key by key with the objects that the intent gives.

Keys that the intent says nothing about are the cluster's own. Lists whose members have a name are compared by it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.export.check.placed import PlacedValue
from railweave.export.formats.node_labels import node_labels
from railweave.export.model import ExportFormat, ExportSource
from railweave.wording import command_line, compact

_NAMES = (("nodeName",), ("name",), ("selector", "exactMatch", "name"), ("nodeLabel",), ("dst",), ("key",))
"""The keys that identify a member of a list."""


def _fix(form: str) -> str:
    return f"apply `{command_line('export', form)}`, or correct the intent"


def compare_objects(source: ExportSource, form: ExportFormat, objects: Sequence[PlacedValue]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each difference between the objects of one kind and those of the intent."""
    intended = {entry["metadata"]["name"]: entry for entry in form.objects(source)}
    # Two single objects are compared even if they have different names.
    are_single = len(intended) == len(objects) == 1
    fix = _fix(form.name)
    names = set()
    for entry in objects:
        name = entry.text("metadata", "name")
        if are_single:
            (name,) = intended
        names.add(name)
        if name not in intended:
            message = f"{form.kind} {name!r} is not of the intent ({source.top})"
            yield warning("RW953", message, entry.where, fix=fix)
            continue
        spec = entry.at("spec") or entry
        yield from _differences(intended[name]["spec"], spec, f"{form.kind} {name}: spec", source.top, fix)
    missing = [name for name in intended if name not in names]
    if missing:
        message = f"{form.kind} {compact(missing)} of the intent ({source.top}) missing"
        yield error("RW953", message, Where(objects[0].where.file), fix=fix)


def _differences(intended: Any, actual: PlacedValue, path: str, where: Where, fix: str) -> Iterator[Diagnostic]:
    """Yield the differences of a value and its members; ``path`` names it, ``where`` is the place of the intent."""
    if isinstance(intended, Mapping):
        for key, value in intended.items():
            member = actual.at(key)
            if member is None:
                message = f"{path}.{key} is missing, the intent ({where}) gives {_shown(value)}"
                yield error("RW953", message, actual.where, fix=fix)
            else:
                yield from _differences(value, member, f"{path}.{key}", where, fix)
    elif isinstance(intended, list):
        yield from _list_differences(intended, actual, path, where, fix)
    elif actual.value != intended and actual.text() != str(intended):
        message = f"{path} is {_shown(actual.text())}, the intent ({where}) gives {_shown(intended)}"
        yield error("RW953", message, actual.where, fix=fix)


def _list_differences(
    intended: list[Any], actual: PlacedValue, path: str, where: Where, fix: str
) -> Iterator[Diagnostic]:
    """Yield the differences of a list: members are compared by name, by their order, or as a set of scalars."""
    have_names = all(isinstance(value, Mapping) and _intended_name(value) for value in intended)
    if have_names:
        yield from _named_lists(intended, actual, path, where, fix)
    elif any(isinstance(value, Mapping | list) for value in intended):
        # Without names the order counts.
        members = actual.items()
        for number, (value, member) in enumerate(zip(intended, members, strict=False)):
            yield from _differences(value, member, f"{path}[{number}]", where, fix)
        if len(members) != len(intended):
            message = f"{path} has {len(members)} entries, the intent ({where}) gives {len(intended)}"
            yield error("RW953", message, actual.where, fix=fix)
    else:
        members_by_text = {member.text(): member for member in actual.items()}
        yield from _membership(list(map(str, intended)), members_by_text, actual, f"{path} ({where})", fix)


def _named_lists(intended: list[Any], actual: PlacedValue, path: str, where: Where, fix: str) -> Iterator[Diagnostic]:
    """Yield the differences of a list whose members have names, by which they are compared."""
    member_of_name = {_name(member): member for member in actual.items()}
    intended_of_name = {_intended_name(value): value for value in intended}
    for name, value in intended_of_name.items():
        if name in member_of_name:
            yield from _differences(value, member_of_name[name], f"{path}[{name}]", where, fix)
    yield from _membership(list(intended_of_name), member_of_name, actual, f"{path} ({where})", fix)


def _membership(
    intended: list[str], members: Mapping[str, PlacedValue], actual: PlacedValue, path: str, fix: str
) -> Iterator[Diagnostic]:
    """Yield an error for the missing members of a list, and one for each that the intent does not have.

    ``members`` are those of the list ``actual`` by name or text; ``intended`` are the names or texts of the intent.
    """
    missing = [name for name in intended if name not in members]
    if missing:
        yield error("RW953", f"{path}: {compact(missing)} of the intent missing", actual.where, fix=fix)
    for name, member in members.items():
        if name not in intended:
            yield error("RW953", f"{path}: {name!r} is not of the intent", member.where, fix=fix)


def _name(member: PlacedValue) -> str:
    """Return the name of a member of a list, empty without one."""
    for keys in _NAMES:
        name = member.text(*keys)
        if name:
            return name
    return ""


def _intended_name(value: Any) -> str:
    """Return the name of a member of an intended list, empty without one."""
    for keys in _NAMES:
        inner: Any = value
        for key in keys:
            inner = inner.get(key) if isinstance(inner, Mapping) else None
        if inner:
            return str(inner)
    return ""


def _shown(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return f"{len(value)} entries"
    return repr(str(value))


def compare_nodes(source: ExportSource, nodes: Sequence[PlacedValue]) -> Iterator[Diagnostic]:
    """Yield an error for each label of a tier that differs from the intent, and one for nodes that are missing.

    Other nodes of the cluster may have no such label.
    """
    intended = node_labels(source)
    names = set()
    for node in nodes:
        name = node.text("metadata", "name")
        names.add(name)
        yield from _labels(source, name, node, intended.get(name, {}))
    missing = [name for name in intended if name not in names]
    if missing:
        message = f"nodes {compact(missing)} of the intent ({source.top}) are missing"
        yield error("RW953", message, Where(nodes[0].where.file), fix=_fix("node-labels"))


def _labels(source: ExportSource, name: str, node: PlacedValue, intended: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield an error for each label of a tier that a node lacks, or that has another value than ``intended``."""
    for key in source.label_keys:
        label = node.at("metadata", "labels", key)
        if label is None and key in intended:
            message = f"node {name} has no label {key}, the intent ({source.top}) gives {intended[key]!r}"
            yield error("RW953", message, node.where, fix=_fix("node-labels"))
        elif label is not None and label.text() != intended.get(key):
            value = repr(intended[key]) if key in intended else "none"
            message = f"node {name}: label {key} is {label.text()!r}, the intent ({source.top}) gives {value}"
            yield error("RW953", message, label.where, fix=_fix("node-labels"))
