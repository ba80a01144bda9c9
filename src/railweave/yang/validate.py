"""All failures of one document. libyang 2 stops at the first, so what is faulty is taken out and the rest is judged.

An error is reported once: a field that is wrong for its value is taken out of all rows of its table that have the same
value, and references to a row that was taken out are no failures of their own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from railweave.sonic.rows import ConfigDb, Fields
from railweave.yang.schema import Failure, Place, SchemaIndex, Violation
from railweave.yang.translate import place_of, translate

MOST_VIOLATIONS = 25
"""Faults told of one document; more say no more."""

_VALUE = re.compile(r'value "([^"]*)"')
_DANGLING = ("no target instance", "no matching subtype")


class Models(Protocol):
    """What validation asks of the models of a release."""

    @property
    def name(self) -> str:
        """Return what violations call these models."""

    @property
    def index(self) -> SchemaIndex:
        """Return what the models say of each table."""

    def first_failure(self, xml: str) -> Failure | None:
        """Return the first failure of a translated document, None where it is valid."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """The keys of the rows that were touched: they are gone, or only a field of theirs."""

    keys: tuple[str, ...]
    fields_only: bool = False


def violations(tables: ConfigDb, models: Models) -> tuple[Violation, ...]:
    """Return every failure of the CONFIG_DB document ``tables`` by ``models``; none where it is valid."""
    translation = translate(tables, models.index)
    rest: dict[str, dict[str, Fields]] = {table: dict(rows) for table, rows in tables.items()}
    found = _alike(translation.refused)
    told = {(one.place.table, one.place.key) for one in translation.refused}
    # Keys of rows that are there but not in the tree: what refers to them is not to blame.
    lost = {one.place.key for one in translation.refused if not one.place.field}
    for _ in range(MOST_VIOLATIONS):
        failure = models.first_failure(translation.xml)
        if failure is None:
            break
        place = place_of(failure, translation, rest, models.index)
        target = _missing_target(failure)
        value = _value(rest, place)
        taken = _take_out(rest, place, target)
        new = taken.fields_only or (place.table, place.key) not in told
        if new and target not in lost:
            found.append(Violation(place, failure.words, value, max(1, len(taken.keys))))
        if not taken.keys:
            break  # libyang named no row, so nothing more can be told apart
        told |= {(place.table, key) for key in taken.keys}
        if not taken.fields_only and target is None:
            lost |= set(taken.keys)
        translation = translate(rest, models.index)
    return tuple(found)


def _missing_target(failure: Failure) -> str | None:
    """Return the value of a reference that leads nowhere, None for any other failure."""
    value = _VALUE.search(failure.words)
    return value.group(1) if value and any(words in failure.words for words in _DANGLING) else None


def _value(tables: Mapping[str, Mapping[str, Fields]], place: Place) -> str:
    value = tables.get(place.table, {}).get(place.key, {}).get(place.field, "")
    return value if isinstance(value, str) else ",".join(value)


def _take_out(tables: dict[str, dict[str, Fields]], place: Place, target: str | None) -> _Taken:
    """Take what is faulty, and what is so in the same way, out of ``tables``.

    That is a field with its value; or rows: those that lack the field, those whose key names the missing ``target``,
    or the one row with the rows below it.
    """
    rows = tables.get(place.table, {})
    fields = rows.get(place.key)
    if fields is None:
        return _Taken(())
    if place.field in fields:
        value = fields[place.field]
        touched = tuple(key for key, other in rows.items() if other.get(place.field) == value)
        for key in touched:
            rows[key] = {name: other for name, other in rows[key].items() if name != place.field}
        return _Taken(touched, fields_only=True)
    touched = tuple(key for key in rows if _falls_with(key, rows[key], place, target))
    for key in touched:
        del rows[key]
    return _Taken(touched)


def _falls_with(key: str, fields: Fields, place: Place, target: str | None) -> bool:
    if key == place.key or key.startswith(f"{place.key}|"):
        return True
    if place.field:
        return place.field not in fields and key.count("|") == place.key.count("|")
    return target is not None and target in key.split("|")


def _alike(refused: tuple[Violation, ...]) -> list[Violation]:
    """Return one violation for each field, value and words, with the number of its rows."""
    kept: dict[tuple[str, ...], Violation] = {}
    for one in refused:
        place = one.place
        alike = (place.table, place.field, one.value, one.words, "" if place.field else place.key)
        earlier = kept.get(alike)
        kept[alike] = one if earlier is None else replace(earlier, rows=earlier.rows + one.rows)
    return list(kept.values())
