"""Unmanaged rows and FRR lines that exclude ours.

A member of a VLAN or port channel cannot be routed; a sub-interface or mirror destination takes the port's traffic;
a port that breakout removes may not be named anywhere; and FRR has one BGP instance, one route to a prefix that wins.
Such a row or line blocks the plan, or the plan removes it on request.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

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
    """An unmanaged row ``TABLE|key`` that uses ``port``; ``edits`` would free the port.

    For a line of FRR ``table`` is ``frr``, and ``key`` is the line with its contexts before it. ``port`` is empty
    unless the line shuts a port.
    """

    table: str
    key: str
    port: str
    reason: str
    # Plans that were read from a file or came from a worker do not have them.
    edits: tuple[Edit, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        """Return one line for people."""
        return f"{self.table}|{self.key}: {self.reason}"

    @property
    def subject(self) -> str:
        """Return the row or line, as a person would name it."""
        if self.table == FRR_TABLE:
            return f"the FRR line `{self.key}`"
        return f"{self.table}|{self.key}"

    @property
    def claim(self) -> str:
        """Return the row or line and what it conflicts with."""
        if self.port:
            return f"{self.subject} is unmanaged and holds {self.port}"
        return f"{self.subject} is unmanaged and contradicts the intent"


def find_conflicts(running: ConfigDb, scope: Scope, needed: Collection[str]) -> tuple[Conflict, ...]:
    """Return the unmanaged rows in the way. ``needed`` are the ports that the fabric routes on, shuts or removes."""
    return (
        *_memberships(running, needed),
        *_sub_interfaces(running, needed),
        *_mirrors(running, needed),
        *_references(running, scope),
    )


def _row_conflict(table: str, key: str, port: str, reason: str, fields: Fields) -> Conflict:
    """Return the conflict of a whole row, which its removal resolves."""
    return Conflict(
        table=table,
        key=key,
        port=port,
        reason=reason,
        edits=(Edit(op=Op.REMOVE, table=table, key=key, field=None, before=fields, after=None),),
    )


def _memberships(running: ConfigDb, needed: Collection[str]) -> Iterator[Conflict]:
    """Yield a conflict for each needed port that is a member of a VLAN or port channel."""
    for table in _MEMBER_TABLES:
        for key, fields in running.get(table, {}).items():
            group, _, port = key.partition("|")
            if port in needed:
                yield _row_conflict(table, key, port, f"{port} is a member of {group}", fields)


def _sub_interfaces(running: ConfigDb, needed: Collection[str]) -> Iterator[Conflict]:
    """Yield a conflict for each sub-interface of a needed port."""
    for key, fields in running.get("VLAN_SUB_INTERFACE", {}).items():
        name = key.partition("|")[0]
        port = _SHORT_PARENT.sub("Ethernet", name.partition(".")[0])
        if port in needed:
            yield _row_conflict("VLAN_SUB_INTERFACE", key, port, f"{name} is a sub-interface of {port}", fields)


def _mirrors(running: ConfigDb, needed: Collection[str]) -> Iterator[Conflict]:
    """Yield a conflict for each mirror session whose destination is a needed port."""
    for key, fields in running.get("MIRROR_SESSION", {}).items():
        port = fields.get("dst_port")
        if isinstance(port, str) and port in needed:
            yield _row_conflict("MIRROR_SESSION", key, port, f"{port} is the destination of a mirror session", fields)


def _references(running: ConfigDb, scope: Scope) -> Iterator[Conflict]:
    """Yield a conflict for each foreign row, or field of one, that names a port which breakout removes."""
    removed = scope.removed_ports
    if not removed:
        return
    for table, rows in running.items():
        if not _may_refer(scope, table):
            continue
        for key, fields in rows.items():
            if not is_made_by_sonic(table, key, fields) and not is_edge_guard(table, key):
                yield from _references_of_row(table, key, fields, removed)


def _may_refer(scope: Scope, table: str) -> bool:
    """Tell whether foreign rows of a table that name a removed port are conflicts of ``_references``."""
    # Memberships and sub-interfaces are conflicts of their own, with other words.
    if owned_table(scope, table) or table in (*_MEMBER_TABLES, "VLAN_SUB_INTERFACE"):
        return False
    # Cable lengths are ours where we compute buffers, and go with their ports (diff).
    return not (table == CABLE_LENGTH and scope.buffers)


def _references_of_row(table: str, key: str, fields: Fields, removed: Collection[str]) -> Iterator[Conflict]:
    """Yield the conflicts of one row: of the whole row if its key names a removed port, else of its fields."""
    for part in key.split("|"):
        if part in removed:
            yield _row_conflict(table, key, part, f"it belongs to {part}, which breakout removes", fields)
            return
    for name, value in fields.items():
        if name in removed:
            edit = Edit(op=Op.REMOVE, table=table, key=key, field=name, before=value, after=None)
            yield Conflict(table, key, name, f"it names {name}, which breakout removes", (edit,))
        removed_members = [member for member in _members(value) if member.strip() in removed]
        if removed_members:
            reason = f"{name} names {', '.join(removed_members)}, which breakout removes"
            edit = _without_members(table, key, name, value, removed_members)
            yield Conflict(table, key, removed_members[0], reason, (edit,))


def _members(value: Value) -> Sequence[str]:
    """Return the members of a field: those of a list, or the parts of a text with commas."""
    if isinstance(value, str):
        return value.split(",")
    return value


def _without_members(table: str, key: str, name: str, value: Value, removed_members: Collection[str]) -> Edit:
    """Return the edit that takes members out of a field; a field that would be empty is removed."""
    remaining = tuple(member for member in _members(value) if member not in removed_members)
    after: Value = remaining
    if isinstance(value, str):
        after = ",".join(remaining)
    if not after:
        return Edit(op=Op.REMOVE, table=table, key=key, field=name, before=value, after=None)
    return Edit(op=Op.UPDATE, table=table, key=key, field=name, before=value, after=after)


_INSTANCE = re.compile(r"router bgp \d+$")
_STOPS_SESSIONS = re.compile(r"bgp (shutdown|confederation identifier)( |$)")
_STATIC = re.compile(r"ip route (?P<prefix>\S+) ")


def find_frr_conflicts(scope: FrrScope, needed: Collection[str]) -> Iterator[Conflict]:
    """Yield a conflict for each unmanaged line of FRR in the way.

    ``needed`` are the ports that the fabric routes on, shuts or removes.
    """
    fabric_prefixes = {_static_prefix(entry) for entry in scope.intended.entries} - {None}
    for entry in scope.unmanaged:
        prefix = _static_prefix(entry)
        shut_port = _shut_interface(entry)
        if _is_instance(entry):
            yield _line_conflict(entry, "FRR has one BGP instance, and this is not the switch's", _block(entry, scope))
        elif _STOPS_SESSIONS.match(entry.line) and scope.is_in_our_instance(entry):
            yield _line_conflict(entry, "no session of the fabric comes up with it", (entry,))
        elif prefix in fabric_prefixes:
            yield _line_conflict(entry, f"it wins over the fabric's route to {prefix}", (entry,))
        elif shut_port in needed:
            yield _line_conflict(entry, f"it shuts {shut_port}", (entry,), shut_port)


def _shut_interface(entry: FrrEntry) -> str:
    """Return the interface that a line shuts, empty for another line."""
    if entry.line != "shutdown":
        return ""
    return entry.context.removeprefix("interface ")


def _is_instance(entry: FrrEntry) -> bool:
    """Tell whether a line opens a BGP instance of the default VRF."""
    return not entry.context and _INSTANCE.match(entry.line) is not None


def _block(header: FrrEntry, scope: FrrScope) -> Iterator[FrrEntry]:
    """Yield the unmanaged lines of the block of ``header``, itself and sub-contexts included."""
    for entry in scope.unmanaged:
        if entry == header or entry.context == header.line or entry.path[:1] == (header.line,):
            yield entry


def _static_prefix(entry: FrrEntry) -> str | None:
    """Return the prefix of a static route in the default VRF; None for any other line."""
    if entry.context:
        return None
    match = _STATIC.match(entry.line)
    return match["prefix"] if match else None


def _line_conflict(entry: FrrEntry, reason: str, lines: Iterable[FrrEntry], port: str = "") -> Conflict:
    """Return the conflict of a line of FRR, which the removal of ``lines`` resolves."""
    key = JOIN.join((*entry.path, entry.shown))
    return Conflict(FRR_TABLE, key, port, reason, tuple(frr_edits(lines, ())))


def planned_edits(conflicts: Collection[Conflict]) -> tuple[Edit, ...]:
    """Return the edits that resolve all conflicts, one for each row, field or line.

    Of two edits of the same row, field or line the later one counts.
    """
    edits: dict[tuple[str, str, str | None], Edit] = {}
    for conflict in conflicts:
        for edit in conflict.edits:
            edits[edit.table, edit.key, edit.field] = edit
    return tuple(edits.values())
