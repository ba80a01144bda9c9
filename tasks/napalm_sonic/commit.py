"""A commit from candidate to running configuration, or back: one transaction of the switch's own program.

    read → the delta, its steps and the steps back → the switch applies it under its timer and reads back
         → FRR's lines compared with our model → confirmed and saved, or armed until the confirmation

The switch refuses a change of rows that differ from the reading, and reverts a failed one by itself.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from napalm.base.exceptions import CommitConfirmException, CommitError

from napalm_sonic.candidate import Candidate
from napalm_sonic.codec import error_of, some
from napalm_sonic.drain import TemporaryDrain, Traffic, check_revert_in
from napalm_sonic.lock import who
from napalm_sonic.program import SwitchProgram, new_id, rejected_of
from napalm_sonic.reading import Reading, status_of
from railweave.printable import printable
from railweave.secrets import secret_values, shown_key, shown_text
from railweave.sonic.delta.change import Change, Delta, Method
from railweave.sonic.delta.delta import applied, inverse, lines_of
from railweave.sonic.delta.kept import with_removals
from railweave.sonic.delta.merge import MergeDocument, merge_document
from railweave.sonic.delta.methods import classify
from railweave.sonic.delta.recreate import set_again
from railweave.sonic.delta.rejected import REMEDY, rejected_place, unasked
from railweave.sonic.delta.steps import PatchStep, Step, rollback_document, steps_of, undo_steps_of
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig
from railweave.sonic.frr import FrrDocument, FrrEntry, delta_text, frr_difference, parse_frr
from railweave.sonic.frr.document import never_compared
from railweave.sonic.rows import FRR_TABLE
from railweave.switch_driver import AppliedChange, CommitStatus, ObserveRequest
from railweave_switch.state import TransactionKind
from railweave_switch.state_forms import VERSION

UNATTENDED_S = 300.0
"""The timer of a commit that is confirmed at once, in addition to the time of a reload."""


AMENDMENTS = 3
"""How often missing FRR lines are sent after a reload, at most."""


@dataclass(frozen=True)
class Work:
    """A commit: the reading before it, the delta and its steps."""

    commit_id: str
    before: Reading
    delta: Delta
    steps: tuple[Step, ...]

    @cached_property
    def after(self) -> RunningConfig:
        """Return the intended configuration."""
        return applied(self.delta, self.before.running)


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
        """Raise CommitError where a delta reloads and the options refuse that."""
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

        The switch refuses it if a row that it changes, or FRR, differs from ``before``, or if another transaction came
        since. ``request`` selects the observations in its answer. ``generation`` has the number of the generation that
        the delta was made for (``was``), which the switch must still have, and the new one (``now``), which it stores
        with the confirmation. The switch's YANG models are checked unless the delta ``restores`` an earlier state.
        """
        try:
            work = Work(commit_id or new_id(), before, delta, steps_of(delta, before.running))
            options = {"check": not restores, "lasting": revert_in_s is None}
            # No name here holds the transaction, so `apply` can drop it while the switch works on its text.
            answer = self.program.apply(
                {**self._transaction(work, message, revert_in_s, drain, generation), **options}, request
            )
        except DocumentError as error:
            raise CommitError(f"{self.hostname}: {error}") from error
        self._judge(self._with_frr(work, answer, revert_in_s, request), work)
        complaint = ""
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
        """Apply a delta that was made for the last reading."""
        before = self.program.last_reading or self.program.read()
        drain = self._pending_drain(before)
        return self.execute(
            delta, before, message, revert_in_s, drain, request, generation, restores=restores, commit_id=commit_id
        )

    def confirm_pending(self, made: str = "", sent: str = "") -> None:
        """Confirm the pending commit and save; raises CommitConfirmException if none is pending, or another one than
        ``made`` and ``sent``, whose answer may have been lost.

        The switch ends a temporary drain first: the startup configuration never has one.
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
        own = {made, sent}
        if self.drain is not None:
            own.add(self.drain.commit_id)
        # All of these are empty for a session that made nothing.
        return status.commit_id != "" and status.commit_id in own

    def _pending_drain(self, now: Reading) -> TemporaryDrain | None:
        """Return the temporary drain that the commit supersedes; raises CommitError if it has ended."""
        drain = self.drain
        if drain is None or not drain.commit_id or drain.commit_id != now.status.commit_id:
            return None
        if not now.status.drains or now.status.overdue:
            raise CommitError(
                f"{self.hostname}: the temporary drain was over ({now.status.state}) before the change began; "
                f"nothing was applied, drain again with a longer time"
            )
        return drain

    def _head(self, work: Work, revert_in_s: int | None) -> dict[str, Any]:
        """Return the common members of a transaction and its amendment."""
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
        checked = _with_rows_set_again(merge_document(work.delta), work.delta, before, work.after)
        supersedes = ""
        if drain is not None:
            supersedes = drain.commit_id
        frr_before = ""
        if _changes_frr(work.delta):
            frr_before = work.before.frr_digest
        return {
            **self._head(work, revert_in_s),
            "by": who(),
            "message": message,
            "last": work.before.status.commit_id,
            "generation": dict(generation or {}),
            "supersedes": supersedes,
            "before": _part(checked, before),
            "frr_before": frr_before,
            "frr_ignored": never_compared(before.frr_document, work.after.frr_document),
            "steps": [step_document(step) for step in work.steps],
            "after": _part(checked, work.after),
            "rollback": _rollback_of(work, drain),
        }

    def _amendment(self, work: Work, text: str, revert_in_s: int | None) -> dict[str, Any]:
        """Return an amendment of an armed transaction with further FRR lines; its rollback document covers them too."""
        return {
            **self._head(work, revert_in_s),
            "last": work.commit_id,
            "steps": [{"kind": "vtysh", "text": text}],
            "before": {},
            "after": _part(merge_document(work.delta), work.after),
            "rollback": {},
        }

    def _refuse_when_moved(self, delta: Delta, compared: Delta) -> None:
        """Raise CommitError if the delta of a candidate differs from the comparison."""
        only_now = [change for change in delta if change not in compared.changes]
        only_then = [change for change in compared if change not in delta.changes]
        moved = list(dict.fromkeys(map(_place, [*only_now, *only_then])))
        if moved:
            raise CommitError(
                f"{self.hostname}: changed by somebody else since the comparison: {', '.join(moved[:5])}; "
                f"nothing was applied, compare again"
            )

    def _with_frr(
        self, work: Work, answer: dict[str, Any], revert_in_s: int | None, request: ObserveRequest | None
    ) -> dict[str, Any]:
        """Compare FRR with the model; after a reload first apply the lines that FRR's startup file lacks.

        Return the answer, or that of a revert if lines are missing.
        """
        if answer.get("outcome") != "applied" or (not _changes_frr(work.delta) and not work.delta.reloads):
            return answer
        if work.delta.reloads:
            answer = self._amended(work, answer, revert_in_s, request)
            if answer.get("outcome") != "applied":
                return answer
        unmet = frr_unmet(work.delta, self._frr_of(answer), work.after.frr_document)
        if not unmet:
            return answer
        ended = self.program.revert(commit_id=work.commit_id)
        return {"outcome": ended.state, "error": f"not as wanted when read back: {some(unmet)}", "missing": []}

    def _amended(
        self, work: Work, answer: dict[str, Any], revert_in_s: int | None, request: ObserveRequest | None
    ) -> dict[str, Any]:
        """Send missing FRR lines after a reload and return the last answer.

        A daemon that is still loading its startup file may undo some of them, so they are sent several times.
        """
        wanted = work.after.frr_document
        for _ in range(AMENDMENTS):
            now = self._frr_of(answer)
            if wanted is None or now is None:
                return answer
            text = delta_text(*_left(work.delta, now, wanted))
            if not text:
                return answer
            answer = self.program.amend(self._amendment(work, text, revert_in_s), request)
            if answer.get("outcome") != "applied":
                return answer
        return answer

    def _frr_of(self, answer: Mapping[str, Any]) -> FrrDocument | None:
        """Return FRR's configuration after an answer; the last reading has it parsed already."""
        reading = self.program.last_reading
        if reading is not None:
            return reading.running.frr_document
        text = (answer.get("frr") or {}).get("text")
        if text is None:
            return None
        return parse_frr(text)

    def _judge(self, answer: Mapping[str, Any], work: Work) -> None:
        """Raise CommitError unless the change was applied; secrets of ``work`` are hidden in the switch's output."""
        if answer.get("outcome") == "applied":
            return
        secrets = _secrets(work)
        reason = error_of(answer, secrets)
        if answer.get("code") == "invalid":
            reason = _invalid(answer, secrets)
        elif answer.get("code") == "unasked":
            reason = f"{unasked(reason)} ({REMEDY})"
        fault = CommitError(f"{self.hostname}: {reason}; {_ending(answer, secrets)}")
        quote = (answer.get("refused") or {}).get("said")
        if quote:
            fault.add_note(printable(shown_text(str(quote), secrets)))
        raise fault


