"""One device during a rollout: its session, its work, and the careful ways to read it and to tell of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nornir_railweave.device.session import Session
from nornir_railweave.device.work import Found, Work
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.target.policy import Policy
from railweave.plan.health import Baseline
from railweave.plan.outcome import DeviceOutcome, Outcome


@dataclass(frozen=True, slots=True)
class Order:
    """What the devices of one wave share. Nornir logs it whenever a task begins, so ``repr`` is short.

    ``settled`` are the devices that stand still in their new state; ``moving`` is how many other devices may change
    beside each one, or have failed.
    """

    works: Mapping[str, Work] = field(repr=False)
    settled: frozenset[str]
    moving: int
    policy: Policy
    announce: Events


@dataclass(frozen=True, slots=True)
class LastCommit:
    """A switch's last commit: whether it waits for its confirmation, and its name, empty where the driver has none."""

    pending: bool
    commit_id: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was done to a device, as far as it came; all that it takes to undo it.

    ``commit_id`` is the driver's name of the commit, empty where it is not known, and ``earlier_id`` that of the commit
    before it. ``ends_at_s`` is when the switch's own timer ends at the earliest, on this machine's steady clock.
    """

    before: Found
    baseline: Baseline = field(default_factory=Baseline)
    earlier_id: str = ""
    commit_id: str = ""
    after_sha256: str = ""
    drained: bool = False
    ends_at_s: float = 0.0

    def made(self, last: LastCommit) -> bool:
        """Tell whether a switch's last commit is this attempt's."""
        return last.commit_id == self.commit_id if self.commit_id else last.commit_id != self.earlier_id


class Device:
    """The device that one task works on."""

    def __init__(self, session: Session, work: Work, order: Order) -> None:
        self.session = session
        self.work = work
        self.order = order

    @property
    def driver(self) -> Any:
        """Return the open driver, connecting where there is none."""
        return self.session.driver

    @property
    def revert_in_s(self) -> int:
        """Return the seconds of the switch's own timer."""
        return self.order.policy.rollout.revert_in_s

    def say(self, step: Step, text: str = "", **details: Any) -> None:
        """Announce a step of this device."""
        self.order.announce(Event(step, self.work.device, text, details))

    def read(self) -> Found:
        """Return what the device runs now."""
        return self.work.read(self.driver)

    def reconnect(self) -> Any:
        """Return the driver of a new session, for which a lost device is searched a while."""
        driver = self.session.reconnect(self.order.policy.reconnect_s, self.order.policy.clock)
        self.say(Step.RECONNECTED)
        return driver

    def last_commit(self, *, just_read: bool = False) -> LastCommit:
        """Ask the switch for its last commit, whoever made it; what was ``just_read`` may have told it."""
        timer = getattr(self.driver, "revert_timer", None)
        if timer is None:
            return LastCommit(bool(self.driver.has_pending_commit()))
        known = getattr(timer, "known", None) if just_read else None
        status = timer.status() if known is None else known.status
        return LastCommit(bool(status.pending), str(status.commit_id))

    def drained(self) -> tuple[str, ...]:
        """Return the BGP peers that are drained; none where the driver cannot drain."""
        traffic = getattr(self.driver, "traffic", None)
        return () if traffic is None else tuple(traffic.drained())

    def lost(self, why: str) -> DeviceOutcome:
        """Return the outcome of a device that cannot be found again."""
        return DeviceOutcome(
            Outcome.UNREACHABLE,
            f"{why}; not reachable again within {self.order.policy.reconnect_s:g} s. The switch itself takes back a "
            f"commit that was not confirmed, {self.revert_in_s} s after it began",
        )
