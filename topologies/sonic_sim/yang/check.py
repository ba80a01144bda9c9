"""Check a whole configuration against the models in the order in which sonic_yang and libyang 1 do.

First sonic_yang translates the rows of a table into lists (`_translate`), then libyang reads the values, follows the
leafrefs, tries unions and conditions in order, and last looks for mandatory leaves. The first kind of violation ends
it, except that the leafrefs are tried in several rounds.
"""

import operator
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sonic_sim.yang.kinds import NO_FAULT
from sonic_sim.yang.model import Condition, Form, Model, Target, models
from sonic_sim.yang.rows import DefaultError, LaterCheck, Row, Value, YangError, fault_at, invalid, is_true, row_of
from sonic_sim.yang.xpath import Document, Node, is_absolute, reach, read


class _ReadTable(NamedTuple):
    """The rows of a table as libyang reads them; an unchanged table is the same object, ``source``."""

    source: Mapping[str, Any]
    rows: dict[str, Row]


class _TargetNames(NamedTuple):
    """The values of the target of references, read from the table ``source``."""

    source: object
    names: frozenset[str]


class _Verdict(NamedTuple):
    """Whether a condition held at a value (None: at any) while it looked at these tables."""

    value: Value | None
    sources: list[object]
    holds: bool


class Checker:
    """Checks documents; tables that stay the same object from one document to the next are read and tried once."""

    def __init__(self) -> None:
        """Begin with no rows read."""
        self._read: dict[str, _ReadTable] = {}
        self._names: dict[Target, _TargetNames] = {}
        # By the id of the value at which a condition is evaluated, and its text.
        self._verdicts: dict[tuple[int, str], _Verdict] = {}

    def check(self, document: Document) -> None:
        """Raise YangError for the first violation."""
        tables = {name: self._rows(name, rows) for name, rows in document.items() if name in models()}
        rows = [row for name in _by_module(tables) for row in tables[name].values()]
        for row in rows:
            if row.fault is not None:
                raise row.fault
        # In libyang's order: what comes later is not tried after a violation.
        self._check_whens(rows, document)
        self._check_leafrefs(_leafrefs(rows), document)
        for row in rows:
            for check in row.later:
                self._check_later(check, document)
        self._check_missing(rows, document)
        _check_counts(document)
        self._check_defaults(rows, document)

    def _check_missing(self, rows: Iterable[Row], document: Document) -> None:
        """Raise YangError for the first field that a row lacks while its conditions hold."""
        for row in rows:
            for lack in row.missing:
                if all(self._holds(when.condition, when.value, document) for when in lack.whens):
                    raise lack.fault

    def _check_whens(self, rows: list[Row], document: Document) -> None:
        """Raise YangError for the first value that its condition does not allow."""
        for row in rows:
            for when in row.whens:
                if not self._holds(when.condition, when.value, document):
                    raise fault_at(f'When condition "{when.condition.text}" not satisfied.', path=when.value.path)

    def _check_defaults(self, rows: list[Row], document: Document) -> None:
        """Raise DefaultError for the first default that names nothing."""
        for row in rows:
            for value in row.defaults:
                if self._dangles(value, document):
                    is_leafref = value.leaf is not None and value.leaf.is_leafref
                    text = _dangling_text(value) if is_leafref else invalid(value)
                    raise DefaultError(fault_at(text, path=value.path))

    def _check_later(self, check: LaterCheck, document: Document) -> None:
        """Raise YangError if the condition of a check does not hold or, without one, if its union names nothing."""
        must = check.must
        value = check.value
        if must is None:
            if self._dangles(value, document):
                raise fault_at(invalid(value), path=value.path)
        elif not self._holds(must, value, document):
            raise fault_at(f'Must condition "{must.text}" not satisfied.', must.message, path=value.path)

    def references(self, document: Document) -> Iterator[Value]:
        """Yield all values of a document that refer to keys of tables."""
        for name, rows in document.items():
            if name in models():
                for row in self._rows(name, rows).values():
                    yield from row.references

    def _rows(self, table: str, rows: Mapping[str, Any]) -> dict[str, Row]:
        """Return the rows of a table as libyang reads them."""
        last = self._read.get(table)
        if last is not None and last.source is rows:
            return last.rows
        model = models()[table]
        forms = _translate(model, rows)
        read_rows: dict[str, Row] = {}
        # libyang holds the entries of each list together.
        for form in model.forms:
            for key in rows:
                if forms[key] is form:
                    read_rows[key] = row_of(model, form, key, rows[key])
        read_rows.update(_doubles(model, rows, forms))
        self._read[table] = _ReadTable(rows, read_rows)
        return read_rows

    def _holds(self, condition: Condition, value: Value, document: Document) -> bool:
        """Tell whether a condition holds at a value; it is evaluated again only if a table that it reads changed."""
        # An absolute expression has the same value everywhere.
        origin = None if is_absolute(condition.text) else value
        sources: list[object] = []
        tables = reach(condition.text)
        if tables is not None:
            sources += map(document.get, tables)
            if origin is not None:
                table = origin.place[0]
                sources.append(document[table])
        verdict_key = (id(origin), condition.text)
        last = self._verdicts.get(verdict_key)
        # An id may be used again, so the value itself is compared too.
        if last is not None and last.value is origin and all(map(operator.is_, last.sources, sources)):
            return last.holds
        holds = is_true(condition, value, document)
        self._verdicts[verdict_key] = _Verdict(origin, sources, holds)
        return holds

    def _dangles(self, value: Value, document: Document) -> bool:
        """Tell whether a reference names nothing that is there; one in a union may fit another type of it."""
        leaf = value.leaf
        if leaf is None or any(self._is_there(value, target, document) for target in leaf.targets):
            return False
        return leaf.is_leafref or leaf.kind.fault(value.text) != NO_FAULT

    def _is_there(self, value: Value, target: Target, document: Document) -> bool:
        """Tell whether the target of a reference exists."""
        if "[" not in target.shown:
            return value.text in self._names_of(target, document)
        # A path with a predicate is followed from the place of the value.
        origin = value.node(document)
        nodes = read(target.shown)(origin, origin)
        # A path gives a set of nodes; other values are none.
        if isinstance(nodes, bool | float | str):
            return False
        return any(node.value == value.text for node in nodes)

    def _names_of(self, target: Target, document: Document) -> frozenset[str]:
        """Return all values that references to a target may name."""
        rows = document.get(target.table, {})
        last = self._names.get(target)
        if last is not None and last.source is rows:
            return last.names
        model = models()[target.table]
        form = next(form for form in model.forms if form.name == target.form)
        values: set[str] = set()
        for key in rows:
            if model.form_of(key) is form:
                values.update(node.value for node in Node(document, target.table, form, key).down(target.leaf))
        names = frozenset(values)
        self._names[target] = _TargetNames(rows, names)
        return names

    def _check_leafrefs(self, leafrefs: list[Value], document: Document) -> None:
        """Raise YangError if leafrefs dangle, with libyang's messages about all of them."""
        dangling: list[Value] = []
        # In a first round libyang reports those that dangle, and each that resolves takes back the reports before it.
        # It reports all in a second one, which comes only if one resolved in the first.
        first_round: list[Value] = []
        has_resolved = False
        for ref in leafrefs:
            if self._dangles(ref, document):
                dangling.append(ref)
                first_round.append(ref)
            else:
                has_resolved = True
                first_round.clear()
        if not dangling:
            return
        reported = [*first_round, *dangling] if has_resolved else dangling
        faults = [fault_at(_dangling_text(ref), path=ref.path) for ref in reported]
        raise YangError(faults[-1].message, "".join(fault.libyang for fault in faults))


