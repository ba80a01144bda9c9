"""What a plan asks of whoever approves it, as one word for rules of a code host."""

from enum import StrEnum

from railweave.plan.consent import access_changes
from railweave.plan.model import Plan
from railweave.sonic.delta.change import Disruption


class Risk(StrEnum):
    """How much a deployment can disturb, mildest first; each needs more consent than the one before."""

    # Nothing changes, or traffic does not notice.
    NONE = "none"
    # Sessions or links go down for a while, within the rollout policy.
    DISRUPTIVE = "disruptive"
    # Switches are reloaded (`deploy --provision`).
    RELOAD = "reload"
    # Who can log in changes (`deploy --allow-lockout`): a mistake cannot be rolled back over the network.
    LOCKOUT = "lockout"


def risk_of(plan: Plan) -> Risk:
    """Return the highest risk of a plan."""
    if any(access_changes(plan)):
        return Risk.LOCKOUT
    if plan.reloading:
        return Risk.RELOAD
    disruptions = {disruption for delta in plan.deltas.values() for disruption in delta.disruptions}
    if plan.disruptive or disruptions - {Disruption.NONE}:
        return Risk.DISRUPTIVE
    return Risk.NONE
