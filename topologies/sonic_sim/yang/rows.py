"""One row as libyang reads it: its values and faults, and the checks that need all rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sonic_sim.yang.kinds import INVALID, NO_FAULT, TypeFault
from sonic_sim.yang.model import Condition, Form, Leaf, Model, models
from sonic_sim.yang.xpath import Document, Node, as_truth, reach, read

# Leaf-lists that are one string in CONFIG_DB (sonic_yang_ext.py), by what separates the members.
SEPARATED = {
    ("MIRROR_SESSION", "src_ip"): ",", ("NTP", "src_intf"): ";", ("PORT", "adv_speeds"): ",",
    ("PORT", "adv_interface_types"): ",", ("BGP_ALLOWED_PREFIXES", "prefixes_v4"): ",",
    ("BGP_ALLOWED_PREFIXES", "prefixes_v6"): ",", ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list"): ",",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"): ",",
}  # fmt: skip


class YangError(Exception):
    """A violated constraint.

    ``message`` as libyang words it, ``reason`` what sonic_yang raises, ``libyang`` the lines on standard error,
    ``printed`` what sonic_yang prints.
    """

    def __init__(self, message: str, libyang: str = "", printed: str = "", reason: str = "") -> None:
        """Keep the texts."""
        super().__init__(message)
        self.message = message
        self.reason = reason or f"Data Loading Failed\n{message}"
        self.libyang = libyang
        self.printed = printed or f"sonic_yang(3):Data Loading Failed:{message}\n"


class DefaultError(YangError):
    """A default that names nothing: ``validate_data_tree`` finds it in data that were loaded."""

    def __init__(self, fault: YangError) -> None:
        """Take libyang's message about the default."""
        whole = "Failed to validate data tree\n"
        printed = f"sonic_yang(3):{fault.message}\nsonic_yang(3):{whole}{{\n"
        super().__init__(fault.message, fault.libyang, printed, f"{whole}[priority,] message string")


def fault_at(*messages: str, path: str) -> YangError:
    """Return an error with libyang's messages about a path, one a line; the last one is the error's own message."""
    texts = [message for message in messages if message]
    return YangError(texts[-1], "".join(f"libyang[0]: {text} (path: {path})\n" for text in texts))


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its leaf (None for an entry), libyang's path, the place in CONFIG_DB, its list or container."""

    leaf: Leaf | None
    text: str
    path: str
    place: tuple[str, ...]
    form: Form
    entry: str = ""

    def node(self, document: Document) -> Node:
        """Return its node in a document."""
        name = self.leaf.name if self.leaf else ""
        return Node(document, self.place[0], self.form, self.place[1], name, self.text, self.entry)


class ConditionAt(NamedTuple):
    """A condition, and the value at which it is evaluated."""

    condition: Condition
    value: Value


class LaterCheck(NamedTuple):
    """A check that needs all rows: a ``must`` at a value or, without one, the references of a union."""

    must: Condition | None
    value: Value


class Lack(NamedTuple):
    """The fault of a part that is missing, and the conditions under which it is required."""

    fault: YangError
    whens: list[ConditionAt]


@dataclass(slots=True)
class Row:
    """A row as libyang holds it, with the checks that are still to be made.

    Of the conditions that look at their own row alone it has only those that do not hold.
    """

    fault: YangError | None = None
    references: list[Value] = field(default_factory=list)
    whens: list[ConditionAt] = field(default_factory=list)
    later: list[LaterCheck] = field(default_factory=list)
    missing: list[Lack] = field(default_factory=list)
    defaults: list[Value] = field(default_factory=list)


_MOST_ROWS = 20_000
# The rows read by this process: most switches have most rows in common, and one change leaves most as they are.
_ROWS: dict[tuple[str, str, str, str], Row] = {}


def row_of(model: Model, form: Form, key: str, row: Mapping[str, Any]) -> Row:
    """Return a row as libyang reads it; equal rows are read once."""
    row_key = (model.table, form.name, key, repr(row))
    if row_key not in _ROWS:
        if len(_ROWS) >= _MOST_ROWS:
            _ROWS.clear()
        _ROWS[row_key] = _read(model, form, key, row)
    return _ROWS[row_key]


