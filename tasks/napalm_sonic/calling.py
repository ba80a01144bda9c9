"""Calls of ``railweave-switch`` over a session; the program is installed if it is missing or another version.

All state is on the switch, so a change survives the loss of its session: the answer is requested again over a new one,
and another session, hours later or from another machine, can finish what this one began.
"""

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
from napalm_sonic.refused_commands import fix_of
from railweave.printable import printable
from railweave_switch.packing import INSTALLER, packed_base64, packed_sha256
from railweave_switch.state import Stage

if TYPE_CHECKING:
    from napalm_sonic.options import Options
    from napalm_sonic.session import Completed, Session

PROGRAM = "/usr/local/bin/railweave-switch"
OTHER_PROGRAM = 70
# Secrets are hidden in more of an unreadable answer than is quoted: one may be cut by the shorter limit.
_READ_CHARACTERS = 4000
_QUOTED_CHARACTERS = 400
# Members of an answer that must be objects, if it has them.
_OBJECTS = ("status", "config", "frr", "observed", "found")

# Verbs with the id of a transaction, and the outcomes of answers about that transaction.
_TRANSACTION_VERBS = ("apply", "amend", "confirm", "revert")
_TRANSACTION_OUTCOMES = ("applied", Stage.CONFIRMED, Stage.REVERTED)


