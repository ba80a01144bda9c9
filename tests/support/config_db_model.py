"""A model of CONFIG_DB and of SONiC's commands, and configurations and merges to try on it.

``config load`` sets fields, null deletes a row, an empty row gets the placeholder; HDEL of the last field deletes the
row; ``config apply-patch`` is RFC 6902 by the jsonpatch package, and refuses empty tables.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import jsonpatch
from hypothesis import strategies as st

from railweave.sonic.delta.steps import HdelStep, LoadStep, PatchStep, RecreateStep, ReloadStep, Step
from railweave.sonic.document import RunningConfig, json_tables, running_from

METADATA = {"DEVICE_METADATA": {"localhost": {"hwsku": "SKU", "mac": "52:54:00:00:00:01", "platform": "x86_64-p-r0"}}}
FIELDS: Mapping[str, tuple[str, ...]] = {
    "PORT": ("admin_status", "description", "fec", "mtu"),
    "INTERFACE": ("mpls",),
    "SCHEDULER": ("type", "weight"),
    "QUEUE": ("scheduler", "wred_profile"),
    "ACL_TABLE": ("ports", "type"),
    "DEVICE_NEIGHBOR": ("name", "port"),
    "PFC_WD": ("BIG_RED_SWITCH", "POLL_INTERVAL"),
}
KEYS: Mapping[str, tuple[str, ...]] = {
    "PORT": ("Ethernet0", "Ethernet4"),
    "INTERFACE": ("Ethernet0", "Ethernet0|10.0.0.0/31", "Ethernet4|10.0.0.0/31", "Ethernet4|fc00::1/126"),
    "SCHEDULER": ("roce", "a~b/c"),
    "QUEUE": ("Ethernet0|3", "Ethernet4|0-2"),
    "ACL_TABLE": ("MGMT",),
    "DEVICE_NEIGHBOR": ("Ethernet0",),
    "PFC_WD": ("GLOBAL", "Ethernet0", "Ethernet4", "Ethernet8"),
}
VALUES = st.sampled_from(["up", "down", "9100", "x"]) | st.sampled_from([["Ethernet0"], ["Ethernet0", "Ethernet4"]])


class Redis:
    """CONFIG_DB as SONiC keeps it, one hash of texts a row, under an orchagent that crashes as the real one does."""

    def __init__(self, config_db: Mapping[str, Any]) -> None:
        self.hashes: dict[str, dict[str, str]] = {}
        self.load(json_tables(running_from(config_db).config_db))

    def delete(self, name: str) -> None:
        table, _, key = name.partition("|")
        if self.hashes.pop(name, None) is not None:
            assert name != "PFC_WD|GLOBAL", "orchagent crashes"
            assert table != "PFC_WD" or f"PORT|{key}" in self.hashes, f"orchagent crashes: {key} is gone already"
            assert table != "PORT" or f"PFC_WD|{key}" not in self.hashes, f"{key} goes before its watchdog"

    def load(self, document: Mapping[str, Any]) -> None:
        for table, rows in document.items():
            assert rows, f"config load does nothing with the empty table {table}"
            for key, fields in rows.items():
                if fields is None:
                    self.delete(f"{table}|{key}")
                    continue
                row = self.hashes.setdefault(f"{table}|{key}", {})
                for name, value in fields.items() or [("NULL", "NULL")]:
                    assert value is not None, "config load would store the text None"
                    row[name if isinstance(value, str) else f"{name}@"] = (
                        value if isinstance(value, str) else ",".join(value)
                    )

    def hdel(self, key: str, fields: tuple[str, ...]) -> None:
        row = self.hashes.get(key, {})
        for name in fields:
            row.pop(name, None)
        if not row:
            self.delete(key)

    def tables(self, *, halfway: bool = False) -> dict[str, dict[str, Any]]:
        """Return the tables; ``halfway`` through a change the last of a field's two forms is read."""
        found: dict[str, dict[str, Any]] = {}
        for name, row in self.hashes.items():
            table, _, key = name.partition("|")
            fields: dict[str, Any] = {}
            for field, text in row.items():
                assert halfway or field.removesuffix("@") not in fields, f"{name}: a text and a list of one name"
                fields[field.removesuffix("@")] = text.split(",") if field.endswith("@") else text
            fields.pop("NULL", None)
            found.setdefault(table, {})[key] = fields
        return found

    def patch(self, operations: list[Mapping[str, Any]]) -> None:
        # A change that was cut off may have left both forms of a field in a row; a patch of other rows leaves it so.
        before = self.tables(halfway=True)
        after = jsonpatch.apply_patch(before, operations)
        assert all(after.values()), "GCU refuses empty tables"
        assert after.get("PFC_WD") == before.get("PFC_WD"), "GCU refuses the table on SKUs that it does not list"
        kept = {
            name: row
            for name, row in self.hashes.items()
            for table, _, key in [name.partition("|")]
            if key in after.get(table, {}) and after[table][key] == before[table][key]
        }
        self.__init__(after)  # type: ignore[misc]
        self.hashes |= kept

    def run(self, steps: Iterable[Step]) -> None:
        for step in steps:
            match step:
                case LoadStep(document):
                    self.load(document)
                case HdelStep(key, fields):
                    self.hdel(key, fields)
                case RecreateStep(removed, document):
                    for key, fields in removed:
                        self.hdel(key, fields) if fields else self.delete(key)
                    self.load(document)
                case PatchStep(operations):
                    self.patch(list(operations))
                case ReloadStep(config_db, _):
                    orphans = watchdogs_without_port(config_db)
                    assert not orphans, f"they crash orchagent when they are deleted later: {orphans}"
                    self.__init__(config_db)  # type: ignore[misc]
                case _:
                    raise AssertionError("no FRR here")


