"""What a rollout goes by: its judge, its policy, and whoever may end it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from nornir_railweave.events import Events, silent
from nornir_railweave.rollout.control import Control, Unasked
from nornir_railweave.target.policy import Policy
from nornir_railweave.tasks.holding import never_ended
from railweave.plan.waves import WaveGate


def _nothing() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class RolloutContext:
    """What a rollout goes by."""

    # The planner's own judge of the waves (`railweave.plan.build.wave_gate`): both decide alike.
    gate: WaveGate
    policy: Policy
    # The devices that already stand in their new state.
    settled: frozenset[str] = frozenset()
    announce: Events = silent
    # The devices that did not answer when the plan was made, which took them into account.
    unread: frozenset[str] = frozenset()
    # Tells by the message of a hold whether the rollout that holds the switch has ended.
    has_ended: Callable[[str], bool] = never_ended
    # A person who may pause or end the rollout between waves.
    control: Control = field(default_factory=Unasked)
    # Why nothing may go on: a rollout whose journal cannot be written could not be resumed.
    blocker: Callable[[], str] = _nothing
