"""Check a whole configuration against the models in the order in which sonic_yang and libyang 1 do.

First sonic_yang translates the rows of a table into lists (`_translate`), then libyang reads the values, follows the
leafrefs, tries unions and conditions in order, and last looks for mandatory leaves. The first kind of violation ends
it, except that the leafrefs are tried in several rounds.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from sonic_sim.yang.model import Condition, Form, Model, Target, models
from sonic_sim.yang.rows import DefaultError, Row, Value, YangError, fault_at, invalid, is_true, row_of
from sonic_sim.yang.xpath import Document, Node, is_absolute, reach, read


class Checker:
    """Checks documents; tables that stay the same object from one document to the next are read and tried once."""

    def __init__(self) -> None:
        """Begin with no rows read."""
        # Each by what it was made of: compared by identity, since an unchanged table is the same object.
        self._read: dict[str, tuple[Mapping[str, Any] | None, dict[str, Row]]] = {}
        self._names: dict[Target, tuple[object, frozenset[str]]] = {}
        self._held: dict[tuple[int, str], tuple[Value | None, tuple[object, ...], bool]] = {}

    def check(self, document: Document) -> None:
        """Raise YangError for the first violation."""
        tables = {name: self._rows(name, rows) for name, rows in document.items() if name in models()}
        rows = [row for name in _by_module(tables) for row in tables[name].values()]
        for row in rows:
            if row.fault is not None:
                raise row.fault
        # In libyang's order: what comes later is not tried after a violation.
        self._check_whens(rows, document)
        self._follow(_leafrefs(rows), document)
        for row in rows:
            for must, value in row.later:
                self._try(must, value, document)
        self._check_missing(rows, document)
        _check_numbers(document)
        self._check_defaults(rows, document)

    def _check_missing(self, rows: Iterable[Row], document: Document) -> None:
        """Raise YangError for the first field that a row lacks while its conditions hold."""
        for row in rows:
            for fault, whens in row.missing:
                if all(self._holds(condition, value, document) for condition, value in whens):
                    raise fault

    def _check_whens(self, rows: list[Row], document: Document) -> None:
        for row in rows:
            for condition, value in row.whens:
                if not self._holds(condition, value, document):
                    raise fault_at(f'When condition "{condition.text}" not satisfied.', path=value.path)

    def _check_defaults(self, rows: list[Row], document: Document) -> None:
        for row in rows:
            for value in row.defaults:
                if self._dangles(value, document):
                    is_leafref = value.leaf is not None and value.leaf.is_leafref
                    text = _dangling_text(value) if is_leafref else invalid(value)
                    raise DefaultError(fault_at(text, path=value.path))

    def _try(self, must: Condition | None, value: Value, document: Document) -> None:
        """Raise YangError where a condition does not hold, or (without one) where a union names nothing."""
        if must is None:
            if self._dangles(value, document):
                raise fault_at(invalid(value), path=value.path)
        elif not self._holds(must, value, document):
            raise fault_at(f'Must condition "{must.text}" not satisfied.', must.message, path=value.path)

    def references(self, document: Document) -> Iterator[Value]:
        """Yield all that refers to keys of tables."""
        for name, rows in document.items():
            if name in models():
                for row in self._rows(name, rows).values():
                    yield from row.references

    def _rows(self, table: str, rows: Mapping[str, Any]) -> dict[str, Row]:
        before, read_rows = self._read.get(table, (None, {}))
        if before is rows:
            return read_rows
        model = models()[table]
        forms = _translate(model, rows)
        read_rows = {}
        # libyang holds the entries of each list together.
        for form in model.forms:
            for key in rows:
                if forms[key] is form:
                    read_rows[key] = row_of(model, form, key, rows[key])
        read_rows.update(_doubles(model, rows, forms))
        self._read[table] = (rows, read_rows)
        return read_rows

    def _holds(self, condition: Condition, value: Value, document: Document) -> bool:
        """Try a condition, unless all that it looks at is as it was."""
        whose = None if is_absolute(condition.text) else value
        looked_at: list[object] = []
        reached = reach(condition.text)
        if reached is not None:
            looked_at += map(document.get, reached)
            if whose is not None:
                looked_at.append(document[value.place[0]])
        mark = (id(whose), condition.text)
        if mark in self._held:
            same_value, sources, held = self._held[mark]
            # An id may be used again, so the value itself is compared too.
            if same_value is whose and all(a is b for a, b in zip(sources, looked_at, strict=True)):
                return held
        held = is_true(condition, value, document)
        self._held[mark] = (whose, tuple(looked_at), held)
        return held

    def _dangles(self, value: Value, document: Document) -> bool:
        """Tell whether a reference names nothing there is."""
        leaf = value.leaf
        if leaf is None or any(self._is_there(value, target, document) for target in leaf.targets):
            return False
        return leaf.is_leafref or leaf.kind.fault(value.text) != ("", "")

    def _is_there(self, value: Value, target: Target, document: Document) -> bool:
        """Tell whether the target of a reference exists."""
        if "[" not in target.shown:
            return value.text in self._names_of(target, document)
        # A path with a predicate is followed from the value's place.
        node = value.node(document)
        nodes = read(target.shown)(node, node)
        return not isinstance(nodes, bool | float | str) and any(named.value == value.text for named in nodes)

    def _names_of(self, target: Target, document: Document) -> frozenset[str]:
        rows = document.get(target.table, {})
        if target in self._names:
            source, names = self._names[target]
            if source is rows:
                return names
        model = models()[target.table]
        form = next(form for form in model.forms if form.name == target.form)
        values: set[str] = set()
        for key in rows:
            if model.form_of(key) is form:
                values.update(node.value for node in Node(document, target.table, form, key).down(target.leaf))
        names = frozenset(values)
        self._names[target] = (rows, names)
        return names

    def _follow(self, leafrefs: list[Value], document: Document) -> None:
        """Raise YangError where leafrefs dangle."""
        dangling = [self._dangles(ref, document) for ref in leafrefs]
        if not any(dangling):
            return
        # libyang tries all of them again after a round in which one resolved, and each that resolves takes back what
        # was said before it. So a reference is reported twice where none after it resolves.
        last_resolved = len(leafrefs)
        for place, dangles in enumerate(dangling):
            if not dangles:
                last_resolved = place
        refs = [ref for ref, dangles in zip(leafrefs, dangling, strict=True) if dangles]
        again = zip(leafrefs[last_resolved:], dangling[last_resolved:], strict=True)
        reported = [ref for ref, dangles in again if dangles] + refs
        faults = [fault_at(_dangling_text(ref), path=ref.path) for ref in reported]
        raise YangError(faults[-1].message, "".join(fault.libyang for fault in faults))


def translation_notes(document: Document) -> Iterator[str]:
    """Yield sonic_yang's debug messages about rows that do not fit a list of their table."""
    for table, rows in document.items():
        left = list(rows)
        for form in models()[table].forms if table in models() else ():
            problems = {key: _problem(form, key, rows[key]) for key in left}
            left = [key for key, problem in problems.items() if problem is not None]
            if form.keys:
                yield from (f"sonic_yang(7):xlateList Exception:{problems[key]}" for key in left)


