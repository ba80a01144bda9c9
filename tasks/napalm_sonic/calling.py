"""Calls of ``railweave-switch`` over a session: it is installed where it is missing or another version.

What counts is the state on the switch. So a change survives the loss of its session: the answer is asked for again over
a new one, and another session, hours later or from another machine, sees and finishes what this one began.
"""

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    CommitError,
    ConnectionClosedException,
    ConnectionException,
    LockError,
)

from napalm_sonic.bounds import TooLargeError
from napalm_sonic.decoding import decodes, parse_json, refuse_noise
from napalm_sonic.lock import HeldError
from napalm_sonic.quoting import Quotes
from napalm_sonic.reading import status_of
from railweave.printable import printable
from railweave_switch.packing import INSTALLER, packed, packed_sha256
from railweave_switch.state import Stage

if TYPE_CHECKING:
    from napalm_sonic.options import Options
    from napalm_sonic.session import Completed, Session

PROGRAM = "/usr/local/bin/railweave-switch"
OTHER_PROGRAM = 70
_QUOTED_CHARACTERS, _READ_CHARACTERS = 400, 4000
"""What of an answer that cannot be read is quoted, after secrets are found in more of it."""
_PARTS = ("status", "config", "frr", "observed", "found")
"""What is an object in every answer that has it."""

_NAMED = ("apply", "amend", "confirm", "revert")
_DONE = ("applied", Stage.CONFIRMED, Stage.REVERTED)
"""Verbs whose answer is of the transaction that they name, and outcomes that say so."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What a call needs of one device."""

    session: "Session"
    options: "Options"
    quotes: Quotes = field(default_factory=Quotes)

    @property
    def change_limit_s(self) -> float:
        """Return how long a call that changes something may take."""
        return self.options.apply_timeout_s + self.options.reload_timeout_s

    def ask(self, words: list[str], timeout_s: float | None = None) -> dict[str, Any] | None:
        """Return the answer to a call of the version that is there, whichever it is; None where there is none."""
        done = self.session.run(self.session.as_root(f"{PROGRAM} {shlex.join(words)}"), timeout_s)
        return None if _is_missing(done) else self._parsed(done)

    def call(self, words: list[str], data: bytes = b"", timeout_s: float | None = None) -> dict[str, Any]:
        """Return the answer to a call."""
        done = self._run(words, data, timeout_s)
        if done.exit_status == OTHER_PROGRAM or _is_missing(done):
            done = self._installed(done, words if not data else ["status"], timeout_s)
            if data:
                done = self._run(words, data, timeout_s)
        return self._parsed(done)

    def change(
        self,
        words: list[str],
        data: bytes = b"",
        *,
        name: str,
        deadline_s: float | None = None,
        last: str | None = None,
    ) -> dict[str, Any]:
        """Return the answer to a call that changes something, also where the session was lost meanwhile.

        ``name`` is the transaction's, ``last`` the one before it where that is known, ``deadline_s`` the seconds until
        the switch reverts it. A lost answer, or one that is of another transaction, is waited for until then, without a
        timer as long as a reload may take, and for one more command. Raises LockError where another session holds the
        lock, CommitError for a damaged state.
        """
        clock = self.session.clock
        ends_s = None if deadline_s is None else clock.monotonic() + deadline_s
        try:
            answer = self.call(words, data, self.change_limit_s)
            if other := _other_transaction(words[0], answer, name):
                raise ConnectionClosedException(f"{self.session.hostname}: the answer to {name} is that to {other}")
        except (ConnectionException, CommandTimeoutException) as error:
            ends_s = clock.monotonic() + self.options.reload_timeout_s if ends_s is None else ends_s
            answer = self._answer_after_loss(name, last, ends_s, deadline_s, error)
        self.refuse_busy(answer)
        if answer.get("code") == "damaged" and words[0] != "recover":
            raise CommitError(f"{self.session.hostname}: {answer.get('error')}")
        return answer

    def refuse_busy(self, answer: Mapping[str, Any]) -> None:
        """Raise LockError where an answer says that another transaction holds the lock, HeldError that another drain
        is about to begin."""
        if answer.get("code") == "held":
            hold = answer["status"].get("hold") or {}
            why = f"{self.session.hostname}: {answer.get('error')}"
            remaining_s = float(hold.get("remaining_s") or 0.0)
            raise HeldError(why, str(hold.get("id") or ""), str(hold.get("message") or ""), remaining_s)
        if answer.get("code") == "busy":
            raise LockError(f"{self.session.hostname}: {answer.get('error')}")

    @decodes("its answer")
    def _answer_after_loss(
        self, name: str, last: str | None, ends_s: float, deadline_s: float | None, error: Exception
    ) -> dict[str, Any]:
        """Return the answer to a call whose session was lost: the switch has gone on meanwhile."""
        clock, least_s = self.session.clock, self.options.command_timeout_s
        while True:
            try:
                self.session.close()
                self.session.open()
                timeout_s = min(self.options.apply_timeout_s, max(least_s, ends_s - clock.monotonic()))
                told = self.call(["status", "--wait", name or "-"], b"", timeout_s)
            except (ConnectionException, CommandTimeoutException):
                if clock.monotonic() >= ends_s:
                    raise ConnectionClosedException(_left_alone(str(error), name, deadline_s)) from error
                clock.sleep(self.options.reload_poll_s)
                continue
            if told.get("answer") and not _is_outdated(told["answer"], told["status"]):
                return dict(told["answer"])
            if name and told["status"]["id"] != name:
                raise ConnectionClosedException(f"{error}; {_not_the_last(told['status'], name, last)}") from error
            outcome = "applied" if told["status"]["status"] == Stage.ARMED else told["status"]["status"]
            return {"outcome": outcome, "status": told["status"], "error": told["status"]["error"]}

    def _run(self, words: list[str], data: bytes, timeout_s: float | None) -> "Completed":
        return self.session.run(self._line(words), timeout_s, data)

    def _line(self, words: list[str]) -> str:
        return self.session.as_root(f"{PROGRAM} {shlex.join([words[0], '--expect', packed_sha256(), *words[1:]])}")

    @decodes("its answer")
    def _installed(self, found: "Completed", words: list[str], timeout_s: float | None) -> "Completed":
        """Install the program and return the answer to a call of it, in one command."""
        if found.exit_status == OTHER_PROGRAM:
            told = status_of(self._parsed(found)["status"])
            if told.pending or told.status == "damaged":
                raise CommitError(
                    f"{self.session.hostname}: another version of railweave-switch has something pending there "
                    f"({told.status} {told.commit_id or told.error}): end it with that version first, or by "
                    f"`railweave recover`"
                )
        install = f"python3 -I -S -c {shlex.quote(INSTALLER)} install --sha256 {packed_sha256()}"
        line = f"{self.session.as_root(install)} && {self._line(words)}"
        done = self.session.run(line, timeout_s, base64.b64encode(packed()))
        first, _, second = done.stdout.partition("\n")
        answer = self._parsed(replace(done, stdout=first))
        if answer.get("outcome") != "installed":
            raise CommitError(f"{self.session.hostname}: railweave-switch cannot be installed: {answer.get('error')}")
        return replace(done, stdout=second)

    def _parsed(self, done: "Completed") -> dict[str, Any]:
        try:
            answer, why = parse_json(done.stdout), "its answer is none of this program"
        except TooLargeError as error:
            raise CommandErrorException(f"{self.session.hostname}: its answer is refused: {error}") from None
        except ValueError as error:
            answer, why = None, f"its answer is no JSON: {error}"
        if not isinstance(answer, dict) or not isinstance(answer.get("outcome"), str) or _misshapen(answer):
            said = printable(self.quotes.shown(done.error_text()[:_READ_CHARACTERS]))[:_QUOTED_CHARACTERS]
            unreadable = CommandErrorException(f"{self.session.hostname}: railweave-switch: {said} ({why})")
            refuse_noise(self.session, unreadable)
            raise unreadable
        return self.quotes.shown_answer(answer)


