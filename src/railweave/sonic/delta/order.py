"""The order in which tables are written: rows before the rows that refer to them."""

from collections.abc import Container, Iterator, Sequence
from enum import IntEnum
from itertools import chain
from typing import NamedTuple

from railweave.sonic.delta.change import Edit, Method, Op
from railweave.sonic.delta.lossless import LosslessChange, narrows, widened
from railweave.sonic.delta.rules import MEMBERSHIPS, PROFILE_LISTS
from railweave.sonic.neutral import SWITCH_HASH, SWITCH_TRIMMING
from railweave.sonic.qos_maps import CLASS_MAPS


class ChangePhase(IntEnum):
    """The phases of a change; FRR's lines go between CONFIGURE and REMOVE.

    RESTORE is for reverts: a port joins a foreign VLAN again only once it is no longer routed.
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
        SWITCH_TRIMMING,
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
"""Tables in the order in which rows are added; rows are removed in the opposite order.

A cable's length is written before the priorities of its port, because buffermgrd computes their groups from the length
that it has. Code points move to a priority once its groups, queues and PFC exist (``lossless``); a new map is added
before the ports that use it. A port's PFC_WD row is removed before the port: orchagent crashes where it is deleted
later. It is added after the PORT_QOS_MAP row: after a removal orchagent keeps the priorities to watch.
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
_EXCLUDING_OURS = frozenset({"BGP_NEIGHBOR", "BGP_PEER_RANGE", *MEMBERSHIPS})
"""Tables whose rows exclude ours while they exist."""


def family(table: str) -> str:
    """Return the family of tables that share one patch."""
    return _FAMILIES.get(table, table)


def schedule(edits: Sequence[Edit], change: LosslessChange) -> Iterator[tuple[ChangePhase, Edit]]:
    """Yield each of a device's edits with its phase; ``change`` is what they do to lossless priorities.

    An edit of a port's lossless priorities that adds some and removes some is yielded as two edits.
    """
    added = _added_addresses(edits)
    for edit in chain.from_iterable(map(widened, edits)):
        if narrows(edit) or change.takes_away(edit):
            # A class stays lossless until its code points have moved, which CONFIGURE does.
            yield ChangePhase.REMOVE, edit
        elif _is_address(edit) and edit.op is Op.REMOVE:
            yield _phase_of_removed_address(edit, added), edit
        else:
            yield _phase(edit), edit


class _AddedAddresses(NamedTuple):
    """The ports and the prefixes of all addresses that a change adds."""

    ports: Container[str]
    prefixes: Container[str]


def _added_addresses(edits: Sequence[Edit]) -> _AddedAddresses:
    """Return the ports and the prefixes of the addresses that ``edits`` add."""
    ports: set[str] = set()
    prefixes: set[str] = set()
    for edit in edits:
        if _is_address(edit) and edit.op is Op.ADD:
            port, prefix = edit.key.split("|", 1)
            ports.add(port)
            prefixes.add(prefix)
    return _AddedAddresses(ports, prefixes)


def _phase(edit: Edit) -> ChangePhase:
    """Return the phase of an edit that is neither the removal of an address nor takes lossless priorities away."""
    if edit.table == "PORT" and edit.field == "admin_status" and edit.after != "up":
        return ChangePhase.REMOVE
    if edit.field is None and edit.table in _EXCLUDING_OURS:
        return ChangePhase.CLEAR if edit.op is Op.REMOVE else ChangePhase.RESTORE
    return ChangePhase.REMOVE if edit.op is Op.REMOVE else ChangePhase.CONFIGURE


def _phase_of_removed_address(edit: Edit, added: _AddedAddresses) -> ChangePhase:
    """Return the phase in which an address is removed, given the addresses that the same change adds."""
    port, prefix = edit.key.split("|", 1)
    # The address moves to another port, or its port gets another one: two addresses must not overlap.
    if port in added.ports or prefix in added.prefixes:
        return ChangePhase.CLEAR
    return ChangePhase.REMOVE


def _is_address(edit: Edit) -> bool:
    return edit.field is None and edit.table in ADDRESSED and "|" in edit.key


def order_key(edit: Edit, method: Method, phase: ChangePhase) -> tuple[int, str]:
    """Return the sort key of an edit within ``phase``; edits of one key and method make one step."""
    name = ""
    stage = _stage(edit)
    if method is Method.PATCH:
        # GCU sorts the operations of one patch itself, so a family of tables goes in one.
        name = family(edit.table)
        stage = _FAMILY_STAGE.get(name, _OTHER)
    # Rows are removed in the opposite order.
    if edit.op is Op.REMOVE or phase is ChangePhase.REMOVE:
        stage = -stage
    return stage, name


def stage_of(table: str, phase: ChangePhase) -> tuple[int, str]:
    """Return the sort key of a table within ``phase``, for rows that are set again (``recreate``)."""
    stage = _STAGE.get(table, _OTHER)
    if phase is ChangePhase.REMOVE:
        stage = -stage
    return stage, ""


def _stage(edit: Edit) -> int:
    """Return the number of the stage in which an edit is made, if rows are added."""
    # Ports come up last, when all of their rows are in place.
    if edit.table == "PORT" and edit.field == "admin_status":
        return _PORT_UP
    # A port that takes another map moves its code points, as an edited map does.
    if edit.field == "dscp_to_tc_map" and edit.op is Op.UPDATE:
        return _STAGE[MARKING]
    # A new map has to exist before ports name it.
    if edit.table == MARKING and edit.field is None:
        return 0
    if edit.table in ADDRESSED and "|" in edit.key:
        return _ADDRESS
    return _STAGE.get(edit.table, _OTHER)
