"""The client of ``railweave-switch``, the program that carries transactions out on the switch.

What counts is the state on the switch, so another session, hours later or from another machine, sees and finishes what
this one began. A call survives the loss of its session: the answer is asked for again over a new one.
"""

import base64
import hashlib
import json
import secrets
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    CommitConfirmException,
    CommitError,
    ConnectionClosedException,
    ConnectionException,
    LockError,
)

from napalm_sonic.observed import STATE, Look, Observed, observed_of
from napalm_sonic.reading import Reading, Recovery, Status, learned_of, reading_of, status_of
from railweave.secrets import shown_text
from railweave.sonic.frr.document import never_compared
from railweave_switch.packing import INSTALLER, packed, packed_sha256
from railweave_switch.state import KEPT_COMMITS, Stage

if TYPE_CHECKING:
    from napalm_sonic.lock import Lock
    from napalm_sonic.options import Options
    from napalm_sonic.session import Completed, Session

PROGRAM = "/usr/local/bin/railweave-switch"
OTHER_PROGRAM = 70


@dataclass
class SwitchProgram:
    """The program of one switch, reached over a session; ``known`` is what its last answer said of what runs."""

    session: "Session"
    options: "Options"
    lock: "Lock"
    known: Reading | None = field(default=None, repr=False)

    # Reading

    def read(self, *, rollback: str = "", look: Look | None = None) -> Reading:
        """Return what runs and how things stand, in one command; what is known already is not sent again.

        ``rollback`` adds the document that undoes that kept commit, ``look`` what the switch shows.
        """
        words = [*(["--rollback", rollback] if rollback else []), *_words(look)]
        known = self.known
        if known is not None:
            words += ["--config", known.config_digest, "--frr", known.frr_digest] if known.frr_digest else []
        self.known = reading_of(self.session.hostname, self._read(["read", *words]), known)
        return self.known

    def _read(self, words: list[str]) -> dict[str, Any]:
        answer = self._called(words)
        if answer.get("outcome") != "read":
            raise CommandErrorException(f"{self.session.hostname}: {answer.get('error')}")
        return answer

    def observe(self, look: Look = STATE) -> Observed:
        """Return what the switch shows, in one command."""
        seen = observed_of(self.session.hostname, self._read(["observe", *look.words]))
        if seen is None:
            raise CommandErrorException(f"{self.session.hostname}: railweave-switch shows nothing")
        return seen

    def status(self) -> Status:
        """Ask the switch; one that never had the program has nothing pending."""
        done = self._run(["status"], b"", None)
        if _is_missing(done):
            return Status("none")
        return status_of(self._parsed(done)["status"])

    def message(self) -> str:
        """Return the message of the last transaction, empty where the switch knows of none."""
        return self.status().message

    def last_confirmed(self) -> str:
        """Return the id of the last commit if it was kept, empty where there is none; drains are no commits."""
        return self.status().last

    # Transactions

    def apply(self, transaction: Mapping[str, Any], look: Look | None = None) -> dict[str, Any]:
        """Let the switch carry a transaction out; return its answer, also where the session was lost meanwhile.

        Raises LockError where another session holds the lock, CommitError where it was refused or not restored.
        """
        return self._transacted("apply", transaction, look)

    def amend(self, transaction: Mapping[str, Any], look: Look | None = None) -> dict[str, Any]:
        """Let the switch carry out further steps under a transaction that is armed."""
        return self._transacted("amend", transaction, look)

    def confirm(self, commit_id: str = "", only: Reading | None = None) -> dict[str, Any]:
        """Keep the pending commit and save; raises CommitConfirmException where none is pending.

        With ``only`` a commit is kept only while exactly that runs: the answer's ``code`` is ``moved`` otherwise.
        """
        words = ["--config", only.config_digest, "--frr", only.frr_digest] if only is not None else []
        answer = self._ended(["confirm", "--id", commit_id, *words], commit_id)
        if answer.get("outcome") != "confirmed" and (only is None or answer.get("code") != "moved"):
            self._raise_when_busy(answer)
            raise CommitConfirmException(f"{self.session.hostname}: {_why(answer)}")
        return answer

    def save(self) -> None:
        """Let the switch boot what it runs; raises CommitError where a transaction waits, or that failed."""
        name, known = new_id(), self.known or self.read()
        ignored = never_compared(known.running.frr_document)
        answer = self._ended(["save", "--id", name, "--frr-ignored", ignored], name)
        if answer.get("outcome") != "saved" or answer.get("error"):
            self._raise_when_busy(answer)
            raise CommitError(f"{self.session.hostname}: {answer.get('error')}")

    def undrain(self, look: Look | None = None) -> dict[str, Any]:
        """End the temporary drain under which a commit waits; raises CommitError."""
        answer = self._ended(["undrain", *_words(look)], "")
        if answer.get("outcome") != Stage.ARMED:
            self._raise_when_busy(answer)
            raise CommitError(f"{self.session.hostname}: the drain did not end: {answer.get('error')}")
        return answer

    def revert(self, commit: str = "", commit_id: str = "") -> Status:
        """Take the pending transaction back, or ``commit``, a kept one; raises CommitError where that fails."""
        words = ["--commit", commit, "--id", new_id()] if commit else ["--id", commit_id]
        answer = self._ended(["revert", *words], words[-1])
        if answer.get("outcome") != "reverted" or answer.get("error"):
            self._raise_when_busy(answer)
            raise CommitError(f"{self.session.hostname}: the rollback did not succeed: {answer.get('error')}")
        return status_of(answer["status"])

    def recover(self, *, accept_running: bool = False) -> Recovery:
        """Repair the state and restore what nobody finishes, or keep what runs; by whichever version is there.

        Raises LockError where somebody else is at work.
        """
        first, name = self._run(["status"], b"", None), new_id()
        words = ["recover", "--id", name, *(["--accept-running"] if accept_running else [])]
        if _is_missing(first):
            return Recovery(Status("none"), "healthy")
        if first.exit_status == OTHER_PROGRAM:
            line = self.session.as_root(f"{PROGRAM} {shlex.join(words)}")
            answer = self._parsed(self.session.run(line, self.options.apply_timeout_s + self.options.reload_timeout_s))
        else:
            answer = self._ended(words, name)
        if answer.get("code") == "busy":
            self._raise_when_busy(answer)
        found = answer.get("found") or answer["status"]
        restored, missing = (tuple(map(shown_text, answer.get(part) or ())) for part in ("restored", "missing"))
        return Recovery(
            status_of(found), str(answer["outcome"]), restored, missing, shown_text(answer.get("error") or "")
        )

    # Inside

    def _transacted(self, verb: str, transaction: Mapping[str, Any], look: Look | None) -> dict[str, Any]:
        session = {"session": self.lock.note, "lock_wait_s": self.options.lock_wait_s}
        data = json.dumps({**transaction, **session}).encode()
        words = [verb, "--length", str(len(data)), "--sha256", hashlib.sha256(data).hexdigest(), *_words(look)]
        limit_s = self.options.apply_timeout_s + self.options.reload_timeout_s
        try:
            answer = self._called(words, data, limit_s)
        except (ConnectionException, CommandTimeoutException) as error:
            answer = self._answer_after_loss(str(transaction["id"]), transaction.get("deadline_s"), error)
        self._learn(answer)
        self._raise_when_busy(answer)
        return answer

    def _ended(self, words: list[str], name: str) -> dict[str, Any]:
        words = [*words, "--lock-wait", str(self.options.lock_wait_s)]
        words += ["--session", self.lock.note] if self.lock.note else []
        limit_s = self.options.apply_timeout_s + self.options.reload_timeout_s
        try:
            answer = self._called(words, b"", limit_s)
        except (ConnectionException, CommandTimeoutException) as error:
            answer = self._answer_after_loss(name, None, error)
        self._learn(answer)
        return answer

    def _learn(self, answer: Mapping[str, Any]) -> None:
        """Take over what the answer to a change says of what runs now."""
        self.known = None if self.known is None else learned_of(self.session.hostname, answer, self.known)

    def _answer_after_loss(self, name: str, deadline_s: float | None, error: Exception) -> dict[str, Any]:
        """Return the answer to a call whose session was lost: the switch has gone on meanwhile."""
        ends = time.monotonic() + self.options.reload_timeout_s
        while True:
            try:
                self.session.close()
                self.session.open()
                told = self._called(["status", "--wait", name or "-"], b"", self.options.apply_timeout_s)
            except (ConnectionException, CommandTimeoutException):
                if time.monotonic() > ends:
                    raise ConnectionClosedException(_left_alone(str(error), name, deadline_s)) from error
                time.sleep(self.options.reload_poll_s)
                continue
            if told.get("answer"):
                return dict(told["answer"])
            if name and told["status"]["id"] != name:
                raise ConnectionClosedException(f"{error}; nothing was changed: the switch never began it") from error
            outcome = "applied" if told["status"]["status"] == Stage.ARMED else told["status"]["status"]
            return {"outcome": outcome, "status": told["status"], "error": told["status"]["error"]}

    def _called(self, words: list[str], data: bytes = b"", timeout_s: float | None = None) -> dict[str, Any]:
        """Return the answer to a call; the program is installed first where it is missing or another one."""
        done = self._run(words, data, timeout_s)
        if done.exit_status == OTHER_PROGRAM or _is_missing(done):
            done = self._installed(done, words if not data else ["status"], timeout_s)
            if data:
                done = self._run(words, data, timeout_s)
        return self._parsed(done)

    def _run(self, words: list[str], data: bytes, timeout_s: float | None) -> "Completed":
        return self.session.run(self._line(words), timeout_s, data)

    def _line(self, words: list[str]) -> str:
        line = " ".join(map(shlex.quote, [words[0], "--expect", packed_sha256(), *words[1:]]))
        return self.session.as_root(f"{PROGRAM} {line}")

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
            answer = json.loads(done.stdout)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or "outcome" not in answer:
            raise CommandErrorException(f"{self.session.hostname}: railweave-switch: {done.error_text()[:400]}")
        return answer

    def _raise_when_busy(self, answer: Mapping[str, Any]) -> None:
        if answer.get("code") == "busy":
            raise LockError(f"{self.session.hostname}: {answer['error']}")
        if answer.get("code") == "damaged":
            raise CommitError(f"{self.session.hostname}: {answer['error']}")


