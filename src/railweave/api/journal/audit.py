"""The audit log of a project, ``.railweave/audit.jsonl``: who deployed or drained what, and the result.

A deployment writes two lines, one before the first device is changed and one at its end, so that one that was killed is
on record. Lines are appended whole and synchronized; nothing is ever changed or removed. Each line holds the SHA-256 of
the one before it, so that a change is seen by whoever checks the chain.
"""

import fcntl
import getpass
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nornir_railweave.journals.shared import SharedJournals
from nornir_railweave.journals.store import StoreError
from railweave.api.journal.folder import journal_folder, shared_journals
from railweave.api.project import JOURNALS, STATE
from railweave.codec import encode
from railweave.errors import RailweaveError, RefusedError
from railweave.masking import masked
from railweave.plan.document import plan_digest
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult
from railweave.report.audit import AuditLog, line_digest, read_audit

AUDIT_FILE = STATE / "audit.jsonl"

_PIPELINE_VARIABLES = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN")
"""Where GitHub and GitLab name the person who started a job; the account of a runner says little."""


def audit_file() -> Path:
    """Return the file of the log: beside the journals where these lie outside of the project."""
    folder = journal_folder()
    if folder == JOURNALS:
        return AUDIT_FILE
    return folder / AUDIT_FILE.name


def audit(file: Path | None = None, *, head: str = "") -> AuditLog:
    """Return the entries of the log, oldest first, and whether its chain is whole; no entries if there is no log.

    ``file`` is by default the log of the project, which may be in a store. ``head`` is the digest of a line that was
    kept elsewhere: without it nobody sees that lines are missing at the end. Raises RailweaveError if the log cannot be
    read.
    """
    shared: SharedJournals | None = None
    if file is None:
        shared = shared_journals()
        file = audit_file()
    try:
        if shared is not None:
            data = b"".join(line + b"\n" for line in shared.audit_lines())
        else:
            data = file.read_bytes()
    except FileNotFoundError:
        data = b""
    except OSError as exc:
        raise RailweaveError(f"{file}: {exc.strerror}") from exc
    return read_audit(data, head)


@contextmanager
def audited(
    command: str, plan: Plan, file: Path | None = None, *, signed_by: str = ""
) -> Iterator[Callable[[DeployResult], None]]:
    """Record that ``plan`` is being deployed, and yield the function that records its result.

    ``signed_by`` is who signed the plan. Leaving the block by an exception is recorded as well. Raises RailweaveError
    when the block begins if the log cannot be written: a deployment that leaves no record does not start.
    """
    begin_entry: dict[str, Any] = {
        "command": command,
        "fabric": plan.fabric,
        "target": plan.target,
        "intent_sha256": plan.intent_sha256,
        "plan_digest": plan_digest(plan),
        "changes": plan.summary.total,
    }
    if plan.limit:
        begin_entry["limit"] = plan.limit
    if signed_by:
        begin_entry["signed_by"] = signed_by
    with _recorded(begin_entry, file) as record:
        yield lambda result: record(_end_entry(result))


@contextmanager
def audited_action(
    command: str, fabric: str, target: str, intent_sha256: str, file: Path | None = None
) -> Iterator[Callable[[Mapping[str, Mapping[str, str]]], None]]:
    """Record that devices are changed without a plan, and yield the function that records the outcome of each device.

    An outcome is ``{"outcome": word, "error": text of an error}``. Raises as ``audited`` does.
    """
    begin_entry = {"command": command, "fabric": fabric, "target": target, "intent_sha256": intent_sha256}
    with _recorded(begin_entry, file) as record:

        def finish(devices: Mapping[str, Mapping[str, str]]) -> None:
            result = "done"
            if any("error" in device for device in devices.values()):
                result = "failed"
            record({"result": result, "devices": devices})

        yield finish


