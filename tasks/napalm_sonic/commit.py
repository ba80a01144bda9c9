"""A commit from candidate to running configuration, or back: one transaction of the switch's own program.

    read → the delta, its steps and the steps back → the switch applies it under its timer and reads back
         → FRR's lines compared with our model → confirmed and saved, or armed until the confirmation

The switch refuses a change of rows that differ from the reading, and reverts a failed one by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from napalm.base.exceptions import CommitConfirmException, CommitError

from napalm_sonic.candidate import Candidate
from napalm_sonic.codec import error_of, some
from napalm_sonic.drain import TemporaryDrain
from napalm_sonic.frr_lines_left import changes_frr, frr_unmet, lines_left
from napalm_sonic.lock import who
from napalm_sonic.program import SwitchProgram, new_id
from napalm_sonic.reading import Reading
from napalm_sonic.refused_change import ending_text, raise_unsaved, rejected_rows_text
from napalm_sonic.work import Work, part_of, rollback_of, step_document, with_rows_set_again
from railweave.printable import printable
from railweave.secrets import secret_values, shown_key, shown_text
from railweave.sonic.delta.change import Change, Delta, Method
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.delta.methods import classify
from railweave.sonic.delta.rejected import REMEDY, unasked
from railweave.sonic.delta.steps import steps_of
from railweave.sonic.document import BGPRAW, DocumentError
from railweave.sonic.frr import FrrDocument, delta_text, parse_frr
from railweave.sonic.frr.document import never_compared
from railweave.sonic.rows import FRR_TABLE
from railweave.switch_driver import AppliedChange, CommitStatus, ObserveRequest
from railweave_switch.state import TransactionKind
from railweave_switch.state_forms import VERSION

UNATTENDED_S = 300.0
"""The timer of a commit that is confirmed at once, in addition to the time of a reload."""


AMENDMENTS = 3
"""How often missing FRR lines are sent after a reload, at most."""


@dataclass(frozen=True, slots=True)
class Committer:
    """Commits and rolls back on one device.

    ``drain`` is this session's temporary drain, which a commit supersedes: a revert of the commit ends the drain too.
    """

    program: SwitchProgram
    drain: TemporaryDrain | None = None

    @property
    def hostname(self) -> str:
        """Return the name that messages begin with."""
        return self.program.hostname

    def commit(
        self, candidate: Candidate, compared: Delta | None, message: str, revert_in_s: int | None, commit_id: str = ""
    ) -> str:
        """Apply the candidate; return the commit's id, ``commit_id`` or a new one, empty if there are no changes.

        ``compared`` is the delta of the last comparison, if there was one. Raises CommitError; unless the message says
        otherwise, the earlier configuration is restored.
        """
        before = self.program.read()
        drain = self._pending_drain(before)
        try:
            delta = candidate.delta(before.running)
        except DocumentError as error:
            raise CommitError(f"{self.hostname}: {error}") from error
        if compared is not None:
            self._refuse_when_moved(delta, compared)
        if not delta:
            return ""
        self._refuse_reload(delta)
        return self.execute(delta, before, message, revert_in_s, drain, commit_id=commit_id).commit_id

    def _refuse_reload(self, delta: Delta) -> None:
        """Raise CommitError if a delta reloads the switch and the options refuse that."""
        if not delta.reloads or not self.program.caller.options.refuse_reload:
            return
        raise CommitError(
            f"{self.hostname}: {some(_reloading_rows(delta))} cannot change without a reload of the switch, which the "
            f"optional_args 'refuse_reload' refuses; nothing was applied"
        )

    def execute(
        self,
        delta: Delta,
        before: Reading,
        message: str,
        revert_in_s: int | None,
        drain: TemporaryDrain | None = None,
        request: ObserveRequest | None = None,
        generation: Mapping[str, Any] | None = None,
        *,
        restores: bool = False,
        commit_id: str = "",
    ) -> AppliedChange:
        """Apply a delta that was made for the configuration ``before``; ``commit_id`` names the commit.

        The switch refuses the delta if a row that it changes, or FRR, differs from ``before``, or if another
        transaction came since. ``request`` selects the observations in its answer. ``generation`` has the number of the
        generation that the delta was made for (``was``), which the switch must still have, and the new one (``now``),
        which it stores with the confirmation. The switch's YANG models are checked unless the delta ``restores`` an
        earlier state. Raises CommitError.
        """
        try:
            work = Work(commit_id or new_id(), before, delta, steps_of(delta, before.running))
            options = {"check": not restores, "lasting": revert_in_s is None}
            # No variable here refers to the transaction, so `apply` can free it while the switch works.
            answer = self.program.apply(
                {**self._transaction(work, message, revert_in_s, drain, generation), **options}, request
            )
        except DocumentError as error:
            raise CommitError(f"{self.hostname}: {error}") from error
        last_answer = self._check_frr(work, answer, revert_in_s, request)
        self._raise_unless_applied(last_answer, work)
        complaint = ""
        # A reload may report an error although all rows are as intended.
        if answer.get("refused"):
            complaint = error_of(answer, _secrets(work))
        applied = AppliedChange(work.commit_id, self.program.last_reading, complaint)
        if revert_in_s is None:
            raise_unsaved(self.hostname, self.program.confirm(work.commit_id))
        return applied

    def execute_planned(
        self,
        delta: Delta,
        message: str,
        revert_in_s: int | None,
        request: ObserveRequest | None,
        generation: Mapping[str, Any] | None,
        *,
        restores: bool,
        commit_id: str,
    ) -> AppliedChange:
        """Apply a delta that was made for the last reading, under this session's drain; see ``execute``."""
        before = self.program.last_reading or self.program.read()
        drain = self._pending_drain(before)
        return self.execute(
            delta,
            before,
            message,
            revert_in_s,
            drain=drain,
            request=request,
            generation=generation,
            restores=restores,
            commit_id=commit_id,
        )

    def confirm_pending(self, made: str = "", sent: str = "") -> None:
        """Confirm the pending commit and save the configuration.

        ``made`` is the last commit of this session, empty if it made none, and ``sent`` one whose answer may have been
        lost. Raises CommitConfirmException if no commit is pending, or if ``made`` is given and another session's
        commit is pending. The switch ends a temporary drain first: the startup configuration never has one.
        """
        status = self.program.status()
        if made and status.pending and status.commit_id not in (made, sent):
            raise CommitConfirmException(f"{self.hostname}: {_came_after(made, status)}; nothing was confirmed")
        if status.drains:
            raise CommitConfirmException(
                f"{self.hostname}: no commit waits to be confirmed, only a temporary drain: undrain() ends it"
            )
        raise_unsaved(self.hostname, self.program.confirm(status.commit_id))

    def rollback(self, made: str = "", sent: str = "", *, waiting_only: bool = False) -> None:
        """Revert a pending or unfinished commit, else roll back the last one; raises CommitError if there is none.

        If this session ``made`` a commit, only that one and its drain are rolled back, and CommitError is raised if
        another session's commit came since. ``sent`` is a commit of this session whose answer may have been lost.
        ``waiting_only``: roll back nothing that was confirmed.
        """
        status = self.program.status()
        is_own = self._is_own(status, made, sent)
        if waiting_only and not (status.pending and is_own):
            return
        if made and not is_own:
            self._refuse_later(status, made)
        if status.pending:
            self.program.revert(commit_id=status.commit_id)
        elif status.kept:
            self.program.revert(commit=status.kept, last=status.commit_id)
        else:
            raise CommitError(f"{self.hostname}: there is no commit to roll back")

    def _refuse_later(self, status: CommitStatus, made: str) -> None:
        """Raise CommitError if another session's transaction came after the commit ``made``."""
        if status.pending or status.kept != made:
            raise CommitError(f"{self.hostname}: {_came_after(made, status)}; nothing was rolled back")

    def _is_own(self, status: CommitStatus, made: str, sent: str) -> bool:
        """Tell whether the last transaction is a commit or the drain of this session."""
        own_ids = {made, sent}
        if self.drain is not None:
            own_ids.add(self.drain.commit_id)
        # A session that changed nothing has empty ids, and so has the status of a switch that was never changed.
        return status.commit_id != "" and status.commit_id in own_ids

    def _pending_drain(self, reading: Reading) -> TemporaryDrain | None:
        """Return the temporary drain of this session that a commit supersedes, None if there is none.

        Raises CommitError if the time of the drain is over.
        """
        drain = self.drain
        status = reading.status
        # Without an id no timer runs; with another id a transaction came after the drain.
        if drain is None or not drain.commit_id or drain.commit_id != status.commit_id:
            return None
        if not status.drains or status.overdue:
            raise CommitError(
                f"{self.hostname}: the temporary drain was over ({status.state}) before the change began; "
                f"nothing was applied, drain again with a longer time"
            )
        return drain

    def _common_members(self, work: Work, revert_in_s: int | None) -> dict[str, Any]:
        """Return the members that a transaction and its amendment have in common."""
        options = self.program.caller.options
        deadline_s: float | None = revert_in_s
        if deadline_s is None:
            deadline_s = options.reload_timeout_s + UNATTENDED_S
        return {
            "version": VERSION,
            "id": work.commit_id,
            "kind": TransactionKind.COMMIT,
            "deadline_s": deadline_s,
            "step_timeout_s": options.apply_timeout_s,
        }

    def _transaction(
        self,
        work: Work,
        message: str,
        revert_in_s: int | None,
        drain: TemporaryDrain | None,
        generation: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Return the transaction of a commit, as the switch's program reads it (``railweave_switch.transaction``)."""
        before = work.before.running
        written_rows = with_rows_set_again(merge_document(work.delta), work.delta, before, work.after)
        supersedes = ""
        if drain is not None:
            supersedes = drain.commit_id
        frr_before = ""
        if changes_frr(work.delta):
            frr_before = work.before.frr_digest
        return {
            **self._common_members(work, revert_in_s),
            "by": who(),
            "message": message,
            "last": work.before.status.commit_id,
            "generation": dict(generation or {}),
            "supersedes": supersedes,
            "before": part_of(written_rows, before),
            "frr_before": frr_before,
            "frr_ignored": never_compared(before.frr_document, work.after.frr_document),
            "steps": [step_document(step) for step in work.steps],
            "after": part_of(written_rows, work.after),
            "rollback": rollback_of(work, drain),
        }

    def _amendment(self, work: Work, text: str, revert_in_s: int | None) -> dict[str, Any]:
        """Return an amendment of an armed transaction with further FRR lines; its rollback document covers them too."""
        return {
            **self._common_members(work, revert_in_s),
            "last": work.commit_id,
            "steps": [{"kind": "vtysh", "text": text}],
            "before": {},
            "after": part_of(merge_document(work.delta), work.after),
            "rollback": {},
        }

    def _refuse_when_moved(self, delta: Delta, compared: Delta) -> None:
        """Raise CommitError if the delta of a candidate differs from ``compared``, that of the last comparison."""
        new_changes = [change for change in delta if change not in compared.changes]
        dropped_changes = [change for change in compared if change not in delta.changes]
        rows = list(dict.fromkeys(map(_row_of, [*new_changes, *dropped_changes])))
        if rows:
            raise CommitError(
                f"{self.hostname}: changed by somebody else since the comparison: {', '.join(rows[:5])}; "
                f"nothing was applied, compare again"
            )

    def _check_frr(
        self, work: Work, answer: dict[str, Any], revert_in_s: int | None, request: ObserveRequest | None
    ) -> dict[str, Any]:
        """Compare FRR with the intended lines; after a reload first apply those that FRR's startup file lacks.

        Revert the commit if its lines are not in force. Return the last answer of the switch: ``answer``, that to the
        amendment, or one that describes the revert.
        """
        if answer.get("outcome") != "applied":
            return answer
        # A reload starts FRR from its file, whether or not the delta changes lines.
        may_differ = changes_frr(work.delta) or work.delta.reloads
        if not may_differ:
            return answer
        if work.delta.reloads:
            answer = self._amend_frr(work, answer, revert_in_s, request)
            if answer.get("outcome") != "applied":
                return answer
        unmet = frr_unmet(work.delta, self._frr_of(answer), work.after.frr_document)
        if not unmet:
            return answer
        status = self.program.revert(commit_id=work.commit_id)
        return {"outcome": status.state, "error": f"not as wanted when read back: {some(unmet)}", "missing": []}

    def _amend_frr(
        self, work: Work, answer: dict[str, Any], revert_in_s: int | None, request: ObserveRequest | None
    ) -> dict[str, Any]:
        """Send missing FRR lines after a reload, and return the last answer of the switch.

        A daemon that is still loading its startup file may undo some of the lines, so they are sent several times.
        """
        intended = work.after.frr_document
        for _ in range(AMENDMENTS):
            actual = self._frr_of(answer)
            # FRR is unknown, so nothing is known to be missing; the comparison that follows reports it.
            if intended is None or actual is None:
                return answer
            text = delta_text(*lines_left(work.delta, actual, intended))
            if not text:
                return answer
            answer = self.program.amend(self._amendment(work, text, revert_in_s), request)
            if answer.get("outcome") != "applied":
                return answer
        return answer

    def _frr_of(self, answer: Mapping[str, Any]) -> FrrDocument | None:
        """Return FRR's configuration after an answer, None if FRR did not answer.

        If there is a last reading, it has the configuration parsed already.
        """
        reading = self.program.last_reading
        if reading is not None:
            return reading.running.frr_document
        text = (answer.get("frr") or {}).get("text")
        if text is None:
            return None
        return parse_frr(text)

    def _raise_unless_applied(self, answer: Mapping[str, Any], work: Work) -> None:
        """Raise CommitError unless the change was applied; secrets of ``work`` are hidden in the switch's output."""
        if answer.get("outcome") == "applied":
            return
        secrets = _secrets(work)
        reason = error_of(answer, secrets)
        # Two refusals by the YANG models: rows that they reject, and models that cannot be used.
        if answer.get("code") == "invalid":
            reason = rejected_rows_text(answer, secrets)
        elif answer.get("code") == "unasked":
            reason = f"{unasked(reason)} ({REMEDY})"
        error = CommitError(f"{self.hostname}: {reason}; {ending_text(answer, secrets)}")
        output = (answer.get("refused") or {}).get("said")
        if output:
            shown_output = shown_text(str(output), secrets)
            error.add_note(printable(shown_output))
        raise error


def _reloading_rows(delta: Delta) -> list[str]:
    """Return the rows that make a delta reload the switch, as TABLE|KEY."""
    # Where a delta reloads, every change has that method; classify() tells which of them need it.
    changes = [change for change in delta if change.method is Method.RELOAD and change.table != FRR_TABLE]
    causes = [change for change in changes if classify(change).method is Method.RELOAD]
    return list(dict.fromkeys(map(_row_of, causes or changes)))


def _row_of(change: Change) -> str:
    """Return the row of a change as TABLE|KEY, its secrets hidden; ``FRR`` for a line of FRR."""
    if change.table == FRR_TABLE:
        return "FRR"
    return f"{change.table}|{shown_key(change.table, change.key)}"


def _secrets(work: Work) -> frozenset[str]:
    """Return the secrets that a device may quote when it refuses a change.

    They are those of the delta and of the whole running configuration, which SONiC checks as well.
    """
    before = work.before.running
    return secret_values(merge_document(work.delta)) | secret_values({**before.config_db, BGPRAW: before.frr or ""})


def _came_after(made: str, status: CommitStatus) -> str:
    """Describe the transaction that came after the commit of this session."""
    return (
        f"{status.kind or 'transaction'} {status.commit_id or 'none'} by {status.by or 'another session'} came after "
        f"this session's commit {made}, which is over"
    )
