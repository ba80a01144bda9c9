"""The journals of several runners in one store: who holds a fabric and target, and what each one wrote.

A folder of the store, ``FABRIC@TARGET``, is one sequence of numbered records: a runner that rolls out creates the next
one, and from then on all that follow. A record names its holder and carries lines of the journal. A runner that finds
its next number taken has lost its hold and can write nothing more; that is the fence.

A holder creates a record at least every 15 s. Another runner that sees none for 45 s, by its own steady clock, takes
the hold over, so no two clocks are compared. At its end a rollout puts its lines into one record, which replaces all
before it.
"""

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.journals.record import (
    JournalRecord,
    RecordHeading,
    journal_texts,
    read_record,
    valid_numbers,
)
from nornir_railweave.journals.store import Store, StoreError

RENEW_S = 15.0
LEASE_S = 45.0
_POLL_S = 2.0
_ATTEMPTS = 3
_PAUSE_S = 2.0
AUDIT = "audit"
SUFFIX = ".jsonl"
"""How the file of a journal ends, after the name of its rollout."""


class JournalHeldError(Exception):
    """Another runner holds the fabric and target; ``by`` is its process, ``rollout`` its rollout."""

    def __init__(self, by: str, rollout: str) -> None:
        """Keep who it is."""
        super().__init__(by)
        self.by = by
        self.rollout = rollout


def held_mark(journal: Path) -> Path:
    """Return the file that says, while it is new, that another runner writes this journal."""
    return journal.with_suffix(".held")


