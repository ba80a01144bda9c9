"""SONiC's YANG models take the rows of some groups of counters in releases whose orchagent does not poll them, so a row
that is accepted may count nothing. Such rows are not rendered."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.counter_groups import GROUPS, SWITCH, CounterGroup, CounterState
from railweave.fabric.model import Fabric
from railweave.fabric.releases import nearest

RULE = rule(
    "RW143",
    "the release polls the groups of counters in `telemetry.counters`",
    __doc__,
    "{sonic: {release: 202411}, telemetry: {}}",
)


@RULE.on_fabric
def polled(fabric: Fabric) -> Breaches:
    """Look for groups that the intent turns on or off and that the release does not poll."""
    counters = fabric.policies.telemetry.counters
    if counters is None:
        return
    release = nearest(fabric.policies.sonic.release)
    for group in GROUPS:
        if counters.of(group).state is CounterState.KEEP or release >= group.since:
            continue
        if group is SWITCH and not _trims(fabric):
            continue
        yield _unpolled(group, release)


def _trims(fabric: Fabric) -> bool:
    """Tell whether some switch trims packets."""
    # Late: few intents have lossy RDMA.
    from railweave.sonic.render.trimming import trimming_of

    panels = {id(switch.panel): switch.panel for switch in fabric.switches}
    return any(trimming_of(panel, fabric.policies).queues for panel in panels.values())


def _unpolled(group: CounterGroup, release: str) -> Breach:
    # Late: the check of an intent without `telemetry` needs no rows.
    from railweave.sonic.counter_keys import counter_keys

    rows = ", ".join(counter_keys(group))
    message = f"SONiC {release} does not poll {rows} (telemetry.counters.{group.key}), so its row is not rendered"
    fix = f"run SONiC {group.since} or later (sonic.release), or write `{group.key}: keep`"
    return Breach(f"telemetry.counters.{group.key}", message, fix, Severity.INFO)
