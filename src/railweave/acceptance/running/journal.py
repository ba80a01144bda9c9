"""``journal.jsonl`` of an acceptance: a line before and after each round, from which a killed run is resumed.

A round is done once both of its lines are there and its results are stored. Results that a killed controller did not
fetch are still on the nodes, under the name of their block.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railweave.errors import RailweaveError
from railweave.files import append_line, cannot_write

JOURNAL_FILE = "journal.jsonl"
"""The name of the file within the directory of a plan and its results."""


class AcceptanceJournal:
    """Appends to the journal of a directory; each line is on the disk before the step after it."""

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        """Open nothing yet."""
        self.path = folder / JOURNAL_FILE
        self._now = now

    def add(self, event: str, **members: Any) -> None:
        """Append a line with the time, ``event`` and ``members``; raises RailweaveError if it cannot be written."""
        data = json.dumps({"at": round(self._now(), 3), "event": event, **members}).encode() + b"\n"
        try:
            append_line(self.path, data)
        except OSError as fault:
            raise RailweaveError(cannot_write(self.path, fault)) from fault

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of the journal that are JSON objects; none if there is no journal."""
        try:
            data = self.path.read_bytes()
        except OSError:
            return []
        lines = []
        for raw_line in data.split(b"\n"):
            try:
                line = json.loads(raw_line)
            except ValueError:
                continue
            if isinstance(line, dict):
                lines.append(line)
        return lines


@dataclass
class AcceptanceProgress:
    """How far the runs of a plan came."""

    # The SHA-256 of the plan that they carried out and its `--limit`; empty without a run.
    plan_sha256: str = ""
    limit: str = ""
    # The rounds of each block in their order, and the last block of each round.
    blocks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    block_of: dict[str, str] = field(default_factory=dict)
    # Blocks whose results are stored, with the nodes that have not delivered theirs.
    stored: dict[str, frozenset[str]] = field(default_factory=dict)
    # By block, the rounds around which the switches were read in time, and those around which they were not.
    followed: dict[str, set[str]] = field(default_factory=dict)
    missed: dict[str, set[str]] = field(default_factory=dict)
    # Of each round with results, why tests of it did not run.
    not_run: dict[str, Mapping[str, str]] = field(default_factory=dict)
    # Rounds that were repeated, or are to be, with the reason.
    repeated: dict[str, str] = field(default_factory=dict)

    @property
    def done(self) -> frozenset[str]:
        """Return the rounds with results of all their tests."""
        return frozenset(name for name, missing in self.not_run.items() if not missing)

    @property
    def unfetched(self) -> tuple[str, ...]:
        """Return the blocks whose results nobody has fetched."""
        return tuple(block for block in self.blocks if block not in self.stored)

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Return the blocks of which some node may still have results."""
        return tuple(block for block in self.blocks if self.stored.get(block) != frozenset())

    def delivered_by(self, node: str) -> list[str]:
        """Return the blocks whose results ``node`` need not keep."""
        return sorted(block for block, owing in self.stored.items() if node not in owing)

    def take(self, line: Mapping[str, Any]) -> None:
        """Update the progress by a line of the journal; a line of an unknown form is ignored."""
        match line:
            case {"event": "run", "plan_sha256": str(digest), "limit": str(limit)}:
                self.plan_sha256 = digest
                self.limit = limit
            case {"event": "block", "block": str(block), "rounds": [*rounds]}:
                self.blocks[block] = tuple(map(str, rounds))
                self.followed[block] = set()
                self.missed[block] = set()
                self.block_of.update(dict.fromkeys(self.blocks[block], block))
            case {"event": "after", "block": str(block), "round": str(name), "read": bool(read)}:
                rounds_of = self.followed if read else self.missed
                rounds_of[block].add(name)
            case {"event": "results", "block": str(block), "not_run": {**missing}, "owing": [*owing]}:
                self.stored[block] = frozenset(map(str, owing))
                self.not_run.update({str(name): tests for name, tests in missing.items() if isinstance(tests, dict)})
            case {"event": "repeat", "round": str(name), "why": str(why)}:
                self.repeated[name] = why
                self.not_run.pop(name, None)


def progress_of(lines: Iterable[Mapping[str, Any]]) -> AcceptanceProgress:
    """Return how far the runs in a journal came."""
    progress = AcceptanceProgress()
    for line in lines:
        progress.take(line)
    return progress