class OtherProgramError(CommitError):  # type: ignore[misc]
    """Another version of the program is on the switch, and cannot be replaced now."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls the program on one device."""

    session: "Session"
    options: "Options"
    quotes: Quotes = field(default_factory=Quotes)

    @property
    def change_limit_s(self) -> float:
        """Return the time limit of a call that changes something."""
        return self.options.apply_timeout_s + self.options.reload_timeout_s

    def ask(self, words: list[str], timeout_s: float | None = None) -> dict[str, Any] | None:
        """Return the answer of the installed version of the program, whichever it is; None if none is installed.

        Raises CommandErrorException if the answer cannot be read.
        """
        done = self.session.run(self.session.as_root(f"{PROGRAM} {shlex.join(words)}"), timeout_s)
        if _is_missing(done):
            return None
        return self._parse_answer(done)

    def call(self, words: list[str], data: bytes = b"", timeout_s: float | None = None) -> dict[str, Any]:
        """Return the answer to a call of our version of the program; install it first if it is not there.

        ``data`` is the input. Raises CommandErrorException if the answer cannot be read, CommitError if the program
        cannot be installed.
        """
        done = self._run(words, data, timeout_s)
        if done.exit_status == OTHER_PROGRAM or _is_missing(done):
            if data:
                # Standard input carries the program while it is installed, so the data goes with a second call.
                self._install_and_call(done, ["status"], timeout_s)
                done = self._run(words, data, timeout_s)
            else:
                done = self._install_and_call(done, words, timeout_s)
        return self._parse_answer(done)

    def change(
        self,
        words: list[str],
        data: bytes = b"",
        *,
        name: str,
        deadline_s: float | None = None,
        last: str | None = None,
    ) -> dict[str, Any]:
        """Return the answer to a call that changes something, also if the session was lost meanwhile.

        ``name`` is the id of the transaction, ``last`` that of the one before it, if known, and ``deadline_s`` the time
        until the switch reverts it, None without a timer. If the answer is lost, or is about another transaction, it is
        requested again until that time; without a timer, for the time of a reload. Raises LockError if another session
        holds the lock, CommitError for a damaged state, ConnectionClosedException if the answer stays lost.
        """
        clock = self.session.clock
        ends_s: float | None = None
        if deadline_s is not None:
            ends_s = clock.monotonic() + deadline_s
        try:
            answer = self.call(words, data, self.change_limit_s)
            other_name = _other_transaction(words[0], answer, name)
            if other_name:
                raise ConnectionClosedException(
                    f"{self.session.hostname}: the answer to {name} is that to {other_name}"
                )
        except (ConnectionException, CommandTimeoutException) as error:
            if ends_s is None:
                # Without a timer the switch reverts nothing, and a reload is the longest step.
                ends_s = clock.monotonic() + self.options.reload_timeout_s
            answer = self._answer_after_loss(name, last, ends_s, deadline_s, error)
        self.refuse_busy(answer)
        if answer.get("code") == "damaged" and words[0] != "recover":
            raise CommitError(f"{self.session.hostname}: {answer.get('error')}")
        return answer

    def refuse_busy(self, answer: Mapping[str, Any]) -> None:
        """Raise LockError if another session holds the lock, HeldError if another client is about to drain."""
        if answer.get("code") == "held":
            hold = answer["status"].get("hold") or {}
            raise HeldError(
                f"{self.session.hostname}: {answer.get('error')}",
                hold=str(hold.get("id") or ""),
                message=str(hold.get("message") or ""),
                remaining_s=float(hold.get("remaining_s") or 0.0),
            )
        if answer.get("code") == "busy":
            raise LockError(f"{self.session.hostname}: {answer.get('error')}")

    @decodes("its answer")
    def _answer_after_loss(
        self, name: str, last: str | None, ends_s: float, deadline_s: float | None, error: Exception
    ) -> dict[str, Any]:
        """Return the answer to a call whose session was lost by ``error``: the switch has continued without it.

        ``ends_s`` is the time limit on the clock; the other parameters are those of ``change``. Raises
        ConnectionClosedException if the switch cannot be reached before ``ends_s``, or if another transaction came.
        """
        clock = self.session.clock
        while True:
            try:
                answer = self._status_over_new_session(name, ends_s)
                break
            except (ConnectionException, CommandTimeoutException):
                if clock.monotonic() >= ends_s:
                    raise ConnectionClosedException(_unreachable_text(str(error), name, deadline_s)) from error
                clock.sleep(self.options.reload_poll_s)
        status = answer["status"]
        stored_answer = answer.get("answer")
        if stored_answer and not _is_outdated(stored_answer, status):
            return dict(stored_answer)
        if name and status["id"] != name:
            raise ConnectionClosedException(f"{error}; {_not_the_last(status, name, last)}") from error
        # The process ended before it stored an answer, so its result is in the state alone.
        outcome = status["status"]
        if outcome == Stage.ARMED:
            outcome = "applied"
        return {"outcome": outcome, "status": status, "error": status["error"]}

    def _status_over_new_session(self, name: str, ends_s: float) -> dict[str, Any]:
        """Open a new session; return the status once the work on a transaction has ended, with the stored answer."""
        self.session.close()
        self.session.open()
        left_s = max(self.options.command_timeout_s, ends_s - self.session.clock.monotonic())
        return self.call(["status", "--wait", name or "-"], b"", min(self.options.apply_timeout_s, left_s))

    def _run(self, words: list[str], data: bytes, timeout_s: float | None) -> "Completed":
        return self.session.run(self._command_line(words), timeout_s, data)

    def _command_line(self, words: list[str]) -> str:
        """Return the command that calls our version of the program; every other version refuses it."""
        return self.session.as_root(f"{PROGRAM} {shlex.join([words[0], '--expect', packed_sha256(), *words[1:]])}")

    @decodes("its answer")
    def _install_and_call(self, refused: "Completed", words: list[str], timeout_s: float | None) -> "Completed":
        """Install the program and call it with ``words``, in one command; return the result of the call.

        ``refused`` is the result of an earlier call: the refusal of another version, or the shell's error if no version
        is installed. Raises OtherProgramError if that version cannot be replaced now, CommitError if the installation
        fails.
        """
        if refused.exit_status == OTHER_PROGRAM:
            status = status_of(self._parse_answer(refused)["status"])
            # Only the version that wrote the state can end its transaction.
            if status.pending or status.state == "damaged":
                raise OtherProgramError(
                    f"{self.session.hostname}: another version of railweave-switch has something pending there "
                    f"({status.state} {status.commit_id or status.error}): end it with that version first, or by "
                    f"`railweave recover`"
                )
        install = f"python3 -I -S -c {shlex.quote(INSTALLER)} install --sha256 {packed_sha256()}"
        command = f"{self.session.as_root(install)} && {self._command_line(words)}"
        done = self.session.run(command, timeout_s, packed_base64())
        # The first line is the answer to the installation, the rest that to the call.
        installation, _, call_output = done.stdout.partition("\n")
        if refused.exit_status == OTHER_PROGRAM and not installation.strip() and _is_reader(done):
            raise OtherProgramError(
                f"{self.session.hostname}: another version of railweave-switch is installed there, and this login may"
                f" only read: a command with the writer's key replaces it, such as `railweave plan`"
            )
        answer = self._parse_answer(replace(done, stdout=installation))
        if answer.get("outcome") != "installed":
            raise CommitError(f"{self.session.hostname}: railweave-switch cannot be installed: {answer.get('error')}")
        return replace(done, stdout=call_output)

    def _parse_answer(self, done: "Completed") -> dict[str, Any]:
        """Return the answer in the output of a call, secrets hidden; raises CommandErrorException if it has none."""
        reason = "its answer is not one of this program"
        try:
            answer = parse_json(done.stdout)
        except TooLargeError as error:
            raise CommandErrorException(f"{self.session.hostname}: its answer is refused: {error}") from None
        except ValueError as error:
            answer = None
            reason = f"its answer is no JSON: {error}"
        if not _is_answer(answer):
            output = printable(self.quotes.shown(done.error_text()[:_READ_CHARACTERS]))[:_QUOTED_CHARACTERS]
            # A known cause, with its fix, says more than what is wrong with the answer.
            reason = fix_of(output) or reason
            unreadable = CommandErrorException(f"{self.session.hostname}: railweave-switch: {output} ({reason})")
            refuse_noise(self.session, unreadable)
            raise unreadable
        return self.quotes.shown_answer(answer)


