"""What a switch keeps of its last confirmed commits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from napalm.base.exceptions import CommitError

from napalm_sonic.program import SwitchProgram
from railweave_switch.state import KEPT_COMMITS


@dataclass(frozen=True, slots=True)
class WaysBack:
    """The rollback documents of kept commits: ``driver.ways_back``, beside NAPALM's own methods."""

    hostname: str
    program: SwitchProgram

    def document(self, commit_id: str) -> Mapping[str, Any]:
        """Return the merge document that restores what a confirmed commit changed, with its secrets.

        ``revert_timer.status().commit_id`` names the last commit. Raises CommitError where the document is gone.
        """
        undo = self.program.read(rollback=commit_id).undo if commit_id else None
        if undo is None:
            raise CommitError(
                f"{self.hostname}: the rollback document of commit {commit_id} is not on the switch (it keeps those of "
                f"the last {KEPT_COMMITS} commits)"
            )
        return undo
