"""The journal: every step of a rollout, appended and synchronized as it happens, so that it survives a kill.

One file a rollout, ``.railweave/journal/TIME-FABRIC-ID.jsonl``, whose stem is the rollout's name; one JSON object a
line: ``at`` (UTC), ``step``, ``device``, ``text`` and the step's details. The process that writes it holds a lock on
it, so a journal is locked exactly while its rollout lives. A second lock, one a fabric and target, keeps two rollouts
of one machine apart; the switches' own locks keep those of two machines apart.

Journals of several machines lie in a store beside that (``journals.shared``): every line goes there too, and what must
be written before a switch is touched has reached the store by then.
"""

import fcntl
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nornir_railweave.events import Event, Step
from nornir_railweave.journals.shared import SUFFIX, Lease, SharedJournals
from nornir_railweave.journals.store import StoreError
from nornir_railweave.rollout.claim import (
    NOTHING_CHANGED,
    busy,
    claim,
    is_alive,
    lock_file,
    own_process,
    store_lease,
    writing,
)
from railweave.codec import encode
from railweave.errors import RailweaveError, RefusedError
from railweave.masking import masked
from railweave.plan.document import plan_digest
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult, Outcome, Result
from railweave.plan.resumption import changes_sha256
from railweave.plan.rollout import DEPLOYMENT, FORMAT_VERSION, RolloutMetadata
from railweave.wording import compact

# Members of a line that name or compare something and quote nobody. A secret may be a part of one, as `fabric1` is of
# a rollout's name; masked, the journal would be nobody's.
_NAMES = frozenset(
    {"at", "step", "device", "rollout", "fabric", "target", "kind", "of", "outcome", "result", "waves", "commit_id",
     "before_sha256", "after_sha256", "changes_sha256", "intent_sha256", "sources_sha256", "plan_digest", "intent",
     "base", "base_commit"}
)  # fmt: skip


class Journal:
    """An append-only file of events; a listener for ``events.Announcer``, which calls it one event at a time.

    ``name`` is the rollout's. ``fault`` says why a line could not be written, and is empty while all were: a rollout
    that nobody could resume should not go on.
    """

    def __init__(
        self,
        folder: Path,
        fabric: str,
        target: str = "",
        metadata: RolloutMetadata = DEPLOYMENT,
        shared: SharedJournals | None = None,
    ) -> None:
        """Create the file of a new rollout in ``folder``, readable by its owner alone, and in ``shared``.

        Raises RefusedError where another process rolls out to the same fabric and target, RailweaveError where the
        disk is full or read-only, or the store is.
        """
        begun = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        path = folder / f"{begun}-{fabric}-{secrets.token_hex(3)}{SUFFIX}"
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)
        lock = claim(folder, fabric, target, path.stem)
        try:
            with writing(path):
                file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
                _synchronize_folder(folder)
        except RailweaveError:
            os.close(lock)
            raise
        self._take(path, file, lock, metadata, resumed=False)
        self._hold(shared, fabric, target)

    @classmethod
    def reopen(
        cls, path: Path, fabric: str, target: str, metadata: RolloutMetadata, shared: SharedJournals | None = None
    ) -> Self:
        """Return the journal of a rollout that was not finished, to be carried on at its end.

        Raises RefusedError where another process rolls out to the same fabric and target.
        """
        journal = cls.__new__(cls)
        lock = claim(path.parent, fabric, target, path.stem)
        try:
            with writing(path):
                file = os.open(path, os.O_RDWR | os.O_APPEND)
        except RailweaveError:
            os.close(lock)
            raise
        journal._take(path, file, lock, metadata, resumed=True)
        journal._hold(shared, fabric, target)
        return journal

    def _take(self, path: Path, file: int, lock: int, metadata: RolloutMetadata, *, resumed: bool) -> None:
        try:
            with writing(path):
                locked = lock_file(file, fcntl.LOCK_EX)
            if not locked:
                raise RefusedError([busy(path.stem)])
        except RailweaveError:
            os.close(file)
            os.close(lock)
            raise
        size = os.fstat(file).st_size
        self.path = path
        self.name = path.stem
        self.metadata = metadata
        self.resumed = resumed
        self.fault = ""
        self._file = file
        self._lock = lock
        self._lease: Lease | None = None
        # A line that a kill or a full disk cut short must not swallow the next one.
        self._torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"

    def _hold(self, shared: SharedJournals | None, fabric: str, target: str) -> None:
        """Take the hold of a fabric and target in the store; a file that no rollout began is taken away again."""
        try:
            _, user = own_process()
            self._lease = store_lease(shared, fabric, target, self.path, user)
        except RailweaveError:
            self.close()
            if not self.resumed:
                self.path.unlink(missing_ok=True)
            raise

    def __call__(self, event: Event) -> None:
        """Append ``event`` and wait until it is on the disk."""
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "step": event.step.value,
            "device": event.device,
            "text": event.text,
            **event.details,
        }
        try:
            self._append(encode(_hiding(line)) + b"\n")
            os.fsync(self._file)
        except OSError as problem:
            self.fault = f"the journal {self.path} cannot be written: {problem.strerror}"

    def _append(self, data: bytes) -> None:
        if self._torn:
            data = b"\n" + data
        if self._lease is not None:
            self._lease.add(data)
        self._torn = True
        while data:
            data = data[os.write(self._file, data) :]
        self._torn = False

    def has_ended(self, message: str) -> bool:
        """Tell whether a message names a rollout whose journal lies beside this one, or is this one, and which no other
        process writes any more: it has ended, or was killed."""
        paths = [self.path.parent / f"{word}{SUFFIX}" for word in message.split() if "/" not in word]
        return any(path == self.path or (path.is_file() and not is_alive(path)) for path in paths)

    def opening(self, plan: Plan) -> Event:
        """Return the first event of the rollout, ``started`` or ``resumed``: all that a later process must know."""
        step = Step.RESUMED if self.resumed else Step.STARTED
        return Event(step, details=opening_details(self.name, plan, self.metadata))

    def blocker(self) -> str:
        """Return why nothing may go on, empty once every line is written, in the store as well."""
        try:
            if self._lease is not None and not self.fault:
                self._lease.flush()
        except StoreError as problem:
            self.fault = f"the journal {self.name} cannot be stored: {problem}"
        return self.fault

    def require_written(self) -> None:
        """Raise RailweaveError where a line is missing: asked before the first device is changed."""
        if fault := self.blocker():
            raise RailweaveError(f"{fault}; {NOTHING_CHANGED}")

    def judged(self, result: DeployResult) -> DeployResult:
        """Return the result; if the journal is incomplete, mark it stopped and list what was committed."""
        changed = {name for wave in result.progress.waves for name in wave}
        committed = f"committed: {compact(changed & {*result.names(Outcome.NEW)}) or 'no device'}"
        fault = self.blocker()
        if not fault or result.stopped_by.endswith(committed):
            return result
        reasons = [result.stopped_by] if result.stopped_by else []
        # The rollout itself may have stopped for it.
        if fault not in result.stopped_by:
            reasons.append(fault)
        return replace(result, result=Result.STOPPED, stopped_by="; ".join([*reasons, committed]))

    def close(self) -> None:
        """Give the locks back; once is enough."""
        if self._lease is not None:
            # Without an answer the store waits for a sign of life, and the switches for their timers.
            with suppress(StoreError):
                self._lease.release()
            self._lease = None
        for handle in (self._file, self._lock):
            if handle >= 0:
                os.close(handle)
        self._file = self._lock = -1

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()


