"""Which code points a switch treats as lossless, read from its tables, and which of them a change gives up.

A code point is lossless where its traffic class is a priority that the port pauses (PORT_QOS_MAP.pfc_enable): class,
queue, priority group and PFC priority are one number on our switches.
"""

from collections.abc import Iterable, Mapping

from railweave.sonic.delta.change import Edit
from railweave.sonic.rows import ConfigDb

_TABLES = ("PORT_QOS_MAP", "DSCP_TO_TC_MAP")


def lossless_code_points(tables: ConfigDb) -> Mapping[int, str]:
    """Return the priority of every code point that a port's map leads to a priority that the port pauses."""
    ports, maps = (tables.get(table, {}) for table in _TABLES)
    uses = {(str(port.get("dscp_to_tc_map", "")), str(port.get("pfc_enable", ""))) for port in ports.values()}
    return {
        int(dscp): str(priority)
        for name, paused in sorted(uses)
        for dscp, priority in maps.get(name, {}).items()
        if dscp.isdecimal() and priority in paused.split(",")
    }


def changes_lossless(edits: Iterable[Edit]) -> bool:
    """Tell whether ``edits`` touch what makes a code point lossless."""
    return any(edit.table in _TABLES for edit in edits)


def lossless_removed(running: ConfigDb, wanted: ConfigDb) -> tuple[int, ...]:
    """Return the code points that are lossless in ``running`` and in ``wanted`` are not, or on another priority."""
    after = lossless_code_points(wanted)
    before = lossless_code_points(running)
    return tuple(sorted(dscp for dscp, priority in before.items() if after.get(dscp) != priority))
