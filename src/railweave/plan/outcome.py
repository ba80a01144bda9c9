"""The results of a deployment and of a verification, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from pathlib import PurePath


class ConfigState(Enum):
    """Which configuration a device holds: the one before a change, the one after it, or neither in full."""

    BEFORE = auto()
    AFTER = auto()
    PARTIAL = auto()


class Outcome(StrEnum):
    """Which configuration a device was seen to have at the end.

    ``broken``: the old one, and a daemon of SONiC that the change ended does not run.
    """

    NEW = "new"
    OLD = "old"
    UNREACHABLE = "unreachable"
    NOT_ATTEMPTED = "not-attempted"
    BROKEN = "broken"


OUTCOME_TEXT: Mapping[str, str] = {
    Outcome.NEW: "committed",
    Outcome.OLD: "not committed",
    Outcome.UNREACHABLE: "unreachable",
    Outcome.NOT_ATTEMPTED: "not started",
    Outcome.BROKEN: "not committed, broken",
}
"""How an outcome is called in text output; JSON documents and journals hold its value."""


def outcome_text(value: str) -> str:
    """Return the text of an outcome by its value. A value that only another version knows is returned as it is."""
    return OUTCOME_TEXT.get(value, value)


@dataclass(frozen=True, slots=True)
class DeviceOutcome:
    """One device at the end of a rollout.

    ``error`` is what went wrong, empty if nothing did. ``drained`` tells that the rollout drained the device and could
    not undrain it.
    """

    outcome: Outcome
    error: str = ""
    drained: bool = False

    @property
    def ok(self) -> bool:
        """Tell whether the device is as intended and nothing went wrong on the way."""
        return self.outcome is Outcome.NEW and not self.error


class Result(StrEnum):
    """The end of a deployment: everything done, nothing to do, or stopped on the way."""

    DONE = "done"
    UNCHANGED = "unchanged"
    STOPPED = "stopped"


class CheckKind(StrEnum):
    """What a verification check compares."""

    REACHABLE = "reachable"
    COMMIT = "commit"
    DAEMONS = "daemons"
    LINK = "link"
    MTU = "mtu"
    ADDRESS = "address"
    LLDP = "lldp"
    BGP = "bgp"
    TIMERS = "timers"
    BFD = "bfd"
    IPV6 = "ipv6"
    APPLIED = "applied"
    TENANTS = "tenants"
    PREFIXES = "prefixes"
    ERRORS = "errors"
    STORMS = "storms"
    DISCARDS = "discards"


@dataclass(frozen=True, slots=True)
class VerifyCheck:
    """One comparison of what a device shows with what the fabric needs.

    ``skipped`` is why the target leaves the check out, empty if it is made. A check that is left out does not fail.
    """

    device: str
    kind: CheckKind
    subject: str
    expected: str
    actual: str
    ok: bool
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """All checks of a verification."""

    checks: tuple[VerifyCheck, ...]
    # Sentences with the fixes of failed checks.
    advice: tuple[str, ...] = ()
    # What no check covers, such as another SONiC release.
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether every check passed."""
        return all(check.ok for check in self.checks)

    @property
    def failed(self) -> tuple[VerifyCheck, ...]:
        """Return the checks that did not pass."""
        return tuple(check for check in self.checks if not check.ok)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rollout came, and the devices that need attention."""

    waves_done: int = 0
    waves: tuple[tuple[str, ...], ...] = ()
    # Committed, then rolled back with their wave.
    undone: tuple[str, ...] = ()
    # With an error of their own.
    failed: tuple[str, ...] = ()
    # Still drained by the rollout.
    drained: tuple[str, ...] = ()
    # Confirmed but not saved by a rollout that was cut off: they would have booted the old configuration.
    saved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeployResult:
    """The end of a rollout."""

    result: Result
    devices: Mapping[str, DeviceOutcome]
    # The reason of a stop in one sentence.
    stopped_by: str = ""
    # Of the whole fabric after the last wave; None if the rollout did not come that far.
    verification: VerifyResult | None = None
    # The file that records every step; its stem is the rollout's name.
    journal: str = ""
    # A person stopped it.
    interrupted: bool = False
    target: str = ""
    # The file that was deployed; empty if unknown.
    intent: str = ""
    progress: Progress = Progress()
    # The rollout that was rolled back; empty for a deployment. The outcome ``new`` then is the state before it.
    of: str = ""
    # The switches that it might change (`--limit`); empty for all.
    limit: tuple[str, ...] = ()
    # Switches outside of the limit that still differ from the intent, or were not read.
    behind: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether nothing stopped the rollout, no device failed, and no check failed."""
        verified = self.verification is None or self.verification.ok
        return self.result is not Result.STOPPED and not self.progress.failed and verified

    @property
    def rollout(self) -> str:
        """Return the rollout's name, by which it is resumed and rolled back; empty if it left no journal."""
        return PurePath(self.journal).stem

    def names(self, outcome: Outcome) -> tuple[str, ...]:
        """Return the devices that ended with ``outcome``."""
        return tuple(name for name, device in self.devices.items() if device.outcome is outcome)


class RecoveryOutcome(StrEnum):
    """How a recovery ended."""

    HEALTHY = "healthy"
    # A transaction is armed or being applied; its own timer ends it, so it was left alone.
    WAITING = "waiting"
    RESTORED = "restored"
    ACCEPTED = "accepted"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The result of one switch; ``restored`` and ``missing`` are rows ``TABLE|KEY`` and FRR lines, without secrets."""

    device: str
    outcome: RecoveryOutcome
    # The status of its last transaction before the recovery.
    found: str = ""
    # That status in words.
    transaction: str = ""
    restored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    error: str = ""

    @property
    def ok(self) -> bool:
        """Tell whether nothing is left to repair."""
        bad = (RecoveryOutcome.INCOMPLETE, RecoveryOutcome.REFUSED, RecoveryOutcome.UNREACHABLE)
        return self.outcome not in bad and not self.error
