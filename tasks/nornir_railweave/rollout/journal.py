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

# Members of a line that a later run reads or compares, and that quote no device. They are never masked: a short secret
# such as `fabric1` may be a part of a rollout's name, which would no longer be found.
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
        """Create the file of a new rollout in ``folder``, readable by its owner alone, and its copy in ``shared``.

        Raises RefusedError if another process rolls out to the same fabric and target, and RailweaveError if the disk
        or the store cannot be written.
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
        self._own_file(path, file, lock, metadata, resumed=False)
        self._hold_in_store(shared, fabric, target)

    @classmethod
    def reopen(
        cls, path: Path, fabric: str, target: str, metadata: RolloutMetadata, shared: SharedJournals | None = None
    ) -> Self:
        """Return the journal of a rollout that was not finished; new lines are appended to it.

        Raises RefusedError if another process rolls out to the same fabric and target, and RailweaveError if the file
        or the store cannot be written.
        """
        journal = cls.__new__(cls)
        lock = claim(path.parent, fabric, target, path.stem)
        try:
            with writing(path):
                file = os.open(path, os.O_RDWR | os.O_APPEND)
        except RailweaveError:
            os.close(lock)
            raise
        journal._own_file(path, file, lock, metadata, resumed=True)
        journal._hold_in_store(shared, fabric, target)
        return journal

    def _own_file(self, path: Path, file: int, lock: int, metadata: RolloutMetadata, *, resumed: bool) -> None:
        """Lock the open journal ``file`` and own it; ``lock`` is the open lock file of its fabric and target.

        If another process has the journal locked, both files are closed and RefusedError is raised.
        """
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

    def _hold_in_store(self, shared: SharedJournals | None, fabric: str, target: str) -> None:
        """Hold the fabric and target in the store, if there is one.

        If that fails, the journal is closed, a new one is removed, and the error is raised again.
        """
        try:
            _, user = own_process()
            self._lease = store_lease(shared, fabric, target, self.path, user)
        except RailweaveError:
            self.close()
            if not self.resumed:
                self.path.unlink(missing_ok=True)
            raise

    def __call__(self, event: Event) -> None:
        """Append ``event`` and wait until it is on the disk; if that fails, ``fault`` says why."""
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "step": event.step.value,
            "device": event.device,
            "text": event.text,
            **event.details,
        }
        try:
            self._append(encode(_masked_line(line)) + b"\n")
            os.fsync(self._file)
        except OSError as problem:
            self.fault = f"the journal {self.path} cannot be written: {problem.strerror}"

    def _append(self, data: bytes) -> None:
        """Append a whole line. Raises OSError; the file may end with a part of the line then."""
        if self._torn:
            data = b"\n" + data
        if self._lease is not None:
            self._lease.add(data)
        self._torn = True
        while data:
            written_bytes = os.write(self._file, data)
            data = data[written_bytes:]
        self._torn = False

    def has_ended(self, message: str) -> bool:
        """Tell whether a message names this rollout, or one in the same folder whose process ended or was killed."""
        for word in message.split():
            # A name with a `/` would lead out of the folder.
            if "/" in word:
                continue
            path = self.path.parent / f"{word}{SUFFIX}"
            if path == self.path:
                return True
            if path.is_file() and not is_alive(path):
                return True
        return False

    def opening(self, plan: Plan) -> Event:
        """Return the first event of the rollout, ``started`` or ``resumed``: all that a later process must know."""
        step = Step.RESUMED if self.resumed else Step.STARTED
        return Event(step, details=opening_details(self.name, plan, self.metadata))

    def blocker(self) -> str:
        """Return why the rollout must not go on; empty if every line was written, in the store as well."""
        try:
            if self._lease is not None and not self.fault:
                self._lease.flush()
        except StoreError as problem:
            self.fault = f"the journal {self.name} cannot be stored: {problem}"
        return self.fault

    def require_written(self) -> None:
        """Raise RailweaveError if a line is missing; called before the first device is changed."""
        fault = self.blocker()
        if fault:
            raise RailweaveError(f"{fault}; {NOTHING_CHANGED}")

    def judged(self, result: DeployResult) -> DeployResult:
        """Return the result; if the journal is incomplete, mark it stopped and list what was committed."""
        fault = self.blocker()
        if not fault:
            return result
        in_waves = {name for wave in result.progress.waves for name in wave}
        committed = compact(in_waves & {*result.names(Outcome.NEW)}) or "no device"
        ending = f"committed: {committed}"
        # A result is judged again after the last line, which may be the one that fails.
        if result.stopped_by.endswith(ending):
            return result
        reasons: list[str] = []
        if result.stopped_by:
            reasons.append(result.stopped_by)
        # The rollout itself may have stopped for the same fault.
        if fault not in result.stopped_by:
            reasons.append(fault)
        return replace(result, result=Result.STOPPED, stopped_by="; ".join([*reasons, ending]))

    def close(self) -> None:
        """Release the locks; closing twice is allowed."""
        if self._lease is not None:
            # A lease that cannot be released expires by itself.
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


def _masked_line(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line, or the details of a device in it, with its secrets masked except in the members of ``_NAMES``."""
    return {name: _masked_member(name, value) for name, value in line.items()}


def _masked_member(name: str, value: Any) -> Any:
    if name in _NAMES:
        return value
    if name != "devices":
        return masked(value)
    if isinstance(value, Mapping):
        return {device: _masked_details(details) for device, details in value.items()}
    # A list of names.
    return value


def _masked_details(details: Any) -> Any:
    if isinstance(details, Mapping):
        return _masked_line(details)
    return masked(details)


def opening_details(rollout: str, plan: Plan, metadata: RolloutMetadata) -> dict[str, Any]:
    """Return the details of a rollout's first event: its metadata, who runs it, and each device's part of the plan.

    They are in the order in which the journal's line has them.
    """
    pid, user = own_process()
    details: dict[str, Any] = {
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
    }
    if metadata.base_commit:
        details["base_commit"] = metadata.base_commit
    details["phase"] = metadata.phase
    details.update(_limit_details(plan))
    details["sources_sha256"] = metadata.sources_sha256
    if metadata.signed:
        details["signed"] = metadata.signed.as_json()
    details["pid"] = pid
    details["by"] = user
    details["devices"] = _devices_details(plan)
    details["waves"] = [list(wave) for wave in plan.waves]
    return details


def _limit_details(plan: Plan) -> dict[str, list[str]]:
    """Return the limit of a plan, and the devices that it leaves behind with changes; nothing without a limit."""
    if not plan.limit:
        return {}
    # Of a device that could not be read, it is not known whether it has changes.
    behind = [name for name in plan.behind if not plan.devices[name].error]
    return {"limit": list(plan.limit), "behind": behind}


def _devices_details(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return each device's part of a plan, in the order of the waves."""
    details: dict[str, dict[str, Any]] = {}
    for number, wave in enumerate(plan.waves, start=1):
        for name in wave:
            device = plan.devices[name]
            details[name] = {
                "wave": number,
                "before_sha256": device.reading.running_sha256,
                "changes_sha256": changes_sha256(plan.deltas.get(name, ())),
                "drain": list(device.drain),
            }
    return details


def _synchronize_folder(folder: Path) -> None:
    """Wait until the name of a new file is on the disk, as its lines will be."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
