"""The verbs of ``railweave-switch``, the program that carries out transactions on the switch."""

import hashlib
import json
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from napalm.base.exceptions import CommandErrorException, CommitConfirmException, CommitError

from napalm_sonic.calling import Caller, OtherProgramError
from napalm_sonic.decoding import decodes
from napalm_sonic.lock import Lock, who
from napalm_sonic.observed import Observed, observed_of
from napalm_sonic.reading import Reading, learned_of, reading_of, status_of
from railweave.sonic.delta.rejected import ModelsVerdict, Rejected
from railweave.sonic.frr.document import never_compared
from railweave.switch_driver import STATE, CommitStatus, ObserveRequest, RecoveredState
from railweave_switch.packing import packed_sha256
from railweave_switch.state import KEPT_COMMITS, Stage

# Of a switch that never had the program.
_NO_STATUS = CommitStatus(pending=False, state=Stage.NONE)


@dataclass
class SwitchProgram:
    """The program of one switch; ``last_reading`` is the running configuration by its last answer."""

    caller: Caller
    lock: Lock
    last_reading: Reading | None = field(default=None, repr=False)

    @property
    def hostname(self) -> str:
        """Return the name that messages begin with."""
        return self.caller.session.hostname

    # Reading

    def read(self, *, rollback: str = "", request: ObserveRequest | None = None) -> Reading:
        """Return the running configuration and the status of the last transaction, with one command.

        Parts that did not change since the last reading are not sent again. ``rollback`` names a confirmed commit whose
        merge document for undoing it is added, ``request`` selects observations. Raises CommandErrorException.
        """
        words = ["read"]
        if rollback:
            words += ["--rollback", rollback]
        words += _observe_options(request)
        last_reading = self.last_reading
        # Without FRR's digest the last reading is not complete.
        if last_reading is not None and last_reading.frr_digest:
            words += _digest_options(last_reading)
        if request is not None and request.telemetry:
            answer = self._read_for_monitoring(words, request.queues)
        else:
            answer = self._read(words)
        reading = reading_of(self.hostname, answer, last_reading)
        # The last reading stays with its session, and counters are large.
        self.last_reading = replace(reading, telemetry=None)
        self.caller.quotes.running = reading.running
        return reading

    def _read_for_monitoring(self, words: list[str], queues: Collection[int] = ()) -> dict[str, Any]:
        """Return the answer to a reading for monitoring.

        ``queues`` limits the queues and priority groups to these numbers. If another version of the program is on the
        switch, the parts that it can answer are read one by one.
        """
        options = ["--queues", ",".join(map(str, queues))]
        if self.last_reading is not None and self.last_reading.view is not None:
            options += ["--observed", self.last_reading.view.digest]
        try:
            return self._read([*words, *options, "--telemetry"])
        except OtherProgramError as error:
            answer = self.caller.ask(words)
            if answer is None or answer.get("outcome") != "read":
                raise
            telemetry: dict[str, Any] = {"other_program": str(error)}
            for part, option, member in (
                ("counters", "--all-counters", "all_counters"),
                ("link_state", "--link-state", "link_state"),
            ):
                # A version without the option refuses it.
                with suppress(CommandErrorException):
                    part_answer = self.caller.ask(["observe", option]) or {}
                    telemetry[part] = part_answer.get(member)
            return {**answer, "telemetry": telemetry}

    def _read(self, words: list[str], data: bytes = b"") -> dict[str, Any]:
        """Return the answer to a call that only reads; raises CommandErrorException if it fails."""
        answer = self.caller.call(words, data)
        if answer.get("outcome") != "read":
            raise CommandErrorException(f"{self.hostname}: {answer.get('error')}")
        return answer

    @decodes("what it shows")
    def observe(self, request: ObserveRequest = STATE) -> Observed:
        """Return observations and the status of the last transaction, with one command."""
        answer = self._read(["observe", *_observe_options(request)])
        observed = observed_of(self.hostname, answer)
        if observed is None:
            raise CommandErrorException(f"{self.hostname}: railweave-switch shows nothing")
        status = status_of(answer["status"])
        return replace(observed, waiting=status.waits_for, broken=status.broken)

    @decodes("its routes")
    def ports_towards(self, prefix: str) -> frozenset[str]:
        """Return the ports of the route to an IPv4 prefix; none if no route is in force."""
        return frozenset(map(str, self._read(["observe", "--towards", prefix])["towards"]))

    @decodes("its counters")
    def all_counters(self) -> Mapping[str, Any]:
        """Return the counters of ports, queues and priority groups (``railweave_switch.all_counters``)."""
        counters: Mapping[str, Any] = self._read(["observe", "--all-counters"])["all_counters"]
        return counters

    @decodes("its modules")
    def link_state(self) -> Mapping[str, Any]:
        """Return the flaps of ports and what their modules report (``railweave_switch.link_state``)."""
        state: Mapping[str, Any] = self._read(["observe", "--link-state"])["link_state"]
        return state

    @decodes("its objects and processes")
    def probe(self) -> Mapping[str, Any]:
        """Return the ASIC's objects by digest, links, processes and counters (``railweave_switch.probing``)."""
        probe: Mapping[str, Any] = self._read(["probe"])["probe"]
        return probe

    @decodes("what a reload would refuse")
    def rejected_by_reload(self, config_db: Mapping[str, Any]) -> ModelsVerdict:
        """Return the rows for which ``config reload`` of these tables would abort, by the switch's own YANG models.

        It takes one command and changes nothing.
        """
        return self._verdict({"config_db": config_db})

    @decodes("what its models refuse")
    def rejected_when_written(self, changes: Mapping[str, Any]) -> ModelsVerdict:
        """Return the rows that the switch's YANG models reject once the rows of a merge are written.

        Rows that they reject already do not count. It takes one command and changes nothing.
        """
        return self._verdict({"changes": changes})

    def _verdict(self, candidate: Mapping[str, Any]) -> ModelsVerdict:
        """Return the verdict of the switch's YANG models on a candidate in the form of the verb ``check``."""
        data = json.dumps(candidate).encode()
        answer = self._read(["check", *_input_options(data)], data)
        return ModelsVerdict(rejected_of(answer), str(answer.get("fault") or ""))

    @decodes("its answer")
    def status(self) -> CommitStatus:
        """Return the status of the last transaction; ``none`` on a switch that never had the program."""
        answer = self.caller.ask(["status"])
        if answer is None:
            return _NO_STATUS
        return status_of(answer["status"])

    # Transactions

    def apply(
        self, transaction: Mapping[str, Any], request: ObserveRequest | None = None, verb: str = "apply"
    ) -> dict[str, Any]:
        """Apply a transaction on the switch and return the answer, also if the session was lost meanwhile.

        ``verb`` is ``apply`` or ``amend``. Raises LockError if another session holds the lock, CommitError if the state
        on the switch is damaged.
        """
        session = {"session": self.lock.note, "lock_wait_s": self.caller.options.lock_wait_s}
        data = json.dumps({**transaction, **session}).encode()
        words = [verb, *_input_options(data), *_observe_options(request)]
        name = str(transaction["id"])
        last = str(transaction["last"])
        deadline_s = transaction.get("deadline_s")
        # The transactions of a wave are large, and from here on only their texts are needed.
        del transaction
        answer = self.caller.change(words, data, name=name, deadline_s=deadline_s, last=last)
        return self._keep_reading(answer)

    def hold(self, name: str, peers: Sequence[str], seconds: float, message: str, over: str = "") -> None:
        """Hold the switch for a drain of these BGP peers that is about to begin; with 0 seconds release the hold.

        ``over`` names a hold whose owner has certainly ended.

        Raises HeldError if another client holds the switch, LockError if another one changes it, CommitError if the
        hold cannot be written.
        """
        words = ["hold", "--id", name, "--peers", ",".join(peers), "--seconds", f"{seconds:g}", "--by", who()]
        words += ["--message", message, "--over", over, "--lock-wait", str(self.caller.options.lock_wait_s)]
        if self.lock.note:
            words += ["--session", self.lock.note]
        answer = self.caller.call(words)
        self.caller.refuse_busy(answer)
        outcome = "held" if seconds > 0 else "released"
        self._refuse_unless(outcome, answer, "it cannot be held for a drain: ")

    def amend(self, transaction: Mapping[str, Any], request: ObserveRequest | None = None) -> dict[str, Any]:
        """Apply further steps under an armed transaction and return the answer; raises like ``apply``."""
        return self.apply(transaction, request, verb="amend")

    def confirm(self, commit_id: str = "", only: Reading | None = None) -> dict[str, Any]:
        """Confirm the pending commit, save the configuration and return the answer.

        With ``only`` the commit is confirmed only while that reading is the running configuration; otherwise the
        answer's ``code`` is ``moved``. Raises CommitConfirmException if no commit is pending.
        """
        words = ["confirm", "--id", commit_id]
        if only is not None:
            words += _digest_options(only)
        answer = self._change(words, commit_id)
        has_moved = only is not None and answer.get("code") == "moved"
        if answer.get("outcome") != "confirmed" and not has_moved:
            raise CommitConfirmException(f"{self.hostname}: {_unconfirmed_text(answer)}")
        return answer

    def save(self) -> None:
        """Save the running configuration; raises CommitError if a transaction is pending, or if saving fails."""
        name = new_id()
        reading = self.last_reading or self.read()
        ignored = never_compared(reading.running.frr_document)
        answer = self._change(["save", "--id", name, "--frr-ignored", ignored], name)
        self._refuse_unless("saved", answer)

    def undrain(self, commit_id: str, request: ObserveRequest | None = None) -> dict[str, Any]:
        """End the temporary drain under this pending commit, and return the answer.

        Raises CommitError if that fails, or if another commit is pending.
        """
        answer = self._change(["undrain", "--id", commit_id, *_observe_options(request)])
        self._refuse_unless(Stage.ARMED, answer, "the drain did not end: ")
        return answer

    @decodes("its answer")
    def revert(self, commit: str = "", commit_id: str = "", last: str = "") -> CommitStatus:
        """Revert the pending transaction ``commit_id``, or roll back the confirmed ``commit``; return the new status.

        ``last`` is the last transaction that the caller knew when it chose the commit. Raises CommitError if another
        transaction came since, or if the configuration cannot be restored.
        """
        if commit:
            name = new_id()
            words = ["revert", "--commit", commit, "--last", last, "--id", name]
        else:
            name = commit_id
            words = ["revert", "--id", name]
        answer = self._change(words, name)
        self._refuse_unless("reverted", answer, "the rollback did not succeed: ")
        return status_of(answer["status"])

    @decodes("its answer")
    def recover(self, *, accept_running: bool = False) -> RecoveredState:
        """Repair a damaged state and revert an interrupted transaction; return the state before, and what was restored.

        With ``accept_running`` the running configuration stays, and nothing is reverted. Raises LockError if another
        transaction holds the lock.
        """
        name = new_id()
        words = ["recover", "--id", name]
        if accept_running:
            words.append("--accept-running")
        status_answer = self.caller.ask(["status", "--expect", packed_sha256()])
        if status_answer is None:
            # The switch has no program, so nothing was ever changed there.
            return RecoveredState(_NO_STATUS, "healthy")
        if status_answer["outcome"] == "other program":
            # The version on the switch repairs it, since only that version can read its own state.
            answer = self.caller.ask(words, self.caller.change_limit_s) or status_answer
            self.caller.refuse_busy(answer)
        else:
            answer = self._change(words, name)
        before = answer.get("found") or answer["status"]
        restored = tuple(map(str, answer.get("restored") or ()))
        missing = tuple(map(str, answer.get("missing") or ()))
        error = str(answer.get("error") or "")
        return RecoveredState(status_of(before), str(answer["outcome"]), restored, missing, error)

    @decodes("its answer")
    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the merge document that undoes a confirmed commit, with its secrets.

        Raises CommitError if the switch no longer has it.
        """
        undo = None
        if commit_id:
            undo = self.read(rollback=commit_id).undo
        if undo is None:
            raise CommitError(
                f"{self.hostname}: the rollback document of commit {commit_id} is not on the switch "
                f"(it keeps those of the last {KEPT_COMMITS} commits)"
            )
        return undo

    # Inside

    def _change(self, words: list[str], name: str = "") -> dict[str, Any]:
        """Call a verb that changes the transaction ``name``, under the lock, and return the answer."""
        words = [*words, "--lock-wait", str(self.caller.options.lock_wait_s)]
        if self.lock.note:
            words += ["--session", self.lock.note]
        return self._keep_reading(self.caller.change(words, name=name))

    def _keep_reading(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Keep the running configuration in the answer to a change as the last reading; return the answer."""
        if self.last_reading is not None:
            self.last_reading = learned_of(self.hostname, answer, self.last_reading)
        # It is None now if the answer does not show what runs.
        if self.last_reading is not None:
            self.caller.quotes.running = self.last_reading.running
        return answer

    def _refuse_unless(self, outcome: str, answer: Mapping[str, Any], what: str = "") -> None:
        """Raise CommitError if an answer has another outcome or an error; its message begins with ``what``."""
        if answer.get("outcome") != outcome or answer.get("error"):
            raise CommitError(f"{self.hostname}: {what}{answer.get('error')}")


