"""What an edit is about: the switch, a neighbor, a port, a cable, an address, a BGP session or a traffic class.

Rows of CONFIG_DB and lines of FRR name it in their keys, each table in its own way. These keys are parsed only here,
for rendered and for removed rows, so that counting, grouping and draining agree.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from railweave.sonic.frr.lines import neighbor_of
from railweave.sonic.rows import FRR_TABLE, Fields, Value


class SubjectKind(StrEnum):
    """The closed set of what an edit can be about."""

    DEVICE = "device"
    NEIGHBOR = "neighbor"
    PORT = "port"
    LINK = "link"
    ADDRESS = "address"
    SESSION = "session"
    CLASS = "class"


class Subject(NamedTuple):
    """What an edit is about; ``port`` is the port of this switch that it concerns, empty if there is no single one.

    What ``name`` holds depends on the kind:

    - NEIGHBOR, LINK: the device at the far end; of a link it is empty if the edit does not name it
    - ADDRESS: the address with its length
    - SESSION: the peer, an address or our port of an unnumbered link; empty for all sessions
    - CLASS: the scheduler, profile or pool; empty for all classes
    - DEVICE, PORT: empty
    """

    kind: SubjectKind
    name: str = ""
    port: str = ""


_DEVICE = Subject(SubjectKind.DEVICE)
_ADDRESS = re.compile(r"[0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_PORT = re.compile(r"Ethernet\d+")
# PORT_QOS_MAP|global maps DSCP for all ports, PFC_WD|GLOBAL holds the polling interval of the watchdog.
_SWITCH_WIDE = frozenset({"global", "GLOBAL"})


def is_port(name: str) -> bool:
    """Tell whether a name is one of SONiC's front-panel ports."""
    return _PORT.fullmatch(name) is not None


def is_peer(name: str) -> bool:
    """Tell whether FRR's name of a neighbor is that of one session, an address or a port, and not a peer group's."""
    return _ADDRESS.fullmatch(name) is not None or _PORT.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def subject_of_line(context: str, line: str) -> Subject:
    """Return what a line of FRR's configuration is about."""
    name = neighbor_of(line) or ""
    if is_port(name):
        # An unnumbered session is named by our own port.
        return Subject(SubjectKind.SESSION, name, port=name)
    if is_peer(name):
        return Subject(SubjectKind.SESSION, name)
    block = context or line
    # What is left of `neighbor` lines is about a peer group, so about all of its sessions.
    if name or block.removeprefix("no ").startswith("router bgp "):
        return Subject(SubjectKind.SESSION)
    return _DEVICE


def subject_of_row(table: str, key: str, field: str | None, value: Value | Fields | None) -> Subject:
    """Return what a row or one field of it is about; ``value`` is the row's fields, or the field's value."""
    subject = _subject_of_key(table, key, field)
    naming_field = _NAMING_FIELDS.get(table)
    if naming_field is None:
        return subject
    name: object = ""
    if isinstance(value, Mapping):
        name = value.get(naming_field)
    elif field == naming_field:
        name = value
    if not isinstance(name, str):
        name = ""
    return Subject(subject.kind, name, subject.port)


_NAMING_FIELDS: Mapping[str, str] = {"DEVICE_NEIGHBOR": "name", "QUEUE": "scheduler"}
"""The field that names a row's subject, for tables whose key holds the port alone."""


# Switches of a fabric have their keys in common, and every row of each is asked for.
@lru_cache(maxsize=4096)
def _subject_of_key(table: str, key: str, field: str | None) -> Subject:
    """Return what a row or field is about by its key alone."""
    reader = _READERS.get(table)
    if reader is not None:
        return reader(key, field)
    # A sub-interface is keyed Ethernet0.100, a membership Vlan100|Ethernet0.
    for part in re.split(r"[|.]", key):
        if is_port(part):
            return Subject(SubjectKind.PORT, port=part)
    return _DEVICE


def _interface(key: str, _: str | None) -> Subject:
    port, bar, address = key.partition("|")
    if bar:
        return Subject(SubjectKind.ADDRESS, address, port)
    return Subject(SubjectKind.PORT, port=port)


def _peer(key: str, _: str | None) -> Subject:
    # bgpcfgd keys are an address or `vrf|address`; a peer range has a free name and is about many sessions.
    name = key.rpartition("|")[2]
    if _ADDRESS.fullmatch(name):
        return Subject(SubjectKind.SESSION, name)
    return Subject(SubjectKind.SESSION)


def _classes_of_port(key: str, _: str | None) -> Subject:
    port = key.partition("|")[0]
    if port in _SWITCH_WIDE:
        return Subject(SubjectKind.CLASS)
    return Subject(SubjectKind.CLASS, port=port)


_READERS: Mapping[str, Callable[[str, str | None], Subject]] = {
    **dict.fromkeys(
        ("DEVICE_METADATA", "SWITCH_HASH", "SWITCH_TRIMMING", "SYSTEM_DEFAULTS"), lambda _key, _field: _DEVICE
    ),
    "DEVICE_NEIGHBOR": lambda key, _field: Subject(SubjectKind.LINK, port=key),
    "DEVICE_NEIGHBOR_METADATA": lambda key, _field: Subject(SubjectKind.NEIGHBOR, key),
    **dict.fromkeys(("PORT", "BREAKOUT_CFG"), lambda key, _field: Subject(SubjectKind.PORT, port=key)),
    "INTERFACE": _interface,
    "LOOPBACK_INTERFACE": _interface,
    "BGP_NEIGHBOR": _peer,
    "BGP_PEER_RANGE": _peer,
    # One row holds the lengths of all ports, a field a port.
    "CABLE_LENGTH": lambda _key, field: Subject(SubjectKind.CLASS, port=field or ""),
    **dict.fromkeys(
        ("SCHEDULER", "WRED_PROFILE", "BUFFER_POOL", "BUFFER_PROFILE"),
        lambda key, _field: Subject(SubjectKind.CLASS, key),
    ),
    **dict.fromkeys(
        (
            "DSCP_TO_TC_MAP",
            "TC_TO_QUEUE_MAP",
            "TC_TO_PRIORITY_GROUP_MAP",
            "MAP_PFC_PRIORITY_TO_QUEUE",
            "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
            "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
            "LOSSLESS_TRAFFIC_PATTERN",
        ),
        lambda _key, _field: Subject(SubjectKind.CLASS),
    ),
    **dict.fromkeys(
        (
            "PORT_QOS_MAP",
            "QUEUE",
            "PFC_WD",
            "BUFFER_PG",
            "BUFFER_QUEUE",
            "BUFFER_PORT_INGRESS_PROFILE_LIST",
            "BUFFER_PORT_EGRESS_PROFILE_LIST",
        ),
        _classes_of_port,
    ),
}


def subject_of(table: str, key: str, field: str | None, value: Value | Fields | None) -> Subject:
    """Return what a row, a field or a line of FRR is about.

    For a line of FRR ``table`` is ``FRR_TABLE``, ``key`` is the context of the line and ``field`` the line.
    """
    if table == FRR_TABLE:
        return subject_of_line(key, field or "")
    return subject_of_row(table, key, field, value)
