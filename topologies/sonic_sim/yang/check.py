"""Check a whole configuration against the models in the order in which sonic_yang and libyang 1 do.

First sonic_yang translates the rows of a table into lists (`_translate`), then libyang reads the values, follows the
leafrefs, tries unions and conditions in order, and last looks for mandatory leaves. The first kind of violation ends
it, except that the leafrefs are tried in several rounds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sonic_sim.yang.conditions import MUSTS, Document, Must, Site
from sonic_sim.yang.kinds import INVALID
from sonic_sim.yang.model import MODELS, Form, Leaf, Model

_SEPARATED = {
    ("NTP", "src_intf"): ";", ("PORT", "adv_speeds"): ",", ("PORT", "adv_interface_types"): ",",
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list"): ",", ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"): ",",
}  # fmt: skip
"""Leaf-lists that are one string in CONFIG_DB."""


class YangError(Exception):
    """A violated constraint.

    ``message`` as sonic_yang words it, ``libyang`` the lines on standard error, ``printed`` what sonic_yang prints.
    """

    def __init__(self, message: str, libyang: str = "", printed: str = "") -> None:
        """Keep the texts."""
        super().__init__(message)
        self.message = message
        self.libyang = libyang
        self.printed = printed or f"sonic_yang(3):Data Loading Failed:{message}\n"


def _fault(*messages: str, path: str) -> YangError:
    """Return what libyang says of a place, a line a message; the last one is the exception's."""
    said = [one for one in messages if one]
    return YangError(said[-1], "".join(f"libyang[0]: {one} (path: {path})\n" for one in said))


@dataclass(frozen=True, slots=True)
class Value:
    """One value in a document: its leaf, the path of libyang, and the place in CONFIG_DB."""

    leaf: Leaf
    text: str
    path: str
    place: tuple[str, ...]

    def dangles(self, document: Document) -> bool:
        """Tell whether a reference names nothing there is."""
        if any(self.text in document.get(table, {}) for table in self.leaf.kind.targets):
            return False
        return self.leaf.kind.is_leafref or bool(self.leaf.kind.fault(self.text))


@dataclass(slots=True)
class _Row:
    """A row as libyang holds it."""

    row: Mapping[str, Any]
    fault: YangError | None = None
    leafrefs: list[Value] = field(default_factory=list)
    unions: list[Value] = field(default_factory=list)
    later: list[tuple[Must | None, Value]] = field(default_factory=list)
    missing: YangError | None = None


class Checker:
    """Checks documents; rows that stay the same object from one document to the next are read once."""

    def __init__(self) -> None:
        """Begin with no rows read."""
        self._read: dict[str, tuple[Mapping[str, Any], dict[str, _Row]]] = {}

    def check(self, document: Document) -> None:
        """Raise YangError for the first violation."""
        tables = {name: self._rows(name, rows) for name, rows in document.items() if name in MODELS}
        ordered = [(name, key, row) for name in _by_module(tables) for key, row in tables[name].items()]
        for _, _, row in ordered:
            if row.fault is not None:
                raise row.fault
        _follow([ref for _, _, row in ordered for ref in row.leafrefs], document)
        for table, key, row in ordered:
            for must, value in row.later:
                _try(must, value, Site(document, table, tuple(key.split("|")), row.row, value.text))
        for _, _, row in ordered:
            if row.missing is not None:
                raise row.missing

    def references(self, document: Document) -> Iterator[Value]:
        """Yield all that refers to keys of tables."""
        for name, rows in document.items():
            for row in self._rows(name, rows).values() if name in MODELS else ():
                yield from row.leafrefs
                yield from row.unions

    def _rows(self, table: str, rows: Mapping[str, Any]) -> dict[str, _Row]:
        before, known = self._read.get(table, ({}, {}))
        if before is not rows:
            model = MODELS[table]
            forms = _translate(model, rows)
            known = {
                key: known[key] if key in known and known[key].row is rows[key] else _read(model, form, key, rows[key])
                for form in model.forms for key in rows if forms[key] is form
            }  # fmt: skip
            self._read[table] = (rows, known)
        return known


def check_document(document: Document) -> None:
    """Raise YangError for the first violation in a document."""
    Checker().check(document)


def _by_module(tables: Mapping[str, object]) -> list[str]:
    """Return the tables in the order in which libyang meets them: those of one module together."""
    modules = {MODELS[name].module: place for place, name in reversed(list(enumerate(tables)))}
    return sorted(tables, key=lambda name: modules[MODELS[name].module])


def _translate(model: Model, rows: Mapping[str, Any]) -> dict[str, Form]:
    """Return the list or container of each row. Raises YangError where sonic_yang leaves a row over."""
    found: dict[str, Form] = {}
    problems: list[str] = []
    for form in model.forms:
        for key in [key for key in rows if key not in found]:
            problem = _problem(model, form, key, rows[key])
            if problem is None:
                found[key] = form
            elif form.keys:
                problems.append(problem)
            elif key == form.name:
                _raise_left(model, [name for name in rows[key] if name not in form.leaves], [])
    left = [key for key in rows if key not in found]
    if left:
        _raise_left(model, left, problems)
    return found


def _problem(model: Model, form: Form, key: str, row: Any) -> str | None:
    """Return why a row does not become an entry of a list, None where it does."""
    parts = key.split("|")
    if not form.keys:
        return None if key == form.name and all(name in form.leaves for name in row) else "no such container"
    if len(parts) != len(form.keys):
        return f"Value not found for {' '.join(leaf.name for leaf in form.keys)} in {key}"
    if not isinstance(row, Mapping):
        return f"'{type(row).__name__}' object is not iterable"
    for name, value in row.items() if not form.inner else ():
        if name not in form.leaves:
            return f"'{name}'"
        if form.leaves[name].kind.is_number and not _is_int(str(value)):
            return f"invalid literal for int() with base 10: {str(value)!r}"
    return None


