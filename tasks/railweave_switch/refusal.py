"""What every verb begins and ends with: the lock, a state that can be read, a refusal in words, and the answer."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from railweave_switch.host import BusyError, CommandError, DatabaseError, Hash, Host
from railweave_switch.rows import changed, digest
from railweave_switch.state import (
    CONFIRMED,
    DRAIN,
    REPAIRS,
    REVERTED,
    DamagedError,
    State,
    VersionError,
    path,
    read_document,
    read_state,
    remove,
    report,
    seen,
)
from railweave_switch.steps import StepError, frr_text

Answer = dict[str, Any]


LOCK_S = 2.0
DEVICE_FAULTS = (StepError, CommandError, DatabaseError, OSError)


class RefusedError(Exception):
    """Nothing was done; the message says why, ``code`` which kind of reason it is: ``busy``, ``pending``, ``moved``."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def locked(host: Host, asked: Mapping[str, Any]) -> Iterator[None]:
    """Hold the lock; raises RefusedError where another transaction or session has it."""
    holder = host.session_holder()
    if holder and holder != asked.get("session"):
        raise RefusedError(f"the configuration is locked by {holder}", "busy")
    try:
        host.make_directory()
        with host.lock(float(asked.get("lock_wait_s") or LOCK_S)):
            yield
    except BusyError:
        raise RefusedError("the configuration is locked: another transaction is running", "busy") from None


def state_of(host: Host) -> State | None:
    """Return the state; raises RefusedError where it cannot be read, with what repairs it."""
    try:
        return read_state(host)
    except DamagedError as error:
        raise RefusedError(f"{error}: `railweave-switch recover` repairs it") from error
    except VersionError as error:
        raise RefusedError(f"{error}; use that version to end what is pending") from error


def told(host: Host, state: State | None) -> str:
    """Return in words what is pending."""
    status = seen(host, state)
    if state is None or status in (CONFIRMED, REVERTED):
        return "nothing is pending"
    repair = f"; `{REPAIRS[status]}` repairs it" if status in REPAIRS else ""
    return f"{state['kind']} {state['id']} by {state.get('by') or 'another session'} is {status}{repair}"


def more(items: list[str]) -> str:
    """Return how many names are left beyond the first five."""
    return f" and {len(items) - 5} more" if len(items) > 5 else ""


def answer_of(host: Host, outcome: str, earlier: Mapping[str, Hash] | None = None) -> Answer:
    """Return the answer with the status and the digests of what runs now, FRR's text whole.

    With the ``earlier`` rows of CONFIG_DB those that are other now, null for the ones that are gone.
    """
    text = frr_text(host)
    answer: Answer = {
        "outcome": outcome,
        "status": report(host),
        "frr": {"text": text, "digest": text and sha256(text)},
    }
    with contextlib.suppress(DatabaseError, OSError):
        rows = host.rows("CONFIG_DB")
        answer["config"] = {"digest": digest(rows)}
        if earlier is not None:
            answer["config"].update(since=digest(earlier), changed=changed(earlier, rows))
    return answer


def finish_confirmation(host: Host, state: State) -> None:
    """Put the rollback document of a confirmed commit in its place, and remove what nobody needs any more."""
    if state["status"] == CONFIRMED:
        with contextlib.suppress(DamagedError):
            if state["kind"] == DRAIN:
                remove(host, "pending.json")
            elif read_document(host)["id"] == state["id"]:
                host.rename_file(path(host, "pending.json"), path(host, f"{state['id']}.rollback.json"))
        tidy(host, state)


def tidy(host: Host, state: State) -> None:
    """Remove the files that nobody needs any more."""
    wanted = {f"{one}.rollback.json" for one in state["kept"]}
    for name in host.list_directory():
        if name.startswith("revert-") or (name.endswith(".rollback.json") and name not in wanted):
            remove(host, name)


def kept_on_disk(host: Host) -> list[str]:
    """Return the commits whose rollback documents lie there, oldest first: their names sort by time."""
    names = sorted(name for name in host.list_directory() if name.endswith(".rollback.json"))
    return [name[: -len(".rollback.json")] for name in names]