def translation_notes(document: Document) -> Iterator[str]:
    """Yield sonic_yang's debug messages about rows that do not fit a list of their table."""
    for table, rows in document.items():
        if table not in models():
            continue
        # The rows that no list or container so far fits.
        unread = list(rows)
        for form in models()[table].forms:
            problems = {key: _problem(form, key, rows[key]) for key in unread}
            unread = [key for key, problem in problems.items() if problem is not None]
            if form.keys:
                for key in unread:
                    yield f"sonic_yang(7):xlateList Exception:{problems[key]}"


def _by_module(tables: Mapping[str, object]) -> list[str]:
    """Return the tables in the order in which libyang meets them: those of one module together."""
    first_index: dict[str, int] = {}
    for index, name in enumerate(tables):
        first_index.setdefault(models()[name].module, index)
    return sorted(tables, key=lambda name: first_index[models()[name].module])


def _translate(model: Model, rows: Mapping[str, Any]) -> dict[str, Form]:
    """Return the list or container of each row. Raises YangError if sonic_yang cannot translate a row."""
    forms: dict[str, Form] = {}
    problems: list[str] = []
    lists = [form for form in model.forms if form.keys]
    # sonic_yang finds the only list of a table by its name.
    readable_forms = [form for form in model.forms if lists != [form] or form.name == f"{model.table}_LIST"]
    for form in readable_forms:
        for key in _without(rows, forms):
            problem = _problem(form, key, rows[key])
            if problem is None:
                forms[key] = form
                _check_container_numbers(form, rows[key])
            elif form.keys:
                problems.append(problem)
            elif key == form.name:
                _raise_unparsed(model, _without(rows[key], form.leaves), [])
    unparsed = _without(rows, forms)
    if unparsed:
        _raise_unparsed(model, unparsed, problems)
    return forms


