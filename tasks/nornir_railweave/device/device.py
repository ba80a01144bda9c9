"""One device during a rollout: its session, its job, and how it is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from napalm_sonic.observed import Look
from napalm_sonic.reading import Reading
from nornir_railweave.device.jobs import DeviceJob, Found, config_state
from nornir_railweave.device.observing import Seen, seen_of
from nornir_railweave.device.reading import switch_program
from nornir_railweave.device.session import Session
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.target.policy import Policy
from railweave.plan.health import Baseline
from railweave.plan.outcome import ConfigState, DeviceOutcome, Outcome


@dataclass(frozen=True, slots=True)
class Order:
    """What the devices of one wave share. Nornir logs it whenever a task begins, so ``repr`` is short.

    ``settled`` are the devices that stand still in their new state; ``missing`` is how many prefixes may be absent
    because other devices change beside each one, or have failed. ``blocker`` says why nothing may be begun any more, as
    ``OperatorControl`` has it. ``hold`` is the name under which the devices that are drained are held, empty for none.
    """

    jobs: Mapping[str, DeviceJob] = field(repr=False)
    settled: frozenset[str]
    missing: int
    policy: Policy
    announce: Events
    blocker: Callable[[], str] = field(repr=False)
    hold: str = ""


class ForestalledError(Exception):
    """Somebody else's commit came after ours, or in its place: what the device holds is theirs to change."""

    def __init__(self, last: "LastCommit") -> None:
        said = f" ({last.message})" if last.message else ""
        super().__init__(f"somebody else's commit, {last.commit_id} by {last.by or 'another session'}{said}, is on it")


class UnwrittenError(OSError):
    """The journal does not hold what was about to be done."""


@dataclass(frozen=True, slots=True)
class LastCommit:
    """A switch's last commit: whether it waits for its confirmation or revert, its name, its message and whose it is.

    ``kept`` is the last commit that was confirmed. All names are empty where the driver keeps none. ``overdue``: its
    time is over and no process on the switch reverts it. ``is_drain``: it is no commit but a drain.
    """

    pending: bool
    commit_id: str = ""
    message: str = ""
    kept: str = ""
    overdue: bool = False
    by: str = ""
    is_drain: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was done to a device, as far as it came; all that it takes to undo it.

    ``commit_id`` is the driver's name of the commit, empty where it is not known to have been made, ``sent_id`` the
    name under which our driver sent it, and ``earlier_id`` that of the commit before it; ``message`` is that of all
    that this rollout does to a device. ``ends_at_s`` is when the switch's own timer ends at the earliest, on this
    machine's steady clock. ``after`` is what was read back and verified, None where our driver did not read it.
    ``complaint`` is what a reload said that failed and whose rows are there all the same.
    """

    before: Found
    baseline: Baseline = field(default_factory=Baseline)
    earlier_id: str = ""
    message: str = ""
    commit_id: str = ""
    sent_id: str = ""
    after_sha256: str = ""
    drained: bool = False
    ends_at_s: float = 0.0
    after: Reading | None = field(default=None, repr=False)
    complaint: str = ""

    def made(self, last: LastCommit) -> bool:
        """Tell whether a switch's last commit, or drain, is this attempt's.

        Whoever resumes this rollout on another runner commits with the same message, and under another name.
        """
        name = self.commit_id or self.sent_id
        if name and not last.is_drain:
            return last.commit_id == name
        return last.commit_id != self.earlier_id and last.message == self.message

    def undid(self, last: LastCommit) -> bool:
        """Tell whether a switch's last commit takes this attempt back."""
        name = self.commit_id or self.sent_id
        rolled_back = bool(name) and last.message == f"rollback of {name}"
        return rolled_back or last.message == undone(self.message)

    def refuse_forestalled(self, last: LastCommit) -> None:
        """Raise ForestalledError where somebody else's commit came since the switch was read: what it holds is theirs.

        It may have come instead of ours, or after ours ended, while this runner slept. A drain changes nothing of it.
        """
        if last.commit_id in ("", self.earlier_id) or self.made(last) or self.undid(last):
            return
        if last.is_drain and not last.pending and last.kept in (self.commit_id, self.earlier_id):
            return
        raise ForestalledError(last)


