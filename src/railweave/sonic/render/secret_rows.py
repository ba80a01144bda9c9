"""Secrets in a device's configuration, which holds references to them until it is compared with a switch.

A reference is replaced only where the value is hidden whenever the configuration is shown: as the value of a secret
field, and after a command of FRR that takes a secret. Elsewhere, also in a row's key, it stays a reference.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from railweave.secrets import is_secret, references, refers_openly, with_secrets
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig, Fields, Row, Value


def resolved(config: DeviceConfig, values: Mapping[str, str]) -> DeviceConfig:
    """Return a device's configuration with its references to secrets replaced by their ``values``, if given."""
    return _replaced(config, lambda text, _: with_secrets(text, values))


def as_running(config: DeviceConfig, running: RunningConfig) -> DeviceConfig:
    """Return a configuration with references to secrets replaced by the running values, so that they do not differ.

    A reference without a running value stays.
    """

    def running_value(text: str, place: _FieldOfRow | None) -> str:
        if not references(text):
            return text
        if place is None:
            return _running_line(text, running.frr or "")
        value = running.config_db.get(place.table, {}).get(place.key, {}).get(place.field)
        return value if isinstance(value, str) else text

    return _replaced(config, running_value)


def _running_line(line: str, frr: str) -> str:
    """Return the running line of FRR that begins like ``line``, up to its reference to a secret.

    If there is none, ``line`` itself is returned. The result has the indentation of ``line``.
    """
    beginning = line[: line.index("{secret:")].strip()
    indent = line[: len(line) - len(line.lstrip())]
    for running_line in map(str.strip, frr.splitlines()):
        if running_line.startswith(beginning):
            return f"{indent}{running_line}\n"
    return line


class _FieldOfRow(NamedTuple):
    """The place of a value in CONFIG_DB."""

    table: str
    key: str
    field: str


_Replacement = Callable[[str, _FieldOfRow | None], str]
"""Returns what replaces the text of a field, or of a line of FRR (None) with its line end."""


def _replaced(config: DeviceConfig, replacement: _Replacement) -> DeviceConfig:
    """Return a configuration with every text replaced that may hold the value of a secret."""
    rows = tuple(_replaced_row(row, replacement) for row in config.rows)
    frr = config.frr
    if "{secret:" in frr:
        frr = "".join(_replaced_line(line, replacement) for line in frr.splitlines(keepends=True))
    return replace(config, rows=rows, frr=frr)


def _refers_to_secret(row: Row) -> bool:
    return any("{secret:" in value for value in row.fields.values() if isinstance(value, str))


def _replaced_row(row: Row, replacement: _Replacement) -> Row:
    # Most rows have no secrets and stay the same object.
    if not _refers_to_secret(row):
        return row
    fields: Fields = {name: _replaced_field(row, name, value, replacement) for name, value in row.fields.items()}
    return Row(row.table, row.key, fields, row.why, row.about)


def _replaced_field(row: Row, name: str, value: Value, replacement: _Replacement) -> Value:
    if not isinstance(value, str) or not is_secret(row.table, name):
        return value
    return replacement(value, _FieldOfRow(row.table, row.key, name))


def _replaced_line(line: str, replacement: _Replacement) -> str:
    if refers_openly(line):
        return line
    return replacement(line, None)