def watchdogs_without_port(config_db: Mapping[str, Any]) -> set[str]:
    return set(config_db.get("PFC_WD", {})) - set(config_db.get("PORT", {})) - {"GLOBAL"}


def settled(config_db: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables as they are compared: a watchdog goes with its port; its row for the whole switch, and fields whose
    removal the daemons ignore, may stay with what holds without them."""
    tables = json_tables(config_db)
    gone = watchdogs_without_port(tables)
    watched = {key: row for key, row in tables.pop("PFC_WD", {}).items() if key not in gone}
    whole = watched.pop("GLOBAL", {})
    stated = {name: value for name, value in whole.items() if NO_WATCHDOG.get(name) != value}
    watched.update({"GLOBAL": stated} if stated else {})
    found = {
        table: {
            key: {name: value for name, value in row.items() if IGNORED.get(table, {}).get(name) != value}
            for key, row in rows.items()
        }
        for table, rows in tables.items()
    }
    return {**found, "PFC_WD": watched}


IGNORED = {
    "PORT": {"admin_status": "down", "fec": "none", "mtu": "9100"},
    "SCHEDULER": {"type": "WRR", "weight": "1"},
}
"""What holds without these fields (SONiC's own defaults)."""
NO_WATCHDOG = {"POLL_INTERVAL": "100", "BIG_RED_SWITCH": "disable"}


@cache
def rows(table: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(FIELDS[table]), VALUES)


@cache
def tables(name: str, min_size: int) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    return st.dictionaries(st.sampled_from(KEYS[name]), rows(name), min_size=min_size)


@cache
def merged_tables(name: str, min_size: int = 1) -> st.SearchStrategy[dict[str, dict[str, Any] | None]]:
    fields = st.dictionaries(st.sampled_from(FIELDS[name]), st.none() | VALUES)
    return st.dictionaries(st.sampled_from(KEYS[name]), st.none() | fields, min_size=min_size)


SOME_TABLES = st.lists(st.sampled_from(sorted(FIELDS)), unique=True, min_size=2)


@st.composite
def configurations(draw: st.DrawFn) -> RunningConfig:
    # Ports that come or go are a reload, and a reload hides everything else; so these two are there.
    document: dict[str, Any] = {**METADATA, "PORT": {port: draw(rows("PORT")) for port in KEYS["PORT"]}}
    for table in sorted(FIELDS.keys() - {"PORT"}):
        found = draw(tables(table, draw(st.integers(0, 1))))
        if found:
            document[table] = found
    return running_from({**document, "bgpraw": "frr version 8.4.4\n"})


@st.composite
def merges(draw: st.DrawFn) -> dict[str, Any]:
    found = {table: draw(merged_tables(table)) for table in draw(SOME_TABLES)}
    if "PORT" in found and draw(st.integers(0, 9)):
        found["PORT"] = {port: fields for port, fields in found["PORT"].items() if fields is not None}
    return found
