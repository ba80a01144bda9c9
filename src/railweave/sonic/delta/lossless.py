"""What a change does to lossless priorities, so that no class in use becomes lossy while the change is applied.

In order: groups, queues, maps and PFC of priorities that become lossless; then the code points; then the removal of
what made the other priorities lossless.
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
    """Return the priorities of a value of ``pfc_enable``, a list such as ``3,4``."""
    if not isinstance(value, str):
        return frozenset()
    numbers = (number(member) for member in value.split(","))
    return frozenset(priority for priority in numbers if priority is not None)


@dataclass(frozen=True)
class LosslessChange:
    """The lossless priorities of a device before and after a change."""

    before: frozenset[int]
    after: frozenset[int]

    @cached_property
    def lost(self) -> frozenset[int]:
        """Return the priorities that are no longer lossless after the change."""
        return self.before - self.after

    def takes_away(self, edit: Edit) -> bool:
        """Tell whether an edit changes or removes maps or buffers of a priority that is no longer lossless."""
        if edit.op is Op.ADD or not self.lost:
            return False
        if edit.table in _BY_PRIORITY:
            return number(edit.field) in self.lost
        return edit.table in SPANNED and not self.lost.isdisjoint(numbers_of(edit.key))


def lossless_change(before: ConfigDb, after: ConfigDb) -> LosslessChange:
    """Return the lossless priorities of a device's ports before and after a change."""
    return LosslessChange(_enabled(before), _enabled(after))


def _enabled(tables: ConfigDb) -> frozenset[int]:
    values = {row.get(PFC_ENABLE, "") for row in tables.get("PORT_QOS_MAP", {}).values()}
    return frozenset().union(*map(priorities, values))


def widened(edit: Edit) -> Sequence[Edit]:
    """Return the edits in which an edit is made: two if it adds priorities of a port and removes others, else itself.

    The first one sets the priorities of before and after together, the second one those of after.
    """
    if not _changes_priorities(edit):
        return (edit,)
    before = priorities(edit.before)
    after = priorities(edit.after)
    if before <= after or after <= before:
        return (edit,)
    both = ",".join(map(str, sorted(before | after)))
    return replace(edit, after=both), replace(edit, before=both)


def narrows(edit: Edit) -> bool:
    """Tell whether an edit only removes priorities of a port."""
    return _changes_priorities(edit) and priorities(edit.after) < priorities(edit.before)


def _changes_priorities(edit: Edit) -> bool:
    return edit.table == "PORT_QOS_MAP" and edit.field in PFC_FIELDS and edit.op is Op.UPDATE
