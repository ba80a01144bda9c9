"""The audit log of a project, ``.railweave/audit.jsonl``: who deployed or drained what, and what came of it.

A deployment leaves two lines, one before the first device is touched and one at its end, so that one which was killed
is still told. Lines are appended whole and synchronized; nothing is ever changed or taken away.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.project import STATE
from railweave.errors import RailweaveError, RefusedError

if TYPE_CHECKING:
    from railweave.plan.model import Plan
    from railweave.plan.outcome import DeployResult

AUDIT_FILE = STATE / "audit.jsonl"

_PIPELINE_VARIABLES = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN")
"""Where the usual forges tell a job on whose behalf it runs; the account of a runner says little."""


@contextmanager
def audited(command: str, plan: "Plan", file: Path = AUDIT_FILE) -> "Iterator[Callable[[DeployResult], None]]":
    """Write down that ``plan`` is being carried out; the function given takes its result.

    Leaving the block without a result, by an exception, is written down as well. Raises RailweaveError where the log
    cannot be written before anything was done; a deployment that nobody could account for does not begin.
    """
    from railweave.plan.document import plan_digest

    begun = {
        "command": command,
        "fabric": plan.fabric,
        "target": plan.target,
        "intent_sha256": plan.intent_sha256,
        "plan_digest": plan_digest(plan),
        "changes": plan.summary.total,
    }
    with _accounted(begun, file) as note:
        yield lambda result: note(_ended(result))


@contextmanager
def audited_action(
    command: str, fabric: str, target: str, intent_sha256: str, file: Path = AUDIT_FILE
) -> Iterator[Callable[[Mapping[str, Mapping[str, str]]], None]]:
    """Write down that something is done to devices without a plan; the function given takes each device's outcome.

    An outcome is ``{"outcome": word, "error": text where there is one}``. Raises as ``audited`` does.
    """
    begun = {"command": command, "fabric": fabric, "target": target, "intent_sha256": intent_sha256}
    with _accounted(begun, file) as note:

        def finish(devices: Mapping[str, Mapping[str, str]]) -> None:
            failed = any("error" in device for device in devices.values())
            note({"result": "failed" if failed else "done", "devices": devices})

        yield finish


@contextmanager
def _accounted(begun: Mapping[str, Any], file: Path) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    number = os.urandom(4).hex()
    _append(file, {"event": "begun", "id": number, **who(), **begun})
    ended: dict[str, Any] = {"result": "failed", "devices": {}}
    try:
        yield ended.update
    except BaseException as fault:
        refused = isinstance(fault, RefusedError)
        ended |= {"result": "refused" if refused else "failed", "error": f"{type(fault).__name__}: {fault}"}
        raise
    finally:
        # The result is known by now and must reach the person even where the disk is full.
        with suppress(RailweaveError):
            _append(file, {"event": "ended", "id": number, **ended})


def who() -> dict[str, str]:
    """Return the person, as the machine and a pipeline know them, and the machine."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = f"uid {os.getuid()}"
    person = next((os.environ[name] for name in _PIPELINE_VARIABLES if os.environ.get(name)), "")
    return {"user": person or user, "account": user, "host": socket.gethostname()}


def _ended(result: "DeployResult") -> dict[str, Any]:
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
    """Append one line and wait until it is on the disk."""
    line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **record})
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            # A line that a lost machine cut short must not swallow the next one.
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, ("\n" * torn + line + "\n").encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise RailweaveError(f"the audit log {file} cannot be written: {problem.strerror}") from problem


def read_lines(file: Path = AUDIT_FILE) -> list[str]:
    """Return the lines of the log, none where there is no log yet. Raises RailweaveError where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise RailweaveError(f"{file}: {problem.strerror}") from problem