def _ending(answer: Mapping[str, Any], secrets: Collection[str]) -> str:
    """Describe what runs on the switch after a change that was not applied."""
    status = answer.get("status")
    if answer.get("outcome") == "reverted":
        return _restored(status)
    if answer.get("outcome") == "failed" and answer.get("missing"):
        missing = some([shown_text(str(place), secrets) for place in answer["missing"]])
        return f"the earlier configuration could not be restored, missing: {missing}; rollback() tries again"
    if status and status_of(status).pending and answer.get("code") == "pending":
        return "confirm_commit() keeps it, rollback() undoes it"
    return "nothing was applied"


def _restored(status: Mapping[str, Any] | None) -> str:
    """Describe a switch whose change was reverted, with the daemons that the change ended."""
    broken = ""
    if status:
        broken = status_of(status).broken
    if broken:
        return f"the earlier configuration is restored, but {broken}"
    return "the earlier configuration is restored"


def _invalid(answer: Mapping[str, Any], secrets: Collection[str]) -> str:
    """Describe the rows that the switch's YANG models reject, without ``secrets``."""
    places = [f"{rejected_place(rejected)}: {shown_text(rejected[3], secrets)}" for rejected in rejected_of(answer)]
    return f"the switch's YANG models refuse {some(places)}"


