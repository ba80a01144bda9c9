"""Secrets in a device's configuration, which holds references to them until it is compared with a switch.

A reference is replaced only where the value is hidden whenever the configuration is shown: as the value of a secret
field, and after a command of FRR that takes a secret. Elsewhere, also in a row's key, it stays a reference.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from railweave.secrets import is_secret, references, refers_openly, with_secrets
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig, Fields, Row, Value


def resolved(config: DeviceConfig, values: Mapping[str, str]) -> DeviceConfig:
    """Return a device's configuration with the values of the secrets that it refers to, where they are given."""
    return _replaced(config, lambda text, _: with_secrets(text, values))


def as_running(config: DeviceConfig, running: RunningConfig) -> DeviceConfig:
    """Return a configuration with the running values of unresolved secrets, so that these are no difference."""

    def value_of(text: str, place: tuple[str, str, str]) -> str:
        if not references(text):
            return text
        table, key, name = place
        if not table:
            return _running_line(text, running.frr or "")
        value = running.config_db.get(table, {}).get(key, {}).get(name)
        return value if isinstance(value, str) else text

    return _replaced(config, value_of)


def _running_line(line: str, frr: str) -> str:
    """Return the running FRR line that begins as ``line`` does before its reference; ``line`` itself without one."""
    beginning = line[: line.index("{secret:")].strip()
    indent = line[: len(line) - len(line.lstrip())]
    for running_line in map(str.strip, frr.splitlines()):
        if running_line.startswith(beginning):
            return f"{indent}{running_line}\n"
    return line


_InPlace = Callable[[str, tuple[str, str, str]], str]


def _replaced(config: DeviceConfig, value_of: _InPlace) -> DeviceConfig:
    rows = tuple(_row(row, value_of) for row in config.rows)
    frr = config.frr
    if "{secret:" in frr:
        frr = "".join(_line(line, value_of) for line in frr.splitlines(keepends=True))
    return replace(config, rows=rows, frr=frr)


def _refers(row: Row) -> bool:
    return any("{secret:" in value for value in row.fields.values() if isinstance(value, str))


def _row(row: Row, value_of: _InPlace) -> Row:
    # Most rows have no secrets and stay the same object.
    if not _refers(row):
        return row
    fields: Fields = {name: _field(row, name, value, value_of) for name, value in row.fields.items()}
    return Row(row.table, row.key, fields, row.why, row.about)


def _field(row: Row, name: str, value: Value, value_of: _InPlace) -> Value:
    if not isinstance(value, str) or not is_secret(row.table, name):
        return value
    return value_of(value, (row.table, row.key, name))


def _line(line: str, value_of: _InPlace) -> str:
    if refers_openly(line):
        return line
    return value_of(line, ("", "", ""))
