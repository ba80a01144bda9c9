"""A pause stops a priority: whatever else shares it, its queue or its group is paused too. Group 0 holds all that is
not lossless."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, SwitchRead, rule
from railweave.checks.traffic_classes import shared_priorities
from railweave.fabric.policy import TrafficClass
from railweave.intent.model import Intent
from railweave.sonic.map_fixes import map_fix
from railweave.sonic.qos_maps import MOST_MAPPED
from railweave.sonic.rows import Value
from railweave.wording import first_few

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings

RULE = rule(
    "Q-1",
    "every lossless class has a priority, queue and priority group of its own",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 0, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def check_group_zero(intent: Intent) -> Breaches:
    """Yield a breach for each lossless class of priority 0."""
    for index, traffic_class in enumerate(intent.policies.classes):
        if traffic_class.lossless and traffic_class.priority == 0:
            message = (
                f"lossless class `{traffic_class.name}` has priority 0, whose priority group holds all classes that are"
                " not lossless"
            )
            fix = "give it a priority from 1 to 7; 3 is the usual one"
            yield Breach(f"traffic_classes[{index}].priority", message, fix)


@RULE.on_intent
def check_shared_priorities(intent: Intent) -> Breaches:
    """Yield a breach for each class that shares a lossless priority."""
    yield from shared_priorities(intent, lossless=True)


# Up to nine digits fit the int of std::stoi.
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,9}")
# The start of a text that std::stoi accepts.
_NUMERIC = re.compile(r"\s*[+-]?[0-9]")


@RULE.on_switch
def check_map_entries(switch: SwitchRead) -> Breaches:
    """Yield a breach for each map with entries that are not numbers, or that SONiC does not accept."""
    for table in MOST_MAPPED:
        for name, row in switch.read.table(table).items():
            for fault in _entry_faults(table, row):
                message = f"{table}|{name} of {switch.name} has {fault}"
                yield Breach("", message, f"set {table} of {switch.name} as rendered", devices=(switch.name,))


def _entry_faults(table: str, row: Mapping[str, Value]) -> Iterator[str]:
    """Yield a clause about the entries of a map that are not numbers, and one about those that are out of range.

    Each says what SONiC does with them.
    """
    most_key, most_value = MOST_MAPPED[table]
    not_numeric = [f"{key}: {value}" for key, value in row.items() if not (_is_number(key) and _is_number(value))]
    # orchagent reads each with std::stoi and ends (run on 202505; sonic-swss orchagent/qosorch.cpp
    # convertFieldValuesToAttributes).
    if not_numeric:
        yield (
            f"{first_few(not_numeric, 4)}, which is not a number: orchagent ends when it reads the row, and all ports"
            " go down"
        )
    out_of_range = [
        f"{key}: {value}"
        for key, value in row.items()
        if _is_out_of_range(key, most_key) or _is_out_of_range(value, most_value)
    ]
    if out_of_range:
        yield (
            f"{first_few(out_of_range, 4)}: SONiC knows keys up to {most_key} and values up to {most_value}, and"
            " refuses to reload this configuration"
        )


def _is_number(value: Value) -> bool:
    return _NUMERIC.match(str(value)) is not None


def _is_out_of_range(value: Value, highest: int) -> bool:
    """Tell whether a value is a number outside of the range of SONiC's YANG models."""
    return _WHOLE.fullmatch(str(value)) is not None and not 0 <= int(str(value)) <= highest


@RULE.on_link
def check_maps(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each lossless class whose traffic class, queue, group and PFC priority are not one number."""
    for end in link.switches:
        for traffic_class in link.lossless_classes:
            priority = traffic_class.priority
            for step in _map_steps(end, link.design(end)):
                number = step.numbers.get(priority)
                if number != priority:
                    actual = "nothing" if number is None else number
                    message = (
                        f"{traffic_class.name} has priority {priority} between {end} and {link.far(end)}, its"
                        f" {step.name} on {end} is {actual}"
                    )
                    fix = map_fix(end, step.table, step.numbers, str(priority), priority)
                    yield LinkBreach(end, f"{step.name} {traffic_class.name}", message, fix)


class _MapStep(NamedTuple):
    """A map from traffic class or priority to what it chooses, as it was read."""

    # What it chooses, with the table in parentheses.
    name: str
    numbers: Mapping[int, int]

    @property
    def table(self) -> str:
        return self.name.partition("(")[2].rstrip(")")


def _map_steps(end: "PortSettings", design: "PortSettings") -> Iterator[_MapStep]:
    """Yield the maps of a port that were read."""
    if end.queues is not None:
        yield _MapStep("queue (TC_TO_QUEUE_MAP)", end.queues)
    if end.groups is not None:
        yield _MapStep("priority group (TC_TO_PRIORITY_GROUP_MAP)", end.groups)
    if end.paused_queues is not None:
        yield _MapStep("paused queue (MAP_PFC_PRIORITY_TO_QUEUE)", end.paused_queues)
    # Only some chips take this map (qos_config.j2: Mellanox and Barefoot).
    if design.paused_groups and end.paused_groups is not None:
        yield _MapStep("pausing group (PFC_PRIORITY_TO_PRIORITY_GROUP_MAP)", end.paused_groups)


@RULE.on_link
def check_shared_queues(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each queue or group of a lossless class to which other classes or priorities lead."""
    for end in link.switches:
        for traffic_class in link.lossless_classes:
            priority = traffic_class.priority
            for step in _map_steps(end, link.design(end)):
                others = [
                    str(number) for number, target in step.numbers.items() if target == priority and number != priority
                ]
                if others:
                    message = (
                        f"{', '.join(others)} and the lossless {priority} of {traffic_class.name} have one {step.name}"
                        f" on {end}, towards {link.far(end)}: a pause stops both"
                    )
                    fix = f"map {', '.join(others)} to another number than {priority} on {end.device}"
                    yield LinkBreach(end, f"shared {step.name} {traffic_class.name}", message, fix)


def _other_code_points(end: "PortSettings", traffic_class: TrafficClass) -> list[str]:
    """Return the code points of other classes that an end maps to the priority of ``traffic_class``."""
    mapped = [dscp for dscp, priority in (end.priorities or {}).items() if priority == traffic_class.priority]
    return [str(dscp) for dscp in mapped if dscp not in traffic_class.dscp]


@RULE.on_link
def check_mixed_traffic(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each lossless class with code points of other classes in its priority."""
    classes = link.policies.classes
    default_priority = next((traffic_class.priority for traffic_class in classes if traffic_class.is_default), 0)
    for end in link.ends:
        for traffic_class in link.lossless_classes:
            priority = traffic_class.priority
            others = _other_code_points(end, traffic_class)
            if others:
                message = (
                    f"DSCP {first_few(others, 8)} use the lossless priority {priority} of"
                    f" {traffic_class.name} on {end}, towards {link.far(end)}: other traffic pauses RDMA, and is"
                    " dropped where the queue marks"
                )
                fix = f"map them to {default_priority} on {end.device}"
                yield LinkBreach(end, f"mixed {traffic_class.name}", message, fix)