def _by_module(tables: Mapping[str, object]) -> list[str]:
    """Return the tables in the order in which libyang meets them: those of one module together."""
    modules = {models()[name].module: place for place, name in reversed(list(enumerate(tables)))}
    return sorted(tables, key=lambda name: modules[models()[name].module])


def _translate(model: Model, rows: Mapping[str, Any]) -> dict[str, Form]:
    """Return the list or container of each row. Raises YangError where sonic_yang leaves a row over."""
    forms: dict[str, Form] = {}
    problems: list[str] = []
    lists = [form for form in model.forms if form.keys]
    # sonic_yang knows a single list by its name alone.
    read = [form for form in model.forms if lists != [form] or form.name == f"{model.table}_LIST"]
    for form in read:
        for key in _without(rows, forms):
            problem = _problem(form, key, rows[key])
            if problem is None:
                forms[key] = form
                _check_container_numbers(form, rows[key])
            elif form.keys:
                problems.append(problem)
            elif key == form.name:
                _raise_left(model, _without(rows[key], form.leaves), [])
    left = _without(rows, forms)
    if left:
        _raise_left(model, left, problems)
    return forms


def _without(names: Iterable[str], others: Container[str]) -> list[str]:
    return [name for name in names if name not in others]


def _doubles(model: Model, rows: Mapping[str, Any], forms: Mapping[str, Form]) -> Iterator[tuple[str, Row]]:
    """Yield the rows whose key is that of an earlier one but for white space, which sonic_yang removes."""
    seen: set[str] = set()
    for key in rows:
        name = "|".join(part.strip() for part in key.split("|"))
        if name in seen:
            text = f'Duplicated instance of "{forms[key].name}" list.'
            yield key, Row(fault_at(text, path=model.path(forms[key], name)))
        seen.add(name)


def _check_container_numbers(form: Form, row: Any) -> None:
    """Raise YangError where a leaf of a container is to be a number and is none; in a list that leaves the row over."""
    if form.keys:
        return
    for name, value in row.items():
        if form.leaves[name].number and not _is_int(str(value)):
            raise YangError(f"invalid literal for int() with base 10: {str(value)!r}")


def _problem(form: Form, key: str, row: Any) -> str | None:
    """Return why a row does not become an entry of a list, None where it does."""
    parts = key.split("|")
    if not form.keys:
        fits = key == form.name and all(name in form.leaves for name in row)
        return None if fits else "no such container"
    if len(parts) != len(form.keys):
        return f"Value not found for {' '.join(leaf.name for leaf in form.keys)} in {key}"
    if not isinstance(row, Mapping):
        return f"'{type(row).__name__}' object is not iterable"
    # The fields of a row with an inner list are the keys of that list, so any name will do.
    if form.inner:
        return None
    return _field_problem(form, row)


def _field_problem(form: Form, row: Mapping[str, Any]) -> str | None:
    """Return why the fields of a row are not those of a list: the text of Python's error."""
    for name, value in row.items():
        if name not in form.leaves:
            return f"'{name}'"
        for member in value if isinstance(value, list) else [value]:
            if form.leaves[name].number and not _is_int(str(member)):
                return f"invalid literal for int() with base 10: {str(member)!r}"
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


def _dangling_text(ref: Value) -> str:
    shown = ref.leaf.targets[0].shown if ref.leaf else ""
    return f'Leafref "{shown}" of value "{ref.text}" points to a non-existing leaf.'


def _check_numbers(document: Document) -> None:
    """Raise YangError where a list has more entries than its model allows."""
    for table, rows in document.items():
        if table not in models():
            continue
        model = models()[table]
        for form in model.forms:
            most = form.most()
            if most is not None and sum(model.form_of(key) is form for key in rows) > most:
                key = list(rows)[most]
                raise fault_at(f'Too many "{form.name}" elements.', path=model.path(form, key))


def _leafrefs(rows: list[Row]) -> list[Value]:
    """Return the references that name one leaf; unions are tried with the conditions."""
    leafrefs = []
    for row in rows:
        leafrefs += [ref for ref in row.references if ref.leaf and ref.leaf.is_leafref]
    return leafrefs
