"""One device during a rollout: its session, its job, and how it is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.jobs import DeviceJob, JobReading, config_state
from nornir_railweave.device.observing import Seen, seen_of
from nornir_railweave.device.session import DeviceSession
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.target.policy import Policy
from railweave.plan.health import Baseline
from railweave.plan.outcome import ConfigState, DeviceOutcome, Outcome
from railweave.switch_driver import Capability, CommitStatus, ConfigReading, ObserveRequest


@dataclass(frozen=True, slots=True)
class WaveOrder:
    """What the devices of one wave share."""

    # Nornir logs the arguments of a task whenever it begins, so the representation is short.
    jobs: Mapping[str, DeviceJob] = field(repr=False)
    # The devices already in their target state: nothing is expected of the others.
    settled: frozenset[str]
    # How many prefixes may be absent because other devices change beside each one, or have failed.
    missing: int
    policy: Policy
    announce: Events
    # Why nothing may be begun any more, as `RolloutContext` has it.
    blocker: Callable[[], str] = field(repr=False)
    # The name under which the devices that are drained are held; empty for none.
    hold: str = ""


class ForestalledError(Exception):
    """Somebody else's commit came after ours, or in its place: what the device holds is theirs to change."""

    def __init__(self, last: CommitStatus) -> None:
        message = f" ({last.message})" if last.message else ""
        by = last.by or "another session"
        super().__init__(f"somebody else's commit, {last.commit_id} by {by}{message}, is on it")


class UnwrittenError(OSError):
    """The journal does not hold what was about to be done."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a rollout has done to a device so far: all that is needed to undo it."""

    # The reading before the change, and the checks that passed then.
    before: JobReading
    baseline: Baseline = field(default_factory=Baseline)
    # The id of the commit before this one.
    earlier_id: str = ""
    # The message of all that this rollout does to a device.
    message: str = ""
    # The id of the commit; empty where it is not known to have been made.
    commit_id: str = ""
    # The id with which it was sent: the answer that returns it may be lost.
    sent_id: str = ""
    after_sha256: str = ""
    # The rollout drained the device.
    drained: bool = False
    # When the switch's own timer ends at the earliest, in seconds of this machine's steady clock.
    ends_at_s: float = 0.0
    # What was read back and verified; None where the driver did not read it.
    after: ConfigReading | None = field(default=None, repr=False)
    # What a reload reported that failed although its rows are there.
    complaint: str = ""

    def made(self, last: CommitStatus) -> bool:
        """Tell whether ``last``, a switch's last commit or drain, was made by this attempt.

        A commit is recognized by its id: another runner that resumes this rollout uses the same message.
        """
        own_id = self.commit_id or self.sent_id
        if own_id and not last.is_drain:
            return last.commit_id == own_id
        return last.commit_id != self.earlier_id and last.message == self.message

    def undid(self, last: CommitStatus) -> bool:
        """Tell whether ``last``, a switch's last commit, rolled this attempt back."""
        own_id = self.commit_id or self.sent_id
        if own_id and last.message == f"rollback of {own_id}":
            return True
        return last.message == undone(self.message)

    def refuse_forestalled(self, last: CommitStatus) -> None:
        """Raise ForestalledError if ``last``, the switch's last commit, is somebody else's, made since it was read.

        The configuration is theirs then. Their commit may have come instead of ours, or after ours ended while this
        runner was suspended.
        """
        is_unchanged = last.commit_id in ("", self.earlier_id)
        if is_unchanged or self.made(last) or self.undid(last):
            return
        # A drain that ended left the configuration as it was.
        is_ended_drain = last.is_drain and not last.pending
        if is_ended_drain and last.kept in (self.commit_id, self.earlier_id):
            return
        raise ForestalledError(last)


def undone(message: str) -> str:
    """Return the message of a commit that rolls back what was committed with ``message``."""
    return f"{message} (undone)"


class ReachedDevice:
    """One device over its session; a lost session is opened again within ``reconnect_s`` seconds."""

    def __init__(
        self, session: DeviceSession, name: str, announce: Events, reconnect_s: float, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.session = session
        self.name = name
        self._announce = announce
        self._reconnect_s = reconnect_s
        self._clock = clock

    @property
    def driver(self) -> CheckedDriver:
        """Return the open driver, connecting where there is no session."""
        return self.session.driver

    def say(self, step: Step, text: str = "", **details: Any) -> None:
        """Announce a step of this device."""
        self._announce(Event(step, self.name, text, details))

    def say_outcome(self, outcome: DeviceOutcome) -> None:
        """Announce how the device ended."""
        self.say(Step.OUTCOME, outcome.error, outcome=outcome.outcome.value)

    def reconnect(self) -> CheckedDriver:
        """Return the driver of a new session; a lost device is tried for ``reconnect_s`` seconds."""
        driver = self.session.reconnect(self._reconnect_s, self._clock)
        self.say(Step.RECONNECTED)
        return driver

    def last_commit(self, *, just_read: bool = False) -> CommitStatus:
        """Return the status of the switch's last commit, whoever made it.

        Where the device was ``just_read``, the driver's last reading has it and nothing is asked.
        """
        driver = self.driver
        reading = driver.last_reading if just_read else None
        if reading is None:
            return driver.status()
        return reading.status

    @property
    def broken(self) -> str:
        """Describe the daemons that do not run any more since the last change, by the last reading; empty for none."""
        reading = self.driver.last_reading
        if reading is None:
            return ""
        return reading.status.broken

    def drained(self) -> tuple[str, ...]:
        """Return the BGP peers that are drained; none if the driver cannot drain."""
        driver = self.driver
        if driver.can(Capability.DRAIN):
            return driver.drained()
        return ()


class Device(ReachedDevice):
    """The device that one task of a rollout works on."""

    def __init__(self, session: DeviceSession, job: DeviceJob, order: WaveOrder) -> None:
        super().__init__(session, job.device, order.announce, order.policy.reconnect_s, order.policy.clock)
        self.job = job
        self.order = order

    def begin(self, step: Step, text: str = "", **details: Any) -> None:
        """Announce a step before it is taken. Raises UnwrittenError if the journal could not record it."""
        self.say(step, text, **details)
        blocker = self.order.blocker()
        if blocker:
            raise UnwrittenError(blocker)

    @property
    def revert_in_s(self) -> int:
        """Return the seconds of the switch's own timer."""
        return self.order.policy.rollout.revert_in_s

    @property
    def interval_s(self) -> float:
        """Return the seconds between two readings of what the device shows."""
        return self.order.policy.rollout.verify_interval_s

    def read(self, which: str = "running") -> JobReading:
        """Return what the device runs now, or what it ran by the ``last`` reading of its driver."""
        return self.job.read(self.driver, which)

    def read_and_look(self) -> tuple[JobReading, Seen | None]:
        """Read the device; return what it runs and, from the same answer, what it shows.

        The second part is None if the driver's answer does not show it, or if it is not needed.
        """
        if self.job.disconnects:
            # Nothing is compared with the state before such a change, so its counters, read twice, are not waited for.
            return self.read(), None
        view = self.driver.read(ObserveRequest(counters=True, over_s=self.interval_s)).view
        # What the device runs is in the same answer.
        reading = self.read("last")
        if view is None:
            return reading, None
        return reading, seen_of(view)

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
