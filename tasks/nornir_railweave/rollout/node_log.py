"""Which GPU nodes were taken out of the scheduler and not given back yet, and who works on the nodes.

A run on nodes writes a line before it drains some and after it has given them back, so that a run that was killed in
between leaves a word of what it left drained. It lies beside the journals, or with them in their store, as one sequence
of its own: ``FABRIC@TARGET.nodes``. Whoever changes nodes holds that, one at a time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from nornir_railweave.journals.shared import Lease, SharedJournals
from nornir_railweave.journals.store import StoreError
from nornir_railweave.rollout.claim import capacity_held, shared_place
from railweave.codec import Record, encode
from railweave.errors import RailweaveError
from railweave.files import append_line, write_private

DRAINING = "draining"
RESUMED = "resumed"


class NodeLog:
    """The log of one fabric and target in ``folder``, or in ``shared``."""

    def __init__(self, folder: Path, fabric: str, target: str, shared: SharedJournals | None = None) -> None:
        """Read nothing yet."""
        self._folder = folder
        self._fabric = fabric
        self._target = f"{target}.nodes"
        self._shared = shared
        self._lease: Lease | None = None

    @property
    def _file(self) -> Path:
        return self._folder / f"{self._fabric}@{self._target}"

    def left_drained(self) -> frozenset[str]:
        """Return the nodes that were drained and not given back. Raises RailweaveError if the log cannot be read."""
        try:
            if self._shared is not None:
                return left_drained(self._shared.lines_of(shared_place(self._fabric, self._target)))
            return left_drained(self._file.read_bytes())
        except FileNotFoundError:
            return frozenset()
        except (StoreError, OSError) as fault:
            raise RailweaveError(f"it is not known which nodes are left drained: {fault}") from fault

    @contextmanager
    def held(self, what: str) -> Iterator[None]:
        """Hold the nodes of the fabric and target while the command ``what`` changes them; nobody else may meanwhile.

        Raises RefusedError if somebody else holds them, and RailweaveError if the log cannot be read or written.
        """
        try:
            if self._shared is not None:
                self._shared.fetch()
        except (StoreError, OSError) as fault:
            raise RailweaveError(f"the journals cannot be fetched: {fault}") from fault
        with capacity_held(self._folder, self._fabric, self._target, what, self._shared) as lease:
            self._lease = lease
            try:
                self._prune()
                yield
            finally:
                self._lease = None

    def note(self, step: str, nodes: Sequence[str]) -> None:
        """Write that ``nodes`` are about to be drained (``DRAINING``), or were given back (``RESUMED``).

        Raises RailweaveError if the line could not be written or stored.
        """
        data = _line(step, nodes)
        try:
            if self._lease is not None:
                self._lease.add(data)
                self._lease.flush()
            else:
                append_line(self._file, data)
        except (StoreError, OSError) as fault:
            raise RailweaveError(f"the record of drained nodes cannot be written: {fault}") from fault

    def _prune(self) -> None:
        """Replace all lines by one with the nodes that are left drained, since every run reads the whole log."""
        left = sorted(self.left_drained())
        kept = _line(DRAINING, left) if left else b""
        try:
            if self._lease is not None:
                self._lease.stand_for(kept)
            elif self._file.exists():
                write_private(self._file, kept)
        except (StoreError, OSError) as fault:
            raise RailweaveError(f"the record of drained nodes cannot be written: {fault}") from fault


def _line(step: str, nodes: Sequence[str]) -> bytes:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return encode({"at": now, "step": step, "nodes": [*nodes]}) + b"\n"


def left_drained(lines: bytes) -> frozenset[str]:
    """Return the nodes that were drained and not given back, by the lines of a log; other lines are left out."""
    left: set[str] = set()
    for line in lines.split(b"\n"):
        record = Record.of_line(line)
        nodes = set(record.texts("nodes"))
        if record.text("step") == DRAINING:
            left |= nodes
        elif record.text("step") == RESUMED:
            left -= nodes
    return frozenset(left)
