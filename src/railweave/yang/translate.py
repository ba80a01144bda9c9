"""CONFIG_DB to the XML of the YANG data tree, and from a place in that XML back to a row.

XML, because all of it is text, as CONFIG_DB is: the types are then the models' own business. The rules are those of
SONiC's translator (``sonic_yang_ext.py``). Every leaf stands on a line of its own, so that a line number of libyang
names a field.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from railweave.sonic.rows import ConfigDb, Fields, Table, Value
from railweave.yang.schema import Failure, Pairs, Place, RowSchema, SchemaIndex, TableSchema, Violation

SEPARATED_TEXT: Mapping[tuple[str, str], str] = {
    ("PORT", "adv_speeds"): ",",
    ("PORT", "adv_interface_types"): ",",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"): ",",
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list"): ",",
    ("MIRROR_SESSION", "src_ip"): ",",
    ("BGP_ALLOWED_PREFIXES", "prefixes_v4"): ",",
    ("BGP_ALLOWED_PREFIXES", "prefixes_v6"): ",",
    ("NTP", "src_intf"): ";",
}
"""Fields that CONFIG_DB holds as one text and the models as a list, with the separator."""

# What XML 1.0 cannot carry, not even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# A line break within a value would shift the line numbers.
_BREAKS = {"\n": "&#10;", "\r": "&#13;"}

_STEP = re.compile(r"""/(?:[\w.-]+:)?([\w.-]+)((?:\[[^=\]]+=(?:'[^']*'|"[^"]*")\])*)""")
_PREDICATE = re.compile(r"""\[[^=\]]+=(?:'([^']*)'|"([^"]*)")\]""")


@dataclass(frozen=True, slots=True)
class Translation:
    """A document as XML; line n of it belongs to ``places[n - 1]``. ``refused`` are the parts that have no place in
    the models: they are not in the XML."""

    xml: str
    places: tuple[Place, ...]
    refused: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class _TableText:
    """The XML of one table by ``schema``, the place of each of its lines, and what of it has no place in the models."""

    schema: TableSchema
    rows: Table
    xml: str
    places: tuple[Place, ...]
    refused: tuple[Violation, ...]


class Translator:
    """Translates the documents of many switches for the models of many releases.

    A table of the same rows and the same schema as one before is not translated again: most tables of the switches of
    a tier are equal, and most schemas of a table in all releases.
    """

    def __init__(self) -> None:
        self._kept: dict[str, list[_TableText]] = {}

    def translate(self, tables: ConfigDb, index: SchemaIndex) -> Translation:
        """Return ``tables`` as XML by the models of ``index``; total: what cannot be translated is a violation."""
        modules: dict[str, list[_TableText]] = {}  # a module has one root element
        refused: list[Violation] = []
        for table, rows in tables.items():
            schema = index.get(table)
            if schema is None:
                words = "the models have no table of this name, so its rows are not judged"
                refused.append(Violation(Place(table), words, rows=len(rows), unmodelled=True))
                continue
            text = self._table(table, schema, rows)
            modules.setdefault(schema.module, []).append(text)
            refused += text.refused
        return _joined(modules, tuple(refused))

    def _table(self, table: str, schema: TableSchema, rows: Table) -> _TableText:
        kept = self._kept.setdefault(table, [])
        for text in kept:
            if text.rows == rows and text.schema == schema:
                return text
        text = _table_text(table, schema, rows)
        kept.insert(0, text)
        del kept[_MOST_KEPT:]
        return text


_MOST_KEPT = 8
"""Texts kept of a table: those of as many releases, of the switches met last."""


def _joined(modules: Mapping[str, Sequence[_TableText]], refused: tuple[Violation, ...]) -> Translation:
    xml: list[str] = []
    places: list[Place] = []
    for module, texts in modules.items():
        xml.append(f'<{module} xmlns="{escape(texts[0].schema.namespace)}">\n')
        xml += (text.xml for text in texts)
        xml.append(f"</{module}>\n")
        places += (Place(""), *(place for text in texts for place in text.places), Place(""))
    return Translation("".join(xml), tuple(places), refused)


def _table_text(table: str, schema: TableSchema, rows: Table) -> _TableText:
    lines = [(f"<{table}>", Place(table))]
    refused: list[Violation] = []
    for key, fields in rows.items():
        place = Place(table, key)
        form, problems = _form_of(schema, place, fields)
        refused += problems
        if form is not None:
            lines += _row_lines(form, place, fields, {one.place.field for one in problems})
    lines.append((f"</{table}>", Place(table)))
    xml = "".join(f"{line}\n" for line, _ in lines)
    return _TableText(schema, dict(rows), xml, tuple(place for _, place in lines), tuple(refused))


def _row_lines(form: RowSchema, place: Place, fields: Fields, faulty: set[str]) -> Iterator[tuple[str, Place]]:
    yield f"<{form.element}>", place
    if form.keys:
        for name, part in zip(form.keys, place.key.split("|"), strict=True):
            yield _leaf(name, part), place
    for name, value in fields.items():
        if name not in faulty:
            there = Place(place.table, place.key, name)
            for line in _field_lines(form, there, value):
                yield line, there
    yield f"</{form.element}>", place


def _form_of(schema: TableSchema, place: Place, fields: Fields) -> tuple[RowSchema | None, list[Violation]]:
    """Return the first form that takes the key and all fields; where none does, the nearest, with what is wrong."""
    if _NOT_XML.search(place.key):
        return None, [Violation(place, "the key holds a character that no model takes")]
    candidates = schema.candidates(place.key)
    if not candidates:
        return None, [Violation(place, _wrong_key(schema))]
    nearest = min(candidates, key=lambda form: len(form.unknown(fields)))
    problems = [
        Violation(Place(place.table, place.key, name), f"{schema.module} has no such field", _text(fields[name]))
        for name in nearest.unknown(fields)
    ]
    known = {one.place.field for one in problems}
    for name, value in fields.items():
        if name not in known and (words := _wrong_value(nearest, place.table, name, value)):
            problems.append(Violation(Place(place.table, place.key, name), words, _text(value)))
    return nearest, problems


def _wrong_key(schema: TableSchema) -> str:
    forms = [*schema.fixed, *("|".join(f"<{key}>" for key in one.keys) for one in schema.lists)]
    return f"{schema.module} has no row of such a key; keys there: {', '.join(forms)}"


def _wrong_value(form: RowSchema, table: str, name: str, value: Value) -> str:
    if any(_NOT_XML.search(part) for part in ((value,) if isinstance(value, str) else value)):
        return "the value holds a character that no model takes"
    if form.pairs and _NOT_XML.search(name):
        return "the field's name holds a character that no model takes"
    if name in form.leaf_lists:
        wrong = isinstance(value, str) and (table, name) not in SEPARATED_TEXT
        return "this is a list of values, and not text" if wrong else ""
    return "" if isinstance(value, str) else "this is one text, and not a list of values"


def _field_lines(form: RowSchema, place: Place, value: Value) -> Iterator[str]:
    if form.pairs:
        yield _pair(form.pairs, place.field, _text(value))
    elif place.field in form.leaf_lists:
        separator = SEPARATED_TEXT.get((place.table, place.field), ",")
        members = value.split(separator) if isinstance(value, str) else value
        yield from (_leaf(place.field, member) for member in members)
    else:
        yield _leaf(place.field, _text(value))


def _pair(pairs: Pairs, name: str, value: str) -> str:
    return f"<{pairs.element}>{_leaf(pairs.key, name)}{_leaf(pairs.value, value)}</{pairs.element}>"


def _leaf(name: str, text: str) -> str:
    return f"<{name}>{escape(text, _BREAKS)}</{name}>"


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ",".join(value)


def place_of(failure: Failure, translation: Translation, tables: ConfigDb, index: SchemaIndex) -> Place:
    """Return the row and field that libyang complains of; the place of the table, or none, where it says no more."""
    if 0 < failure.line <= len(translation.places) and translation.places[failure.line - 1].table:
        return translation.places[failure.line - 1]
    steps = [
        (name, ["".join(value) for value in _PREDICATE.findall(predicates)])
        for name, predicates in _STEP.findall(failure.path)
    ]
    match steps[1:]:
        case [(table, _)]:
            return Place(table)
        case [(table, _), (element, values)]:
            return Place(table, "|".join(values) or element)
        case [(table, _), (element, values), (name, inner), *_]:
            key = "|".join(values) or _row_without(tables.get(table, {}), index.get(table), element, name)
            return Place(table, key, _field_name(index.get(table), element, name, inner))
    return Place("")


def _row_without(rows: Table, schema: TableSchema | None, element: str, field: str) -> str:
    """Return the key of the first row that lacks ``field``: of what is missing libyang tells the place in the schema
    alone, which has no keys."""
    if schema is None or element in schema.fixed:
        return element
    lacking = (key for key, fields in rows.items() if field not in fields and _has_form(schema, key, element))
    return next(lacking, "")


def _has_form(schema: TableSchema, key: str, element: str) -> bool:
    return any(form.element == element for form in schema.candidates(key))


def _field_name(schema: TableSchema | None, element: str, name: str, inner: list[str]) -> str:
    """Return the CONFIG_DB field of a step below a row: the entry's key in a map table, nothing for a key leaf."""
    form = next((one for one in schema.lists if one.element == element), None) if schema else None
    if form is None:
        return name
    if form.pairs and form.pairs.element == name:
        return "".join(inner)
    return "" if name in form.keys else name
