"""Check a whole configuration against the models in the order in which sonic_yang and libyang 1 do.

First sonic_yang translates the rows of a table into lists (`_translate`), then libyang reads the values, follows the
leafrefs, tries unions and conditions in order, and last looks for mandatory leaves. The first kind of violation ends
it, except that the leafrefs are tried in several rounds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sonic_sim.yang.kinds import INVALID
from sonic_sim.yang.model import MODELS, Condition, Form, Leaf, Model, Target
from sonic_sim.yang.xpath import Document, Node, as_truth, is_absolute, reach, read

SEPARATED = {
    ("MIRROR_SESSION", "src_ip"): ",", ("NTP", "src_intf"): ";", ("PORT", "adv_speeds"): ",",
    ("PORT", "adv_interface_types"): ",", ("BGP_ALLOWED_PREFIXES", "prefixes_v4"): ",",
    ("BGP_ALLOWED_PREFIXES", "prefixes_v6"): ",", ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list"): ",",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"): ",",
}  # fmt: skip
"""Leaf-lists that are one string in CONFIG_DB."""


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
        """Take what libyang says of the default."""
        whole = "Failed to validate data tree\n"
        printed = f"sonic_yang(3):{fault.message}\nsonic_yang(3):{whole}{{\n"
        super().__init__(fault.message, fault.libyang, printed, f"{whole}[priority,] message string")


def _fault(*messages: str, path: str) -> YangError:
    """Return what libyang says of a place, a line a message; the last one is the exception's."""
    said = [one for one in messages if one]
    return YangError(said[-1], "".join(f"libyang[0]: {one} (path: {path})\n" for one in said))


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


_Lack = tuple[YangError, list[tuple[Condition, Value]]]
"""What is missing, and the conditions under which it is."""


@dataclass(slots=True)
class _Row:
    """A row as libyang holds it; of the conditions that look at nothing else, those that do not hold."""

    fault: YangError | None = None
    references: list[Value] = field(default_factory=list)
    whens: list[tuple[Condition, Value]] = field(default_factory=list)
    later: list[tuple[Condition | None, Value]] = field(default_factory=list)
    missing: list[_Lack] = field(default_factory=list)
    defaults: list[Value] = field(default_factory=list)