def _reloading_rows(delta: Delta) -> list[str]:
    """Return the rows for which a delta reloads, as TABLE|KEY."""
    rows = [change for change in delta if change.method is Method.RELOAD and change.table != FRR_TABLE]
    # Where a delta reloads, every change has that method; classify() tells which of them need it.
    needed = [change for change in rows if classify(change).method is Method.RELOAD]
    return list(dict.fromkeys(map(_place, needed or rows)))


def _place(change: Change) -> str:
    if change.table == FRR_TABLE:
        return "FRR"
    return f"{change.table}|{shown_key(change.table, change.key)}"


def _secrets(work: Work) -> frozenset[str]:
    """Return the secrets that a device may quote when it refuses a change: those of the delta and of the whole running
    configuration, which SONiC checks as well."""
    before = work.before.running
    return secret_values(merge_document(work.delta)) | secret_values({**before.config_db, BGPRAW: before.frr or ""})


class Changes:
    """Applies planned changes: ``driver.changes``, beside NAPALM's own methods."""

    def __init__(self, program: SwitchProgram, traffic: Traffic) -> None:
        self._program = program
        self._traffic = traffic

    @property
    def committer(self) -> Committer:
        """Return what a commit needs, under the temporary drain of this session if it has one."""
        return Committer(self._program, self._traffic.temporary)

    def apply(
        self,
        delta: Delta,
        *,
        message: str = "",
        revert_in: int | None,
        request: ObserveRequest | None = None,
        generation: Mapping[str, Any] | None = None,
        restores: bool = False,
        commit_id: str = "",
    ) -> AppliedChange:
        """Apply exactly this delta, which was made for the last reading of this session.

        Nothing is read or compared before: the switch refuses the delta if the rows that it changes differ from that
        reading, or if its generation is not ``generation["was"]``; it stores ``generation["now"]`` with the
        confirmation. ``commit_id``, made by ``new_id``, names the commit even if its answer is lost; ``request``
        selects the observations in the answer. The switch's YANG models are checked first, unless the delta
        ``restores`` an earlier state. Raises what ``commit_config`` raises.
        """
        check_revert_in(revert_in)
        return self.committer.execute_planned(
            delta, message, revert_in, request, generation, restores=restores, commit_id=commit_id
        )

    def confirm(self, commit_id: str, *, only: Reading | None = None) -> bool:
        """Confirm and save this pending commit; raises what ``confirm_commit`` raises.

        With ``only`` it is confirmed only while exactly that reading is running; otherwise nothing is done and False
        is returned.
        """
        answer = self._program.confirm(commit_id, only)
        if answer.get("code") == "moved":
            return False
        raise_unsaved(self._program.hostname, answer)
        return True

    def revert(self, commit_id: str, *, pending: bool) -> None:
        """Revert this commit while it is ``pending``, or roll it back as the last confirmed one.

        Raises CommitError if another commit came since; the switch does nothing then.
        """
        if pending:
            self._program.revert(commit_id=commit_id)
        else:
            self._program.revert(commit=commit_id, last=commit_id)

    def save(self) -> None:
        """Save the running configuration; raises CommitError if a commit is pending, or if saving fails."""
        self._program.save()

    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the merge document that undoes a confirmed commit, with its secrets.

        ``revert_timer.status().commit_id`` names the last commit. Raises CommitError if the switch no longer has the
        document.
        """
        return self._program.rollback_document(commit_id)


def _came_after(made: str, status: CommitStatus) -> str:
    """Describe the transaction that came after the commit of this session."""
    return (
        f"{status.kind or 'transaction'} {status.commit_id or 'none'} by {status.by or 'another session'} came after "
        f"this session's commit {made}, which is over"
    )


def raise_unsaved(hostname: str, answer: Mapping[str, Any]) -> None:
    """Raise CommitError if a confirmed commit could not be saved."""
    if answer.get("error"):
        raise CommitError(f"{hostname}: the new configuration runs but could not be saved: {error_of(answer)}")


def _changes_frr(delta: Delta) -> bool:
    return any(change.table == FRR_TABLE for change in delta)


def frr_unmet(delta: Delta, now: FrrDocument | None, wanted: FrrDocument | None) -> list[str]:
    """Describe the FRR lines that differ from ``delta``; lines that others changed meanwhile do not count."""
    if now is None or wanted is None:
        return ["FRR (no answer)"]
    surplus, missing = _left(delta, now, wanted)
    lines = [f"FRR {entry.context} / {entry.shown}" for entry in missing]
    return lines + [f"FRR {entry.context} / {entry.shown} (too much)" for entry in surplus]


def _left(delta: Delta, now: FrrDocument, wanted: FrrDocument) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the lines that ``delta`` removes and FRR still has, and those that it adds and FRR lacks.

    A reload boots FRR's file, so after it all lines of the file must be there.
    """
    removed, added = map(frozenset, lines_of(delta))
    surplus, missing = frr_difference(now, wanted)
    return (
        tuple(entry for entry in surplus if entry in removed),
        tuple(entry for entry in missing if delta.reloads or entry in added),
    )