def _misshapen(answer: Mapping[str, Any]) -> bool:
    return not all(isinstance(answer.get(name) or {}, Mapping) for name in _PARTS)


def _other_transaction(verb: str, answer: Mapping[str, Any], name: str) -> str:
    """Return the transaction that an answer is of in the place of ``name``: one that came too late; else empty.

    What was refused, or failed, need not be about it.
    """
    status = answer.get("status")
    if verb not in _NAMED or answer["outcome"] not in _DONE or not name or not isinstance(status, Mapping):
        return ""
    return "" if status.get("id") == name else str(status.get("id"))


def _is_outdated(answer: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Tell whether what an answer says was done has ended otherwise since, as by the timer of the switch."""
    if answer["outcome"] not in _DONE:
        return False
    then = answer["status"]
    return bool((then["id"], then["status"]) != (status["id"], status["status"]))


def _not_the_last(status: Mapping[str, Any], name: str, last: str | None) -> str:
    """Return in words what is known of a transaction that is not the last one of the switch."""
    if last is not None and status["id"] == last:
        return "nothing was changed: the switch never began it"
    return (
        f"{name} never began or is over: the last transaction of the switch is {status['id'] or 'none'} by "
        f"{status.get('by') or 'another session'}"
    )


def _is_missing(done: "Completed") -> bool:
    said = done.error_text().lower()
    return done.exit_status != 0 and not done.stdout.strip() and ("not found" in said or "no such file" in said)


def _left_alone(error: str, name: str, deadline_s: float | None) -> str:
    if deadline_s is None:
        return (
            f"{error}; the result of {name or 'the call'} is not known: `railweave-switch status` on the switch has it"
        )
    return (
        f"{error}; the switch restores the earlier configuration by itself within {deadline_s:g} s unless a new "
        f"session confirms commit {name}"
    )