def _read(model: Model, form: Form, key: str, row: Mapping[str, Any]) -> Row:
    """Return a row with the fault of its first bad value, and the checks that need all rows."""
    result = Row()
    path = model.path(form, key)
    entry = Value(None, "", path, (model.table, key), form)
    # Conditions that look at this row alone are tried in a document without others.
    alone = {model.table: {key: row}}
    _keep_conditions(result, form, ".", entry, alone)
    paths_seen: set[str] = set()
    for value in _values(model, form, key, row, path):
        leaf = value.leaf or form.keys[0]
        if result.fault is None:
            is_duplicate = leaf.many and value.path in paths_seen
            result.fault = _fault_of_value(model, form, key, value, is_duplicate=is_duplicate)
        paths_seen.add(value.path)
        if leaf.targets:
            result.references.append(value)
            if not leaf.is_leafref:
                result.later.append(LaterCheck(None, value))
        _keep_conditions(result, form, leaf.name, value, alone)
    _read_defaults(result, form, row, entry, alone)
    empty = [name for name, value in row.items() if value == [] and not form.inner]
    if empty and result.fault is None:
        result.fault = fault_at("Invalid JSON data (unexpected value).", path=f"{path}/{empty[0]}")
    result.missing.extend(_missing(form, row, entry))
    return result


def _fault_of_value(model: Model, form: Form, key: str, value: Value, *, is_duplicate: bool) -> YangError | None:
    """Return the fault of a value: its type does not allow it, or its leaf-list has it already. Else None."""
    leaf = value.leaf or form.keys[0]
    if is_duplicate:
        text = f'Duplicated instance of "{leaf.name}" leaf-list ("{value.text}").'
        return fault_at(text, path=value.path)
    fault = _type_fault(leaf, value.text)
    if fault == NO_FAULT:
        return None
    return _value_fault(value, fault, _path_so_far(model, form, key, value))


def _type_fault(leaf: Leaf, text: str) -> TypeFault:
    """Return the fault of a value by the type of its leaf, NO_FAULT if it is valid."""
    if leaf.is_leafref:
        return _target_fault(leaf, text)
    # A union with references is tried once all rows are read.
    return NO_FAULT if leaf.targets else leaf.kind.fault(text)


def _read_defaults(result: Row, form: Form, row: Mapping[str, Any], entry: Value, alone: Document) -> None:
    """Keep, for the fields that a row lacks, the conditions and references of their defaults."""
    for name, text in form.defaults.items():
        # A default under a condition is there only where that holds, so libyang adds it later.
        if name in row or _whens_of(form, name):
            continue
        value = Value(form.leaves[name], text, f"{entry.path}/{name}", entry.place, form)
        _keep_conditions(result, form, name, value, alone)
        if form.leaves[name].targets:
            result.defaults.append(value)


def _whens_of(form: Form, name: str) -> list[Condition]:
    """Return the conditions under which a leaf may be there."""
    return [condition for condition in form.conditions if condition.leaf == name and condition.word in ("when", "case")]


def _missing(form: Form, row: Mapping[str, Any], entry: Value) -> Iterator[Lack]:
    """Yield the parts that a row lacks, with the conditions under which they are required."""
    for name, leaf in form.leaves.items():
        if leaf.mandatory and name not in row:
            missing_value = Value(leaf, "", f"{entry.path}/{name}", entry.place, form)
            whens = [ConditionAt(condition, missing_value) for condition in _whens_of(form, name)]
            yield Lack(fault_at(f'Missing required element "{name}" in "{form.name}".', path=entry.path), whens)
    for condition in form.conditions:
        if condition.word == "min-elements" and len(row.get(condition.leaf, ())) < int(condition.text):
            yield Lack(fault_at(f'Too few "{condition.leaf}" elements.', path=entry.path), [])


def _keep_conditions(result: Row, form: Form, name: str, value: Value, alone: Document) -> None:
    """Keep the conditions of a leaf that have to be tried with all rows; ``alone`` is a document with this row only."""
    for condition in form.conditions:
        if condition.leaf != name or condition.word not in ("when", "case", "must"):
            continue
        # One that looks at its own row only is tried at once, and forgotten where it holds.
        if _is_own(condition) and is_true(condition, value, alone):
            continue
        if condition.word == "must":
            result.later.append(LaterCheck(condition, value))
        else:
            result.whens.append(ConditionAt(condition, value))


