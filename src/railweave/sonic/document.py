"""The running configuration as one document: CONFIG_DB tables and FRR's text.

``show runningconfiguration all`` prints both as one JSON object: the tables, and the key ``bgpraw`` with the text of
FRR's ``show running-config``. This module reads and writes that form and decides when two values are the same.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from operator import contains, methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from railweave.secrets import shown_text
from railweave.sonic.rows import ConfigDb, Fields, Value
from railweave.wording import natural_key

if TYPE_CHECKING:
    from railweave.sonic.frr import FrrDocument


BGPRAW = "bgpraw"
"""The document's key for FRR's text, beside those of the tables."""

PLACEHOLDER = "NULL"
"""Redis keeps no empty hash, so SONiC stores a row without fields as the one field ``NULL`` = ``NULL``."""


class DocumentError(ValueError):
    """The text is not a configuration document; the message says where."""


class _KeptComparison(NamedTuple):
    """The result of comparing a configuration with ``other``, see ``RunningConfig.keep_comparison``."""

    other: object
    options: tuple[object, ...]
    result: object


@dataclass(frozen=True)
class RunningConfig:
    """The running configuration of one switch.

    ``frr`` is None where FRR's configuration is unknown: the key was missing, null or empty because FRR did not answer
    (SONiC prints that with exit status 0). Unknown is not empty: no change may be planned on it. ``digest_key`` is the
    switch's own key for digests of its configuration (``diff.running_sha256``), empty where it keeps none.
    """

    config_db: ConfigDb = field(repr=False)
    frr: str | None = field(repr=False)
    digest_key: str = field(default="", repr=False, compare=False)

    @cached_property
    def frr_document(self) -> "FrrDocument | None":
        """Return FRR's configuration, parsed once; None if it is unknown."""
        from railweave.sonic.frr import parse_frr

        if self.frr is None:
            return None
        return parse_frr(self.frr)

    @property
    def port_rows(self) -> Mapping[str, Fields]:
        """Return the rows of the ports by their names."""
        return self.config_db.get("PORT", {})

    @property
    def is_whole(self) -> bool:
        """Tell whether it has the tables that the configuration of every switch has."""
        return {"DEVICE_METADATA", "PORT"} <= self.config_db.keys()

    def with_frr(self, config_db: ConfigDb, document: "FrrDocument") -> "RunningConfig":
        """Return a configuration with other tables and with FRR's lines; its text is written from them."""
        from railweave.sonic.frr import render_frr

        changed = replace(self, config_db=config_db, frr=render_frr(document))
        # To parse its text would give the same document.
        changed.__dict__["frr_document"] = document
        return changed

    def with_tables(self, config_db: ConfigDb) -> "RunningConfig":
        """Return a configuration with other tables and the same FRR."""
        changed = replace(self, config_db=config_db)
        if "frr_document" in self.__dict__:
            changed.__dict__["frr_document"] = self.frr_document
        return changed

    def parsed_as(self, document: "FrrDocument") -> "RunningConfig":
        """Return the same configuration with ``document`` as its parsed FRR text; the caller knows that they agree."""
        parsed = replace(self)
        parsed.__dict__["frr_document"] = document
        return parsed

    def last_comparison(self, other: object, options: tuple[object, ...]) -> Any:
        """Return the result kept by ``keep_comparison`` for the same object and options; None if there is none."""
        last: _KeptComparison | None = self.__dict__.get("_last_comparison")
        if last is None or last.other is not other or last.options != options:
            return None
        return last.result

    def keep_comparison(self, other: object, options: tuple[object, ...], result: object) -> None:
        """Keep the result of a comparison with ``other``; ``options`` are all other values that it depends on."""
        # A deployment reads a switch that did not change again and again, as the same value.
        self.__dict__["_last_comparison"] = _KeptComparison(other, options, result)

    def known_frr(self, purpose: str) -> "FrrDocument":
        """Return FRR's configuration; raises DocumentError if it is unknown.

        ``purpose`` ends the sentence of the error: what is impossible for that reason.
        """
        document = self.frr_document
        if document is None:
            raise DocumentError(
                f"FRR does not answer: its running configuration is unknown, so {purpose} (is the bgp container up?)"
            )
        return document


def parse_running(text: str) -> RunningConfig:
    """Return the configuration that ``show runningconfiguration all`` printed.

    Raises DocumentError where the text is not a JSON object of tables of rows of texts and lists.
    """
    try:
        loaded = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not JSON: {error}") from error
    return running_from(loaded)


def _refuse_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity, which Python's decoder accepts although they are not JSON."""
    raise ValueError(f"{name} is not JSON")


