"""CONFIG_DB to the XML of the YANG data tree, and from a place in that XML back to a row.

XML, because all of it is text, like CONFIG_DB: the models alone decide about types. The rules are those of SONiC's
translator (``sonic_yang_ext.py``). Every leaf is on a line of its own, so that a line number of libyang means a field.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from railweave.sonic.rows import ConfigDb, Fields, Table, Value
from railweave.yang.schema import ConfigPlace, Failure, MapFields, RowSchema, SchemaIndex, TableSchema, Violation

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
"""Fields that are one text in CONFIG_DB and a list in the models, with the separator."""

# What XML 1.0 cannot carry, not even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# A line break within a value would shift the line numbers.
_BREAKS = {"\n": "&#10;", "\r": "&#13;"}

_STEP = re.compile(r"""/(?:[\w.-]+:)?([\w.-]+)((?:\[[^=\]]+=(?:'[^']*'|"[^"]*")\])*)""")
_PREDICATE = re.compile(r"""\[[^=\]]+=(?:'([^']*)'|"([^"]*)")\]""")


@dataclass(frozen=True, slots=True)
class Translation:
    """A document as XML; ``places[n - 1]`` is the place of line n. ``refused`` are the parts that the models cannot
    represent; they are not in the XML."""

    xml: str
    places: tuple[ConfigPlace, ...]
    refused: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class _TableText:
    """The XML of one table by ``schema``, the place of each line, and the parts that the models cannot represent."""

    schema: TableSchema
    rows: Table
    xml: str
    places: tuple[ConfigPlace, ...]
    refused: tuple[Violation, ...]


class Translator:
    """Translates the documents of many switches for the models of many releases.

    A table with the same rows and schema as an earlier one is not translated again: most tables are equal on all
    switches of a tier, and most schemas in all releases.
    """

    def __init__(self) -> None:
        """Start without translated tables."""
        # By table, the newest first.
        self._last_texts: dict[str, list[_TableText]] = {}

    def translate(self, tables: ConfigDb, index: SchemaIndex) -> Translation:
        """Return ``tables`` as XML by the models of ``index``; every row that cannot be translated is a violation."""
        # A module has one root element, and tables of one module need not follow each other in CONFIG_DB.
        modules: dict[str, list[_TableText]] = {}
        refused: list[Violation] = []
        for table, rows in tables.items():
            schema = index.get(table)
            if schema is None:
                words = "the models have no table of this name, so its rows are not judged"
                refused.append(Violation(ConfigPlace(table), words, rows=len(rows), unmodelled=True))
                continue
            text = self._text_of_table(table, schema, rows)
            modules.setdefault(schema.module, []).append(text)
            refused += text.refused
        return _joined(modules, tuple(refused))

    def _text_of_table(self, table: str, schema: TableSchema, rows: Table) -> _TableText:
        """Return the text of a table; an earlier one if rows and schema are the same."""
        last_texts = self._last_texts.setdefault(table, [])
        for text in last_texts:
            if text.rows == rows and text.schema == schema:
                return text
        text = _table_text(table, schema, rows)
        last_texts.insert(0, text)
        del last_texts[_MOST_KEPT:]
        return text


_MOST_KEPT = 8
"""Texts kept of a table, the last ones: enough for a tier of switches in each of eight releases."""


def _joined(modules: Mapping[str, Sequence[_TableText]], refused: tuple[Violation, ...]) -> Translation:
    """Return the document with the texts of all tables, given by their modules."""
    xml: list[str] = []
    places: list[ConfigPlace] = []
    for module, texts in modules.items():
        xml.append(f'<{module} xmlns="{escape(texts[0].schema.namespace)}">\n')
        xml += (text.xml for text in texts)
        xml.append(f"</{module}>\n")
        # The two lines of the root element belong to no table.
        places.append(ConfigPlace(""))
        for text in texts:
            places += text.places
        places.append(ConfigPlace(""))
    return Translation("".join(xml), tuple(places), refused)


def _table_text(table: str, schema: TableSchema, rows: Table) -> _TableText:
    """Return the XML of a table, without the rows and fields that the schema cannot represent."""
    # Pairs of a line and its place.
    lines = [(f"<{table}>", ConfigPlace(table))]
    refused: list[Violation] = []
    for key, fields in rows.items():
        row_place = ConfigPlace(table, key)
        form, row_violations = _form_of(schema, row_place, fields)
        refused += row_violations
        if form is not None:
            refused_fields = {violation.place.field for violation in row_violations}
            lines += _row_lines(form, row_place, fields, refused_fields)
    lines.append((f"</{table}>", ConfigPlace(table)))
    xml = "".join(f"{line}\n" for line, _ in lines)
    places = tuple(place for _, place in lines)
    return _TableText(schema, dict(rows), xml, places, tuple(refused))


def _row_lines(
    form: RowSchema, place: ConfigPlace, fields: Fields, refused_fields: set[str]
) -> Iterator[tuple[str, ConfigPlace]]:
    """Yield the lines of a row with their places, without ``refused_fields``."""
    yield f"<{form.element}>", place
    if form.keys:
        for name, part in zip(form.keys, place.key.split("|"), strict=True):
            yield _leaf(name, part), place
    for name, value in fields.items():
        if name not in refused_fields:
            field_place = ConfigPlace(place.table, place.key, name)
            for line in _field_lines(form, field_place, value):
                yield line, field_place
    yield f"</{form.element}>", place


def _form_of(schema: TableSchema, place: ConfigPlace, fields: Fields) -> tuple[RowSchema | None, list[Violation]]:
    """Return the form of a row, and the violations of the row against it.

    Of several forms the one with the fewest unknown fields counts; None if the key is that of no form.
    """
    if _NOT_XML.search(place.key):
        return None, [Violation(place, "the key holds a character that no model takes")]
    candidates = schema.candidates(place.key)
    if not candidates:
        return None, [Violation(place, _wrong_key(schema))]
    form = min(candidates, key=lambda candidate: len(candidate.unknown(fields)))
    unknown_fields = form.unknown(fields)
    violations = []
    # Unknown fields come first.
    for name in unknown_fields:
        field_place = ConfigPlace(place.table, place.key, name)
        violations.append(Violation(field_place, f"{schema.module} has no such field", _text(fields[name])))
    for name, value in fields.items():
        if name in unknown_fields:
            continue
        words = _wrong_value(form, place.table, name, value)
        if words:
            violations.append(Violation(ConfigPlace(place.table, place.key, name), words, _text(value)))
    return form, violations


def _wrong_key(schema: TableSchema) -> str:
    """Return the words for a key that is of no form of a table."""
    keys = [*schema.fixed, *(_key_pattern(form) for form in schema.lists)]
    return f"{schema.module} has no row of such a key; keys there: {', '.join(keys)}"


def _key_pattern(form: RowSchema) -> str:
    return "|".join(f"<{key}>" for key in form.keys)


def _wrong_value(form: RowSchema, table: str, name: str, value: Value) -> str:
    """Return why the models cannot represent a value of a field; empty if they can."""
    if any(_NOT_XML.search(member) for member in _members(value)):
        return "the value holds a character that no model takes"
    if form.map_fields and _NOT_XML.search(name):
        return "the field's name holds a character that no model takes"
    is_text = isinstance(value, str)
    if name in form.leaf_lists:
        # Some lists are one text in CONFIG_DB.
        if is_text and (table, name) not in SEPARATED_TEXT:
            return "this is a list of values, and not text"
    elif not is_text:
        return "this is one text, and not a list of values"
    return ""


def _members(value: Value) -> Sequence[str]:
    """Return the members of a list; a text is its only member."""
    if isinstance(value, str):
        return (value,)
    return value


def _field_lines(form: RowSchema, place: ConfigPlace, value: Value) -> Iterator[str]:
    """Yield the lines of a field: one, or one for each member of a list."""
    if form.map_fields:
        yield _map_entry(form.map_fields, place.field, _text(value))
    elif place.field not in form.leaf_lists:
        yield _leaf(place.field, _text(value))
    else:
        members: Sequence[str] = value
        if isinstance(value, str):
            separator = SEPARATED_TEXT.get((place.table, place.field), ",")
            members = value.split(separator)
        for member in members:
            yield _leaf(place.field, member)


def _map_entry(form: MapFields, name: str, value: str) -> str:
    """Return the line of an entry of a map table."""
    return f"<{form.element}>{_leaf(form.key, name)}{_leaf(form.value, value)}</{form.element}>"


def _leaf(name: str, text: str) -> str:
    return f"<{name}>{escape(text, _BREAKS)}</{name}>"


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    return ",".join(value)


def place_of(failure: Failure, translation: Translation, tables: ConfigDb, index: SchemaIndex) -> ConfigPlace:
    """Return the place of a failure in CONFIG_DB as exactly as libyang reports it; an empty place if it does not.

    ``translation`` is the document that libyang checked, made of ``tables``.
    """
    has_line = 0 < failure.line <= len(translation.places)
    if has_line:
        line_place = translation.places[failure.line - 1]
        # The lines of a module's root element belong to no table.
        if line_place.table:
            return line_place
    # Below the container of the module, which is the first step: table, row, field.
    match _path_steps(failure.path)[1:]:
        case [(table, _)]:
            return ConfigPlace(table)
        case [(table, _), (element, values)]:
            return ConfigPlace(table, "|".join(values) or element)
        case [(table, _), (element, values), (name, inner), *_]:
            key = "|".join(values) or _row_without(tables.get(table, {}), index.get(table), element, name)
            return ConfigPlace(table, key, _field_name(index.get(table), element, name, inner))
    return ConfigPlace("")


def _path_steps(path: str) -> list[tuple[str, list[str]]]:
    """Return the steps of a data path: the name of each node, and the key values in its predicates."""
    steps = []
    for name, predicates in _STEP.findall(path):
        # A value is in single or in double quotes, so one of the two groups is empty.
        values = [single or double for single, double in _PREDICATE.findall(predicates)]
        steps.append((name, values))
    return steps


def _row_without(rows: Table, schema: TableSchema | None, element: str, field: str) -> str:
    """Return the key of the first row of a form that lacks ``field``; empty if there is none.

    For a missing node libyang reports only its path in the schema, which has no keys.
    """
    # A row of a fixed name has that of its element.
    if schema is None or element in schema.fixed:
        return element
    for key, fields in rows.items():
        if field not in fields and _has_form(schema, key, element):
            return key
    return ""


def _has_form(schema: TableSchema, key: str, element: str) -> bool:
    return any(form.element == element for form in schema.candidates(key))


def _field_name(schema: TableSchema | None, element: str, name: str, inner: list[str]) -> str:
    """Return the CONFIG_DB field of the node ``name`` below a row.

    In a map table that is the key of the entry, which ``inner`` has. A leaf that is part of the row's key has none.
    """
    if schema is None:
        return name
    form = next((form for form in schema.lists if form.element == element), None)
    if form is None:
        return name
    if form.map_fields and form.map_fields.element == name:
        return "".join(inner)
    if name in form.keys:
        return ""
    return name
