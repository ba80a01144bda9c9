"""syncd reads every object of a group of counters once in the group's interval, on the CPU that runs the control plane
as well. SONiC's maintainers lengthened its intervals for that reason, so a multiple of what they cost is the bound."""

from collections.abc import Mapping
from typing import NamedTuple

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.counter_groups import (
    ALL_KEPT,
    GROUPS,
    MOST_TIMES_DEFAULT,
    CounterGroup,
    CounterPolicy,
    CounterState,
    reads_per_s,
)
from railweave.fabric.model import Fabric
from railweave.fabric.releases import nearest

RULE = rule(
    "RW144",
    f"polling counters costs a switch at most {MOST_TIMES_DEFAULT} times what SONiC's own intervals cost",
    __doc__,
    "telemetry: {counters: {queue: 1000}}",
)


@RULE.on_fabric
def check_polling_cost(fabric: Fabric) -> Breaches:
    """Yield a warning for each number of ports with which polling costs a switch too much."""
    counters = fabric.policies.telemetry.counters
    if counters is None:
        return
    release = nearest(fabric.policies.sonic.release)
    for ports, devices in _devices_by_ports(fabric).items():
        cost = _PollingCost(ports, reads_per_s(counters, ports, release), reads_per_s(ALL_KEPT, ports, release))
        if cost.reads_per_s > MOST_TIMES_DEFAULT * cost.default_reads_per_s:
            stated_groups = [group for group in GROUPS if release >= group.since and _is_stated(counters, group)]
            yield _too_many_reads(counters, stated_groups, devices, cost)


class _PollingCost(NamedTuple):
    """What the counters of a switch cost, as stated and with SONiC's own intervals."""

    ports: int
    reads_per_s: float
    default_reads_per_s: float


def _devices_by_ports(fabric: Fabric) -> Mapping[int, list[str]]:
    """Return the names of the switches by their number of ports."""
    names: dict[int, list[str]] = {}
    for switch in fabric.switches:
        names.setdefault(len(switch.panel.ports), []).append(switch.name)
    return names


def _too_many_reads(
    counters: CounterPolicy, stated_groups: list[CounterGroup], devices: list[str], cost: _PollingCost
) -> Breach:
    """Return the breach of switches whose counters cost too much; its place is the group that costs most."""
    costliest = max(stated_groups, key=lambda group: group.count(cost.ports) / group.interval_ms(counters.of(group)))
    terms = ", ".join(_term(counters, group, cost.ports) for group in stated_groups)
    ratio = cost.reads_per_s / cost.default_reads_per_s
    message = (
        f"a switch of {cost.ports} ports reads {cost.reads_per_s:,.0f} objects a second for its counters, {ratio:.1f}"
        f" times the {cost.default_reads_per_s:,.0f} of SONiC's own intervals, {MOST_TIMES_DEFAULT} at most: {terms},"
        " the other groups as SONiC has them"
    )
    fix = f"raise telemetry.counters.{costliest.key}; SONiC's own interval is {costliest.poll_ms} ms"
    return Breach(f"telemetry.counters.{costliest.key}", message, fix, Severity.WARNING, tuple(devices))


def _is_stated(counters: CounterPolicy, group: CounterGroup) -> bool:
    return bool(group.poll_ms) and counters.of(group).state is CounterState.ENABLE


def _term(counters: CounterPolicy, group: CounterGroup, ports: int) -> str:
    return f"{group.count(ports)} {group.objects} every {group.interval_ms(counters.of(group))} ms"