def running_from(document: object) -> RunningConfig:
    """Return the configuration of an already loaded JSON document; raises DocumentError."""
    if not isinstance(document, Mapping):
        raise DocumentError("the document is not a JSON object")
    tables = {table: _parse_table(table, rows) for table, rows in document.items() if table != BGPRAW}
    frr = document.get(BGPRAW)
    if not isinstance(frr, str) or not frr.strip():
        frr = None
    return RunningConfig(tables, frr)


def _parse_table(table: str, rows: object) -> dict[str, Fields]:
    """Return the rows of a table; raises DocumentError if they are not rows of texts and lists."""
    if not isinstance(rows, Mapping):
        raise DocumentError(f"{table}: not a table of rows")
    # Most tables have the form in which CONFIG_DB keeps them, and need no copy.
    if type(rows) is dict and _are_plain(rows.values()):
        return rows
    return {key: parse_fields(fields, f"{table}|{key}") for key, fields in rows.items()}


_TEXT = frozenset({str})
_ROW = frozenset({dict})


def _are_plain(rows: Collection[object]) -> bool:
    """Tell whether rows are as ``parse_fields`` returns them."""
    # Without a call for each row: a fabric has a million of them.
    if not _ROW.issuperset(map(type, rows)):
        return False
    field_rows = cast("Collection[Fields]", rows)
    return are_texts(field_rows) and not any(map(contains, field_rows, repeat(PLACEHOLDER)))


def are_texts(rows: Iterable[Fields]) -> bool:
    """Tell whether all fields of rows are texts rather than lists."""
    return _TEXT.issuperset(map(type, chain.from_iterable(map(_values, rows))))


_values = methodcaller("values")


def parse_fields(fields: object, where: str) -> dict[str, Value]:
    """Return a row's fields with lists as tuples, numbers as text and the placeholder of an empty row dropped.

    Raises DocumentError, with the place ``where``, for a value that CONFIG_DB cannot hold.
    """
    # Most rows have the form in which CONFIG_DB keeps them, and need no copy.
    if type(fields) is dict and PLACEHOLDER not in fields and _TEXT.issuperset(map(type, fields.values())):
        return fields
    if not isinstance(fields, Mapping):
        raise DocumentError(f"{shown_text(where)}: not a row of fields")
    return {
        name: value if type(value) is str else parse_value(value, f"{where}|{name}")
        for name, value in fields.items()
        if name != PLACEHOLDER
    }


def parse_value(value: object, where: str) -> Value:
    """Return a field as CONFIG_DB keeps it: text or a list of texts; raises DocumentError for anything else."""
    if isinstance(value, list | tuple):
        return tuple(_scalar(member, where) for member in value)
    return _scalar(value, where)


def _scalar(value: object, where: str) -> str:
    """Return a single value as text; raises DocumentError, with the place ``where``, if it is not a plain value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    description = "null" if value is None else f"a value of another kind ({type(value).__name__})"
    raise DocumentError(f"{shown_text(where)}: {description} is neither text nor a list of texts")


def canonical(value: Value) -> Value:
    """Return a value in a form that is equal for all values with the same meaning.

    Lists have no order, and Redis reads an empty one as ``[""]``.
    """
    if isinstance(value, str):
        return value
    return tuple(sorted(member for member in value if member))


def same_value(value: Value | None, other: Value | None) -> bool:
    """Tell whether two fields hold the same; None is a field that does not exist."""
    if value is None or other is None:
        return value is other
    return canonical(value) == canonical(other)


def same_fields(fields: Fields, other: Fields) -> bool:
    """Tell whether two rows hold the same fields."""
    return fields.keys() == other.keys() and all(same_value(value, other[name]) for name, value in fields.items())


def json_fields(fields: Fields) -> dict[str, Any]:
    """Return a row ready for JSON, its fields in natural order."""
    return {name: _json_value(fields[name]) for name in sorted(fields, key=natural_key)}


def json_tables(config_db: ConfigDb) -> dict[str, Any]:
    """Return the tables ready for JSON, in natural order; tables without rows are left out."""
    return {
        table: {key: json_fields(rows[key]) for key in sorted(rows, key=natural_key)}
        for table, rows in sorted(config_db.items())
        if rows
    }


def _json_value(value: Value) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def dump(running: RunningConfig) -> str:
    """Return the document as ``show runningconfiguration all`` prints it: indent 4, natural order, ``bgpraw`` last."""
    document = json_tables(running.config_db)
    document[BGPRAW] = running.frr
    return json.dumps(document, indent=4) + "\n"
