"""The person, or the program, on whose behalf devices are read and changed."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from railweave.diagnostics import Diagnostic

if TYPE_CHECKING:
    from nornir_railweave.rollout.progress import FabricProgress
    from railweave.plan.drains import DrainTarget
    from railweave.plan.model import Plan


class Operator:
    """Receives progress and confirms before devices change.

    This one hears nothing and agrees to everything: a program decides before it calls. A subclass shows and asks.
    """

    def tell(self, note: str) -> None:
        """Take a sentence that is good to know and stops nothing."""

    def warn(self, found: Iterable[Diagnostic]) -> None:
        """Take diagnostics that stop nothing."""

    def progress(self) -> "FabricProgress":
        """Return what shows the progress of work on devices."""
        from nornir_railweave.rollout.progress import FabricProgress

        return FabricProgress(io.StringIO())

    def require_answer(self, command: str) -> None:
        """Raise RailweaveError where nobody agreed to ``command`` and nobody can be asked; no device was touched."""

    def approves(self, plan: "Plan", what: str = "") -> bool:
        """Take ``plan``, and tell whether it may be carried out; ``what`` names a work that is no new deployment."""
        return True

    def approves_drain(
        self, targets: "Sequence[DrainTarget]", drained: Mapping[str, tuple[str, ...]], uplinks_left_percent: float
    ) -> bool:
        """Tell whether the traffic of ``targets`` may be led away; ``drained`` is what is drained around them."""
        return True


SILENT = Operator()
