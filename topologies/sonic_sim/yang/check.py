"""Check a whole configuration against the models in the order in which sonic_yang and libyang 1 do.

First sonic_yang translates the rows of a table into lists (`_translate`), then libyang reads the values, follows the
leafrefs, tries unions and conditions in order, and last looks for mandatory leaves. The first kind of violation ends
it, except that the leafrefs are tried in several rounds.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sonic_sim.yang.model import Condition, Form, Model, Target, models
from sonic_sim.yang.rows import DefaultError, Row, Value, YangError, fault_at, invalid, is_true, row_of
from sonic_sim.yang.xpath import Document, Node, is_absolute, reach, read


class Checker:
    """Checks documents; tables that stay the same object from one document to the next are read and tried once."""

    def __init__(self) -> None:
        """Begin with no rows read."""
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
        for condition, value in (one for row in rows for one in row.whens):
            if not self._holds(condition, value, document):
                raise fault_at(f'When condition "{condition.text}" not satisfied.', path=value.path)
        self._follow([ref for row in rows for ref in row.references if ref.leaf and ref.leaf.is_leafref], document)
        for must, value in (one for row in rows for one in row.later):
            self._try(must, value, document)
        for fault, whens in (one for row in rows for one in row.missing):
            if all(self._holds(condition, value, document) for condition, value in whens):
                raise fault
        _check_numbers(document)
        for value in (one for row in rows for one in row.defaults):
            if self._dangles(value, document):
                text = _dangling_text(value) if value.leaf and value.leaf.is_leafref else invalid(value)
                raise DefaultError(fault_at(text, path=value.path))

    def _try(self, must: Condition | None, value: Value, document: Document) -> None:
        """Raise YangError where a condition does not hold, or (without one) where a union names nothing."""
        if must is None and self._dangles(value, document):
            raise fault_at(invalid(value), path=value.path)
        if must is not None and not self._holds(must, value, document):
            raise fault_at(f'Must condition "{must.text}" not satisfied.', must.message, path=value.path)

    def references(self, document: Document) -> Iterator[Value]:
        """Yield all that refers to keys of tables."""
        for name, rows in document.items():
            for row in self._rows(name, rows).values() if name in models() else ():
                yield from row.references

    def _rows(self, table: str, rows: Mapping[str, Any]) -> dict[str, Row]:
        before, known = self._read.get(table, (None, {}))
        if before is not rows:
            model = models()[table]
            forms = _translate(model, rows)
            known = {
                key: row_of(model, form, key, rows[key]) for form in model.forms for key in rows if forms[key] is form
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
        held = is_true(condition, value, document)
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
            form = next(one for one in models()[target.table].forms if one.name == target.form)
            nodes = (node for key in rows if models()[target.table].form_of(key) is form
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
        faults = [fault_at(_dangling_text(ref), path=ref.path) for ref in reported]
        raise YangError(faults[-1].message, "".join(one.libyang for one in faults))


def translation_notes(document: Document) -> Iterator[str]:
    """Yield what sonic_yang says, when it is asked to, of rows that do not fit a list of their table."""
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
    found: dict[str, Form] = {}
    problems: list[str] = []
    lists = [one for one in model.forms if one.keys]
    for form in model.forms:
        if lists == [form] and form.name != f"{model.table}_LIST":
            continue  # sonic_yang knows a single list by its name alone
        for key in [key for key in rows if key not in found]:
            problem = _problem(form, key, rows[key])
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
    for name, value in row.items() if not form.keys else ():
        if form.leaves[name].number and not _is_int(str(value)):
            raise YangError(f"invalid literal for int() with base 10: {str(value)!r}")


def _problem(form: Form, key: str, row: Any) -> str | None:
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


def _dangling_text(ref: Value) -> str:
    shown = ref.leaf.targets[0].shown if ref.leaf else ""
    return f'Leafref "{shown}" of value "{ref.text}" points to a non-existing leaf.'


def _check_numbers(document: Document) -> None:
    """Raise YangError where a list has more entries than its model allows."""
    for table, rows in document.items():
        for form in models()[table].forms if table in models() else ():
            most = form.most()
            if most is not None and sum(models()[table].form_of(key) is form for key in rows) > most:
                key = list(rows)[most]
                raise fault_at(f'Too many "{form.name}" elements.', path=models()[table].path(form, key))