def _hiding(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with every resolved secret masked but in names: one that a journal is read by stays as it is."""
    return {name: value if name in _NAMES else _masked_member(name, value) for name, value in line.items()}


def _masked_member(name: str, value: Any) -> Any:
    if name != "devices":
        return masked(value)
    if isinstance(value, Mapping):
        return {device: _masked_details(details) for device, details in value.items()}
    # A list of names.
    return value


def _masked_details(details: Any) -> Any:
    if isinstance(details, Mapping):
        return _hiding(details)
    return masked(details)


def opening_details(rollout: str, plan: Plan, metadata: RolloutMetadata) -> dict[str, Any]:
    """Return what ``started`` and ``resumed`` say: the rollout, who runs it, and each device's part of the plan."""
    pid, user = own_process()
    return {
        "version": FORMAT_VERSION,
        "rollout": rollout,
        "fabric": plan.fabric,
        "target": plan.target,
        "intent": metadata.intent,
        "intent_sha256": plan.intent_sha256,
        "plan_digest": plan_digest(plan),
        "kind": metadata.kind.value,
        "of": metadata.of,
        "remove_conflicting": metadata.remove_conflicting,
        "base": metadata.base,
        **({"base_commit": metadata.base_commit} if metadata.base_commit else {}),
        "phase": metadata.phase,
        **_limit_details(plan),
        "sources_sha256": metadata.sources_sha256,
        **({"signed": metadata.signed.as_json()} if metadata.signed else {}),
        "pid": pid,
        "by": user,
        "devices": _devices_details(plan),
        "waves": [list(wave) for wave in plan.waves],
    }


def _limit_details(plan: Plan) -> dict[str, list[str]]:
    """Return the limit of a plan, and the devices that it leaves behind with changes; nothing without a limit."""
    if not plan.limit:
        return {}
    behind = [name for name in plan.behind if not plan.devices[name].error]
    return {"limit": list(plan.limit), "behind": behind}


def _devices_details(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return each device's part of a plan, in the order of the waves."""
    devices: dict[str, dict[str, Any]] = {}
    for number, wave in enumerate(plan.waves, start=1):
        for name in wave:
            devices[name] = {
                "wave": number,
                "before_sha256": plan.devices[name].reading.running_sha256,
                "changes_sha256": changes_sha256(plan.deltas.get(name, ())),
                "drain": list(plan.devices[name].drain),
            }
    return devices


def _synchronize_folder(folder: Path) -> None:
    """Make a new file's name as durable as its lines will be."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
