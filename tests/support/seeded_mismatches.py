"""Mismatches on a switch's own CONFIG_DB, seeded one at a time, and rewritings that change none of its meaning."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

Document = dict[str, Any]

LOSSLESS, NOTIFICATIONS = "3", "6"
"""Priorities of the RDMA class and of congestion notifications in the default classes."""

_MAPS = ("TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE")
_PER_PORT = ("PORT_QOS_MAP", "PFC_WD", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")
_SHARED = ("SCHEDULER", "WRED_PROFILE", "BUFFER_POOL", "BUFFER_PROFILE", "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
           "LOSSLESS_TRAFFIC_PATTERN")  # fmt: skip
_BY_NUMBER = ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE")


class Mismatch(NamedTuple):
    """One field or row of a switch that is otherwise than rendered; ``value`` None is one that is removed."""

    table: str
    key: str
    field: str = ""
    value: str | None = None

    def apply(self, document: Document) -> Document:
        """Return the document with it."""
        made = deepcopy(document)
        rows = made.setdefault(self.table, {})
        if not self.field:
            del rows[self.key]
        elif self.value is None:
            del rows[self.key][self.field]
        else:
            rows.setdefault(self.key, {})[self.field] = self.value
        return made


def mismatches(document: Document) -> list[Mismatch]:
    """Return mismatches that change what the switch does with RDMA or notifications, row by row and field by field."""
    hashed = [Mismatch("SWITCH_HASH", "GLOBAL"), Mismatch("SWITCH_HASH", "GLOBAL", "ecmp_hash", "DST_IP,SRC_IP")]
    return [
        *_map_mismatches(document),
        *_row_mismatches(document),
        *_new_mismatches(document),
        *(hashed if "SWITCH_HASH" in document else ()),
    ]


def _map_mismatches(document: Document) -> Iterator[Mismatch]:
    for table in ("DSCP_TO_TC_MAP", *_MAPS, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"):
        for name, row in document.get(table, {}).items():
            yield Mismatch(table, name)
            code_points = {"26": LOSSLESS, "48": NOTIFICATIONS}
            own = (
                code_points
                if table == "DSCP_TO_TC_MAP"
                else {LOSSLESS: LOSSLESS, NOTIFICATIONS: row.get(NOTIFICATIONS)}
            )
            if "PFC" in table:  # a pause of notifications is not obeyed in any case
                own = {LOSSLESS: LOSSLESS}
            for key in (key for key in own if row.get(key) == own[key]):
                yield Mismatch(table, name, key)
                yield from (Mismatch(table, name, key, other) for other in "012457" if other != row[key])
            # All other traffic in the lossless class, and in the strict queue.
            others = [key for key in row if key not in own]
            yield from (Mismatch(table, name, key, LOSSLESS) for key in others)
            if table in ("DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP"):
                yield from (Mismatch(table, name, key, NOTIFICATIONS) for key in others)


def _row_mismatches(document: Document) -> Iterator[Mismatch]:
    for table, key, row in _rows_that_count(document):
        yield Mismatch(table, key)
        for field, value in row.items():
            # Packets are green: a profile that leaves the other colors out marks all of them.
            if table == "WRED_PROFILE" and "green" not in field and field != "ecn":
                continue
            # An absent field of the watchdog has SONiC's default.
            if (table, field, value) not in {("PFC_WD", "action", "drop"), ("PFC_WD", "POLL_INTERVAL", "100")}:
                yield Mismatch(table, key, field)
            yield from (Mismatch(table, key, field, other) for other in _others(document, table, field, value))


def _rows_that_count(document: Document) -> Iterator[tuple[str, str, dict[str, str]]]:
    for table in _PER_PORT + _SHARED:
        yield from ((table, key, row) for key, row in document.get(table, {}).items() if key != "global")
    for table in _BY_NUMBER:
        for key, row in document.get(table, {}).items():
            number = key.partition("|")[2]
            if number == LOSSLESS or (table == "QUEUE" and number == NOTIFICATIONS):
                yield table, key, row
    for row in document["CABLE_LENGTH"].values():
        for port, length in row.items():
            yield "CABLE_LENGTH", "AZURE", {port: length}
            break


def _others(document: Document, table: str, field: str, value: str) -> Iterator[str]:
    if re.fullmatch(r"-?\d+", value) and not field.endswith("_enable"):
        yield from (str(int(value) + by) for by in (-1, 1, 1000) if field != "weight" or 0 < int(value) + by <= 100)
    elif field.endswith("m") or re.fullmatch(r"\d+m", value):
        yield from ("1m", "0m", "300m")
    elif field in ("pfc_enable", "pfcwd_sw_enable"):
        yield from ("", "4", "3,4", "0,3")
    elif field in ("profile", "scheduler", "wred_profile"):
        target = {"profile": "BUFFER_PROFILE", "scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"}[field]
        yield "no-such-row"
        yield from (name for name, row in document[target].items() if row != document[target].get(value))
    elif field == "pool" or field.endswith("_map"):
        yield "no-such-row"
    elif field == "profile_list":
        yield from ("no-such-row", value.partition(",")[0])
    else:
        words = {"drop": ("forward", "alert"), "ecn_all": ("ecn_none", "ecn_red"), "true": ("false",),
                 "DWRR": ("STRICT", "WRR"), "STRICT": ("DWRR",), "dynamic": ("static",), "ingress": ("egress",),
                 "egress": ("ingress",), "bytes": ("packets",)}  # fmt: skip
        yield from words.get(value, ())


def _new_mismatches(document: Document) -> Iterator[Mismatch]:
    port = next(iter(document["CABLE_LENGTH"]["AZURE"]))
    metadata = document["DEVICE_METADATA"]["localhost"]
    yield Mismatch("SCHEDULER", "roce", "pir", "1250000000")
    yield Mismatch("SCHEDULER", "best-effort", "cir", "1250000000")
    yield Mismatch("PFC_WD", "GLOBAL", "BIG_RED_SWITCH", "enable")
    yield Mismatch("FLEX_COUNTER_TABLE", "PFCWD", "FLEX_COUNTER_STATUS", "disable")
    yield Mismatch("PORT", port, "speed", "200000")
    yield Mismatch("PORT", port, "pfc_asym", "on")
    if metadata["buffer_model"] == "dynamic":
        yield Mismatch("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", "over_subscribe_ratio", "2")
        yield Mismatch("BUFFER_POOL", "ingress_lossless_pool", "xoff", "2000000")
    yield Mismatch("DEVICE_METADATA", "localhost", "buffer_model",
                   {"dynamic": "traditional", "traditional": "dynamic"}[metadata["buffer_model"]])  # fmt: skip


def rename(document: Document, table: str, name: str) -> Document:
    """Return the document with another name of a row of ``table`` everywhere."""
    made = deepcopy(document)
    made[table] = {f"other-{key}" if key == name else key: row for key, row in made[table].items()}
    fields = {"SCHEDULER": ("scheduler",), "WRED_PROFILE": ("wred_profile",),
              "BUFFER_PROFILE": ("profile", "profile_list")}  # fmt: skip
    for each in made.values():
        for row in each.values():
            for field in set(row) & {*fields.get(table, ()), *(_MAP_FIELDS.get(table, ()))}:
                row[field] = ",".join(f"other-{one}" if one == name else one for one in row[field].split(","))
    return made


_MAP_FIELDS = {
    "DSCP_TO_TC_MAP": ("dscp_to_tc_map",),
    "TC_TO_QUEUE_MAP": ("tc_to_queue_map",),
    "TC_TO_PRIORITY_GROUP_MAP": ("tc_to_pg_map",),
    "MAP_PFC_PRIORITY_TO_QUEUE": ("pfc_to_queue_map",),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": ("pfc_to_pg_map",),
}
RENAMED = (*_MAP_FIELDS, "SCHEDULER", "WRED_PROFILE", "BUFFER_PROFILE")
"""Tables whose rows are named by other rows."""


def in_brackets(document: Document) -> Document:
    """Return the document with references as older images write them: ``[TABLE|key]``."""
    made = deepcopy(document)
    tables = {field: table for table, fields in _MAP_FIELDS.items() for field in fields}
    tables |= {"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE", "profile": "BUFFER_PROFILE",
               "profile_list": "BUFFER_PROFILE", "pool": "BUFFER_POOL"}  # fmt: skip
    for rows in (made[table] for table in (*_BY_NUMBER, *_PER_PORT, "BUFFER_PROFILE") if table in made):
        for row in rows.values():
            for field in row.keys() & tables.keys():
                if row[field] != "NULL":
                    row[field] = ",".join(f"[{tables[field]}|{one}]" for one in row[field].split(","))
    return made


def split_ranges(document: Document) -> Document:
    """Return the document with one row for each queue and group."""
    made = deepcopy(document)
    for table in _BY_NUMBER:
        rows: dict[str, dict[str, str]] = {}
        for key, row in made.get(table, {}).items():
            port, _, numbers = key.partition("|")
            first, _, last = numbers.partition("-")
            rows |= {f"{port}|{number}": dict(row) for number in range(int(first), int(last or first) + 1)}
        made[table] = rows
    return made


def joined_ports(document: Document) -> Document:
    """Return the document with one row for all ports that are set alike."""
    made = deepcopy(document)
    for table in (*_BY_NUMBER, *_PER_PORT):
        alike: dict[tuple[str, str], list[str]] = {}
        for key, row in made.get(table, {}).items():
            port, bar, numbers = key.partition("|")
            alike.setdefault((bar + numbers, json.dumps(row)), []).append(port)
        if table in made:
            made[table] = {",".join(ports) + rest: json.loads(row) for (rest, row), ports in alike.items()}
    return made


def reversed_order(document: Document) -> Document:
    """Return the document with tables, rows and fields in reversed order."""
    return {
        table: {key: dict(reversed(row.items())) for key, row in reversed(rows.items())}
        for table, rows in reversed(document.items())
    }


def halved_weights(document: Document) -> Document:
    """Return the document with weights of the same relation."""
    made = deepcopy(document)
    for row in made["SCHEDULER"].values():
        if "weight" in row:
            row["weight"] = str(int(row["weight"]) // 2)
    return made


REWRITINGS: dict[str, Callable[[Document], Document]] = {
    "in brackets": in_brackets,
    "split ranges": split_ranges,
    "joined ports": joined_ports,
    "reversed order": reversed_order,
    "halved weights": halved_weights,
}
