"""What the switch knows of its transactions: one small state file, and the rollback document of the pending one.

transaction.json   who changed what, when, and how far it came; replaced in one go, written under the lock
pending.json       what brings the earlier configuration back; there before anything is changed
ID.rollback.json   the same of a commit that was confirmed
reserve            disk blocks reserved for a revert on a full disk
"""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Mapping
from typing import Any

from railweave_switch.host import Host

VERSION = 1
RESERVE_BYTES = 256 * 1024
KEPT_COMMITS = 11
"""The switch keeps the rollback documents of so many confirmed commits."""

COMMIT, DRAIN, ROLLBACK = "commit", "drain", "rollback"
"""What a transaction is about."""

APPLYING, ARMED, CONFIRMED = "applying", "armed", "confirmed"
REVERTING, REVERTED, FAILED = "reverting", "reverted", "failed"
NONE, EXPIRED, DAMAGED = "none", "expired", "damaged"
"""Only told, never written: no state; the time is over and nobody restored anything; the state cannot be read."""

OPEN = frozenset({APPLYING, ARMED, REVERTING, FAILED})
"""States of which something may have to be taken back."""

State = dict[str, Any]
Document = dict[str, Any]


class DamagedError(Exception):
    """The state cannot be read."""


class VersionError(Exception):
    """The state was written by another version of this program, which alone may change it."""


def path(host: Host, name: str) -> str:
    """Return where a file of ours lies."""
    return f"{host.directory}/{name}"


def read_state(host: Host) -> State | None:
    """Return the state, None where there never was one; raises DamagedError, VersionError, OSError."""
    where = path(host, "transaction.json")
    try:
        data = host.read_file(where)
    except FileNotFoundError:
        if any(name == "pending.json" or name.endswith(".rollback.json") for name in host.list_directory()):
            raise DamagedError(f"{where} is gone, and transactions were made here") from None
        return None
    found = _object(data, where)
    if found.get("version") != VERSION:
        if isinstance(found.get("version"), int):
            raise VersionError(f"{where} is of version {found['version']}, this program writes version {VERSION}")
        raise DamagedError(f"{where} has no version")
    if not isinstance(found.get("id"), str) or found.get("status") not in {*OPEN, CONFIRMED, REVERTED}:
        raise DamagedError(f"{where} names no transaction")
    return found


def write_state(host: Host, state: State, **changes: Any) -> None:
    """Write the state; where the disk is full, on the blocks that were kept for it."""
    state.update(changes)
    write(host, "transaction.json", state)


def read_document(host: Host, name: str = "pending.json") -> Document:
    """Return a rollback document; raises DamagedError where it is gone or cannot be read."""
    where = path(host, name)
    try:
        found = _object(host.read_file(where), where)
    except FileNotFoundError:
        raise DamagedError(f"{where} is gone") from None
    if found.get("version") != VERSION or not isinstance(found.get("steps"), list):
        raise DamagedError(f"{where} is no rollback document of version {VERSION}")
    return found


def write(host: Host, name: str, value: Any) -> None:
    """Write a file of ours as JSON; a full disk gives up the reserve for it."""
    data = (json.dumps(value, sort_keys=True) + "\n").encode()
    try:
        host.write_file(path(host, name), data)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        host.remove_file(path(host, "reserve"))
        host.write_file(path(host, name), data)


def remove(host: Host, name: str) -> None:
    """Remove a file of ours."""
    host.remove_file(path(host, name))


def _object(data: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(data.decode())
    except ValueError as error:
        raise DamagedError(f"{where} cannot be read: {error}") from None
    if not isinstance(found, dict) or not found:
        raise DamagedError(f"{where} holds no state")
    return found


# --- what a state means now ----------------------------------------------------------------------------------------


def over(host: Host, state: Mapping[str, Any]) -> bool:
    """Tell whether the time of a transaction is over; a boot ends it at once."""
    if state.get("boot_id") != host.boot_id():
        return True
    ends_s = state.get("ends_s")
    return ends_s is not None and host.now_s() >= float(ends_s)


def guarded(host: Host, name: str) -> bool:
    """Tell whether the guard of a transaction runs."""
    try:
        found = json.loads(host.read_file(path(host, "guard.json")).decode())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("id") == name and host.alive(found.get("process"))


def seen(host: Host, state: State | None) -> str:
    """Return the status as it really is: what nobody carries on any more is ``expired``, or ``failed``."""
    if state is None:
        return NONE
    status = str(state["status"])
    if status not in (APPLYING, ARMED, REVERTING) or guarded(host, state["id"]):
        return status
    if status == REVERTING:
        return status if host.alive(state.get("worker")) else FAILED
    if status == APPLYING or state.get("ends_s") is None:
        return status if host.alive(state.get("worker")) else EXPIRED
    return EXPIRED if over(host, state) else status


REPAIRS = {
    EXPIRED: "railweave-switch revert",
    FAILED: "railweave-switch revert",
    DAMAGED: "railweave-switch recover",
}
"""The command that repairs a state."""


def report(host: Host, error: str = "") -> dict[str, Any]:
    """Return how things stand, whatever the state file looks like."""
    state: State | None = None
    try:
        state = read_state(host)
        status = seen(host, state)
    except (DamagedError, VersionError) as fault:
        status, error = DAMAGED, error or str(fault)
    known = state or {}
    ends_s = known.get("ends_s")
    left_s = None if ends_s is None or status not in (APPLYING, ARMED) else max(0.0, float(ends_s) - host.now_s())
    return {
        "status": status,
        "id": known.get("id", ""),
        "kind": known.get("kind", ""),
        "by": known.get("by", ""),
        "message": known.get("message", ""),
        "deadline_at": known.get("deadline_at"),
        "remaining_s": None if left_s is None else round(left_s, 1),
        "error": error or known.get("error") or "",
        "missing": known.get("missing") or [],
        "drain": known.get("drain") or "",
        "last": last_confirmed(known),
        "repair": REPAIRS.get(status, ""),
    }


def last_confirmed(state: Mapping[str, Any]) -> str:
    """Return the id of the last commit where it was kept; a drain is no commit."""
    kept = state.get("kept") or [""]
    return str(kept[-1]) if state.get("status") == CONFIRMED or state.get("kind") == DRAIN else ""


def prepare_disk(host: Host) -> None:
    """Make the directory and put blocks aside; raises OSError where there is no room for that."""
    host.make_directory()
    where = path(host, "reserve")
    with contextlib.suppress(FileNotFoundError):
        if len(host.read_file(where)) == RESERVE_BYTES:
            return
    host.write_file(where, b"\1" * RESERVE_BYTES)
