"""The order in which tables are written: what is referred to before what refers to it."""

from collections.abc import Container, Iterator, Sequence
from enum import IntEnum

from railweave.sonic.delta.change import Edit, Method, Op
from railweave.sonic.delta.lossless import LosslessChange, narrows, widened
from railweave.sonic.delta.methods import MEMBERSHIPS, PROFILE_LISTS
from railweave.sonic.neutral import SWITCH_HASH
from railweave.sonic.qos_maps import CLASS_MAPS


class Phase(IntEnum):
    """The phases of a change; FRR's lines go between CONFIGURE and REMOVE.

    RESTORE is for taking a change back: a port joins a foreign VLAN again only once it is no longer routed.
    """

    CLEAR = 0
    CONFIGURE = 1
    REMOVE = 2
    RESTORE = 3


ADDRESSED = ("INTERFACE", "LOOPBACK_INTERFACE")

MARKING = "DSCP_TO_TC_MAP"

STAGES: tuple[tuple[str, ...], ...] = (
    (
        "DEVICE_METADATA",
        "SYSTEM_DEFAULTS",
        SWITCH_HASH,
        "DEVICE_NEIGHBOR_METADATA",
        *CLASS_MAPS,
        "SCHEDULER",
        "WRED_PROFILE",
        "BUFFER_POOL",
    ),
    ("ACL_TABLE_TYPE", "BUFFER_PROFILE", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN"),
    ("BREAKOUT_CFG", "PORT"),
    ("CABLE_LENGTH",),
    ("PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE", *PROFILE_LISTS),
    (MARKING,),
    ("ACL_TABLE", "PFC_WD", "DEVICE_NEIGHBOR"),
    ADDRESSED,
)
"""Tables in the order in which their rows come; rows go in the opposite order.

A cable's length comes before the priorities of its port, of which buffermgrd makes groups by the length that it has.
Code points move to a priority once its groups, queues and PFC are there (``lossless``); a map that is new comes before
the ports that use it. A port's PFC_WD row goes before the port: orchagent crashes where it is deleted later. It comes
after the PORT_QOS_MAP row: of a row that has gone, orchagent keeps the priorities to watch.
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
_IN_THE_WAY = frozenset({"BGP_NEIGHBOR", "BGP_PEER_RANGE", *MEMBERSHIPS})


def family(table: str) -> str:
    """Return the family of tables that share one patch."""
    return _FAMILIES.get(table, table)


def schedule(edits: Sequence[Edit], change: LosslessChange) -> Iterator[tuple[Phase, Edit]]:
    """Yield each of a device's edits with when it is carried out; a change of a port's lossless priorities is two where
    some come and some go."""
    comes = [edit.key.split("|", 1) for edit in edits if _is_address(edit) and edit.op is Op.ADD]
    ports = {port for port, _ in comes}
    prefixes = {prefix for _, prefix in comes}
    for edit in (part for one in edits for part in widened(one)):
        late = narrows(edit) or change.takes_away(edit)
        yield (Phase.REMOVE if late else _phase(edit, ports, prefixes)), edit


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


def order_key(edit: Edit, method: Method, phase: Phase) -> tuple[int, str]:
    """Return the stage within ``phase``; edits of one place and method make one step."""
    if method is Method.PATCH:
        stage = _FAMILY_STAGE.get(family(edit.table), _OTHER)
        name = family(edit.table)
    else:
        stage, name = _stage(edit), ""
    return (-stage if edit.op is Op.REMOVE or phase is Phase.REMOVE else stage), name


def stage_of(table: str, phase: Phase) -> tuple[int, str]:
    """Return the stage in which rows of a table are written, for rows that are set again (``recreate``)."""
    stage = _STAGE.get(table, _OTHER)
    return (-stage if phase is Phase.REMOVE else stage), ""


def _stage(edit: Edit) -> int:
    if edit.table == "PORT" and edit.field == "admin_status":
        return _PORT_UP
    if edit.field == "dscp_to_tc_map" and edit.op is Op.UPDATE:
        return _STAGE[MARKING]
    if edit.table == MARKING and edit.field is None:
        return 0
    if edit.table in ADDRESSED and "|" in edit.key:
        return _ADDRESS
    return _STAGE.get(edit.table, _OTHER)
