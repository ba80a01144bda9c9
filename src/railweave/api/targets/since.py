"""The plan of the switches whose configuration differs from that of another revision: no other switch is read."""

from dataclasses import replace

from railweave.api.design.intent import designed_at
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric
from railweave.plan.build import build_plan
from railweave.plan.limit import limited, to_read_as_well
from railweave.plan.model import NOT_READ, Plan
from railweave.plan.offline import changed_switches
from railweave.wording import counted


def plan_since(project: Project, live: LiveFabric, since: str, *, remove_conflicting: bool) -> Plan | None:
    """Read the switches whose configuration differs from that of the intent ``since``, and return their plan.

    ``since`` is a git revision or file: what the others run. Neighbors with which the changes share a link are read as
    well. None where the plan depends on all switches; nothing but the reading was done then. Raises as `designed_at`.
    """
    before = designed_at(since, project.intent)
    fabric = live.designed.fabric
    names = changed_switches(before.fabric, fabric, live.designed.templates, before=before.templates)
    plan = _plan_without_readings(live)
    unread_names = names
    # Each plan may depend on further switches; the next one is made with them, until none is missing.
    while unread_names:
        if len(names) == len(fabric.switches):
            project.operator.tell(f"reads all {counted(len(names), 'switch')}: the plan depends on each of them")
            return None
        plan = live.plan(remove_conflicting=remove_conflicting, only=names)
        unread_names = to_read_as_well(fabric, plan, names)
        names |= unread_names
    return replace(limited(fabric, plan, names), since=since)


def _plan_without_readings(live: LiveFabric) -> Plan:
    """Return the plan if no switch is read."""
    fabric = live.designed.fabric
    readings = dict.fromkeys(fabric.switch_of, NOT_READ)
    sha256 = live.designed.intent.sha256
    policy = live.target.rollout.policy
    return build_plan(fabric, readings, target=live.target.name, intent_sha256=sha256, policy=policy)