class Checker:
    """Checks documents; tables that stay the same object from one document to the next are read and tried once."""

    def __init__(self) -> None:
        """Begin with no rows read."""
        self._read: dict[str, tuple[Mapping[str, Any] | None, dict[str, _Row]]] = {}
        self._names: dict[Target, tuple[object, frozenset[str]]] = {}
        self._held: dict[tuple[int, str], tuple[Value | None, tuple[object, ...], bool]] = {}

    def check(self, document: Document) -> None:
        """Raise YangError for the first violation."""
        tables = {name: self._rows(name, rows) for name, rows in document.items() if name in MODELS}
        rows = [row for name in _by_module(tables) for row in tables[name].values()]
        for row in rows:
            if row.fault is not None:
                raise row.fault
        for condition, value in (one for row in rows for one in row.whens):
            if not self._holds(condition, value, document):
                raise _fault(f'When condition "{condition.text}" not satisfied.', path=value.path)
        self._follow([ref for row in rows for ref in row.references if ref.leaf and ref.leaf.is_leafref], document)
        for must, value in (one for row in rows for one in row.later):
            self._try(must, value, document)
        for fault, whens in (one for row in rows for one in row.missing):
            if all(self._holds(condition, value, document) for condition, value in whens):
                raise fault
        _check_numbers(document)
        for value in (one for row in rows for one in row.defaults):
            if self._dangles(value, document):
                text = _dangling_text(value) if value.leaf and value.leaf.is_leafref else _invalid(value)
                raise DefaultError(_fault(text, path=value.path))

    def _try(self, must: Condition | None, value: Value, document: Document) -> None:
        """Raise YangError where a condition does not hold, or (without one) where a union names nothing."""
        if must is None and self._dangles(value, document):
            raise _fault(_invalid(value), path=value.path)
        if must is not None and not self._holds(must, value, document):
            raise _fault(f'Must condition "{must.text}" not satisfied.', must.message, path=value.path)

    def references(self, document: Document) -> Iterator[Value]:
        """Yield all that refers to keys of tables."""
        for name, rows in document.items():
            for row in self._rows(name, rows).values() if name in MODELS else ():
                yield from row.references

    def _rows(self, table: str, rows: Mapping[str, Any]) -> dict[str, _Row]:
        before, known = self._read.get(table, (None, {}))
        if before is not rows:
            model = MODELS[table]
            forms = _translate(model, rows)
            known = {
                key: _row(model, form, key, rows[key]) for form in model.forms for key in rows if forms[key] is form
            }
            known.update(_doubles(model, rows, forms))
            self._read[table] = (rows, known)
        return known

    def _holds(self, condition: Condition, value: Value, document: Document) -> bool:
        """Try a condition, unless all that it looks at is as it was."""
        reached = reach(condition.text)
        whose = None if is_absolute(condition.text) else value
        own = (document[value.place[0]],) if whose is not None else ()
        seen = (*own, *map(document.get, reached)) if reached is not None else ()
        mark = (id(whose), condition.text)
        known = self._held.get(mark)
        if known is not None and known[0] is whose and all(a is b for a, b in zip(known[1], seen, strict=True)):
            return known[2]
        held = _is_true(condition, value, document)
        self._held[mark] = (whose, seen, held)
        return held

    def _dangles(self, value: Value, document: Document) -> bool:
        """Tell whether a reference names nothing there is."""
        leaf = value.leaf
        if leaf is None or any(self._is_there(value, target, document) for target in leaf.targets):
            return False
        return leaf.is_leafref or leaf.kind.fault(value.text) != ("", "")

    def _is_there(self, value: Value, target: Target, document: Document) -> bool:
        """Tell whether what a reference names is there; a path with a predicate is followed from the value's place."""
        if "[" not in target.shown:
            return value.text in self._names_of(target, document)
        node = value.node(document)
        found = read(target.shown)(node, node)
        return not isinstance(found, bool | float | str) and any(one.value == value.text for one in found)

    def _names_of(self, target: Target, document: Document) -> frozenset[str]:
        rows = document.get(target.table, {})
        known = self._names.get(target)
        if known is None or known[0] is not rows:
            form = next(one for one in MODELS[target.table].forms if one.name == target.form)
            nodes = (node for key in rows if MODELS[target.table].form_of(key) is form
                     for node in Node(document, target.table, form, key).down(target.leaf))  # fmt: skip
            known = self._names[target] = (rows, frozenset(node.value for node in nodes))
        return known[1]

    def _follow(self, leafrefs: list[Value], document: Document) -> None:
        """Raise YangError where leafrefs dangle.

        libyang tries all of them again after a round in which one resolved, and each that resolves takes back what was
        said before it. So a reference is reported twice where none after it resolves.
        """
        dangling = [self._dangles(ref, document) for ref in leafrefs]
        if not any(dangling):
            return
        resolved = [place for place, one in enumerate(dangling) if not one]
        last = resolved[-1] if resolved else len(leafrefs)
        reported = [ref for ref, one in zip(leafrefs[last:], dangling[last:], strict=True) if one]
        reported += [ref for ref, one in zip(leafrefs, dangling, strict=True) if one]
        faults = [_fault(_dangling_text(ref), path=ref.path) for ref in reported]
        raise YangError(faults[-1].message, "".join(one.libyang for one in faults))


def check_document(document: Document) -> None:
    """Raise YangError for the first violation in a document."""
    Checker().check(document)


def translation_notes(document: Document) -> Iterator[str]:
    """Yield what sonic_yang says, when it is asked to, of rows that do not fit a list of their table."""
    for table, rows in document.items():
        left = list(rows)
        for form in MODELS[table].forms if table in MODELS else ():
            problems = {key: _problem(MODELS[table], form, key, rows[key]) for key in left}
            left = [key for key, problem in problems.items() if problem is not None]
            if form.keys:
                yield from (f"sonic_yang(7):xlateList Exception:{problems[key]}" for key in left)


def _by_module(tables: Mapping[str, object]) -> list[str]:
    """Return the tables in the order in which libyang meets them: those of one module together."""
    modules = {MODELS[name].module: place for place, name in reversed(list(enumerate(tables)))}
    return sorted(tables, key=lambda name: modules[MODELS[name].module])


def _translate(model: Model, rows: Mapping[str, Any]) -> dict[str, Form]:
    """Return the list or container of each row. Raises YangError where sonic_yang leaves a row over."""
    found: dict[str, Form] = {}
    problems: list[str] = []
    lists = [one for one in model.forms if one.keys]
    for form in model.forms:
        if lists == [form] and form.name != f"{model.table}_LIST":
            continue  # sonic_yang knows a single list by its name alone
        for key in [key for key in rows if key not in found]:
            problem = _problem(model, form, key, rows[key])
            if problem is None:
                found[key] = form
                _check_container_numbers(form, rows[key])
            elif form.keys:
                problems.append(problem)
            elif key == form.name:
                _raise_left(model, [name for name in rows[key] if name not in form.leaves], [])
    left = [key for key in rows if key not in found]
    if left:
        _raise_left(model, left, problems)
    return found


