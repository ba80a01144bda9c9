"""``sonic-cfggen``: print, merge and write configuration documents."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sonic_sim.configdb import to_json
from sonic_sim.merge import ProgramError, merge_into, read_document
from sonic_sim.shell.programs import Call, Result, Wait, program

_VALUED = {"-j": "json", "--json": "json", "--var-json": "var-json", "-v": "var", "--var": "var", "--key": "key",
           "-K": "key", "-a": "additional", "--additional-data": "additional", "-t": "template", "-k": "hwsku",
           "--preset": "preset", "-y": "yaml", "-T": "folder", "-n": "namespace"}  # fmt: skip


@dataclass(slots=True)
class _Options:
    flags: set[str] = field(default_factory=set)
    values: dict[str, list[str]] = field(default_factory=dict)

    def last(self, name: str) -> str | None:
        """Return the last value of an option."""
        found = self.values.get(name)
        return found[-1] if found else None


@program("sonic-cfggen")
def cfggen(call: Call) -> Result:
    """Run ``sonic-cfggen``."""
    options = _options(call.argv[1:])
    if "-d" in options.flags and not call.device.initialized:
        return Result(1, seconds=Wait.FOR_EVER)
    try:
        data = _data(call, options)
        return _output(call, options, data)
    except ProgramError as error:
        return Result(1, err=error.traceback())


def _options(words: list[str]) -> _Options:
    options = _Options()
    rest = iter(words)
    for word in rest:
        name, equals, inline = word.partition("=")
        if name in _VALUED:
            options.values.setdefault(_VALUED[name], []).append(inline if equals else next(rest, ""))
        else:
            options.flags.add(word)
    return options


def _data(call: Call, options: _Options) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for path in options.values.get("json", []):
        _deep_update(data, read_document(_read(call, path)))
    for text in options.values.get("additional", []):
        _deep_update(data, read_document(text))
    if "-d" in options.flags:
        _deep_update(data, call.device.db.document())
    return data


def _read(call: Call, path: str) -> str:
    try:
        return call.device.files.read(call.path(path), call.user).decode()
    except FileNotFoundError as error:
        raise ProgramError(f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'") from error
    except PermissionError as error:
        raise ProgramError(f"PermissionError: [Errno 13] Permission denied: '{path}'") from error


def _deep_update(target: dict[str, Any], source: Any) -> None:
    if not isinstance(source, Mapping):
        raise ProgramError("IndexError: list index out of range")
    for name, value in source.items():
        if isinstance(value, Mapping) and isinstance(target.get(name), dict):
            _deep_update(target[name], value)
        else:
            target[name] = value if not isinstance(value, Mapping) else json.loads(json.dumps(value))


def _output(call: Call, options: _Options, data: dict[str, Any]) -> Result:
    table = options.last("var-json")
    expression = options.last("var")
    if table is not None:
        return Result(out=_table(data, table, options.last("key")))
    if expression is not None:
        return Result(out=_value(data, expression) + "\n")
    if "--print-data" in options.flags:
        return Result(out=to_json(data) + "\n", seconds=0.15)
    if "--write-to-db" in options.flags:
        merge_into(call.device.db, data)
    return Result(seconds=0.15)


def _table(data: dict[str, Any], table: str, key: str | None) -> str:
    if table not in data:
        return ""
    rows = data[table]
    if key is not None:
        rows = {key: rows[key]} if key in rows else {}
    return to_json(rows) + "\n"


def _value(data: dict[str, Any], expression: str) -> str:
    """Return the value of ``A['b']['c']`` or ``A.b.c``; a missing last part is an empty text."""
    parts = re.findall(r"[^.\[\]'\"]+", expression) if "[" not in expression else re.findall(r"[^\[\]'\"]+", expression)
    value: Any = data
    for position, part in enumerate(parts):
        if not isinstance(value, Mapping):
            return ""
        if part not in value:
            if position < len(parts) - 1 or position == 0:
                reason = f"'{part}' is undefined" if position == 0 else f"'dict object' has no attribute '{part}'"
                raise ProgramError(f"jinja2.exceptions.UndefinedError: {reason}")
            return ""
        value = value[part]
    return str(value)
