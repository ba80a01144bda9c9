"""The order in which tables are written: what is referred to before what refers to it."""

from collections.abc import Container, Sequence
from enum import IntEnum

from railweave.sonic.delta.change import Edit, Method, Op
from railweave.sonic.delta.methods import MEMBERSHIPS, PROFILE_LISTS, QOS_MAPS


class Phase(IntEnum):
    """The phases of a change; FRR's lines go between CONFIGURE and REMOVE.

    RESTORE is for taking a change back: a port joins a foreign VLAN again only once it is no longer routed.
    """

    CLEAR = 0
    CONFIGURE = 1
    REMOVE = 2
    RESTORE = 3


ADDRESSED = ("INTERFACE", "LOOPBACK_INTERFACE")

STAGES: tuple[tuple[str, ...], ...] = (
    ("DEVICE_METADATA", "DEVICE_NEIGHBOR_METADATA", *QOS_MAPS, "SCHEDULER", "WRED_PROFILE", "BUFFER_POOL"),
    ("BUFFER_PROFILE", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN"),
    ("BREAKOUT_CFG", "PORT"),
    ("PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE", *PROFILE_LISTS, "CABLE_LENGTH"),
    ("PFC_WD", "DEVICE_NEIGHBOR"),
    ADDRESSED,
)
"""Tables in the order in which their rows come; rows go in the opposite order.

A port's PFC_WD row goes before the port: orchagent crashes where it is deleted later.
"""

_STAGE = {table: number for number, tables in enumerate(STAGES) for table in tables}
_ADDRESS = len(STAGES)
_OTHER = len(STAGES) + 1
_PORT_UP = len(STAGES) + 2

_FAMILIES = {
    "LOOPBACK_INTERFACE": "INTERFACE",
    "DEVICE_NEIGHBOR_METADATA": "DEVICE_NEIGHBOR",
}
_FAMILY_STAGE = {"INTERFACE": _ADDRESS, "DEVICE_NEIGHBOR": _STAGE["DEVICE_NEIGHBOR"], "PORT": _PORT_UP}
_SPANNED = frozenset({"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"})
_IN_THE_WAY = frozenset({"BGP_NEIGHBOR", "BGP_PEER_RANGE", *MEMBERSHIPS})


def family(table: str) -> str:
    """Return the family of tables that share one patch."""
    return _FAMILIES.get(table, table)


def phases(edits: Sequence[Edit]) -> tuple[Phase, ...]:
    """Return when each of a device's edits is carried out."""
    comes = [edit.key.split("|", 1) for edit in edits if _is_address(edit) and edit.op is Op.ADD]
    ports = {port for port, _ in comes}
    prefixes = {prefix for _, prefix in comes}
    taken = {span for edit in edits if edit.op is Op.ADD for span in _spans(edit)}
    return tuple(
        Phase.CLEAR if edit.op is Op.REMOVE and not taken.isdisjoint(_spans(edit)) else _phase(edit, ports, prefixes)
        for edit in edits
    )


def _spans(edit: Edit) -> set[tuple[str, str, int]]:
    """Return the priority groups or queues that a row sets; none for a row of another table.

    The row of ``3`` must go before that of ``3-4`` comes: removed later, it would take the profile of 3 away again
    (swss orchagent/bufferorch.cpp), and the configuration would not show it.
    """
    if edit.field is not None or edit.table not in _SPANNED:
        return set()
    port, _, span = edit.key.partition("|")
    first, _, last = span.partition("-")
    if not first.isdigit() or not (last or first).isdigit():
        return set()
    return {(edit.table, port, number) for number in range(int(first), int(last or first) + 1)}


def _phase(edit: Edit, ports: Container[str], prefixes: Container[str]) -> Phase:
    if edit.table == "PORT" and edit.field == "admin_status" and edit.after != "up":
        return Phase.REMOVE
    if edit.field is None and edit.table in _IN_THE_WAY:
        return Phase.CLEAR if edit.op is Op.REMOVE else Phase.RESTORE
    if edit.op is not Op.REMOVE:
        return Phase.CONFIGURE
    if _is_address(edit):
        # It goes to another port, or its port takes another one: two must not overlap.
        port, prefix = edit.key.split("|", 1)
        return Phase.CLEAR if port in ports or prefix in prefixes else Phase.REMOVE
    return Phase.REMOVE


def _is_address(edit: Edit) -> bool:
    return edit.field is None and edit.table in ADDRESSED and "|" in edit.key


def order_key(edit: Edit, method: Method) -> tuple[int, str]:
    """Return the stage within the phase; edits of one place and method make one step."""
    if method is Method.PATCH:
        stage = _FAMILY_STAGE.get(family(edit.table), _OTHER)
        name = family(edit.table)
    else:
        stage, name = _stage(edit), ""
    if edit.op is Op.REMOVE or (edit.table == "PORT" and edit.after != "up" and edit.field == "admin_status"):
        return -stage, name
    return stage, name


def _stage(edit: Edit) -> int:
    if edit.table == "PORT" and edit.field == "admin_status":
        return _PORT_UP
    if edit.table in ADDRESSED and "|" in edit.key:
        return _ADDRESS
    return _STAGE.get(edit.table, _OTHER)
