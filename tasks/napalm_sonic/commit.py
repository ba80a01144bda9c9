"""A commit from candidate to running configuration, or back: one transaction of the switch's own program.

    read → what changes, by which steps, and back → the switch applies it under its timer and reads back
         → FRR's lines compared with our model of them → kept and saved, or left to the confirmation

The switch refuses what moved meanwhile, and reverts by itself whatever fails.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from napalm.base.exceptions import CommitConfirmException, CommitError

from napalm_sonic.candidate import Candidate
from napalm_sonic.codec import error_of, some
from napalm_sonic.drain import TemporaryDrain, check_revert_in
from napalm_sonic.lock import who
from napalm_sonic.observed import Look
from napalm_sonic.program import SwitchProgram, new_id, rejected_of
from napalm_sonic.reading import Reading, Status, status_of
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
from railweave_switch.state import TransactionKind
from railweave_switch.state_forms import VERSION


@dataclass(frozen=True, slots=True)
class Applied:
    """A commit under its timer: its id, and what the switch said of itself right after it, None where that is lost.

    ``complaint`` is the error of a reload whose rows are there all the same.
    """

    commit_id: str
    reading: Reading | None = None
    complaint: str = ""


UNATTENDED_S = 300.0
"""A commit that is kept at once still runs under the switch's timer, so long beside the time of a reload."""


AMENDMENTS = 3
"""How often the lines of FRR are sent after a reload, at most."""


@dataclass(frozen=True)
class Work:
    """One commit: what changes, from what, by which steps."""

    commit_id: str
    before: Reading
    delta: Delta
    steps: tuple[Step, ...]

    @cached_property
    def after(self) -> RunningConfig:
        """Return what is to run afterwards."""
        return applied(self.delta, self.before.running)


