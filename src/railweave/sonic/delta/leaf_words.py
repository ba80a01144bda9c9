"""Fields and values that every release of SONiC refuses, by the types of its YANG models.

A few kilobytes derived from the models of all releases (``leaf_words.txt`` says how), for checks without a switch and
without libyang: fields that no release has, words outside an enumeration, numbers outside a range. References,
patterns and conditions need the models themselves.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from railweave.sonic.rows import Value

Words = tuple[str, ...]
"""The values that a field accepts: words, and ranges of numbers as ``1..100``; empty for any text."""

_NUMBER = re.compile(r"[+-]?[0-9]+")
# The file's entries for tables such as DSCP_TO_TC_MAP, whose field names are values too.
_MAP_NAMES = "*"
_MAP_VALUES = "*="


def is_modeled(table: str) -> bool:
    """Tell whether any release has a YANG model of a table."""
    return table in _tables()


def modeled_tables() -> tuple[str, ...]:
    """Return the tables of which a release has a YANG model."""
    return tuple(_tables())


def has_field(table: str, field: str) -> bool:
    """Tell whether any release has a field of a modeled table."""
    fields = _tables()[table]
    if _MAP_NAMES in fields:
        return _takes(fields[_MAP_NAMES], field)
    return field in fields


def field_names(table: str) -> Words:
    """Return the names of the fields of a modeled table; none for a map."""
    return tuple(name for name in _tables()[table] if name not in (_MAP_NAMES, _MAP_VALUES))


def accepted_words(table: str, field: str) -> Words:
    """Return the values that a field of a modeled table accepts; empty for any text."""
    fields = _tables()[table]
    if _MAP_NAMES in fields:
        return fields[_MAP_VALUES]
    return fields[field]


def is_accepted(table: str, field: str, value: Value) -> bool:
    """Tell whether any release accepts ``value`` in a field of a modeled table."""
    words = accepted_words(table, field)
    members = (value,) if isinstance(value, str) else value
    return all(_takes(words, member) for member in members)


def _takes(words: Words, value: str) -> bool:
    """Tell whether a field with these words accepts a value."""
    if not words or value in words:
        return True
    return any(_is_in(value, word) for word in words if ".." in word)


def _is_in(value: str, numbers: str) -> bool:
    """Tell whether a value is a number in a range such as ``1..100``."""
    # Python reads more as a number than libyang and SONiC's daemons: blanks, underscores, digits of other scripts.
    if not _NUMBER.fullmatch(value):
        return False
    least, _, most = numbers.partition("..")
    return int(least) <= int(value) <= int(most)


@cache
def _tables() -> Mapping[str, Mapping[str, Words]]:
    """Return the words of each field of each table; in the file, lines of fields are indented below their table."""
    tables: dict[str, dict[str, Words]] = {}
    fields: dict[str, Words] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            fields = {}
            tables[line] = fields
            continue
        name, _, words = line[1:].partition(" ")
        fields[name] = tuple(words.split("|")) if words else ()
    return tables
