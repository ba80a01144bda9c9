"""What to do about a number that a port maps wrongly: a port without a map needs one before its numbers count."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings

DSCP_MAP = "DSCP_TO_TC_MAP"
_FIELDS = {
    DSCP_MAP: "dscp_to_tc_map",
    "TC_TO_QUEUE_MAP": "tc_to_queue_map",
    "TC_TO_PRIORITY_GROUP_MAP": "tc_to_pg_map",
    "MAP_PFC_PRIORITY_TO_QUEUE": "pfc_to_queue_map",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "pfc_to_pg_map",
}
"""The fields of PORT_QOS_MAP by the table whose row they name."""


def map_fix(end: "PortSettings", table: str, pairs: Mapping[int, int], numbers: str, to: int | None) -> str:
    """Return the fix that maps ``numbers`` of a port to the number ``to``.

    ``end`` is the port, and ``pairs`` are the pairs of its map in ``table``.
    """
    # If the port names no map, or one that does not exist, every number is mapped to 0.
    if not any(pairs.values()) and not end.is_host:
        return f"set {table}, and {_FIELDS[table]} of PORT_QOS_MAP, as rendered on {end.device}"
    return f"map {numbers} to {to} on {end.device}"
