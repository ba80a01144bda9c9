"""Which moves the updater allows: the validators of patch_sorter.py."""

from collections.abc import Mapping
from typing import Any

from sonic_sim.gcu.moves import Document, Parts, value_at
from sonic_sim.gcu.patch import Move, pointer
from sonic_sim.yang.check import Checker
from sonic_sim.yang.rows import YangError

# Tables whose rows of a port change only while the port is down (patch_sorter.py, RequiredValueMoveValidator).
_SHUT_TABLES = (
    "BUFFER_PG", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_QUEUE",
    "PORT_QOS_MAP", "QUEUE",
)  # fmt: skip
_SESSION_FIELDS = ("holdtime", "keepalive", "name", "asn", "local_addr", "nhopself", "rrclient")
# Fields that change only with their whole row (CreateOnlyMoveValidator); ``*``: all.
_CREATE_ONLY = {
    "PORT": ("lanes",), "LOOPBACK_INTERFACE": ("vrf_name",), "BGP_NEIGHBOR": _SESSION_FIELDS,
    "BGP_PEER_RANGE": ("*",), "BGP_SENTINELS": ("*",), "BGP_MONITORS": _SESSION_FIELDS, "MIRROR_SESSION": ("*",),
}  # fmt: skip


class Limits:
    """The checks of a move on the way to a target."""

    def __init__(self, target: Document, checker: Checker) -> None:
        """Take the target, and a checker with the rows that it has read."""
        self.target = target
        self._checker = checker

    def allow(self, move: Move, state: Document, after: Document) -> bool:
        """Tell whether a move may be made."""
        if not move.parts and move.op == "remove":
            return False
        if not all(rows for name, rows in after.items() if not move.parts or name == move.parts[0]):
            return False
        # The costly check, that of the models, comes last.
        return (
            _keeps_ports_shut(state, after, self.target)
            and self._keeps_create_only(state, after)
            and self._detaches_first(state, after)
            and self._is_independent(move, state, after)
            and self._is_valid(after)
        )

    def made_anew(self, state: Document) -> list[Parts]:
        """Return the rows whose first create-only field changes (the updater looks at one field a table)."""
        rows_made_anew: list[Parts] = []
        for table, fields in _CREATE_ONLY.items():
            rows = state.get(table, {})
            wanted = self.target.get(table, {})
            name = _first_field(rows, fields)
            for key, row in rows.items():
                if key in wanted and row.get(name) != wanted[key].get(name):
                    rows_made_anew.append((table, key))
        return rows_made_anew

    def referring(self, state: Document, parts: Parts) -> list[Parts]:
        """Return where the configuration refers to rows at or below a place."""
        if not parts or len(parts) > 2:
            return []
        keys = set(state.get(parts[0], {})) if len(parts) == 1 else {parts[1]}
        places = set()
        for value in self._checker.references(state):
            targets = value.leaf.targets if value.leaf else ()
            if value.text in keys and any(target.table == parts[0] for target in targets):
                places.add(value.place)
        return sorted(places, key=pointer)

    def _keeps_create_only(self, state: Document, after: Document) -> bool:
        """Refuse a change of such a field in a row that stays, and a new row that lacks one of its own."""
        for table, fields in _CREATE_ONLY.items():
            old = state.get(table, {})
            new = after.get(table, {})
            if new is old:
                continue
            wanted = self.target.get(table, {})
            for key, row in new.items():
                if not _keeps_row(old.get(key), row, wanted.get(key, {}), fields):
                    return False
        return True

    def _detaches_first(self, state: Document, after: Document) -> bool:
        """Refuse new references to rows that have to be made anew, and other changes of their state."""
        for table, key in self.made_anew(state):
            if key not in after.get(table, {}):
                continue
            if table == "PORT":
                old = value_at(state, ("PORT", key, "admin_status"))
                new = value_at(after, ("PORT", key, "admin_status"))
                if old not in (new, "up"):
                    return False
            if any(value_at(state, parts) is None for parts in self.referring(after, (table, key))):
                return False
        return True

    def _is_independent(self, move: Move, state: Document, after: Document) -> bool:
        """Refuse to change rows together with their references."""
        gone: list[Parts] = []
        come: list[Parts] = []
        if move.op in ("remove", "replace"):
            gone = [move.parts] if move.op == "remove" else _missing(state, after, move.parts)
        if move.op in ("add", "replace"):
            come = [move.parts] if move.op == "add" else _missing(after, state, move.parts)
        return not self._refers_to_itself(state, gone) and not self._refers_to_itself(after, come)

    def _refers_to_itself(self, document: Document, places: list[Parts]) -> bool:
        """Tell whether something at or below the places refers to another of them."""
        starts = tuple(pointer(parts) for parts in places)
        for parts in places:
            if any(pointer(reference).startswith(starts) for reference in self.referring(document, parts)):
                return True
        return False

    def _is_valid(self, after: Document) -> bool:
        try:
            self._checker.check(after)
            check_lanes(after)
        except YangError:
            return False
        return True


