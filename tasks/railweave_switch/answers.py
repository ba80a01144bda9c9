"""The common parts of all verbs: the lock, the last state, refusals, and the answer."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from railweave_switch.host import BusyError, CommandError, DatabaseError, Hash, SwitchHost
from railweave_switch.restart import settle
from railweave_switch.rows import changed, digest
from railweave_switch.state import Stage, State, read_state
from railweave_switch.state_forms import DamagedError, VersionError
from railweave_switch.status_report import report
from railweave_switch.steps import StepError, frr_text

Answer = dict[str, Any]

LOCK_S = 2.0
DEVICE_ERRORS = (StepError, CommandError, DatabaseError, OSError)


class RequestRefusedError(Exception):
    """Nothing was done; the message says why.

    ``code`` is its kind: ``busy``, ``held``, ``pending``, ``moved``, ``damaged``, ``unasked`` (the switch's YANG models
    cannot be used) or ``invalid``; with ``invalid``, ``rejected`` has the rows that the models reject.
    """

    def __init__(self, message: str, code: str = "", rejected: Sequence[Sequence[str]] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.rejected = rejected


@contextlib.contextmanager
def locked(host: SwitchHost, request: Mapping[str, Any]) -> Iterator[None]:
    """Hold the lock of the transactions for the block; raises RequestRefusedError if another client has it.

    ``session`` of the request is the client's own session lock.
    """
    host.make_directory()
    holder = host.session_holder()
    if holder and holder != request.get("session"):
        raise RequestRefusedError(f"the configuration is locked by {holder}", "busy")
    try:
        with host.lock(float(request.get("lock_wait_s") or LOCK_S)):
            yield
    except BusyError:
        raise RequestRefusedError("the configuration is locked: another transaction is at work on it", "busy") from None


def last_state(host: SwitchHost) -> State:
    """Finish the last transaction (``restart.settle``) and return its state, ``none`` before the first one.

    Raises RequestRefusedError if the state cannot be read.
    """
    try:
        state = read_state(host)
    except DamagedError as error:
        raise RequestRefusedError(f"{error}: `railweave-switch recover` repairs it", "damaged") from error
    except VersionError as error:
        raise RequestRefusedError(f"{error}; end what is pending with that version", "damaged") from error
    state = state or State("", "", Stage.NONE)
    with contextlib.suppress(*DEVICE_ERRORS):
        settle(host, state)
    return state


def refuse_unless_last(state: State, named: str) -> None:
    """Raise RequestRefusedError if another transaction came since ``named``, the last one that the client has read."""
    # Checked under the lock: a client that was suspended must not undo what its successor confirmed.
    if named != state.id:
        raise RequestRefusedError(f"{state.come_since(named)}; nothing was done, plan again", "moved")


def sha256(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def listed(items: list[str]) -> str:
    """Return the first five names, and the number of further ones."""
    text = ", ".join(items[:5])
    if len(items) > 5:
        text += f" and {len(items) - 5} more"
    return text


def answer_of(host: SwitchHost, outcome: str, earlier: Mapping[str, Hash] | None = None, **more: Any) -> Answer:
    """Return an answer with the status, the digest of CONFIG_DB, FRR's text, and ``more`` fields.

    With the ``earlier`` rows of CONFIG_DB it also has the rows that have changed since, null for removed ones. An
    answer has no ``config`` if CONFIG_DB cannot be read.
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
    return {**answer, **more}
