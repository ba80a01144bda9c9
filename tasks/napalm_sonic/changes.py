"""Planned changes: applied as deltas, beside NAPALM's own methods that work on documents."""

from collections.abc import Mapping
from typing import Any

from napalm_sonic.commit import Committer
from napalm_sonic.drain import Traffic, check_revert_in
from napalm_sonic.program import SwitchProgram
from napalm_sonic.reading import Reading
from napalm_sonic.refused_change import raise_unsaved
from railweave.sonic.delta.change import Delta
from railweave.switch_driver import AppliedChange, ObserveRequest


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
