"""The verbs of ``railweave-switch``, the program that carries transactions out on the switch."""

import hashlib
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from napalm.base.exceptions import CommandErrorException, CommitConfirmException, CommitError

from napalm_sonic.calling import Caller
from napalm_sonic.decoding import decodes
from napalm_sonic.lock import Lock, who
from napalm_sonic.observed import STATE, Look, Observed, observed_of
from napalm_sonic.reading import Reading, Recovery, Status, learned_of, reading_of, status_of
from railweave.sonic.delta.rejected import ModelsVerdict, Rejected
from railweave.sonic.frr.document import never_compared
from railweave_switch.packing import packed_sha256
from railweave_switch.state import KEPT_COMMITS, Stage


@dataclass
class SwitchProgram:
    """The program of one switch; ``known`` is what its last answer said of what runs."""

    caller: Caller
    lock: Lock
    known: Reading | None = field(default=None, repr=False)

    @property
    def hostname(self) -> str:
        """Return the name that messages begin with."""
        return self.caller.session.hostname

    # Reading

    def read(self, *, rollback: str = "", look: Look | None = None) -> Reading:
        """Return what runs and the state of the last transaction, in one command; known text is not sent again.

        ``rollback`` adds the document that undoes that confirmed commit, ``look`` what the switch shows.
        """
        words = [*(["--rollback", rollback] if rollback else []), *_words(look)]
        known = self.known
        if known is not None and known.frr_digest:
            words += _digests(known)
        self.known = reading_of(self.hostname, self._read(["read", *words]), known)
        self.caller.quotes.running = self.known.running
        return self.known

    def _read(self, words: list[str], data: bytes = b"") -> dict[str, Any]:
        answer = self.caller.call(words, data)
        if answer.get("outcome") != "read":
            raise CommandErrorException(f"{self.hostname}: {answer.get('error')}")
        return answer

    @decodes("what it shows")
    def observe(self, look: Look = STATE) -> Observed:
        """Return what the switch shows and the status of its last transaction, in one command."""
        answer = self._read(["observe", *look.words])
        seen = observed_of(self.hostname, answer)
        if seen is None:
            raise CommandErrorException(f"{self.hostname}: railweave-switch shows nothing")
        status = status_of(answer["status"])
        return replace(seen, waiting=status.waits_for, broken=status.broken)

    @decodes("its routes")
    def ports_towards(self, prefix: str) -> frozenset[str]:
        """Return the ports over which the switch sends what goes to an IPv4 prefix; none where no route is in force."""
        return frozenset(map(str, self._read(["observe", "--towards", prefix])["towards"]))

    @decodes("its objects and processes")
    def probe(self) -> Mapping[str, Any]:
        """Return the ASIC's objects by digest, links, processes and counters (``railweave_switch.probing``)."""
        probe: Mapping[str, Any] = self._read(["probe"])["probe"]
        return probe

    @decodes("what a reload would refuse")
    def rejected_by_reload(self, config_db: Mapping[str, Any]) -> ModelsVerdict:
        """Return what ``config reload`` of these tables would refuse, by the switch's own YANG models.

        It changes nothing and takes one command.
        """
        return self._verdict({"config_db": config_db})

    @decodes("what its models refuse")
    def rejected_when_written(self, changes: Mapping[str, Any]) -> ModelsVerdict:
        """Return what the switch's YANG models refuse of its configuration once rows are written as a merge has them.

        What they refuse already does not count. It changes nothing and takes one command.
        """
        return self._verdict({"changes": changes})

    def _verdict(self, asked: Mapping[str, Any]) -> ModelsVerdict:
        data = json.dumps(asked).encode()
        words = ["check", "--length", str(len(data)), "--sha256", hashlib.sha256(data).hexdigest()]
        answer = self._read(words, data)
        return ModelsVerdict(rejected_of(answer), str(answer.get("fault") or ""))

    @decodes("its answer")
    def status(self) -> Status:
        """Ask the switch; one that never had the program has nothing pending."""
        answer = self.caller.ask(["status"])
        return Status("none") if answer is None else status_of(answer["status"])

    # Transactions

    def apply(self, transaction: Mapping[str, Any], look: Look | None = None, verb: str = "apply") -> dict[str, Any]:
        """Let the switch carry a transaction out; return its answer, also where the session was lost meanwhile.

        Raises LockError where another session holds the lock, CommitError for a damaged state.
        """
        session = {"session": self.lock.note, "lock_wait_s": self.caller.options.lock_wait_s}
        data = json.dumps({**transaction, **session}).encode()
        words = [verb, "--length", str(len(data)), "--sha256", hashlib.sha256(data).hexdigest(), *_words(look)]
        name, last = str(transaction["id"]), str(transaction["last"])
        deadline_s = transaction.get("deadline_s")
        del transaction  # what a wave's transactions hold is large, and only their texts are needed now
        return self._learned(self.caller.change(words, data, name=name, deadline_s=deadline_s, last=last))

    def hold(self, name: str, peers: Sequence[str], seconds: float, message: str, over: str = "") -> None:
        """Say on the switch that the traffic of these BGP peers is about to be led away; with 0 seconds it is not.

        ``over`` names a hold whose owner is known to be gone.

        Raises HeldError where somebody else said so, LockError where somebody changes the switch, CommitError where
        that cannot be written.
        """
        words = ["hold", "--id", name, "--peers", ",".join(peers), "--seconds", f"{seconds:g}", "--by", who()]
        words += ["--message", message, "--over", over, "--lock-wait", str(self.caller.options.lock_wait_s)]
        words += ["--session", self.lock.note] if self.lock.note else []
        answer = self.caller.call(words)
        self.caller.refuse_busy(answer)
        self._refuse_unless("held" if seconds > 0 else "released", answer, "it cannot be held for a drain: ")

    def amend(self, transaction: Mapping[str, Any], look: Look | None = None) -> dict[str, Any]:
        """Let the switch carry out further steps under a transaction that is armed."""
        return self.apply(transaction, look, "amend")

    def confirm(self, commit_id: str = "", only: Reading | None = None) -> dict[str, Any]:
        """Confirm the pending commit and save; raises CommitConfirmException where none is pending.

        With ``only`` a commit is confirmed only while exactly that runs: the answer's ``code`` is ``moved`` otherwise.
        """
        answer = self._change(["confirm", "--id", commit_id, *(_digests(only) if only is not None else [])], commit_id)
        if answer.get("outcome") != "confirmed" and (only is None or answer.get("code") != "moved"):
            raise CommitConfirmException(f"{self.hostname}: {_why(answer)}")
        return answer

    def save(self) -> None:
        """Let the switch boot what it runs; raises CommitError where a transaction waits, or that failed."""
        name, known = new_id(), self.known or self.read()
        answer = self._change(["save", "--id", name, "--frr-ignored", never_compared(known.running.frr_document)], name)
        self._refuse_unless("saved", answer)

    def undrain(self, commit_id: str, look: Look | None = None) -> dict[str, Any]:
        """End the temporary drain under which this commit waits; raises CommitError, also where another one waits."""
        answer = self._change(["undrain", "--id", commit_id, *_words(look)])
        self._refuse_unless(Stage.ARMED, answer, "the drain did not end: ")
        return answer

    @decodes("its answer")
    def revert(self, commit: str = "", commit_id: str = "", last: str = "") -> Status:
        """Revert the pending transaction ``commit_id``, or ``commit``, a confirmed one, while ``last`` is the last one.

        Raises CommitError where that fails, or another transaction came since.
        """
        name = new_id() if commit else commit_id
        chosen = ["--commit", commit, "--last", last] if commit else []
        answer = self._change(["revert", *chosen, "--id", name], name)
        self._refuse_unless("reverted", answer, "the rollback did not succeed: ")
        return status_of(answer["status"])

    @decodes("its answer")
    def recover(self, *, accept_running: bool = False) -> Recovery:
        """Repair the state and restore what nobody finishes, or keep what runs; by whichever version is there.

        Raises LockError where another transaction holds the lock.
        """
        name = new_id()
        words = ["recover", "--id", name, *(["--accept-running"] if accept_running else [])]
        first = self.caller.ask(["status", "--expect", packed_sha256()])
        if first is None:
            return Recovery(Status("none"), "healthy")
        if first["outcome"] == "other program":
            answer = self.caller.ask(words, self.caller.change_limit_s) or first
            self.caller.refuse_busy(answer)
        else:
            answer = self._change(words, name)
        found = answer.get("found") or answer["status"]
        restored, missing = (tuple(map(str, answer.get(part) or ())) for part in ("restored", "missing"))
        return Recovery(status_of(found), str(answer["outcome"]), restored, missing, str(answer.get("error") or ""))

    @decodes("its answer")
    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the merge document that restores what a confirmed commit changed, with its secrets.

        Raises CommitError where it is gone.
        """
        undo = self.read(rollback=commit_id).undo if commit_id else None
        if undo is None:
            raise CommitError(
                f"{self.hostname}: the rollback document of commit {commit_id} is not on the switch "
                f"(it keeps those of the last {KEPT_COMMITS} commits)"
            )
        return undo

    # Inside

    def _change(self, words: list[str], name: str = "") -> dict[str, Any]:
        words = [*words, "--lock-wait", str(self.caller.options.lock_wait_s)]
        words += ["--session", self.lock.note] if self.lock.note else []
        return self._learned(self.caller.change(words, name=name))

    def _learned(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Take over what the answer to a change says of what runs now."""
        self.known = None if self.known is None else learned_of(self.hostname, answer, self.known)
        if self.known is not None:
            self.caller.quotes.running = self.known.running
        return answer

    def _refuse_unless(self, outcome: str, answer: Mapping[str, Any], what: str = "") -> None:
        if answer.get("outcome") != outcome or answer.get("error"):
            raise CommitError(f"{self.hostname}: {what}{answer.get('error')}")