def _missing(first: Document, second: Document, parts: Parts) -> list[Parts]:
    """Return the places at or below one that only the first document has; of lists and values the one itself."""
    old = value_at(first, parts)
    new = value_at(second, parts)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [parts] if old != new else []
    places: list[Parts] = [(*parts, name) for name in old if name not in new]
    for name in old:
        if name in new:
            places += _missing(first, second, (*parts, name))
    return places


def ports_to_shut(before: Document, after: Document) -> list[str]:
    """Return the ports that have rows which differ and which change only while the port is down."""
    ports: dict[str, None] = {}
    for table in _SHUT_TABLES:
        old = before.get(table, {})
        new = after.get(table, {})
        if old is not new:
            changed = sorted(key for key in {**old, **new} if old.get(key) != new.get(key))
            ports |= dict.fromkeys(key.partition("|")[0] for key in changed)
    return list(ports)


def admin_status(state: Document, port: str) -> str | None:
    """Return the administrative state of a port, None where there is no such port."""
    row = state.get("PORT", {}).get(port)
    return None if row is None else str(row.get("admin_status", "down"))


def raises(port: str, state: Document, after: Document) -> bool:
    """Tell whether a port comes up."""
    status = admin_status(after, port)
    return status not in (None, "down", admin_status(state, port))


def _keeps_ports_shut(state: Document, after: Document, target: Document) -> bool:
    if any(admin_status(state, port) not in (None, "down") for port in ports_to_shut(state, after)):
        return False
    return not any(raises(port, state, after) for port in ports_to_shut(state, target))


def check_lanes(document: Document) -> None:
    """Refuse a lane that two ports use. Raises YangError."""
    users: dict[str, str] = {}
    for port, row in document.get("PORT", {}).items():
        for lane in str(row.get("lanes", "")).split(","):
            other = users.setdefault(lane, port)
            if other != port:
                text = f"'{lane}' lane is used multiple times in PORT: {{'{other}', '{port}'}}"
                raise YangError(text, reason=text)


def _first_field(rows: Mapping[str, Mapping[str, Any]], fields: tuple[str, ...]) -> str:
    """Return the first of these fields that any row has, empty if none has one."""
    if fields == ("*",):
        fields = tuple(dict.fromkeys(name for row in rows.values() for name in row))
    for name in fields:
        if any(name in row for row in rows.values()):
            return name
    return ""


def _keeps_row(
    before: Mapping[str, Any] | None, row: Mapping[str, Any], goal: Mapping[str, Any], fields: tuple[str, ...]
) -> bool:
    """Tell whether a row keeps its create-only fields, or has those of its goal where it is new."""
    if before is row:
        return True
    names = set(fields)
    if fields == ("*",):
        names = {*(before or {}), *row, *goal}
    if before is None:
        return all((name in row) == (name in goal) for name in names)
    return all(before.get(name) == row.get(name) for name in names)
