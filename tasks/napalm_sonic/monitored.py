"""What the switch's program answers to monitoring, as ``ConfigReading.telemetry`` has it."""

from collections.abc import Mapping
from typing import Any

from napalm_sonic.decoding import decodes

Rows = dict[str, dict[str, Any]]


@decodes("what monitoring reads")
def monitored_of(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the counters, modules and watermarks in an answer; None if it has none."""
    telemetry = answer.get("telemetry")
    if telemetry is None:
        return None
    parts = dict(telemetry)
    # The parts of another version of the program were asked for one by one, in rows.
    if "other_program" in parts:
        return parts
    if "counters" in parts:
        counters = parts["counters"]
        tables = _tables(counters, "ports", "queues", "groups")
        parts["counters"] = {"at": counters["at"], "boot": counters["boot"], **tables}
    if "watermarks" in parts:
        parts["watermarks"] = _tables(parts["watermarks"], "queues", "groups")
    if "link_state" in parts:
        tables = _tables(parts["link_state"], "ports", "readings", "thresholds")
        parts["link_state"] = {"ports": _modules(tables)}
    return parts


def _modules(tables: Mapping[str, Rows]) -> Rows:
    """Return the state of each port with the readings and thresholds of its module."""
    modules: Rows = {}
    for port, state in tables["ports"].items():
        readings = tables["readings"].get(port, {})
        thresholds = tables["thresholds"].get(port, {})
        modules[port] = {**state, "readings": readings, "thresholds": thresholds}
    return modules


def _tables(parts: Mapping[str, Any], *names: str) -> dict[str, Rows]:
    return {name: rows_of(parts[name]) for name in names}


def rows_of(columns: Mapping[str, Any]) -> Rows:
    """Return the rows of a table whose fields are named once (``railweave_switch.telemetry``)."""
    fields = columns["fields"]
    rows: Rows = {}
    for name, values in columns["rows"].items():
        row = dict(zip(fields, values, strict=True))
        # A row has no field that the switch did not read; most rows have all of them, so this is seldom worked.
        if None in values:
            row = {field: value for field, value in row.items() if value is not None}
        rows[name] = row
    return rows