@dataclass(frozen=True, slots=True)
class RollbackDocuments:
    """What a switch keeps of its last confirmed commits: ``driver.rollback_documents``, beside NAPALM's own methods."""

    program: SwitchProgram

    def document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the merge document that restores what a confirmed commit changed, with its secrets.

        ``revert_timer.status().commit_id`` names the last commit. Raises CommitError where the document is gone.
        """
        undo = self.program.read(rollback=commit_id).undo if commit_id else None
        if undo is None:
            raise CommitError(
                f"{self.program.session.hostname}: the rollback document of commit {commit_id} is not on the switch "
                f"(it keeps those of the last {KEPT_COMMITS} commits)"
            )
        return undo


def new_id() -> str:
    """Return a name for a commit that sorts by time: ``20261121-101500-3fa2``."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


def _words(look: Look | None) -> list[str]:
    return [] if look is None else look.words


def _is_missing(done: "Completed") -> bool:
    said = done.error_text().lower()
    return done.exit_status != 0 and not done.stdout.strip() and ("not found" in said or "no such file" in said)


def _left_alone(error: str, name: str, deadline_s: float | None) -> str:
    if deadline_s is None:
        return f"{error}; what became of {name or 'the call'} is not known: the state on the switch tells"
    return (
        f"{error}; the switch restores the earlier configuration by itself within {deadline_s:g} s unless a new "
        f"session confirms commit {name}"
    )


def _why(answer: Mapping[str, Any]) -> str:
    status = answer["status"]["status"]
    return {
        "none": "no commit waits for a confirmation",
        "confirmed": "the commit is confirmed already",
        "reverted": "the time was over: the switch has restored the earlier configuration",
        "expired": "the time is over and the switch has not restored the earlier configuration yet; call rollback()",
    }.get(status, str(answer.get("error") or status))
