"""syncd reads every object of a group of counters once in the group's interval, on the CPU that runs the control plane
as well. SONiC's maintainers lengthened its intervals for that reason, so a multiple of what they cost is the bound."""

from collections.abc import Mapping

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
def bounded(fabric: Fabric) -> Breaches:
    """Add up the reads of each kind of switch: objects ÷ interval."""
    counters = fabric.policies.telemetry.counters
    if counters is None:
        return
    release = nearest(fabric.policies.sonic.release)
    for ports, devices in _by_ports(fabric).items():
        cost = reads_per_s(counters, ports, release)
        default = reads_per_s(ALL_KEPT, ports, release)
        if cost > MOST_TIMES_DEFAULT * default:
            stated = [group for group in GROUPS if release >= group.since and _is_stated(counters, group)]
            yield _dear(counters, stated, devices, (ports, cost, default))


def _by_ports(fabric: Fabric) -> Mapping[int, list[str]]:
    """Return the names of the switches by their number of ports."""
    names: dict[int, list[str]] = {}
    for switch in fabric.switches:
        names.setdefault(len(switch.panel.ports), []).append(switch.name)
    return names


def _dear(
    counters: CounterPolicy, stated: list[CounterGroup], devices: list[str], sums: tuple[int, float, float]
) -> Breach:
    ports, cost, default = sums
    dearest = max(stated, key=lambda group: group.count(ports) / group.interval_ms(counters.of(group)))
    terms = ", ".join(_term(counters, group, ports) for group in stated)
    message = (
        f"a switch of {ports} ports reads {cost:,.0f} objects a second for its counters, {cost / default:.1f} times the"
        f" {default:,.0f} of SONiC's own intervals, {MOST_TIMES_DEFAULT} at most: {terms}, the other groups as SONiC"
        " has them"
    )
    fix = f"raise telemetry.counters.{dearest.key}; SONiC's own interval is {dearest.poll_ms} ms"
    return Breach(f"telemetry.counters.{dearest.key}", message, fix, Severity.WARNING, tuple(devices))


def _is_stated(counters: CounterPolicy, group: CounterGroup) -> bool:
    return bool(group.poll_ms) and counters.of(group).state is CounterState.ENABLE


def _term(counters: CounterPolicy, group: CounterGroup, ports: int) -> str:
    return f"{group.count(ports)} {group.objects} every {group.interval_ms(counters.of(group))} ms"
