"""Unmanaged rows and lines that cannot stand beside ours.

A member of a VLAN or port channel cannot be routed; a sub-interface or mirror destination takes the port's traffic;
a port that breakout removes may not be named anywhere; and FRR has one BGP instance, one route to a prefix that wins.
Such a row or line stops the plan, or is planned away on request.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.edits import frr_edits
from railweave.sonic.frr.lines import JOIN, FrrEntry
from railweave.sonic.frr.ownership import FrrScope
from railweave.sonic.ownership import CABLE_LENGTH, Scope, is_edge_guard, is_made_by_sonic, owned_table
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value

_MEMBER_TABLES = ("VLAN_MEMBER", "PORTCHANNEL_MEMBER")
_SHORT_PARENT = re.compile(r"Eth(?=[0-9])")


@dataclass(frozen=True, slots=True)
class Conflict:
    """An unmanaged row that conflicts: ``TABLE|key`` holds ``port``. ``edits`` would take the port.

    For a line of FRR the table is ``frr``, the key the line after all that it stands under, and the port empty unless
    it is about one.
    """

    table: str
    key: str
    port: str
    reason: str
    edits: tuple[Edit, ...]

    def __str__(self) -> str:
        """Return one line for people."""
        return f"{self.table}|{self.key}: {self.reason}"


def find_conflicts(running: ConfigDb, scope: Scope, needed: Collection[str]) -> tuple[Conflict, ...]:
    """Return the rows in the way. ``needed`` are the ports that the fabric routes on or shuts."""
    return (
        *_memberships(running, needed),
        *_sub_interfaces(running, needed),
        *_mirrors(running, needed),
        *_references(running, scope),
    )


def _row_conflict(table: str, key: str, port: str, reason: str, fields: Fields) -> Conflict:
    return Conflict(table, key, port, reason, (Edit(Op.REMOVE, table, key, None, fields, None),))


def _memberships(running: ConfigDb, needed: Collection[str]) -> Iterator[Conflict]:
    for table in _MEMBER_TABLES:
        for key, fields in running.get(table, {}).items():
            group, _, port = key.partition("|")
            if port in needed:
                yield _row_conflict(table, key, port, f"{port} is a member of {group}", fields)


def _sub_interfaces(running: ConfigDb, needed: Collection[str]) -> Iterator[Conflict]:
    for key, fields in running.get("VLAN_SUB_INTERFACE", {}).items():
        name = key.partition("|")[0]
        port = _SHORT_PARENT.sub("Ethernet", name.partition(".")[0])
        if port in needed:
            yield _row_conflict("VLAN_SUB_INTERFACE", key, port, f"{name} is a sub-interface of {port}", fields)


def _mirrors(running: ConfigDb, needed: Collection[str]) -> Iterator[Conflict]:
    for key, fields in running.get("MIRROR_SESSION", {}).items():
        port = fields.get("dst_port")
        if isinstance(port, str) and port in needed:
            yield _row_conflict("MIRROR_SESSION", key, port, f"{port} is the destination of a mirror session", fields)


def _references(running: ConfigDb, scope: Scope) -> Iterator[Conflict]:
    """Yield foreign rows that name a port which breakout removes."""
    removed = scope.removed_ports
    if not removed:
        return
    ours = {table for table in running if owned_table(scope, table)} | ({CABLE_LENGTH} if scope.buffers else set())
    for table, rows in running.items():
        if table in ours or table in (*_MEMBER_TABLES, "VLAN_SUB_INTERFACE"):
            continue
        for key, fields in rows.items():
            if not (is_made_by_sonic(table, key, fields) or is_edge_guard(table, key)):
                yield from _references_of_row(table, key, fields, removed)


def _references_of_row(table: str, key: str, fields: Fields, removed: Collection[str]) -> Iterator[Conflict]:
    named = [part for part in key.split("|") if part in removed]
    if named:
        yield _row_conflict(table, key, named[0], f"it belongs to {named[0]}, which breakout removes", fields)
        return
    for name, value in fields.items():
        if name in removed:
            edit = Edit(Op.REMOVE, table, key, name, value, None)
            yield Conflict(table, key, name, f"it names {name}, which breakout removes", (edit,))
        members = value.split(",") if isinstance(value, str) else value
        gone = [member for member in members if member.strip() in removed]
        if gone:
            edits = (_without(table, key, name, value, gone),)
            yield Conflict(table, key, gone[0], f"{name} names {', '.join(gone)}, which breakout removes", edits)


def _without(table: str, key: str, name: str, value: Value, gone: Collection[str]) -> Edit:
    """Return the edit that takes the removed ports out of a field."""
    if isinstance(value, str):
        text = ",".join(member for member in value.split(",") if member not in gone)
        return Edit(Op.UPDATE if text else Op.REMOVE, table, key, name, value, text or None)
    left = tuple(member for member in value if member not in gone)
    return Edit(Op.UPDATE if left else Op.REMOVE, table, key, name, value, left or None)


_OTHER_INSTANCE = re.compile(r"router bgp \d+$")
_STOPS_SESSIONS = re.compile(r"bgp (shutdown|confederation identifier)( |$)")
_STATIC = re.compile(r"ip route (?P<prefix>\S+) ")


def find_frr_conflicts(scope: FrrScope, needed: Collection[str]) -> Iterator[Conflict]:
    """Yield the unmanaged lines of FRR in the way. ``needed`` are the ports that the fabric routes on or shuts."""
    stated = (_STATIC.match(one.line) for one in scope.intended.entries if not one.context)
    routed = {found["prefix"] for found in stated if found}
    for entry in scope.unmanaged:
        static = _STATIC.match(entry.line) if not entry.context else None
        port = entry.context.removeprefix("interface ")
        if not entry.context and _OTHER_INSTANCE.match(entry.line):
            block = (one for one in scope.unmanaged if entry.line in (one.context, *one.path[:1]) or one == entry)
            yield _line_conflict(entry, "FRR has one BGP instance, and this is not the switch's", block)
        elif scope.is_in_our_instance(entry) and _STOPS_SESSIONS.match(entry.line):
            yield _line_conflict(entry, "no session of the fabric comes up with it", (entry,))
        elif static and static["prefix"] in routed:
            yield _line_conflict(entry, f"it wins over the fabric's route to {static['prefix']}", (entry,))
        elif port in needed and entry.line == "shutdown":
            yield _line_conflict(entry, f"it shuts {port}", (entry,), port)


def _line_conflict(entry: FrrEntry, reason: str, lines: Iterable[FrrEntry], port: str = "") -> Conflict:
    key = JOIN.join((*entry.path, entry.shown))
    return Conflict(FRR_TABLE, key, port, reason, tuple(frr_edits(lines, ())))


def planned_edits(conflicts: Collection[Conflict]) -> tuple[Edit, ...]:
    """Return the edits that take all ports, each row and field once."""
    found: Mapping[tuple[str, str, str | None], Edit] = {
        (edit.table, edit.key, edit.field): edit for conflict in conflicts for edit in conflict.edits
    }
    return tuple(found.values())