class SharedJournals:
    """A store, and the folder in which its journals lie to be read."""

    def __init__(self, store: Store, folder: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        """Read nothing yet."""
        self.store = store
        self.folder = folder
        self.clock = clock
        # The last number of each folder, as it was fetched.
        self._seen: dict[str, int] = {}
        # The last number of each folder whose holder was given up as lost.
        self._lost: dict[str, int] = {}
        # How many bytes of each rollout's journal are stored.
        self._stored: dict[str, int] = {}

    def fetch(self) -> None:
        """Bring the journals of the store into the folder. Raises StoreError, OSError."""
        folders = self._read_folders()
        self._stored.clear()
        self.folder.mkdir(parents=True, exist_ok=True)
        for folder, numbered in folders.items():
            headings = [record.heading for record in numbered.values()]
            unjournaled = {heading.rollout for heading in headings if not heading.journaled}
            for rollout, lines in journal_texts(numbered).items():
                if rollout in unjournaled:
                    continue
                holder = self._holder(folder, numbered, rollout)
                _mirror(self.folder / f"{rollout}{SUFFIX}", lines, holder)
                self._stored[rollout] = len(lines)

    def _read_folders(self) -> dict[str, dict[int, JournalRecord]]:
        """Read the store; return the readable records by folder and number, and note the last number of each folder."""
        names = [name for name in self.store.names() if not name.startswith(f"{AUDIT}/")]
        folders: defaultdict[str, dict[int, JournalRecord]] = defaultdict(dict)
        stored = self.store.read(names)
        self._seen.clear()
        for name, data in stored.items():
            folder, number = _place(name)
            self._seen[folder] = max(self._seen.get(folder, 0), number)
            record = read_record(data)
            if record is not None and number:
                folders[folder][number] = record
        return folders

    def _holder(self, folder: str, numbered: Mapping[int, JournalRecord], rollout: str) -> str:
        """Return the runner that carries out a rollout now; empty if no runner does, or it is given up as lost.

        ``numbered`` are the records of ``folder``, by their numbers.
        """
        last_number = max(numbered)
        last = numbered[last_number].heading
        if not _wrote_lately(last, rollout) or self._lost.get(folder) == last_number:
            return ""
        return last.by

    def refuse_while_held(self, place: str, tell: Callable[[str], None] = lambda _: None) -> None:
        """Raise JournalHeldError if another runner holds ``place``, a ``FABRIC@TARGET``, and is alive.

        It is alive if it creates a record within ``LEASE_S`` seconds. If it does not, it is given up as lost, and the
        journals are fetched with what it wrote last. ``tell`` gets a sentence that says what this waits for.
        """
        number, holder = self._last_record(place)
        if holder is None or not holder.held or self._lost.get(place) == number:
            return
        tell(f"waiting up to {LEASE_S:g} s for a sign of life of rollout {holder.rollout} ({holder.by})")
        deadline_s = self.clock.monotonic() + LEASE_S
        while self.clock.monotonic() < deadline_s:
            self.clock.sleep(_POLL_S)
            new_number, new_heading = self._last_record(place)
            if new_number == number:
                continue
            if new_heading is not None and new_heading.held:
                raise JournalHeldError(new_heading.by, new_heading.rollout)
            # It gave its hold up.
            break
        # The loop ended by the time: no new record came.
        else:
            self._lost[place] = number
        self.fetch()

    def claim(self, place: str, journal: Path, by: str, *, journaled: bool = True) -> "Lease":
        """Hold ``place``, a ``FABRIC@TARGET``, for the rollout of ``journal``; return the hold.

        ``by`` says who holds it. A hold that is not ``journaled`` has no journal. Lines of the journal's file that the
        store does not have yet are stored by the first ``flush``. Raises JournalHeldError if another runner holds the
        place, and StoreError if another runner has come since the journals were fetched.
        """
        self.refuse_while_held(place)
        number, _ = self._last_record(place)
        if number != self._seen.get(place, 0):
            raise StoreError(f"another rollout of {place} came since this command began: run it again")
        heading = RecordHeading(secrets.token_hex(8), by, journal.stem, held=True, journaled=journaled)
        lease = Lease(self, place, number + 1, heading)
        if journal.exists():
            stored_bytes = self._stored.get(journal.stem, 0)
            lease.add(journal.read_bytes()[stored_bytes:])
        return lease

    def released(self, place: str, number: int) -> None:
        """Note the ``number`` of the last record of a hold of our own."""
        self._seen[place] = number

    def _last_record(self, place: str) -> tuple[int, RecordHeading | None]:
        """Return the number of the last record, 0 for none, and its heading; None if it has no valid heading."""
        names = self._numbered_names(place)
        if not names:
            return 0, None
        last_name = names[-1]
        data = self.store.read([last_name])
        record = read_record(data.get(last_name, b""))
        heading = None if record is None else record.heading
        return _place(last_name).number, heading

    def _numbered_names(self, place: str) -> list[str]:
        """Return the names of the records of ``FABRIC@TARGET``, in their order."""
        return [name for name in self.store.names(place) if _place(name).number]

    def lines_of(self, place: str) -> bytes:
        """Return all stored lines of a ``FABRIC@TARGET``, in their order. Raises StoreError."""
        numbered: dict[int, JournalRecord] = {}
        for name, data in self.store.read(self._numbered_names(place)).items():
            record = read_record(data)
            if record is not None:
                numbered[_place(name).number] = record
        return b"".join(numbered[number].lines for number in valid_numbers(numbered))

    # The audit log, a sequence of lines that nobody holds

    def audit_lines(self) -> list[bytes]:
        """Return the lines of the audit log, in their order."""
        names = self.store.names(AUDIT)
        lines = self.store.read(names)
        return [lines[name] for name in names if name in lines]

    def append_audit(self, line: Callable[[bytes], bytes]) -> bool:
        """Store another line of the audit log; return False if another runner has stored one meanwhile.

        ``line`` makes the line from the last one, which is empty if there is none.
        """
        names = self.store.names(AUDIT)
        if not names:
            return self.store.create(_name(AUDIT, 1), line(b""))
        last_name = names[-1]
        last_line = self.store.read([last_name]).get(last_name, b"")
        return self.store.create(_name(AUDIT, _place(last_name).number + 1), line(last_line))


class Lease:
    """The hold of one fabric and target, and what is written under it; its methods may be called from any thread."""

    def __init__(self, journals: SharedJournals, place: str, number: int, heading: RecordHeading) -> None:
        """Create the first record, ``number``, and renew it from a thread until the lease ends.

        Raises JournalHeldError if another runner is faster, and StoreError if the store fails, or takes a second record
        of one name.
        """
        self._journals = journals
        self._place = place
        # The number of the holder's first record, and that of the next one that it creates.
        self._first = number
        self._number = number
        self._heading = heading
        # Lines that were added and not sent, and all that were stored.
        self._lines = b""
        self._written = b""
        # A record that the store did not take.
        self._unsent: _UnsentRecord | None = None
        # The names of the holder's records, and the last of them if it has no lines: the next one replaces it.
        self._names: list[str] = []
        self._idle: list[str] = []
        # Lines are added while others are sent: a step of a rollout does not wait for the store.
        self._adding = threading.Lock()
        self._sending = threading.Lock()
        self._ended = threading.Event()
        if not self._create(self._body()):
            raise JournalHeldError("", "")
        self._idle = [*self._names]
        if journals.store.create(_name(place, number), b"a second record of this name"):
            raise StoreError("the store replaces records, where it must refuse a second one: it keeps no runners apart")
        threading.Thread(target=self._renew_until_ended, daemon=True).start()

    def add(self, data: bytes) -> None:
        """Take lines of the journal; they are stored by the next ``flush``, at the latest with the next record."""
        with self._adding:
            self._lines += data

    def flush(self) -> None:
        """Return once all lines that were added before are stored; those of several threads go together.

        Raises StoreError if the store does not take them, or another runner has taken over.
        """
        with self._sending:
            if self._lines or self._unsent:
                self._send()

    def renew(self) -> None:
        """Store a record, with whatever lines are there, to show that the holder lives. Raises as ``flush`` does."""
        with self._sending:
            if not self._ended.is_set():
                self._send()

    def stand_for(self, lines: bytes) -> None:
        """Let the last record of this hold replace all that was stored before it by ``lines``. Raises StoreError."""
        with self._sending:
            names = self._journals.store.names(self._place)
            old_names = [name for name in names if 0 < _place(name).number < self._first]
            if old_names:
                self._first = min(_place(name).number for name in old_names)
                self._names = [*old_names, *self._names]
                self._written = lines + self._written

    def release(self) -> None:
        """Store all lines as one record, which replaces all before it, and give the hold up. Raises StoreError."""
        with self._sending:
            if self._ended.is_set():
                return
            if self._lines or self._unsent:
                self._send()
            self._ended.set()
            whole = self._body(self._written, held=False, replaces=self._first)
            self._require_ours(self._create(whole, self._names))
            self._journals.released(self._place, self._number - 1)

    def _send(self) -> None:
        """Store the record that the store did not take before, if any, then one with the lines that came since."""
        if self._unsent is not None:
            self._store(self._unsent)
            if not self._lines:
                return
        with self._adding:
            lines = self._lines
            self._lines = b""
        self._store(_UnsentRecord(lines, self._body(lines)))

    def _store(self, record: "_UnsentRecord") -> None:
        """Store a record, and remove the one before if that has no lines.

        Raises StoreError; the record is kept then, and stored first by the next call of ``_send``.
        """
        self._unsent = record
        idle = self._idle
        self._require_ours(self._create(record.body, idle))
        self._names = [name for name in self._names if name not in idle]
        self._idle = [] if record.lines else self._names[-1:]
        self._written += record.lines
        self._unsent = None

    def _body(self, lines: bytes = b"", *, held: bool = True, replaces: int = 0) -> bytes:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return JournalRecord(replace(self._heading, held=held, at=now, replaces=replaces), lines).encoded()

    def _create(self, body: bytes, removing: Sequence[str] = ()) -> bool:
        """Create the holder's next record; return False if another runner has taken its number.

        Raises StoreError if the store does not take it after several attempts.
        """
        name = _name(self._place, self._number)
        for attempt in range(_ATTEMPTS):
            try:
                created = self._journals.store.create(name, body, removing)
            except StoreError:
                if attempt == _ATTEMPTS - 1:
                    raise
                self._journals.clock.sleep(_PAUSE_S)
            else:
                if created:
                    self._names.append(name)
                    self._number += 1
                return created
        return False

    def _require_ours(self, created: bool) -> None:
        """End the lease and raise StoreError if a record was not ``created``: another runner has taken over."""
        if not created:
            self._ended.set()
            raise StoreError("another runner has taken the rollout over")

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(RENEW_S):
            # It is tried again here, and `flush` raises the error before the next switch is touched.
            with suppress(StoreError):
                self.renew()


class _UnsentRecord(NamedTuple):
    """A record on its way to the store: the lines in it, and its whole content."""

    lines: bytes
    body: bytes


class _RecordPlace(NamedTuple):
    """The parts of a record's name, ``FOLDER/NUMBER``; the number is 0 if it is none."""

    folder: str
    number: int


def _name(folder: str, number: int) -> str:
    return f"{folder}/{number:08}"


def _place(name: str) -> _RecordPlace:
    folder, _, number = name.rpartition("/")
    if not number.isdecimal():
        return _RecordPlace(folder, 0)
    return _RecordPlace(folder, int(number))


def _wrote_lately(last: RecordHeading, rollout: str) -> bool:
    """Tell whether a rollout's holder wrote the ``last`` record less than ``LEASE_S`` seconds ago, by both clocks.

    That is good enough for a list of rollouts; ``refuse_while_held`` compares no clocks.
    """
    try:
        age_s = (datetime.now(UTC) - datetime.fromisoformat(last.at)).total_seconds()
    except (ValueError, TypeError):
        return False
    return last.held and last.rollout == rollout and age_s < LEASE_S


def is_held(journal: Path) -> bool:
    """Tell whether another runner held this journal when the store was fetched, less than a lease ago."""
    try:
        return time.time() - held_mark(journal).stat().st_mtime < LEASE_S
    except OSError:
        return False


def _mirror(path: Path, lines: bytes, holder: str) -> None:
    """Write a journal into its file as the store has it, and mark it as held by ``holder`` if that is not empty."""
    if holder:
        held_mark(path).write_text(holder, encoding="utf-8")
    else:
        held_mark(path).unlink(missing_ok=True)
    # A runner that was cut off from the store may have written more lines into its own file: they are kept.
    if path.exists() and path.read_bytes().startswith(lines):
        return
    new_file = path.with_suffix(".new")
    new_file.touch(mode=0o600)
    new_file.write_bytes(lines)
    new_file.replace(path)
