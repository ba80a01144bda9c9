"""The audit log of a project, ``.railweave/audit.jsonl``: who deployed or drained what, and the result.

A deployment writes two lines, one before the first device is changed and one at its end, so that one that was killed is
on record. Lines are appended whole and synchronized; nothing is ever changed or removed.
"""

import getpass
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from railweave.api.project import STATE
from railweave.errors import RailweaveError, RefusedError
from railweave.plan.document import plan_digest
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult
from railweave.report.audit import AuditLog, read_audit

AUDIT_FILE = STATE / "audit.jsonl"

_PIPELINE_VARIABLES = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN")
"""Where GitHub and GitLab name the person who started a job; the account of a runner says little."""


def audit(file: Path = AUDIT_FILE) -> AuditLog:
    """Return the entries of the log, oldest first; none without a log. Raises RailweaveError if it cannot be read."""
    try:
        return read_audit(file.read_text(encoding="utf-8", errors="replace").splitlines())
    except FileNotFoundError:
        return AuditLog(())
    except OSError as exc:
        raise RailweaveError(f"{file}: {exc.strerror}") from exc


@contextmanager
def audited(command: str, plan: Plan, file: Path = AUDIT_FILE) -> Iterator[Callable[[DeployResult], None]]:
    """Record that ``plan`` is being deployed; the function given takes its result.

    Leaving the block by an exception is recorded as well. Raises RailweaveError if the log cannot be written before
    anything was done: a deployment that leaves no record does not start.
    """
    begun = {
        "command": command,
        "fabric": plan.fabric,
        "target": plan.target,
        "intent_sha256": plan.intent_sha256,
        "plan_digest": plan_digest(plan),
        "changes": plan.summary.total,
    }
    with _recorded(begun, file) as record:
        yield lambda result: record(_ended(result))


@contextmanager
def audited_action(
    command: str, fabric: str, target: str, intent_sha256: str, file: Path = AUDIT_FILE
) -> Iterator[Callable[[Mapping[str, Mapping[str, str]]], None]]:
    """Record that devices are changed without a plan; the function given takes each device's outcome.

    An outcome is ``{"outcome": word, "error": text of an error}``. Raises as ``audited`` does.
    """
    begun = {"command": command, "fabric": fabric, "target": target, "intent_sha256": intent_sha256}
    with _recorded(begun, file) as record:

        def finish(devices: Mapping[str, Mapping[str, str]]) -> None:
            failed = any("error" in device for device in devices.values())
            record({"result": "failed" if failed else "done", "devices": devices})

        yield finish


@contextmanager
def _recorded(begun: Mapping[str, Any], file: Path) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    number = os.urandom(4).hex()
    _append(file, {"event": "begun", "id": number, **who(), **begun})
    ended: dict[str, Any] = {"result": "failed", "devices": {}}
    try:
        yield ended.update
    except BaseException as exc:
        refused = isinstance(exc, RefusedError)
        ended |= {"result": "refused" if refused else "failed", "error": f"{type(exc).__name__}: {exc}"}
        raise
    finally:
        # The result must reach the person even if the disk is full.
        with suppress(RailweaveError):
            _append(file, {"event": "ended", "id": number, **ended})


def who() -> dict[str, str]:
    """Return the person, as a pipeline or the machine names them, the account and the machine."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = f"uid {os.getuid()}"
    person = next((os.environ[name] for name in _PIPELINE_VARIABLES if os.environ.get(name)), "")
    return {"user": person or user, "account": user, "host": socket.gethostname()}


def _ended(result: DeployResult) -> dict[str, Any]:
    return {
        "result": result.result.value,
        "stopped_by": result.stopped_by,
        "devices": {
            name: {"outcome": device.outcome.value, **({"error": device.error} if device.error else {})}
            for name, device in result.devices.items()
        },
        "verified": None if result.verification is None else result.verification.ok,
        "journal": result.journal,
    }


def _append(file: Path, record: dict[str, Any]) -> None:
    line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **record})
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            # A line that a lost machine cut short must not swallow the next one.
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            data = ("\n" * torn + line + "\n").encode()
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as exc:
        raise RailweaveError(f"the audit log {file} cannot be written: {exc.strerror}") from exc
