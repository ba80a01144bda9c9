"""Priority groups that SONiC's buffer manager writes by itself, beside ours.

In the traditional model buffermgrd joins the lossless priorities of a port in rows of its own, ``3-4`` beside ``3`` and
``4``, whenever ``pfc_enable`` or the port's row changes, and never removes one (sonic-swss cfgmgr/buffermgr.cpp
doSpeedUpdateTask). Such a row keeps the headroom of a group that is no longer lossless, and removing it takes the
headroom of all its groups (orchagent/bufferorch.cpp processPriorityGroup).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.lossless import PFC_ENABLE, priorities, widened
from railweave.sonic.delta.spans import spans_of
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
    """Return tables with the joined rows that buffermgrd adds to them; the same object if it adds none."""
    groups = tables.get(PRIORITY_GROUPS, {})
    added: dict[str, Fields] = {}
    for port, row in tables.get("PORT_QOS_MAP", {}).items():
        paused = row.get(PFC_ENABLE, "")
        # A single priority makes no joined row.
        if "," in paused:
            added.update(_joined(tables, port, priorities(paused)))
    added = {key: fields for key, fields in added.items() if key not in groups}
    if not added:
        return tables
    return {**tables, PRIORITY_GROUPS: {**groups, **added}}


def made_between(edits: Iterable[Edit], before: ConfigDb, after: ConfigDb) -> Iterator[Edit]:
    """Yield a removal of each row that buffermgrd adds, and would leave behind, during a change.

    ``edits`` turn ``before`` into ``after``. A port whose priorities change has those of before and after for a moment
    (``lossless.widened``). buffermgrd joins them all in one row and would leave that row behind.
    """
    groups = before.get(PRIORITY_GROUPS, {}).keys() | after.get(PRIORITY_GROUPS, {}).keys()
    owned = {port_of(key) for key in groups}
    for edit in edits:
        if edit.field != PFC_ENABLE or edit.key not in owned:
            continue
        is_split_in_two = len(widened(edit)) > 1
        if not is_split_in_two:
            continue
        paused_after = priorities(edit.after)
        for key, fields in _joined(after, edit.key, priorities(edit.before) | paused_after):
            if key not in groups and not paused_after.issuperset(numbers_of(key)):
                yield Edit(op=Op.REMOVE, table=PRIORITY_GROUPS, key=key, field=None, before=fields, after=None)


def left_behind(edits: Iterable[Edit], tables: ConfigDb) -> Iterator[Edit]:
    """Yield a removal of each of buffermgrd's joined rows that shares a group with a row that ``edits`` remove.

    Rows that ``edits`` name themselves are left out.
    """
    group_edits = [edit for edit in edits if edit.table == PRIORITY_GROUPS]
    named = {edit.key for edit in group_edits}
    removed = _removed_groups(group_edits)
    if not removed:
        return
    for key, fields in tables.get(PRIORITY_GROUPS, {}).items():
        if key not in named and _is_joined_over(key, fields, removed.get(port_of(key), ())):
            yield Edit(op=Op.REMOVE, table=PRIORITY_GROUPS, key=key, field=None, before=fields, after=None)


def _removed_groups(edits: Iterable[Edit]) -> Mapping[str, Collection[int]]:
    """Return the priority groups whose rows ``edits`` remove, by port."""
    removed: dict[str, set[int]] = {}
    for edit in edits:
        if edit.op is Op.REMOVE and edit.field is None:
            removed.setdefault(port_of(edit.key), set()).update(numbers_of(edit.key))
    return removed


def _is_joined_over(key: str, fields: Fields, groups: Collection[int]) -> bool:
    """Tell whether buffermgrd's row ``key`` joins several groups, one of ``groups`` among them."""
    numbers = numbers_of(key)
    if len(numbers) < 2 or not is_made_by_sonic(PRIORITY_GROUPS, key, fields):
        return False
    return any(number in groups for number in numbers)


def leaves_rows(edit: Edit, tables: ConfigDb) -> bool:
    """Tell whether buffermgrd adds groups or profiles of its own after an edit; they stay when the edit is reverted.

    ``tables`` is the configuration before the edit.
    """
    # The dynamic model computes groups in APPL_DB and writes none to CONFIG_DB.
    if _is_dynamic(tables):
        return False
    if edit.table == CABLE_LENGTH:
        return True
    if (edit.table, edit.field) == ("PORT", "speed"):
        return _has_groups_of_speed(tables, edit.key)
    if (edit.table, edit.field) == ("PORT_QOS_MAP", PFC_ENABLE):
        adds_priorities = not priorities(edit.after) <= priorities(edit.before)
        return adds_priorities and _has_cable(tables, edit.key)
    return False


def _has_groups_of_speed(tables: ConfigDb, port: str) -> bool:
    """Tell whether buffermgrd's traditional model has priority groups of a port, with profiles named by its speed."""
    paused = tables.get("PORT_QOS_MAP", {}).get(port, {}).get(PFC_ENABLE)
    return bool(priorities(paused)) and _has_cable(tables, port)


def _is_dynamic(tables: ConfigDb) -> bool:
    return tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("buffer_model") == "dynamic"


def _has_cable(tables: ConfigDb, port: str) -> bool:
    return _cable_length(tables, port) != _NO_CABLE


def _cable_length(tables: ConfigDb, port: str) -> Value:
    return tables.get(CABLE_LENGTH, {}).get("AZURE", {}).get(port, _NO_CABLE)


def _joined(tables: ConfigDb, port: str, paused: Iterable[int]) -> Iterator[tuple[str, Fields]]:
    """Yield key and fields of the rows of several groups that buffermgrd writes for a port with these priorities."""
    if _is_dynamic(tables) or not _has_cable(tables, port):
        return
    length = _cable_length(tables, port)
    speed = tables.get("PORT", {}).get(port, {}).get("speed", "")
    for span in spans_of(paused):
        if "-" in span:
            yield f"{port}|{span}", {"profile": f"{MADE_BY_SONIC}{speed}_{length}_profile"}