def _is_int(text: str) -> bool:
    try:
        int(text, 10)
    except ValueError:
        return False
    return True


def _raise_left(model: Model, left: list[str], problems: list[str]) -> None:
    text = f"All Keys are not parsed in {model.table}\n{dict.fromkeys(left).keys()}"
    whole = f"{text}\nexceptionList:{problems}"
    lines = f"sonic_yang(3):{text}\nsonic_yang(3):exceptionList:{problems}\nsonic_yang(3):Data Loading Failed:{whole}\n"
    raise YangError(whole, printed=lines)


def _read(model: Model, form: Form, key: str, row: Mapping[str, Any]) -> _Row:
    """Read a row: the fault of its first bad value, and what is looked at later."""
    result = _Row(row)
    path = model.path(form, key)
    musts = MUSTS.get(form.name, ())
    whole = Value(form.keys[0], "", path, (model.table, key)) if form.keys else None
    result.later.extend((must, whole) for must in musts if not must.leaf and whole is not None)
    seen: set[str] = set()
    for value in _values(model, form, key, row, path):
        kind = value.leaf.kind
        fault = "" if kind.targets else kind.fault(value.text)
        if value.path in seen and value.leaf.many:
            text = f'Duplicated instance of "{value.leaf.name}" leaf-list ("{value.text}").'
            result.fault = result.fault or _fault(text, path=value.path)
        seen.add(value.path)
        if kind.is_leafref:
            result.leafrefs.append(value)
            fault = _target_fault(value)
        elif kind.targets:
            result.unions.append(value)
            result.later.append((None, value))
        if fault and result.fault is None:
            result.fault = _value_fault(value, fault)
        result.later.extend((must, value) for must in musts if must.leaf == value.leaf.name)
    empty = next((name for name, value in row.items() if value == [] and not form.inner), None)
    if empty is not None and result.fault is None:
        result.fault = _fault("Invalid JSON data (unexpected value).", path=f"{path}/{empty}[.='']")
    missing = next((name for name, leaf in form.leaves.items() if leaf.mandatory and name not in row), None)
    if missing is not None:
        result.missing = _fault(f'Missing required element "{missing}" in "{form.name}".', path=path)
    return result


def _values(model: Model, form: Form, key: str, row: Mapping[str, Any], path: str) -> Iterator[Value]:
    """Yield the values of a row in libyang's order: the keys, then the fields."""
    here = (model.table, key)
    for leaf, part in zip(form.keys, key.split("|"), strict=False):
        yield Value(leaf, part.strip(), f"{path}/{leaf.name}", here)
    if form.inner:
        first, second = form.columns()
        for name, value in row.items():
            entry = f"{path}/{form.inner}[{first.name}='{name}']"
            yield Value(first, name, f"{entry}/{first.name}", (*here, name))
            yield Value(second, str(value), f"{entry}/{second.name}", (*here, name))
        return
    for name, value in row.items():
        leaf = form.leaves[name]
        if not leaf.many:
            yield Value(leaf, str(value), f"{path}/{name}", (*here, name))
            continue
        mark = _SEPARATED.get((model.table, name))
        members = [part.strip() for part in value.split(mark)] if mark and isinstance(value, str) else value
        for place, member in enumerate(members):
            index = () if mark and isinstance(value, str) else (str(place),)
            yield Value(leaf, str(member), f"{path}/{name}[.='{member}']", (*here, name, *index))


def _target_fault(value: Value) -> str:
    """Return what is wrong with a leafref's value by the type of what it names."""
    return MODELS[value.leaf.kind.targets[0]].forms[0].keys[0].kind.fault(value.text)


def _value_fault(value: Value, fault: str) -> YangError:
    if fault == INVALID:
        return _fault(f'Invalid value "{value.text}" in "{value.leaf.name}" element.', path=value.path)
    text = f'Value "{value.text}" does not satisfy the constraint "{fault}" (range, length, or pattern).'
    return _fault(text, value.leaf.kind.message, path=value.path)


def _follow(leafrefs: list[Value], document: Document) -> None:
    """Raise YangError where leafrefs dangle.

    libyang tries all of them again after a round in which one resolved, and each that resolves takes back what was
    said before it. So a reference is reported twice where none after it resolves.
    """
    dangling = [ref.dangles(document) for ref in leafrefs]
    if not any(dangling):
        return
    resolved = [place for place, one in enumerate(dangling) if not one]
    last = resolved[-1] if resolved else len(leafrefs)
    reported = [ref for ref, one in zip(leafrefs[last:], dangling[last:], strict=True) if one]
    reported += [ref for ref, one in zip(leafrefs, dangling, strict=True) if one]
    faults = [_fault(_dangling_text(ref), path=ref.path) for ref in reported]
    raise YangError(faults[-1].message, "".join(one.libyang for one in faults))


def _dangling_text(ref: Value) -> str:
    target = ref.leaf.kind.targets[0]
    model = MODELS[target]
    own = ref.place[0] == target
    path = f"../../{model.forms[0].name}/{model.forms[0].keys[0].name}" if own else model.leafref()
    return f'Leafref "{path}" of value "{ref.text}" points to a non-existing leaf.'


def _try(must: Must | None, value: Value, site: Site) -> None:
    if must is None:
        if value.dangles(site.document):
            raise _fault(f'Invalid value "{value.text}" in "{value.leaf.name}" element.', path=value.path)
    elif not must.holds(site):
        raise _fault(f'Must condition "{must.condition}" not satisfied.', must.message, path=value.path)