def undone(message: str) -> str:
    """Return the message of a commit that takes back what was committed with ``message``."""
    return f"{message} (undone)"


class ReachedDevice:
    """One device over its session: a lost one is searched for ``reconnect_s`` seconds."""

    def __init__(
        self, session: Session, name: str, announce: Events, reconnect_s: float, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.session = session
        self.name = name
        self._announce = announce
        self._reconnect_s = reconnect_s
        self._clock = clock

    @property
    def driver(self) -> Any:
        """Return the open driver, connecting where there is none."""
        return self.session.driver

    def say(self, step: Step, text: str = "", **details: Any) -> None:
        """Announce a step of this device."""
        self._announce(Event(step, self.name, text, details))

    def reconnect(self) -> Any:
        """Return the driver of a new session, for which a lost device is searched a while."""
        driver = self.session.reconnect(self._reconnect_s, self._clock)
        self.say(Step.RECONNECTED)
        return driver

    def last_commit(self, *, just_read: bool = False) -> LastCommit:
        """Ask the switch for its last commit, whoever made it; what was ``just_read`` may have told it."""
        timer = getattr(self.driver, "revert_timer", None)
        if timer is None:
            return LastCommit(bool(self.driver.has_pending_commit()))
        known = getattr(timer, "known", None) if just_read else None
        status = timer.status() if known is None else known.status
        return LastCommit(
            pending=bool(status.pending),
            commit_id=str(status.commit_id),
            message=status.message,
            kept=status.last,
            overdue=status.overdue,
            by=getattr(status, "by", ""),
            is_drain=getattr(status, "is_drain", False),
        )

    def drained(self) -> tuple[str, ...]:
        """Return the BGP peers that are drained; none where the driver cannot drain."""
        traffic = getattr(self.driver, "traffic", None)
        return () if traffic is None else tuple(traffic.drained())


class Device(ReachedDevice):
    """The device that one task of a rollout works on."""

    def __init__(self, session: Session, job: DeviceJob, order: Order) -> None:
        super().__init__(session, job.device, order.announce, order.policy.reconnect_s, order.policy.clock)
        self.job = job
        self.order = order

    def begin(self, step: Step, text: str = "", **details: Any) -> None:
        """Announce a step that comes next. Raises UnwrittenError where the journal has no word of it."""
        self.say(step, text, **details)
        if blocker := self.order.blocker():
            raise UnwrittenError(blocker)

    @property
    def revert_in_s(self) -> int:
        """Return the seconds of the switch's own timer."""
        return self.order.policy.rollout.revert_in_s

    @property
    def interval_s(self) -> float:
        """Return the seconds between two looks."""
        return self.order.policy.rollout.verify_interval_s

    def read(self, which: str = "running") -> Found:
        """Return what the device runs now, or was ``known`` to run by the last answer of our driver."""
        return self.job.read(self.driver, which)

    def read_and_look(self) -> tuple[Found, Seen | None]:
        """Return what the device runs and shows; None for the latter where that takes further commands."""
        program = switch_program(self.driver)
        if program is None or self.job.disconnects:
            return self.read(), None
        shown = program.read(look=Look(counters=True, over_s=self.interval_s)).seen
        return self.read("known"), None if shown is None else seen_of(shown)

    def showing(self, look: Look) -> dict[str, Look]:
        """Return the argument by which our driver's answer to a change shows more; nothing for any other driver."""
        return {} if switch_program(self.driver) is None else {"look": look}

    def held(self) -> dict[str, str]:
        """Return the argument by which our driver drains only while the device is held; nothing for any other one."""
        return {} if switch_program(self.driver) is None else {"hold": self.order.hold}

    def state(self) -> ConfigState:
        """Read the device and tell which configuration it holds."""
        return config_state(self.read(), self.job)

    def lost(self, why: str) -> DeviceOutcome:
        """Return the outcome of a device that cannot be found again."""
        return DeviceOutcome(
            Outcome.UNREACHABLE,
            f"{why}; not reachable again within {self.order.policy.reconnect_s:g} s. The switch itself reverts a "
            f"commit that was not confirmed, {self.revert_in_s} s after it began",
        )