def _doubles(model: Model, rows: Mapping[str, Any], forms: Mapping[str, Form]) -> Iterator[tuple[str, _Row]]:
    """Yield the rows whose key is that of an earlier one but for white space, which sonic_yang removes."""
    seen: set[str] = set()
    for key in rows:
        name = "|".join(part.strip() for part in key.split("|"))
        if name in seen:
            text = f'Duplicated instance of "{forms[key].name}" list.'
            yield key, _Row(_fault(text, path=model.path(forms[key], name)))
        seen.add(name)


def _check_container_numbers(form: Form, row: Any) -> None:
    """Raise YangError where a leaf of a container is to be a number and is none; in a list that leaves the row over."""
    for name, value in row.items() if not form.keys else ():
        if form.leaves[name].number and not _is_int(str(value)):
            raise YangError(f"invalid literal for int() with base 10: {str(value)!r}")


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
        for one in value if isinstance(value, list) else [value]:
            if form.leaves[name].number and not _is_int(str(one)):
                return f"invalid literal for int() with base 10: {str(one)!r}"
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


_MOST_ROWS = 20_000
_ROWS: dict[tuple[str, str, str, str], _Row] = {}
"""The rows read by this process: most switches have most rows in common, and one change leaves most as they are."""


def _row(model: Model, form: Form, key: str, row: Mapping[str, Any]) -> _Row:
    mark = (model.table, form.name, key, repr(row))
    known = _ROWS.get(mark)
    if known is None:
        if len(_ROWS) >= _MOST_ROWS:
            _ROWS.clear()
        known = _ROWS[mark] = _read(model, form, key, row)
    return known


def _read(model: Model, form: Form, key: str, row: Mapping[str, Any]) -> _Row:
    """Read a row: the fault of its first bad value, and what is looked at later."""
    result = _Row()
    path = model.path(form, key)
    whole = Value(None, "", path, (model.table, key), form)
    alone = {model.table: {key: row}}
    _keep_conditions(result, form, ".", whole, alone)
    seen: set[str] = set()
    for value in _values(model, form, key, row, path):
        leaf = value.leaf or form.keys[0]
        fault = (
            _target_fault(leaf, value.text)
            if leaf.is_leafref
            else ("", "")
            if leaf.targets
            else leaf.kind.fault(value.text)
        )
        if value.path in seen and leaf.many:
            text = f'Duplicated instance of "{leaf.name}" leaf-list ("{value.text}").'
            result.fault = result.fault or _fault(text, path=value.path)
        seen.add(value.path)
        if leaf.targets:
            result.references.append(value)
            result.later.extend([] if leaf.is_leafref else [(None, value)])
        if fault != ("", "") and result.fault is None:
            result.fault = _value_fault(value, *fault, _path_so_far(model, form, key, value))
        _keep_conditions(result, form, leaf.name, value, alone)
    for name, text in form.defaults.items():
        if name not in row and not any(one.leaf == name and one.word in ("when", "case") for one in form.conditions):
            value = Value(form.leaves[name], text, f"{path}/{name}", whole.place, form)
            _keep_conditions(result, form, name, value, alone)
            result.defaults.extend([value] if form.leaves[name].targets else [])
    empty = next((name for name, value in row.items() if value == [] and not form.inner), None)
    if empty is not None and result.fault is None:
        result.fault = _fault("Invalid JSON data (unexpected value).", path=f"{path}/{empty}")
    result.missing.extend(_missing(form, row, whole))
    return result


def _missing(form: Form, row: Mapping[str, Any], whole: Value) -> Iterator[_Lack]:
    """Yield what a row lacks, with the conditions under which it is to be there."""
    for name, leaf in form.leaves.items():
        if leaf.mandatory and name not in row:
            absent = Value(leaf, "", f"{whole.path}/{name}", whole.place, form)
            whens = [(one, absent) for one in form.conditions if one.leaf == name and one.word in ("when", "case")]
            yield _fault(f'Missing required element "{name}" in "{form.name}".', path=whole.path), whens
    for one in form.conditions:
        if one.word == "min-elements" and len(row.get(one.leaf, ())) < int(one.text):
            yield _fault(f'Too few "{one.leaf}" elements.', path=whole.path), []