@dataclass(frozen=True, slots=True)
class Committer:
    """What a commit needs of one device.

    ``drain`` is the temporary drain of this session that the commit is made under; whatever undoes it ends the drain.
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
        """Apply the candidate; return the commit's id, ``commit_id`` or a new one, empty where it changes nothing.

        Raises CommitError, with the earlier configuration restored unless it says otherwise. ``compared`` is what it
        changed in the last comparison, if there was one.
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
        look: Look | None = None,
        generation: Mapping[str, Any] | None = None,
        *,
        restores: bool = False,
        commit_id: str = "",
    ) -> Applied:
        """Carry out a delta made for the configuration ``before``, as it is; ``commit_id`` names the commit.

        The switch refuses it where a row that it changes, or FRR, is no longer as in ``before``, or where another
        transaction came since, whatever it changed. ``look`` is what
        its answer is to show. ``generation`` is what the switch keeps once it is confirmed (``now``), and the number
        of the one that the delta was made for (``was``), which the switch must still have. The switch also refuses what
        its YANG models do, unless the delta ``restores`` what was there before.
        """
        try:
            work = Work(commit_id or new_id(), before, delta, steps_of(delta, before.running))
            # No name here holds the transaction, so `apply` can drop it while the switch works on its text.
            answer = self.program.apply(
                {
                    **self._transaction(work, message, revert_in_s, drain, generation),
                    "check": not restores,
                    "lasting": revert_in_s is None,
                },
                look,
            )
        except DocumentError as error:
            raise CommitError(f"{self.hostname}: {error}") from error
        self._judge(self._with_frr(work, answer, revert_in_s, look), work)
        complaint = ""
        if answer.get("refused"):
            complaint = error_of(answer, _secrets(work))
        applied = Applied(work.commit_id, self.program.last_reading, complaint)
        if revert_in_s is None:
            raise_unsaved(self.hostname, self.program.confirm(work.commit_id))
        return applied

    def execute_planned(
        self,
        delta: Delta,
        message: str,
        revert_in_s: int | None,
        look: Look | None,
        generation: Mapping[str, Any] | None,
        *,
        restores: bool,
        commit_id: str,
    ) -> Applied:
        """Carry out a delta made for what was read last."""
        before = self.program.last_reading or self.program.read()
        drain = self._pending_drain(before)
        return self.execute(
            delta, before, message, revert_in_s, drain, look, generation, restores=restores, commit_id=commit_id
        )

    def confirm_pending(self, made: str = "", sent: str = "") -> None:
        """Keep the pending commit and save; raises CommitConfirmException where none waits, or another than ``made``
        and than ``sent``, whose answer may have been lost.

        What it was drained for ends first: a saved configuration never holds a temporary drain.
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
        """Revert a pending or unfinished commit, else undo the last one; raises CommitError where there is none.

        Where this session ``made`` one, nothing is undone but that and its drain, and CommitError is raised where
        another session's came since. ``sent`` is this session's as well, although its answer may have been lost.
        ``waiting_only``: nothing is undone that was confirmed.
        """
        status = self.program.status()
        own = {made, sent}
        if self.drain is not None:
            own.add(self.drain.commit_id)
        is_own = status.commit_id != "" and status.commit_id in own
        if waiting_only and not (status.pending and is_own):
            return
        if made and not is_own and (status.pending or status.last != made):
            raise CommitError(f"{self.hostname}: {_came_after(made, status)}; nothing was rolled back")
        if status.pending:
            self.program.revert(commit_id=status.commit_id)
        elif status.last:
            self.program.revert(commit=status.last, last=status.commit_id)
        else:
            raise CommitError(f"{self.hostname}: there is no commit to roll back")

    def _pending_drain(self, now: Reading) -> TemporaryDrain | None:
        """Return the drain that the commit takes over; raises CommitError where it ended."""
        drain = self.drain
        if drain is None or not drain.commit_id or drain.commit_id != now.status.commit_id:
            return None
        if not now.status.drains or now.status.overdue:
            raise CommitError(
                f"{self.hostname}: the temporary drain was over ({now.status.status}) before the change began; "
                f"nothing was applied, drain again with a longer time"
            )
        return drain

    def _head(self, work: Work, revert_in_s: int | None) -> dict[str, Any]:
        """Return what the transaction and its amendment begin with."""
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
        before = work.before.running
        changes = merge_document(work.delta)
        way_back = inverse(work.delta)
        undo = merge_document(way_back)
        checked = _with_rows_set_again(changes, work.delta, before, work.after)
        undrained = before
        if drain is not None and before.frr_document is not None:
            # A reload on a revert boots its file, so the file must not hold the drain.
            undrained = before.with_frr(before.config_db, replace(before.frr_document, drain=drain.before))
        back = undo_steps_of(work.delta, undrained, way_back)
        # A reload restores the rows as they were, a live rollback keeps those that must not be deleted.
        restored = before
        if not work.delta.reloads:
            restored = applied(way_back, work.after)
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
            "rollback": {
                "steps": [step_document(step) for step in back],
                "rows": _part(_with_rows_set_again(undo, way_back, work.after, before), restored),
                "undo": with_removals(undo, work.delta),
            },
        }

    def _amendment(self, work: Work, text: str, revert_in_s: int | None) -> dict[str, Any]:
        """Return further lines of FRR for a transaction that the switch holds, with its rollback document."""
        return {
            **self._head(work, revert_in_s),
            "last": work.commit_id,
            "steps": [{"kind": "vtysh", "text": text}],
            "before": {},
            "after": _part(merge_document(work.delta), work.after),
            "rollback": {},
        }

    def _refuse_when_moved(self, delta: Delta, compared: Delta) -> None:
        """Raise CommitError where a candidate changes something else now than it did in the comparison."""
        only_now = [change for change in delta if change not in compared.changes]
        only_then = [change for change in compared if change not in delta.changes]
        moved = list(dict.fromkeys(map(_place, [*only_now, *only_then])))
        if moved:
            raise CommitError(
                f"{self.hostname}: changed by somebody else since the comparison: {', '.join(moved[:5])}; "
                f"nothing was applied, compare again"
            )

    def _with_frr(
        self, work: Work, answer: dict[str, Any], revert_in_s: int | None, look: Look | None
    ) -> dict[str, Any]:
        """Hold FRR's lines against our model; a reload boots FRR's file, which is brought to the lines first.

        A daemon that still loads what it boots may undo some of them, so they are sent again while lines are missing.
        """
        if answer.get("outcome") != "applied" or (not _changes_frr(work.delta) and not work.delta.reloads):
            return answer
        if work.delta.reloads:
            answer = self._amended(work, answer, revert_in_s, look)
            if answer.get("outcome") != "applied":
                return answer
        unmet = frr_unmet(work.delta, self._frr_of(answer), work.after.frr_document)
        if not unmet:
            return answer
        ended = self.program.revert(commit_id=work.commit_id)
        return {"outcome": ended.status, "error": f"not as wanted when read back: {some(unmet)}", "missing": []}

    def _amended(
        self, work: Work, answer: dict[str, Any], revert_in_s: int | None, look: Look | None
    ) -> dict[str, Any]:
        """Send FRR's missing lines after a reload, again while lines are missing; return the last answer."""
        wanted = work.after.frr_document
        for _ in range(AMENDMENTS):
            now = self._frr_of(answer)
            if wanted is None or now is None:
                return answer
            text = delta_text(*_left(work.delta, now, wanted))
            if not text:
                return answer
            answer = self.program.amend(self._amendment(work, text, revert_in_s), look)
            if answer.get("outcome") != "applied":
                return answer
        return answer

    def _frr_of(self, answer: Mapping[str, Any]) -> FrrDocument | None:
        """Return FRR's lines in an answer; they are parsed once."""
        reading = self.program.last_reading
        if reading is not None:
            return reading.running.frr_document
        text = (answer.get("frr") or {}).get("text")
        if text is None:
            return None
        return parse_frr(text)

    def _judge(self, answer: Mapping[str, Any], work: Work) -> None:
        """Raise CommitError unless the change was applied; quotes of the switch are without the secrets of ``work``."""
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
        broken = ""
        if status:
            broken = status_of(status).broken
        if broken:
            return f"the earlier configuration is restored, but {broken}"
        return "the earlier configuration is restored"
    if answer.get("outcome") == "failed" and answer.get("missing"):
        missing = some([shown_text(str(place), secrets) for place in answer["missing"]])
        return f"the earlier configuration could not be restored, missing: {missing}; rollback() tries again"
    if status and status_of(status).pending and answer.get("code") == "pending":
        return "confirm_commit() keeps it, rollback() undoes it"
    return "nothing was applied"