def step_document(step: Step) -> dict[str, Any]:
    """Return a step as the switch's program reads it."""
    if isinstance(step, PatchStep):
        return {"kind": "patch", "operations": [dict(operation) for operation in step.operations]}
    return dict(rollback_document([step])["steps"][0])


def _rollback_of(work: Work, drain: TemporaryDrain | None) -> dict[str, Any]:
    """Return the rollback of a transaction: the steps back, the rows after them, and the merge document for people."""
    before = work.before.running
    reverse = inverse(work.delta)
    undo = merge_document(reverse)
    undrained = before
    if drain is not None and before.frr_document is not None:
        # A reload in a revert boots FRR's file, so the file must not have the lines of the drain.
        undrained = before.with_frr(before.config_db, replace(before.frr_document, drain=drain.before))
    # A reload restores the rows as they were, a live rollback keeps those that must not be deleted.
    restored = before
    if not work.delta.reloads:
        restored = applied(reverse, work.after)
    return {
        "steps": [step_document(step) for step in undo_steps_of(work.delta, undrained, reverse)],
        "rows": _part(_with_rows_set_again(undo, reverse, work.after, before), restored),
        "undo": with_removals(undo, work.delta),
    }


def _with_rows_set_again(
    document: MergeDocument, delta: Delta, before: RunningConfig, after: RunningConfig
) -> MergeDocument:
    """Return a merge document that also has the rows that are deleted and set again to apply its changes."""
    named = {table: dict(rows) for table, rows in document.items() if table != BGPRAW}
    if delta.reloads:
        return named
    for table, key, fields in set_again(delta, before.config_db, after.config_db):
        row = named.setdefault(table, {}).setdefault(key, {})
        if row is not None:
            named[table][key] = {**fields, **row}
    return named


def _part(document: MergeDocument, running: RunningConfig) -> dict[str, Any]:
    """Return the rows and fields of a merge document with their running values, null if they do not exist."""
    return {
        table: {key: _fields_of(running.config_db.get(table, {}).get(key), fields) for key, fields in rows.items()}
        for table, rows in document.items()
        if table != BGPRAW and rows
    }


def _fields_of(row: Mapping[str, Any] | None, fields: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return those ``fields`` of a row, all of them where the merge document deletes the row (None)."""
    if row is None:
        return None
    if fields is None:
        return dict(row)
    return {name: row.get(name) for name in fields}
