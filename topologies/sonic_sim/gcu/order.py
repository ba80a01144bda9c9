"""Order a change into single moves, each of which leaves a valid configuration (patch_sorter.py of sonic-utilities).

A search in depth: moves are tried in the order in which `_Search.moves` yields them, and the first that is allowed is
made. From a state without further moves the search goes back to the one before.
"""

import copy
import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from sonic_sim.gcu.limits import Limits, admin_status, ports_to_shut, raises
from sonic_sim.gcu.moves import Document, Parts, adding, apply_copy, low_level, removing, replacing
from sonic_sim.gcu.patch import Move
from sonic_sim.yang.check import Checker

# Bounds a search in depth that SONiC's sorter would go on with.
_MOST_TRIED = 20_000


class NoOrderError(Exception):
    """No order of the moves keeps the configuration valid."""


def sorted_moves(current: Document, target: Document, checker: Checker) -> list[Move]:
    """Return the moves from one configuration to another, in order. Raises NoOrderError."""
    search = _Search(target, Limits(target, checker))
    path = [_SearchState(current, search.moves(current))]
    states_seen = {_fingerprint(current, current)}
    tried = 0
    while path[-1].document != target:
        state = path[-1]
        move = next(state.moves, None)
        tried += 1
        if tried > _MOST_TRIED:
            raise NoOrderError
        if move is None:
            # Nothing leads on from here.
            path.pop()
            if not path:
                raise NoOrderError
            continue
        after = apply_copy(state.document, move)
        fingerprint = _fingerprint(after, current)
        if fingerprint not in states_seen and search.limits.allow(move, state.document, after):
            states_seen.add(fingerprint)
            path.append(_SearchState(after, search.moves(after), move))
    return [state.move for state in path if state.move is not None]


class _SearchState(NamedTuple):
    """A configuration on the way, the moves that were not tried from it yet, and the move that led to it."""

    document: Document
    moves: Iterator[Move]
    # None for the configuration at the beginning.
    move: Move | None = None


def _fingerprint(state: Document, first: Document) -> str:
    """Return a text that is different for different states that are reached from the state ``first``."""
    changed = {name: rows for name, rows in state.items() if rows is not first.get(name)}
    removed = [name for name in first if name not in state]
    return json.dumps([changed, removed], sort_keys=True)


class _Marks(set[str]):
    """The moves that were seen so far."""

    def new(self, move: Move) -> bool:
        """Tell whether a move is seen for the first time, and remember it."""
        mark = json.dumps(move.operation(), sort_keys=True)
        if mark in self:
            return False
        self.add(mark)
        return True


class _Search:
    """The possible next moves on the way to a target."""

    def __init__(self, target: Document, limits: Limits) -> None:
        """Take the target, and the checks of a move on the way to it."""
        self.target = target
        self.limits = limits

    def moves(self, state: Document) -> Iterator[Move]:
        """Yield moves of whole rows, then the smallest changes, then their extensions."""
        yielded = _Marks()
        extended = _Marks()
        yield from filter(yielded.new, self._moves_of_rows(state))
        # First in, first out: all of these come before their extensions.
        moves = deque([*self._detaching(state), *low_level(state, self.target)])
        while moves:
            move = moves.popleft()
            if yielded.new(move):
                yield move
            if extended.new(move):
                moves.extend(self._extended(move, state))

    def _moves_of_rows(self, state: Document) -> Iterator[Move]:
        """Yield the removals of whole rows, then their additions; a table is removed with its last row."""
        for table, rows in state.items():
            for key in rows:
                if key not in self.target.get(table, {}):
                    yield removing((table,) if len(rows) == 1 else (table, key))
        for table, rows in self.target.items():
            for key in rows:
                if key not in state.get(table, {}):
                    yield adding(state, self.target, (table, key))

    def _detaching(self, state: Document) -> Iterator[Move]:
        """Yield the removals of references to rows that have to be made anew."""
        for row in self.limits.made_anew(state):
            yield from map(removing, self.limits.referring(state, row))

    def _extended(self, move: Move, state: Document) -> Iterator[Move]:
        """Yield moves that a move may need first, or that may replace it."""
        after = apply_copy(state, move)
        for port in ports_to_shut(state, after):
            if admin_status(state, port) not in (None, "down"):
                yield Move("replace", ("PORT", port, "admin_status"), "down")
        raised = [port for port in ports_to_shut(state, self.target) if raises(port, state, after)]
        if raised:
            yield Move(move.op, move.parts, _shut(move, raised))
        if move.parts:
            yield self._change_of_parent((move.place or move.parts)[:-1], state)
        if move.op == "replace" and move.parts:
            yield removing(move.parts)
        if move.op == "remove":
            yield from map(removing, self.limits.referring(state, move.parts))

    def _change_of_parent(self, parts: Parts, state: Document) -> Move:
        """Return the move that brings the place ``parts``, the parent of a changed one, to the target's value."""
        old: Any = state
        new: Any = self.target
        for part in parts:
            if part not in old:
                return adding(state, self.target, parts)
            if part not in new:
                return removing(parts)
            old = old[part]
            new = new[part]
        return replacing(self.target, parts)


def _shut(move: Move, ports: list[str]) -> Any:
    """Return the value of a move with these ports down."""
    # The place is that of a field, so the move is of ``admin_status`` itself.
    if len(move.parts) == 3:
        return "down"
    value = copy.deepcopy(move.value)
    for port in ports:
        # The value is the whole configuration, the table or a row.
        row = value
        for part in ("PORT", port)[len(move.parts) :]:
            row = row[part]
        row["admin_status"] = "down"
    return value
