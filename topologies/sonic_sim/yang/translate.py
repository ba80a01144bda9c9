"""A configuration in YANG form, as sonic_yang hands it to libyang: modules, tables, lists of entries."""

from collections.abc import Mapping
from typing import Any

from sonic_sim.yang.model import Form, Leaf, models
from sonic_sim.yang.rows import SEPARATED
from sonic_sim.yang.xpath import Document


def to_yang(document: Document) -> dict[str, Any]:
    """Return the YANG form of the tables that have a model; rows that fit no list are left out."""
    whole: dict[str, Any] = {}
    for table, rows in document.items():
        model = models().get(table)
        if model is None:
            continue
        module = whole.setdefault(f"{model.module}:{model.module}", {})
        entries = module.setdefault(f"{model.module}:{table}", {})
        for form in model.forms:
            mine = {key: row for key, row in rows.items() if model.form_of(key) is form}
            if mine and form.keys:
                entries[form.name] = [_entry(form, key, row) for key, row in mine.items()]
            elif not form.keys:
                # containers that the table could have and has not are there too, empty
                entries[form.name] = _values(form, mine.get(form.name, {}))
    return whole


def _entry(form: Form, key: str, row: Mapping[str, Any]) -> dict[str, Any]:
    names = {leaf.name: part for leaf, part in zip(form.keys, key.split("|"), strict=True)}
    if not form.inner:
        return names | _values(form, row)
    first, second = form.columns()
    return {**names, form.inner[0]: [{first.name: name, second.name: str(value)} for name, value in row.items()]}


def _values(form: Form, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(form.leaves[name], value) for name, value in row.items() if name in form.leaves}


def _value(leaf: Leaf, value: Any) -> Any:
    mark = SEPARATED.get((leaf.table, leaf.name))
    if leaf.many and mark and isinstance(value, str):
        value = [part.strip() for part in value.split(mark)]
    if leaf.many and isinstance(value, list):
        return [int(one) if leaf.number else str(one) for one in value]
    return int(value) if leaf.number and str(value).isdigit() else value if leaf.many else str(value)
