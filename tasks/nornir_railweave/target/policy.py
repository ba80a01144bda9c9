"""How a deployment is carried out: what was agreed to, how fast, and what stops it."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.journals.shared import SharedJournals
from nornir_railweave.target.inventory import STATE_DIR
from nornir_railweave.target.model import Source, Target
from nornir_railweave.target.rollout import Rollout
from railweave.plan.consent import Consent

NO_CONSENT = Consent()


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one deployment.

    ``skip_unreachable`` leaves out devices that could not be reached when the plan was made; without it they stop
    everything. ``remove_conflicting`` must be what the plan was made with. ``journals`` is the store of journals
    outside of the runner. ``message`` goes with every commit; ``clock`` is what all of it waits by.
    """

    consent: Consent = NO_CONSENT
    skip_unreachable: bool = False
    remove_conflicting: bool = False
    rollout: Rollout = field(default_factory=Rollout)
    reconnect_s: float = 300
    journal_dir: Path = STATE_DIR / "journal"
    journals: SharedJournals | None = None
    message: str = "railweave"
    clock: Clock = SYSTEM_CLOCK


def policy_for(
    target: Target,
    consent: Consent = NO_CONSENT,
    *,
    skip_unreachable: bool = False,
    remove_conflicting: bool = False,
    max_failures: int | None = None,
) -> Policy:
    """Return the policy of a deployment to ``target`` with what the command line agreed to."""
    return Policy(
        consent=replace(
            consent,
            single_step=consent.single_step or target.single_step,
            # Nobody is locked out of a rehearsal.
            allow_lockout=consent.allow_lockout or target.source is not Source.ADDRESSES,
        ),
        skip_unreachable=skip_unreachable,
        remove_conflicting=remove_conflicting,
        rollout=replace(target.rollout, max_failures=max_failures or target.rollout.max_failures),
        reconnect_s=target.timeouts.reconnect_s,
    )