def _invalid(answer: Mapping[str, Any], secrets: Collection[str]) -> str:
    """Return what the switch's YANG models refuse of a change, without ``secrets``."""
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
    """Return the secrets that a device may quote when it refuses a change: those that come and all that were, since
    SONiC checks the whole configuration."""
    before = work.before.running
    return secret_values(merge_document(work.delta)) | secret_values({**before.config_db, BGPRAW: before.frr or ""})


class Changes:
    """Changes that somebody else has planned: ``driver.changes``, beside NAPALM's own methods."""

    def __init__(self, committer: Callable[[], Committer]) -> None:
        self._committer = committer

    def apply(
        self,
        delta: Delta,
        *,
        message: str = "",
        revert_in: int | None,
        look: Look | None = None,
        generation: Mapping[str, Any] | None = None,
        restores: bool = False,
        commit_id: str = "",
    ) -> Applied:
        """Carry out exactly this delta, made for what this session read last; ``look`` is what the answer shows.

        ``commit_id``, made by ``new_id``, names the commit even where its answer is lost.

        Nothing is read or compared before: the switch refuses it where what it changes is not as it was read, or where
        it has not the generation ``generation["was"]``; ``generation["now"]`` is what it keeps with the confirmation.
        The switch's YANG models are asked first, unless the delta ``restores`` what was there before. Raises what
        ``commit_config`` does.
        """
        check_revert_in(revert_in)
        return self._committer().execute_planned(
            delta, message, revert_in, look, generation, restores=restores, commit_id=commit_id
        )

    def confirm(self, commit_id: str, *, only: Reading | None = None) -> bool:
        """Keep and save this pending commit and no other; raises what ``confirm_commit`` does.

        With ``only`` it is kept only while exactly that runs; False where something else does, and nothing was done.
        """
        committer = self._committer()
        answer = committer.program.confirm(commit_id, only)
        if answer.get("code") == "moved":
            return False
        raise_unsaved(committer.hostname, answer)
        return True

    def revert(self, commit_id: str, *, pending: bool) -> None:
        """Undo this commit and no other: revert it while it waits (``pending``), else roll it back as the last one.

        Raises CommitError where another one came since: the switch does nothing then.
        """
        program = self._committer().program
        if pending:
            program.revert(commit_id=commit_id)
        else:
            program.revert(commit=commit_id, last=commit_id)

    def save(self) -> None:
        """Let the switch boot what it runs; raises CommitError where a commit waits, or that failed."""
        self._committer().program.save()

    def rollback_document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the merge document that restores what a confirmed commit changed, with its secrets.

        ``revert_timer.status().commit_id`` names the last commit. Raises CommitError where the document is gone.
        """
        return self._committer().program.rollback_document(commit_id)


def _came_after(made: str, status: Status) -> str:
    """Return in words the transaction that came after the commit that a session made."""
    return (
        f"{status.kind or 'transaction'} {status.commit_id or 'none'} by {status.by or 'another session'} came after "
        f"this session's commit {made}, which is over"
    )


def raise_unsaved(hostname: str, answer: Mapping[str, Any]) -> None:
    """Raise CommitError where what was kept could not be saved."""
    if answer.get("error"):
        raise CommitError(f"{hostname}: the new configuration runs but could not be saved: {error_of(answer)}")


def _changes_frr(delta: Delta) -> bool:
    return any(change.table == FRR_TABLE for change in delta)


def frr_unmet(delta: Delta, now: FrrDocument | None, wanted: FrrDocument | None) -> list[str]:
    """Return the lines of FRR that are not as ``delta`` wants them; what others did meanwhile is theirs."""
    if now is None or wanted is None:
        return ["FRR (no answer)"]
    surplus, missing = _left(delta, now, wanted)
    lines = [f"FRR {entry.context} / {entry.shown}" for entry in missing]
    return lines + [f"FRR {entry.context} / {entry.shown} (too much)" for entry in surplus]


def _left(delta: Delta, now: FrrDocument, wanted: FrrDocument) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the lines that ``delta`` removes and that are still there, and those that it adds and that are not.

    A reload boots a file, so all of its lines have to be there.
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


def _with_rows_set_again(
    document: MergeDocument, delta: Delta, before: RunningConfig, after: RunningConfig
) -> MergeDocument:
    """Return a merge document that also names the rows which are deleted and set again for what it changes."""
    named = {table: dict(rows) for table, rows in document.items() if table != BGPRAW}
    if delta.reloads:
        return named
    for table, key, fields in set_again(delta, before.config_db, after.config_db):
        row = named.setdefault(table, {}).setdefault(key, {})
        if row is not None:
            named[table][key] = {**fields, **row}
    return named


def _part(document: MergeDocument, running: RunningConfig) -> dict[str, Any]:
    """Return what of a configuration a merge document is about: rows and fields, null for what is not there."""
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
