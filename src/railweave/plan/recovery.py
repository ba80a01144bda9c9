"""What `railweave recover` found on a switch, what it restored and what is missing."""

from dataclasses import dataclass
from enum import StrEnum


class RecoveryOutcome(StrEnum):
    """How a recovery ended. ``waiting``: a transaction is armed or being applied, and was left alone."""

    HEALTHY = "healthy"
    WAITING = "waiting"
    RESTORED = "restored"
    ACCEPTED = "accepted"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The result of one switch. ``found`` is the status of its last transaction before, ``transaction`` that in words.

    ``restored`` and ``missing`` are rows as ``TABLE|KEY`` and lines of FRR, without secrets.
    """

    device: str
    outcome: RecoveryOutcome
    found: str = ""
    transaction: str = ""
    restored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""

    @property
    def ok(self) -> bool:
        """Tell whether nothing is left to repair."""
        bad = (RecoveryOutcome.INCOMPLETE, RecoveryOutcome.REFUSED, RecoveryOutcome.UNREACHABLE)
        return self.outcome not in bad and not self.error
