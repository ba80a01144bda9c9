"""What a change does to lossless priorities, so that no class in use is lossy at any moment of it.

In order: groups, queues, maps and PFC of what becomes lossless; then the code points; then what is lossless no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.spans import SPANNED
from railweave.sonic.ownership import numbers_of
from railweave.sonic.rows import ConfigDb, Fields, Value, number

PFC_ENABLE = "pfc_enable"
PFC_FIELDS = (PFC_ENABLE, "pfcwd_sw_enable")
_BY_PRIORITY = frozenset(
    {
        "TC_TO_PRIORITY_GROUP_MAP",
        "TC_TO_QUEUE_MAP",
        "MAP_PFC_PRIORITY_TO_QUEUE",
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    }
)


def priorities(value: Value | Fields | None) -> frozenset[int]:
    """Return the priorities of ``pfc_enable``; none where it is not there."""
    members = value.split(",") if isinstance(value, str) else ()
    return frozenset(found for one in members if (found := number(one)) is not None)


@dataclass(frozen=True)
class LosslessChange:
    """The lossless priorities of a device before and after a change."""

    before: frozenset[int]
    after: frozenset[int]

    @cached_property
    def lost(self) -> frozenset[int]:
        """Return the priorities that are lossless no more."""
        return self.before - self.after

    def takes_away(self, edit: Edit) -> bool:
        """Tell whether an edit takes from a priority that is lossless no more what makes it so."""
        if edit.op is Op.ADD or not self.lost:
            return False
        if edit.table in _BY_PRIORITY:
            return number(edit.field) in self.lost
        return edit.table in SPANNED and not self.lost.isdisjoint(numbers_of(edit.key))


def lossless_change(before: ConfigDb, after: ConfigDb) -> LosslessChange:
    """Return what becomes of the lossless priorities of a device's ports."""
    return LosslessChange(_enabled(before), _enabled(after))


def _enabled(tables: ConfigDb) -> frozenset[int]:
    values = {row.get(PFC_ENABLE, "") for row in tables.get("PORT_QOS_MAP", {}).values()}
    return frozenset().union(*map(priorities, values))


def widened(edit: Edit) -> Sequence[Edit]:
    """Return a change of the priorities of a port as two, the first with all of both; one where that is one of them."""
    if edit.table != "PORT_QOS_MAP" or edit.field not in PFC_FIELDS or edit.op is not Op.UPDATE:
        return (edit,)
    before, after = priorities(edit.before), priorities(edit.after)
    if before <= after or after <= before:
        return (edit,)
    both = ",".join(map(str, sorted(before | after)))
    return replace(edit, after=both), replace(edit, before=both)


def narrows(edit: Edit) -> bool:
    """Tell whether an edit takes priorities of a port away."""
    changes = edit.table == "PORT_QOS_MAP" and edit.field in PFC_FIELDS and edit.op is Op.UPDATE
    return changes and priorities(edit.after) < priorities(edit.before)
