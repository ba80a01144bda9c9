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
        """Tell whether a move from ``state`` to ``after`` may be made."""
        if not move.parts and move.op == "remove":
            return False
        # No table may become empty; a move of the whole configuration touches all of them.
        touched_tables = move.parts[:1] or after
        if any(table in after and not after[table] for table in touched_tables):
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
            target_rows = self.target.get(table, {})
            name = _first_field(rows, fields)
            for key, row in rows.items():
                if key in target_rows and row.get(name) != target_rows[key].get(name):
                    rows_made_anew.append((table, key))
        return rows_made_anew

    def referring(self, state: Document, parts: Parts) -> list[Parts]:
        """Return the places in the configuration that refer to a table's rows, or to one row.

        ``parts`` is the place of the table or of the row; nothing refers to any other place.
        """
        if not parts or len(parts) > 2:
            return []
        table = parts[0]
        keys = set(parts[1:]) or set(state.get(table, {}))
        places = set()
        for value in self._checker.references(state):
            targets = value.leaf.targets if value.leaf else ()
            if value.text in keys and any(target.table == table for target in targets):
                places.add(value.place)
        return sorted(places, key=pointer)

    def _keeps_create_only(self, state: Document, after: Document) -> bool:
        """Tell whether rows that stay keep their create-only fields, and new rows have all that the target has."""
        for table, fields in _CREATE_ONLY.items():
            old_rows = state.get(table, {})
            new_rows = after.get(table, {})
            # A move shares the tables that it does not touch.
            if new_rows is old_rows:
                continue
            target_rows = self.target.get(table, {})
            for key, row in new_rows.items():
                if not _keeps_row(old_rows.get(key), row, target_rows.get(key, {}), fields):
                    return False
        return True

    def _detaches_first(self, state: Document, after: Document) -> bool:
        """Tell whether rows that have to be made anew get no further references, and such ports do not come up."""
        for table, key in self.made_anew(state):
            if key not in after.get(table, {}):
                continue
            if table == "PORT":
                old_status = value_at(state, ("PORT", key, "admin_status"))
                new_status = value_at(after, ("PORT", key, "admin_status"))
                if old_status not in (new_status, "up"):
                    return False
            if any(value_at(state, parts) is None for parts in self.referring(after, (table, key))):
                return False
        return True

    def _is_independent(self, move: Move, state: Document, after: Document) -> bool:
        """Tell whether a move changes no rows together with references to them."""
        removed: list[Parts] = []
        added: list[Parts] = []
        if move.op == "remove":
            removed = [move.parts]
        elif move.op == "add":
            added = [move.parts]
        else:
            removed = _missing(state, after, move.parts)
            added = _missing(after, state, move.parts)
        return not self._refers_to_itself(state, removed) and not self._refers_to_itself(after, added)

    def _refers_to_itself(self, document: Document, places: list[Parts]) -> bool:
        """Tell whether something at or below one of the places refers to something at or below one of them."""
        starts = tuple(pointer(parts) for parts in places)
        for parts in places:
            if any(pointer(reference).startswith(starts) for reference in self.referring(document, parts)):
                return True
        return False

    def _is_valid(self, after: Document) -> bool:
        """Tell whether a configuration is valid by the models and by its lanes."""
        try:
            self._checker.check(after)
            check_lanes(after)
        except YangError:
            return False
        return True


def _missing(first: Document, second: Document, parts: Parts) -> list[Parts]:
    """Return the places at or below ``parts`` that the second document lacks, or has with another list or value."""
    value = value_at(first, parts)
    other_value = value_at(second, parts)
    if not isinstance(value, dict) or not isinstance(other_value, dict):
        return [parts] if value != other_value else []
    places: list[Parts] = [(*parts, name) for name in value if name not in other_value]
    for name in value:
        if name in other_value:
            places += _missing(first, second, (*parts, name))
    return places


def ports_to_shut(before: Document, after: Document) -> list[str]:
    """Return the ports, each once, of differing rows that may change only while their port is down."""
    ports: list[str] = []
    for table in _SHUT_TABLES:
        old_rows = before.get(table, {})
        new_rows = after.get(table, {})
        if old_rows is not new_rows:
            changed = sorted(key for key in {**old_rows, **new_rows} if old_rows.get(key) != new_rows.get(key))
            ports += [key.partition("|")[0] for key in changed]
    return list(dict.fromkeys(ports))


def admin_status(state: Document, port: str) -> str | None:
    """Return the administrative state of a port; None if the port does not exist."""
    row = state.get("PORT", {}).get(port)
    return None if row is None else str(row.get("admin_status", "down"))


def raises(port: str, state: Document, after: Document) -> bool:
    """Tell whether a port comes up."""
    status = admin_status(after, port)
    return status not in (None, "down", admin_status(state, port))


def _keeps_ports_shut(state: Document, after: Document, target: Document) -> bool:
    """Tell whether rows that need their port down change only then.

    A port may also come up only once these rows are as in the target.
    """
    if any(admin_status(state, port) not in (None, "down") for port in ports_to_shut(state, after)):
        return False
    return not any(raises(port, state, after) for port in ports_to_shut(state, target))


def check_lanes(document: Document) -> None:
    """Refuse a lane that two ports use. Raises YangError."""
    users: dict[str, str] = {}
    for port, row in document.get("PORT", {}).items():
        for lane in str(row.get("lanes", "")).split(","):
            first_port = users.setdefault(lane, port)
            if first_port != port:
                text = f"'{lane}' lane is used multiple times in PORT: {{'{first_port}', '{port}'}}"
                raise YangError(text, reason=text)


def _first_field(rows: Mapping[str, Mapping[str, Any]], fields: tuple[str, ...]) -> str:
    """Return the first of these fields that any row has, of ``*`` the first field of all; empty if there is none."""
    if fields == ("*",):
        return next((name for row in rows.values() for name in row), "")
    for name in fields:
        if any(name in row for row in rows.values()):
            return name
    return ""


def _keeps_row(
    before: Mapping[str, Any] | None, row: Mapping[str, Any], goal: Mapping[str, Any], fields: tuple[str, ...]
) -> bool:
    """Tell whether a row keeps its create-only ``fields``, or, if it is new, has those of the target.

    ``before`` is the row before the move, None for a new row; ``goal`` is the row in the target.
    """
    if before is row:
        return True
    names = set(fields)
    if fields == ("*",):
        names = {*(before or {}), *row, *goal}
    if before is None:
        return all((name in row) == (name in goal) for name in names)
    return all(before.get(name) == row.get(name) for name in names)