def _without(names: Iterable[str], excluded: Container[str]) -> list[str]:
    return [name for name in names if name not in excluded]


def _doubles(model: Model, rows: Mapping[str, Any], forms: Mapping[str, Form]) -> Iterator[tuple[str, Row]]:
    """Yield each row whose key differs from an earlier one only in white space, with that fault instead of its content.

    sonic_yang removes white space around the parts of a key.
    """
    stripped_keys: set[str] = set()
    for key in rows:
        stripped_key = "|".join(part.strip() for part in key.split("|"))
        if stripped_key in stripped_keys:
            text = f'Duplicated instance of "{forms[key].name}" list.'
            yield key, Row(fault_at(text, path=model.path(forms[key], stripped_key)))
        stripped_keys.add(stripped_key)


def _check_container_numbers(form: Form, row: Any) -> None:
    """Raise YangError if a leaf of a container has to be a number and is none."""
    # In a list such a row is left over instead.
    if form.keys:
        return
    for name, value in row.items():
        if form.leaves[name].number and not _is_int(str(value)):
            raise YangError(f"invalid literal for int() with base 10: {str(value)!r}")


def _problem(form: Form, key: str, row: Any) -> str | None:
    """Return why a row does not become an entry of a list or a container; None if it does."""
    parts = key.split("|")
    if not form.keys:
        is_container = key == form.name and all(name in form.leaves for name in row)
        return None if is_container else "no such container"
    if len(parts) != len(form.keys):
        return f"Value not found for {' '.join(leaf.name for leaf in form.keys)} in {key}"
    if not isinstance(row, Mapping):
        return f"'{type(row).__name__}' object is not iterable"
    # The fields of a row with an inner list are the keys of that list, so any name will do.
    if form.inner:
        return None
    return _field_problem(form, row)


def _field_problem(form: Form, row: Mapping[str, Any]) -> str | None:
    """Return why the fields of a row are not those of a list, as the text of Python's error; None if they are."""
    for name, value in row.items():
        if name not in form.leaves:
            return f"'{name}'"
        members = value if isinstance(value, list) else [value]
        for member in members:
            if form.leaves[name].number and not _is_int(str(member)):
                return f"invalid literal for int() with base 10: {str(member)!r}"
    return None


def _is_int(text: str) -> bool:
    try:
        int(text, 10)
    except ValueError:
        return False
    return True


def _raise_unparsed(model: Model, keys: list[str], problems: list[str]) -> None:
    """Raise sonic_yang's error about rows or fields of a table that it could not translate."""
    text = f"All Keys are not parsed in {model.table}\n{dict.fromkeys(keys).keys()}"
    message = f"{text}\nexceptionList:{problems}"
    printed = (
        f"sonic_yang(3):{text}\nsonic_yang(3):exceptionList:{problems}\nsonic_yang(3):Data Loading Failed:{message}\n"
    )
    raise YangError(message, printed=printed)


def _dangling_text(ref: Value) -> str:
    """Return libyang's message about a leafref that names nothing."""
    shown = ref.leaf.targets[0].shown if ref.leaf else ""
    return f'Leafref "{shown}" of value "{ref.text}" points to a non-existing leaf.'


def _check_counts(document: Document) -> None:
    """Raise YangError if a list has more entries than its model allows."""
    for table, rows in document.items():
        if table not in models():
            continue
        model = models()[table]
        for form in model.forms:
            most = form.most()
            if most is None:
                continue
            count = sum(model.form_of(key) is form for key in rows)
            if count > most:
                key = list(rows)[most]
                raise fault_at(f'Too many "{form.name}" elements.', path=model.path(form, key))


def _leafrefs(rows: list[Row]) -> list[Value]:
    """Return the references of leafrefs; those in unions are tried later, with the conditions."""
    leafrefs = []
    for row in rows:
        leafrefs += [ref for ref in row.references if ref.leaf and ref.leaf.is_leafref]
    return leafrefs