@contextmanager
def _recorded(begin_entry: Mapping[str, Any], file: Path | None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Write an entry when the block begins and one when it ends; yield a function that adds members to the second.

    Unless that function sets another result, it is ``failed``, or ``refused`` after a RefusedError.
    """
    # Joins the two entries of a command, as entries of several commands may alternate in the log.
    command_id = os.urandom(4).hex()
    _append(file, {"event": "begun", "id": command_id, **who(), **begin_entry})
    end_entry: dict[str, Any] = {"result": "failed", "devices": {}}
    try:
        yield end_entry.update
    except RailweaveError as exc:
        if isinstance(exc, RefusedError):
            end_entry["result"] = "refused"
        end_entry["error"] = str(exc)
        raise
    except BaseException as exc:
        # KeyboardInterrupt too: devices may have been changed by then.
        end_entry["error"] = f"{type(exc).__name__}: {exc}"
        raise
    finally:
        # A full disk must not hide the result of the deployment from the operator.
        with suppress(RailweaveError):
            _append(file, {"event": "ended", "id": command_id, **end_entry})


def who() -> dict[str, str]:
    """Return the person, as a pipeline or the machine names them, the account and the machine."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        # The account of a container often has no entry in /etc/passwd.
        user = f"uid {os.getuid()}"
    person = next((os.environ[name] for name in _PIPELINE_VARIABLES if os.environ.get(name)), "")
    return {"user": person or user, "account": user, "host": socket.gethostname()}


def _end_entry(result: DeployResult) -> dict[str, Any]:
    """Return the members of the line that ends a deployment."""
    devices = {}
    for name, device in result.devices.items():
        devices[name] = {"outcome": device.outcome.value}
        if device.error:
            devices[name]["error"] = device.error
    # None: the rollout ended before the fabric was verified.
    verified: bool | None = None
    if result.verification is not None:
        verified = result.verification.ok
    return {
        "result": result.result.value,
        "stopped_by": result.stopped_by,
        "devices": devices,
        "verified": verified,
        "journal": result.journal,
    }


def _append(file: Path | None, record: dict[str, Any]) -> None:
    """Append a line to ``file``, by default the project's log, which may lie in a store."""
    if file is None:
        shared = shared_journals()
        if shared is not None:
            _append_shared(shared, record)
            return
        file = audit_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            _append_locked(descriptor, record)
        finally:
            os.close(descriptor)
    except OSError as exc:
        raise RailweaveError(f"the audit log {file} cannot be written: {exc.strerror}") from exc


def _append_locked(descriptor: int, record: dict[str, Any]) -> None:
    """Append a line to an open log and synchronize it; closing the file releases the lock."""
    # Two commands at once must not both name the same line as the previous one.
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    previous = _last_line(descriptor)
    data = _line(record, previous.rstrip(b"\n")) + b"\n"
    if previous and not previous.endswith(b"\n"):
        # The machine crashed while it wrote that line; the new one must not be joined to it.
        data = b"\n" + data
    while data:
        written_bytes = os.write(descriptor, data)
        data = data[written_bytes:]
    os.fsync(descriptor)


def _append_shared(shared: SharedJournals, record: dict[str, Any]) -> None:
    """Append a line to the log in a store; raises RailweaveError if the store does not take it."""
    try:
        stored = False
        # If another runner's line was stored first, the next attempt names that one as the previous line.
        while not stored:
            stored = shared.append_audit(lambda previous: _line(record, previous))
    except StoreError as exc:
        raise RailweaveError(f"the audit log cannot be stored: {exc}") from exc


def _line(record: Mapping[str, Any], previous: bytes) -> bytes:
    """Return a line of the log without its newline; ``previous`` is the line before it, without one too."""
    # UTC: runners in several time zones write one log.
    timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
    return encode({"at": timestamp, **masked(record), "previous": line_digest(previous)})


_BLOCK_BYTES = 65536


def _last_line(descriptor: int) -> bytes:
    """Return the last line of a file, with its newline if it has one; empty for an empty file."""
    offset = os.fstat(descriptor).st_size
    tail = b""
    # Read backwards, block by block: a log of years is not read whole for one line. The last byte is left out of the
    # search because it is the newline of the last line itself.
    while offset and b"\n" not in tail[:-1]:
        length = min(offset, _BLOCK_BYTES)
        offset -= length
        tail = os.pread(descriptor, length, offset) + tail
    if not tail:
        return b""
    # Without an earlier newline rfind returns -1, and the line begins at 0.
    line_start = tail.rfind(b"\n", 0, -1) + 1
    return tail[line_start:]