def _is_answer(value: Any) -> bool:
    """Tell whether a JSON value has the shape of an answer: an outcome, and objects where objects belong."""
    if not isinstance(value, dict) or not isinstance(value.get("outcome"), str):
        return False
    return all(isinstance(value.get(name) or {}, Mapping) for name in _OBJECTS)


def _other_transaction(verb: str, answer: Mapping[str, Any], name: str) -> str:
    """Return the id of the transaction that an answer is about if it is not ``name``; empty otherwise.

    An answer that came too late is about an earlier transaction. Refusals and failures need not name one.
    """
    if verb not in _TRANSACTION_VERBS or answer["outcome"] not in _TRANSACTION_OUTCOMES:
        return ""
    status = answer.get("status")
    if not name or not isinstance(status, Mapping) or status.get("id") == name:
        return ""
    return str(status.get("id"))


def _is_outdated(answer: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Tell whether the transaction of an answer has ended differently since, for example by the switch's timer."""
    if answer["outcome"] not in _TRANSACTION_OUTCOMES:
        return False
    earlier = answer["status"]
    is_current = earlier["id"] == status["id"] and earlier["status"] == status["status"]
    return not is_current


def _not_the_last(status: Mapping[str, Any], name: str, last: str | None) -> str:
    """Describe why there is no answer about the transaction ``name``, which is not the last one of the switch.

    ``last`` is the transaction before it, None if that is not known.
    """
    if last is not None and status["id"] == last:
        return "nothing was changed: the switch never began it"
    return (
        f"{name} never began or is over: the last transaction of the switch is {status['id'] or 'none'} by "
        f"{status.get('by') or 'another session'}"
    )


def _is_missing(done: "Completed") -> bool:
    """Tell whether a call failed because the program is not installed."""
    if done.exit_status == 0 or done.stdout.strip():
        return False
    # Words of the shell, or of sudo, of any distribution.
    output = done.error_text().lower()
    return "not found" in output or "no such file" in output


def _is_reader(done: "Completed") -> bool:
    """Tell whether the login refused the command because it may only read (``railweave_switch.reader``)."""
    return "this login only reads" in done.error_text()


def _unreachable_text(error: str, name: str, deadline_s: float | None) -> str:
    """Describe what becomes of a transaction whose switch cannot be reached again."""
    if deadline_s is None:
        return (
            f"{error}; the result of {name or 'the call'} is not known: `railweave-switch status` on the switch has it"
        )
    return (
        f"{error}; the switch restores the earlier configuration by itself within {deadline_s:g} s unless a new "
        f"session confirms commit {name}"
    )
