"""Order a change into single moves, each of which leaves a valid configuration (patch_sorter.py of sonic-utilities).

Whole tables come first, then rows, then fields; a move is tried as it is before a port is shut for it. Rows that carry
a port's QoS change only while the port is down, so the port is shut, all its rows are changed, and it is brought up.
"""

import copy
from collections.abc import Iterator
from typing import Any

from sonic_sim.gcu.patch import Move, apply_move, difference
from sonic_sim.yang.check import YangError, check_document, references
from sonic_sim.yang.model import MODELS

Document = dict[str, dict[str, dict[str, Any]]]

SHUT_TABLES = frozenset({
    "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST", "PORT_QOS_MAP",
    "QUEUE",
})  # fmt: skip
"""Tables whose rows of a port change only while the port is down."""
_CREATE_ONLY = {
    "PORT": frozenset({"lanes"}),
    "BGP_NEIGHBOR": frozenset({"asn", "holdtime", "keepalive", "local_addr", "name", "nhopself", "rrclient"}),
    "LOOPBACK_INTERFACE": frozenset({"vrf_name"}),
}


class NoOrderError(Exception):
    """No order of the moves keeps the configuration valid."""


def sorted_moves(current: Document, target: Document) -> list[Move]:
    """Return the moves from one configuration to another. Raises NoOrderError."""
    state: Document = copy.deepcopy(current)
    moves: list[Move] = []
    for move in _recreation(state, target):
        moves.append(move)
        apply_move(state, move)
    while state != target:
        move = _next(state, target)
        moves.append(move)
        apply_move(state, move)
    return moves


def _next(state: Document, target: Document) -> Move:
    candidates = list(_candidates(state, target))
    waiting = {port for port in map(_shut_port, candidates) if port}
    blocked: list[tuple[Move, str]] = []
    for candidate in candidates:
        move = _kept_down(candidate, waiting)
        port = _shut_port(move)
        if port and _is_up(state, port):
            blocked.append((move, port))
        elif _raises_port(move) not in waiting and _valid_after(state, move):
            return move
    for _, port in blocked:
        return Move("replace", ("PORT", port, "admin_status"), "down")
    raise NoOrderError


def _kept_down(move: Move, waiting: set[str]) -> Move:
    """Return the addition of a port with QoS rows to come so that it starts shut."""
    if move.op != "add" or len(move.parts) != 2 or move.parts[0] != "PORT" or move.parts[1] not in waiting:
        return move
    if move.value.get("admin_status") != "up":
        return move
    return Move("add", move.parts, {**move.value, "admin_status": "down"})


def _candidates(state: Document, target: Document) -> Iterator[Move]:
    """Yield what could be next: tables, then rows, then fields; of each first what goes, then what comes."""
    for table in [name for name in state if name not in target]:
        yield Move("remove", (table,))
    for table in [name for name in target if name not in state]:
        yield Move("add", (table,), target[table])
    shared = {name: (rows, target[name]) for name, rows in state.items() if name in target and rows != target[name]}
    for table, (old, new) in shared.items():
        last = len(old) == 1
        for key in [one for one in old if one not in new]:
            yield Move("remove", (table,) if last else (table, key))
    for table, (old, new) in shared.items():
        for key in [one for one in new if one not in old]:
            yield Move("add", (table, key), new[key])
    for table, (old, new) in shared.items():
        for key in [one for one in old if one in new]:
            yield from _fields(old[key], new[key], (table, key))


def _fields(old: dict[str, Any], new: dict[str, Any], parts: tuple[str, ...]) -> Iterator[Move]:
    for name, value in old.items():
        if name not in new:
            yield Move("remove", (*parts, name, "0") if isinstance(value, list) and len(value) > 1 else (*parts, name))
        elif isinstance(value, list) and isinstance(new[name], list):
            yield from difference(value, new[name], (*parts, name))
        elif value != new[name]:
            yield Move("replace", (*parts, name), new[name])
    for name, value in new.items():
        if name not in old:
            yield Move("add", (*parts, name), value[:1] if isinstance(value, list) else value)


def _shut_port(move: Move) -> str:
    """Return the port that has to be down for a move, empty where none."""
    if move.parts[0] not in SHUT_TABLES or len(move.parts) < 2:
        return ""
    return move.parts[1].partition("|")[0]


def _raises_port(move: Move) -> str:
    is_raise = len(move.parts) == 3 and move.parts[0] == "PORT" and move.parts[2] == "admin_status"
    return move.parts[1] if is_raise and move.value == "up" else ""


def _is_up(state: Document, port: str) -> bool:
    # a port without the field is left alone (recorded)
    return state.get("PORT", {}).get(port, {}).get("admin_status") == "up"


def _valid_after(state: Document, move: Move) -> bool:
    after: Document = dict(state)
    table = move.parts[0]
    if table in after:
        after[table] = dict(after[table])
        if len(move.parts) > 2:
            after[table][move.parts[1]] = copy.deepcopy(after[table][move.parts[1]])
    apply_move(after, move)
    try:
        check_document({name: rows for name, rows in after.items() if name in MODELS})
        check_lanes(after)
    except YangError:
        return False
    return True


def check_lanes(document: Document) -> None:
    """Refuse a lane that two ports use. Raises YangError."""
    users: dict[str, str] = {}
    for port, row in document.get("PORT", {}).items():
        for lane in str(row.get("lanes", "")).split(","):
            other = users.setdefault(lane, port)
            if other != port:
                raise YangError(f"'{lane}' lane is used multiple times in PORT: {{'{other}', '{port}'}}")


def _recreation(state: Document, target: Document) -> Iterator[Move]:
    """Yield what takes rows away whose create-only fields change, with the rows that refer to them."""
    for table, fields in _CREATE_ONLY.items():
        for key in list(state.get(table, {})):
            old, new = state[table][key], target.get(table, {}).get(key)
            if new is not None and any(old.get(name) != new.get(name) for name in fields):
                yield from _take_away(state, table, key)


def _take_away(state: Document, table: str, key: str) -> Iterator[Move]:
    if table == "PORT":
        dependents = [
            (one, row) for one in sorted(state) if one in MODELS for row, _, _, to, value in references(state, one)
            if to == table and value == key
        ]  # fmt: skip
        plain = [one for one in dependents if one[0] not in SHUT_TABLES]
        shut = [one for one in dependents if one[0] in SHUT_TABLES]
        for place, row in plain:
            field = (key,) if place == "CABLE_LENGTH" else ()
            yield Move("remove", (place, row, *field))
        if _is_up(state, key):
            yield Move("replace", (table, key, "admin_status"), "down")
        for place, row in shut:
            yield Move("remove", (place, row))
    yield Move("remove", (table, key))