def _keep_conditions(result: _Row, form: Form, name: str, value: Value, alone: Document) -> None:
    for one in form.conditions:
        if (
            one.leaf != name
            or one.word not in ("when", "case", "must")
            or (_is_own(one) and _is_true(one, value, alone))
        ):
            continue
        (result.later if one.word == "must" else result.whens).append((one, value))


def _is_own(condition: Condition) -> bool:
    """Tell whether a condition looks at nothing but its own row."""
    starts_at_entry = condition.leaf == "." or condition.word == "case"
    return reach(condition.text) is None and not (starts_at_entry and ".." in condition.text)


def _is_true(condition: Condition, value: Value, document: Document) -> bool:
    node = value.node(document)
    node = node.up() if condition.word == "case" else node
    return as_truth(read(condition.text)(node, node))


def _values(model: Model, form: Form, key: str, row: Mapping[str, Any], path: str) -> Iterator[Value]:
    """Yield the values of a row in libyang's order: the keys, then the fields."""
    here = (model.table, key)
    for leaf, part in zip(form.keys, key.split("|"), strict=False):
        yield Value(leaf, part.strip(), f"{path}/{leaf.name}", here, form)
    if form.inner:
        first, second = form.columns()
        for name, value in row.items():
            entry = f"{path}/{form.inner[0]}[{first.name}='{name}']"
            yield Value(first, name, f"{entry}/{first.name}", (*here, name), form, name)
            yield Value(second, str(value), f"{entry}/{second.name}", (*here, name), form, name)
        return
    for name, value in row.items():
        leaf = form.leaves[name]
        if not leaf.many:
            # sonic_yang makes a number of the text before libyang sees it
            text = str(int(str(value))) if leaf.number else str(value)
            yield Value(leaf, text, f"{path}/{name}", (*here, name), form)
            continue
        mark = SEPARATED.get((model.table, name))
        members = [part.strip() for part in value.split(mark)] if mark and isinstance(value, str) else value
        for place, member in enumerate(members):
            index = () if mark and isinstance(value, str) else (str(place),)
            yield Value(leaf, str(member), f"{path}/{name}[.='{member}']", (*here, name, *index), form)


def _target_fault(leaf: Leaf, text: str) -> tuple[str, str]:
    """Return what is wrong with a leafref's value by the type of what it names."""
    target = leaf.targets[0]
    form = next(one for one in MODELS[target.table].forms if one.name == target.form)
    named = next((one for one in (*form.keys, *form.leaves.values()) if one.name == target.leaf), None)
    if named is None:
        return ("", "")
    return _target_fault(named, text) if named.is_leafref else ("", "") if named.targets else named.kind.fault(text)


def _path_so_far(model: Model, form: Form, key: str, value: Value) -> str:
    """Return the path of a value as libyang knows it while it reads the entry: keys that come later are not in it."""
    if value.leaf not in form.keys:
        return value.path
    count = form.keys.index(value.leaf) + 1
    keys = zip(form.keys[:count], key.split("|"), strict=False)
    chosen = "".join(f"[{leaf.name}='{part}']" for leaf, part in keys)
    return f"/{model.module}:{model.module}/{model.table}/{form.name}{chosen}/{value.leaf.name}"


def _value_fault(value: Value, fault: str, message: str, path: str) -> YangError:
    if fault == INVALID:
        return _fault(_invalid(value), path=path)
    text = f'Value "{value.text}" does not satisfy the constraint "{fault}" (range, length, or pattern).'
    return _fault(text, message, path=path)


def _dangling_text(ref: Value) -> str:
    shown = ref.leaf.targets[0].shown if ref.leaf else ""
    return f'Leafref "{shown}" of value "{ref.text}" points to a non-existing leaf.'


def _invalid(value: Value) -> str:
    return f'Invalid value "{value.text}" in "{value.leaf.name if value.leaf else ""}" element.'


def _check_numbers(document: Document) -> None:
    """Raise YangError where a list has more entries than its model allows."""
    for table, rows in document.items():
        for form in MODELS[table].forms if table in MODELS else ():
            most = form.limit("max-elements")
            if most is not None and sum(MODELS[table].form_of(key) is form for key in rows) > most:
                key = list(rows)[most]
                raise _fault(f'Too many "{form.name}" elements.', path=MODELS[table].path(form, key))
