"""Order a change into single moves, each of which leaves a valid configuration (patch_sorter.py of sonic-utilities).

A search in depth: moves are tried in the order in which `_Search.moves` yields them, the first that is allowed is
made, and where nothing leads on the last one is taken back.
"""

import copy
import json
from collections import deque
from collections.abc import Iterator
from typing import Any

from sonic_sim.gcu.limits import Limits, admin_status, ports_to_shut, raises
from sonic_sim.gcu.moves import Document, Parts, adding, apply_copy, low_level, removing, replacing
from sonic_sim.gcu.patch import Move
from sonic_sim.yang.check import Checker

# Bounds a search in depth that SONiC's sorter would go on with.
_MOST_TRIED = 20_000


class NoOrderError(Exception):
    """No order of the moves keeps the configuration valid."""


def sorted_moves(current: Document, target: Document, checker: Checker) -> list[Move]:
    """Return the moves from one configuration to another. Raises NoOrderError."""
    search = _Search(target, Limits(target, checker))
    made: list[Move] = []
    states = [current]
    ahead = [search.moves(current)]
    seen = {_fingerprint(current, current)}
    tried = 0
    while states[-1] != target:
        move = next(ahead[-1], None)
        tried += 1
        if tried > _MOST_TRIED:
            raise NoOrderError
        if move is None:
            ahead.pop()
            states.pop()
            if not ahead:
                raise NoOrderError
            made.pop()
            continue
        after = apply_copy(states[-1], move)
        mark = _fingerprint(after, current)
        if mark in seen or not search.limits.allow(move, states[-1], after):
            continue
        seen.add(mark)
        made.append(move)
        states.append(after)
        ahead.append(search.moves(after))
    return made


def _fingerprint(state: Document, first: Document) -> str:
    """Return a text that differs between the states reached from the same beginning."""
    changed = {name: rows for name, rows in state.items() if rows is not first.get(name)}
    return json.dumps([changed, [name for name in first if name not in state]], sort_keys=True)


class _Marks(set[str]):
    """The moves seen."""

    def new(self, move: Move) -> bool:
        """Tell whether a move comes for the first time, and keep it."""
        mark = json.dumps(move.operation(), sort_keys=True)
        if mark in self:
            return False
        self.add(mark)
        return True


class _Search:
    """The possible next moves on the way to a target."""

    def __init__(self, target: Document, limits: Limits) -> None:
        self.target = target
        self.limits = limits

    def moves(self, state: Document) -> Iterator[Move]:
        """Yield moves of whole rows, then the smallest changes, then their extensions."""
        yielded = _Marks()
        extended = _Marks()
        later: deque[Move] = deque()
        yield from filter(yielded.new, self._rows(state))
        for move in (*self._detaching(state), *low_level(state, self.target)):
            if yielded.new(move):
                yield move
            if extended.new(move):
                later.extend(self._extended(move, state))
        while later:
            move = later.popleft()
            if yielded.new(move):
                yield move
            if extended.new(move):
                later.extend(self._extended(move, state))

    def _rows(self, state: Document) -> Iterator[Move]:
        """Yield rows that go, then rows that come; with its last row a table goes."""
        for table, rows in state.items():
            for key in rows:
                if key not in self.target.get(table, {}):
                    yield removing((table,) if len(rows) == 1 else (table, key))
        for table, rows in self.target.items():
            for key in rows:
                if key not in state.get(table, {}):
                    yield adding(state, self.target, (table, key))

    def _detaching(self, state: Document) -> Iterator[Move]:
        """Yield the removal of references to rows that have to be made anew."""
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
            yield self._upper((move.place or move.parts)[:-1], state)
        if move.op == "replace" and move.parts:
            yield removing(move.parts)
        if move.op == "remove":
            yield from map(removing, self.limits.referring(state, move.parts))

    def _upper(self, parts: Parts, state: Document) -> Move:
        """Return the change of the parent of a place."""
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
    """Return the value of a move with ports down."""
    if len(move.parts) == 3:
        return "down"
    value = copy.deepcopy(move.value)
    for port in ports:
        row = value
        for part in ("PORT", port)[len(move.parts) :]:
            row = row[part]
        row["admin_status"] = "down"
    return value
