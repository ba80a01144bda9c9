"""How a deployment is carried out: what was agreed to, how fast, and what stops it."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.journals.shared import SharedJournals
from nornir_railweave.target.inventory import STATE_DIR
from nornir_railweave.target.model import Source, Target
from nornir_railweave.target.rollout import Rollout
from railweave.plan.consent import PLAN_ALONE, DeployOptions


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one deployment."""

    consent: DeployOptions = PLAN_ALONE
    rollout: Rollout = field(default_factory=Rollout)
    # How many seconds a lost device is searched for: a reload takes minutes.
    reconnect_s: float = 300
    journal_dir: Path = STATE_DIR / "journal"
    # The store of journals outside of the runner, whose disk may be lost with it.
    journals: SharedJournals | None = None
    # Goes with every commit: by it the switches tell whose a commit is.
    message: str = "railweave"
    # What the rollout waits by; tests let time pass without waiting.
    clock: Clock = SYSTEM_CLOCK


def policy_for(target: Target, options: DeployOptions = PLAN_ALONE) -> Policy:
    """Return the policy of a deployment to ``target``; it allows what the target or ``options`` allow."""
    rollout = target.rollout
    # Nobody can be locked out of the switches of a simulator or a lab.
    is_rehearsal = target.source is not Source.ADDRESSES
    consent = replace(
        options,
        # A target that does not state it (None) does not allow it.
        single_step=options.single_step or bool(rollout.single_step),
        nodes_follow=options.nodes_follow or target.nodes_follow,
        allow_lockout=options.allow_lockout or is_rehearsal,
    )
    return Policy(
        consent=consent,
        rollout=replace(rollout, max_failures=options.max_failures or rollout.max_failures),
        reconnect_s=target.timeouts.reconnect_s,
    )