def rejected_of(answer: Mapping[str, Any]) -> tuple[Rejected, ...]:
    """Return the rows that the switch's YANG models reject, from an answer; raises any exception if it is malformed."""
    rejected = answer.get("rejected") or ()
    return tuple((str(table), str(key), str(field), str(words)) for table, key, field, words in rejected)


def new_id() -> str:
    """Return a new id for a commit, such as ``20261121-101500-7a12f3b20``.

    It ends with the microseconds and a random number, both in hex. Ids sort by time, by which a switch drops the
    rollback documents of the oldest commits.
    """
    seconds, microseconds = divmod(time.time_ns() // 1000, 1_000_000)
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(seconds))}-{microseconds:05x}{secrets.token_hex(2)}"


def _input_options(data: bytes) -> list[str]:
    """Return the options of the switch's program that announce the input."""
    return ["--length", str(len(data)), "--sha256", hashlib.sha256(data).hexdigest()]


def _observe_options(request: ObserveRequest | None) -> list[str]:
    """Return the options of the switch's program that select these observations."""
    words: list[str] = []
    if request is None:
        return words
    if request.state:
        words.append("--observe")
    if request.counters:
        words.append("--counters")
        if request.over_s:
            words += ["--over", f"{request.over_s:g}"]
    return words


def _digest_options(reading: Reading) -> list[str]:
    """Return the options of the switch's program that name the configuration of a reading."""
    return ["--config", reading.tables_digest, "--frr", reading.frr_digest]


def _unconfirmed_text(answer: Mapping[str, Any]) -> str:
    """Return in words why no commit was confirmed, from the answer to the confirmation."""
    status = answer["status"]["status"]
    return {
        "none": "no commit waits for a confirmation",
        "confirmed": "the commit is confirmed already",
        "reverted": "the time was over: the switch has restored the earlier configuration",
        "expired": "the time is over and the switch has not restored the earlier configuration yet; call rollback()",
    }.get(status, str(answer.get("error") or status))
