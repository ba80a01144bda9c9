"""Priority groups that SONiC's buffer manager writes by itself, beside ours.

In the traditional model buffermgrd joins the lossless priorities of a port in rows of its own, ``3-4`` beside ``3`` and
``4``, whenever ``pfc_enable`` or the port's row changes, and never removes one (sonic-swss cfgmgr/buffermgr.cpp
doSpeedUpdateTask). Such a row keeps the headroom of a group that is lossless no more, and its removal takes that of
all its groups (orchagent/bufferorch.cpp processPriorityGroup).
"""

from collections.abc import Iterable, Iterator

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.lossless import PFC_ENABLE, priorities, widened
from railweave.sonic.delta.spans import rows_by_port, spans_of
from railweave.sonic.ownership import (
    CABLE_LENGTH,
    MADE_BY_SONIC,
    PRIORITY_GROUPS,
    is_made_by_sonic,
    numbers_of,
    port_of,
)
from railweave.sonic.rows import ConfigDb, Fields, Value

_NO_CABLE = "0m"
"""The length at which buffermgrd makes no group."""


def with_daemon_rows(tables: ConfigDb) -> ConfigDb:
    """Return tables with the rows of several groups that buffermgrd makes of them; the same where it makes none."""
    groups = tables.get(PRIORITY_GROUPS, {})
    made: dict[str, Fields] = {}
    for port, row in tables.get("PORT_QOS_MAP", {}).items():
        paused = row.get(PFC_ENABLE, "")
        if "," in paused:
            made.update((key, fields) for key, fields in _joined(tables, port, priorities(paused)) if key not in groups)
    return {**tables, PRIORITY_GROUPS: {**groups, **made}} if made else tables


def made_between(edits: Iterable[Edit], before: ConfigDb, after: ConfigDb) -> Iterator[Edit]:
    """Yield the removal of what buffermgrd makes while ports have the priorities of before and after, and would leave
    behind; ``after`` are the tables that ``edits`` make of ``before``."""
    groups = before.get(PRIORITY_GROUPS, {}).keys() | after.get(PRIORITY_GROUPS, {}).keys()
    owned = {port_of(key) for key in groups}
    for edit in edits:
        if edit.field != PFC_ENABLE or edit.key not in owned or len(widened(edit)) == 1:
            continue
        stays = priorities(edit.after)
        for key, fields in _joined(after, edit.key, priorities(edit.before) | stays):
            if key not in groups and not stays.issuperset(numbers_of(key)):
                yield Edit(Op.REMOVE, PRIORITY_GROUPS, key, None, fields, None)


def left_behind(edits: Iterable[Edit], tables: ConfigDb) -> Iterator[Edit]:
    """Yield the removal of those rows of ``tables`` by buffermgrd that name a group whose own row ``edits`` remove, and
    that ``edits`` do not name."""
    removed: dict[str, set[int]] = {}
    named: set[str] = set()
    for edit in edits:
        if edit.table == PRIORITY_GROUPS:
            named.add(edit.key)
            if edit.op is Op.REMOVE and edit.field is None:
                removed.setdefault(port_of(edit.key), set()).update(numbers_of(edit.key))
    if not removed:
        return
    for port, rows in rows_by_port(tables.get(PRIORITY_GROUPS, {})).items():
        for key, fields in rows.items():
            numbers = numbers_of(key)
            if (
                len(numbers) > 1
                and key not in named
                and not removed.get(port, set()).isdisjoint(numbers)
                and is_made_by_sonic(PRIORITY_GROUPS, key, fields)
            ):
                yield Edit(Op.REMOVE, PRIORITY_GROUPS, key, None, fields, None)


def leaves_rows(edit: Edit, tables: ConfigDb) -> bool:
    """Tell whether buffermgrd answers a change with groups or profiles of its own, which stay when it is reverted."""
    if edit.table == CABLE_LENGTH:
        return not _is_dynamic(tables)
    if edit.table != "PORT_QOS_MAP" or edit.field != PFC_ENABLE or not _has_cable(tables, edit.key):
        return False
    return not (_is_dynamic(tables) or priorities(edit.after) <= priorities(edit.before))


def _is_dynamic(tables: ConfigDb) -> bool:
    return tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("buffer_model") == "dynamic"


def _has_cable(tables: ConfigDb, port: str) -> bool:
    return _cable_length(tables, port) != _NO_CABLE


def _cable_length(tables: ConfigDb, port: str) -> Value:
    return tables.get(CABLE_LENGTH, {}).get("AZURE", {}).get(port, _NO_CABLE)


def _joined(tables: ConfigDb, port: str, paused: Iterable[int]) -> Iterator[tuple[str, Fields]]:
    """Yield the rows of several groups that buffermgrd writes for a port that pauses these priorities."""
    if _is_dynamic(tables) or not _has_cable(tables, port):
        return
    length = _cable_length(tables, port)
    speed = tables.get("PORT", {}).get(port, {}).get("speed", "")
    for span in spans_of(paused):
        if "-" in span:
            yield f"{port}|{span}", {"profile": f"{MADE_BY_SONIC}{speed}_{length}_profile"}
