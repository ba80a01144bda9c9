"""Secrets in a device's configuration, which stands with references to them until it is compared with what runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from railweave.secrets import references, with_secrets
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig, Fields, Row


def resolved(config: DeviceConfig, values: Mapping[str, str]) -> DeviceConfig:
    """Return a device's configuration with the secrets that it refers to and that have a value."""
    return _replaced(config, lambda text, _: with_secrets(text, values))


def as_running(config: DeviceConfig, running: RunningConfig) -> DeviceConfig:
    """Return a configuration whose unresolved secrets are those that run: what nobody here knows is no difference."""

    def value_of(text: str, place: tuple[str, str, str]) -> str:
        if not references(text):
            return text
        table, key, name = place
        runs = running.config_db.get(table, {}).get(key, {}).get(name) if table else _running_line(text, running.frr)
        return runs if isinstance(runs, str) else text

    return _replaced(config, value_of)


def _running_line(line: str, frr: str | None) -> str | None:
    begin = line[: line.index("{secret:")].strip()
    indent = line[: len(line) - len(line.lstrip())]
    found = (one.strip() for one in (frr or "").splitlines() if one.strip().startswith(begin))
    return next((f"{indent}{one}\n" for one in found), None)


_InPlace = Callable[[str, tuple[str, str, str]], str]


def _replaced(config: DeviceConfig, value_of: _InPlace) -> DeviceConfig:
    rows = tuple(_row(row, value_of) if _refers(row) else row for row in config.rows)
    frr = config.frr
    if "{secret:" in frr:
        frr = "".join(value_of(line, ("", "", "")) for line in frr.splitlines(keepends=True))
    return replace(config, rows=rows, frr=frr)


def _refers(row: Row) -> bool:
    return "{secret:" in row.key or any("{secret:" in value for value in row.fields.values() if isinstance(value, str))


def _row(row: Row, value_of: _InPlace) -> Row:
    key = value_of(row.key, (row.table, row.key, ""))
    fields: Fields = {
        name: value_of(value, (row.table, key, name)) if isinstance(value, str) else value
        for name, value in row.fields.items()
    }
    return Row(row.table, key, fields, row.why, row.about)
