"""Rows that stay once they are there, because SONiC does not survive their deletion.

orchagent crashes when ``PFC_WD|GLOBAL`` is deleted: swss restarts and all ports of the switch go down (run on 202505;
202305 to 202605 by their sources, sonic-swss orchagent/pfcwdorch.cpp). So no change, rollback or replace deletes the
row. Where it is to go, its fields get the values that hold without it, and a row of these values is as good as none.
A ``config reload`` may leave the row out: swss does not run while CONFIG_DB is written.
"""

from collections.abc import Mapping

from railweave.sonic.document import same_fields
from railweave.sonic.rows import Fields, Value

WITHOUT_ROW: Mapping[tuple[str, str], Fields] = {
    ("PFC_WD", "GLOBAL"): {"POLL_INTERVAL": "100", "BIG_RED_SWITCH": "disable"},
}
"""What holds without the row, in SONiC's own words (sonic-swss, orchagent/orchdaemon.cpp: PFC_WD_POLL_MSECS)."""


def is_permanent(table: str, key: str) -> bool:
    """Tell whether a row must not be deleted while the switch runs."""
    return (table, key) in WITHOUT_ROW


def instead_of_removal(table: str, key: str, present: Fields) -> dict[str, Value] | None:
    """Return the fields that a row keeps where it is to go, None where it really goes."""
    values = WITHOUT_ROW.get((table, key))
    return None if values is None else {name: values.get(name, value) for name, value in present.items()}


def is_as_good_as_none(table: str, key: str, present: Fields) -> bool:
    """Tell whether a row that must stay says what would hold without it."""
    kept = instead_of_removal(table, key, present)
    return kept is not None and same_fields(kept, present)