def rejected_of(answer: Mapping[str, Any]) -> tuple[Rejected, ...]:
    """Return what an answer says that the switch's YANG models refuse; raises what a misshapen one raises."""
    found = answer.get("rejected") or ()
    return tuple((str(table), str(key), str(field), str(said)) for table, key, field, said in found)


def new_id() -> str:
    """Return a name for a commit: ``20261121-101500-7a12f3b20``, microseconds and a random number last, in hex.

    Names sort by time: a switch drops the rollback documents of the oldest ones.
    """
    seconds, microseconds = divmod(time.time_ns() // 1000, 1_000_000)
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(seconds))}-{microseconds:05x}{secrets.token_hex(2)}"


def _words(look: Look | None) -> list[str]:
    return [] if look is None else look.words


def _digests(known: Reading) -> list[str]:
    return ["--config", known.config_digest, "--frr", known.frr_digest]


def _why(answer: Mapping[str, Any]) -> str:
    status = answer["status"]["status"]
    return {
        "none": "no commit waits for a confirmation",
        "confirmed": "the commit is confirmed already",
        "reverted": "the time was over: the switch has restored the earlier configuration",
        "expired": "the time is over and the switch has not restored the earlier configuration yet; call rollback()",
    }.get(status, str(answer.get("error") or status))