def _is_own(condition: Condition) -> bool:
    """Tell whether a condition looks at nothing but its own row."""
    # One that starts at the entry leaves its row with the first step up.
    starts_at_entry = condition.leaf == "." or condition.word == "case"
    leaves_row = starts_at_entry and ".." in condition.text
    return reach(condition.text) is None and not leaves_row


def is_true(condition: Condition, value: Value, document: Document) -> bool:
    """Tell whether a condition holds at a value."""
    node = value.node(document)
    if condition.word == "case":
        # A case is a node of the schema only: its condition is evaluated at the entry (RFC 7950 section 7.21.5).
        node = node.up()
    return as_truth(read(condition.text)(node, node))


def _values(model: Model, form: Form, key: str, row: Mapping[str, Any], path: str) -> Iterator[Value]:
    """Yield the values of a row in libyang's order: the keys, then the fields."""
    place = (model.table, key)
    for leaf, part in zip(form.keys, key.split("|"), strict=False):
        yield Value(leaf, part.strip(), f"{path}/{leaf.name}", place, form)
    if form.inner:
        key_leaf, value_leaf = form.columns()
        for name, value in row.items():
            entry = f"{path}/{form.inner[0]}[{key_leaf.name}='{name}']"
            yield Value(key_leaf, name, f"{entry}/{key_leaf.name}", (*place, name), form, name)
            yield Value(value_leaf, str(value), f"{entry}/{value_leaf.name}", (*place, name), form, name)
        return
    for name, value in row.items():
        leaf = form.leaves[name]
        if leaf.many:
            yield from _members(leaf, value, path, (*place, name), form)
            continue
        # sonic_yang makes a number of the text before libyang sees it.
        text = str(int(str(value))) if leaf.number else str(value)
        yield Value(leaf, text, f"{path}/{name}", (*place, name), form)


def _members(leaf: Leaf, value: Any, path: str, place: tuple[str, ...], form: Form) -> Iterator[Value]:
    """Yield the members of a leaf-list; those of one string share their place in CONFIG_DB."""
    separator = SEPARATED.get((leaf.table, leaf.name))
    if separator and isinstance(value, str):
        for part in value.split(separator):
            yield Value(leaf, part.strip(), f"{path}/{leaf.name}[.='{part.strip()}']", place, form)
        return
    for index, member in enumerate(value):
        yield Value(leaf, str(member), f"{path}/{leaf.name}[.='{member}']", (*place, str(index)), form)


def _target_fault(leaf: Leaf, text: str) -> TypeFault:
    """Return the fault of a leafref's value by the type of its target, NO_FAULT if it is valid."""
    target = leaf.targets[0]
    form = next(form for form in models()[target.table].forms if form.name == target.form)
    for target_leaf in (*form.keys, *form.leaves.values()):
        if target_leaf.name == target.leaf:
            return _type_fault(target_leaf, text)
    return NO_FAULT


def _path_so_far(model: Model, form: Form, key: str, value: Value) -> str:
    """Return the path of a value as libyang knows it while it reads the entry: without the keys that come later."""
    if value.leaf not in form.keys:
        return value.path
    count = form.keys.index(value.leaf) + 1
    keys = zip(form.keys[:count], key.split("|"), strict=False)
    predicates = "".join(f"[{leaf.name}='{part}']" for leaf, part in keys)
    return f"/{model.module}:{model.module}/{model.table}/{form.name}{predicates}/{value.leaf.name}"


def _value_fault(value: Value, fault: TypeFault, path: str) -> YangError:
    """Return the error about a value that has a fault of its type."""
    if fault.constraint == INVALID:
        return fault_at(invalid(value), path=path)
    text = f'Value "{value.text}" does not satisfy the constraint "{fault.constraint}" (range, length, or pattern).'
    return fault_at(text, fault.message, path=path)


def invalid(value: Value) -> str:
    """Return libyang's message about a value outside its type."""
    name = value.leaf.name if value.leaf else ""
    return f'Invalid value "{value.text}" in "{name}" element.'
