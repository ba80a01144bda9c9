"""What deploying and rolling back have in common: waves under a journal, saving before them and checks after them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from nornir.core import Nornir

from nornir_railweave.device.jobs import DeviceJob
from nornir_railweave.events import Announcer, Event, Events, Step
from nornir_railweave.rollout.control import Control, FileControl, control_file
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.rolling_out import RolledOut, outcomes_of, roll_out
from nornir_railweave.rollout.rollout_context import RolloutContext
from nornir_railweave.target.connect import run_on
from nornir_railweave.target.policy import Policy
from nornir_railweave.tasks.save_config import UNSAVED, Saved, save_config
from railweave.fabric.model import Fabric
from railweave.plan.build import wave_gate
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Progress, Result
from railweave.wording import compact


@dataclass(frozen=True, slots=True)
class Procedure:
    """A plan, and what its rollout needs."""

    nr: Nornir
    fabric: Fabric
    plan: Plan
    policy: Policy
    journal: Journal
    # The devices that are in their target state before the first wave.
    settled: frozenset[str] = frozenset()
    # A person's requests; None for the file beside the journal.
    control: Control | None = None
    # An unchanged device that cannot be saved has failed.
    counts_unsaved: bool = False

    @property
    def unreachable(self) -> tuple[str, ...]:
        """Return the devices that were not read when the plan was made."""
        return self.plan.names(DeviceState.UNREACHABLE)

    @property
    def unreachable_reason(self) -> str:
        """Return why nothing is done: devices could not be read. Empty if all were, or if the policy skips them."""
        if not self.unreachable or self.policy.consent.skip_unreachable:
            return ""
        return f"{compact(self.unreachable)} could not be reached; nothing was changed"

    def carry_out(
        self, jobs: Mapping[str, DeviceJob], unchanged: Mapping[str, DeviceJob], announce: Events
    ) -> DeployResult:
        """Carry out the ``jobs`` of the plan's waves; the result is not verified yet.

        The ``unchanged`` devices run their intended configuration already; those that do not boot it save it first.
        """
        saved, unsaved = self._save(unchanged, announce)
        ended = roll_out(self.nr, jobs, self.plan.waves, self._context(announce))
        outcomes = outcomes_of(self.plan, {**unsaved, **ended.outcomes})
        progress = self._progress(ended, saved, tuple(unsaved))
        if ended.stopped_by:
            return DeployResult(
                Result.STOPPED, outcomes, ended.stopped_by, interrupted=ended.interrupted, progress=progress
            )
        result = Result.UNCHANGED
        if self.plan.deltas or saved:
            result = Result.DONE
        return DeployResult(result, outcomes, interrupted=ended.interrupted, progress=progress)

    def _save(
        self, unchanged: Mapping[str, DeviceJob], announce: Events
    ) -> tuple[tuple[str, ...], dict[str, DeviceOutcome]]:
        """Save the configuration of each unchanged device that would boot another one.

        Return the devices that were saved, and the outcomes of those that could not be, if these count as failed. A
        rollout that was cut off after a confirmation and before its saving leaves such devices behind.
        """
        states = run_on(self.nr, unchanged, save_config, jobs=unchanged, announce=announce)
        saved = tuple(name for name in unchanged if states[name] is Saved.NOW)
        unsaved: dict[str, DeviceOutcome] = {}
        if self.counts_unsaved:
            failed = [name for name in unchanged if states[name] is Saved.NOT]
            unsaved = dict.fromkeys(failed, DeviceOutcome(Outcome.NEW, UNSAVED))
        return saved, unsaved

    def _context(self, announce: Events) -> RolloutContext:
        """Return what the rollout of the plan goes by."""
        journal = self.journal
        return RolloutContext(
            gate=wave_gate(self.fabric, self.plan),
            policy=self.policy,
            settled=self.settled,
            announce=announce,
            unread=frozenset(self.plan.unread),
            has_ended=journal.has_ended,
            control=self.control or FileControl(control_file(journal.path)),
            blocker=journal.blocker,
        )

    def _progress(self, ended: RolledOut, saved: tuple[str, ...], unsaved: tuple[str, ...]) -> Progress:
        return Progress(
            waves_done=ended.waves_done,
            waves=self.plan.waves,
            undone=ended.undone,
            failed=(*unsaved, *ended.failed),
            drained=ended.drained,
            saved=saved,
        )


def begin(journal: Journal, opening: Event, events: Events) -> Announcer:
    """Write ``opening``, the first line of a rollout; return the announcer of its steps, to journal and ``events``.

    Raises RailweaveError, with no device changed, where the line is not written: nobody could resume the rollout.
    """
    announce = Announcer([journal, events])
    announce(opening)
    journal.require_written()
    return announce


def end(journal: Journal, plan: Plan, announce: Events, result: DeployResult) -> DeployResult:
    """Write the last line of a rollout, and return its result; it counts as stopped if a line could not be written."""
    result = journal.judged(result)
    step = Step.ENDED
    if result.result is Result.STOPPED:
        step = Step.STOPPED
    announce(Event(step, text=result.stopped_by, details={"result": result.result.value, "ok": result.ok}))
    # Again, since the last line may be the one that could not be written.
    result = journal.judged(result)
    return replace(
        result,
        journal=str(journal.path),
        target=plan.target,
        intent=journal.metadata.intent,
        limit=plan.limit,
        behind=plan.behind,
    )
