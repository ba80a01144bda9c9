"""A pause stops a priority: whatever else shares it, its queue or its group is paused too. Group 0 holds all that is
not lossless."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

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
def group_zero(intent: Intent) -> Breaches:
    """Look for lossless classes of priority 0."""
    for index, traffic_class in enumerate(intent.policies.classes):
        if traffic_class.lossless and traffic_class.priority == 0:
            message = (
                f"lossless class `{traffic_class.name}` has priority 0, whose priority group holds all classes that are"
                " not lossless"
            )
            fix = "give it a priority from 1 to 7; 3 is the usual one"
            yield Breach(f"traffic_classes[{index}].priority", message, fix)


@RULE.on_intent
def shared(intent: Intent) -> Breaches:
    """Look for classes that share a lossless priority."""
    yield from shared_priorities(intent, lossless=True)


# Up to nine digits fit the int of std::stoi.
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,9}")
# The start of a text that std::stoi accepts.
_NUMERIC = re.compile(r"\s*[+-]?[0-9]")


@RULE.on_switch
def words(switch: SwitchRead) -> Breaches:
    """Look for map entries that are not numbers, or numbers that SONiC does not accept."""
    for table in MOST_MAPPED:
        for name, row in switch.read.table(table).items():
            for fault in _word_faults(table, row):
                message = f"{table}|{name} of {switch.name} has {fault}"
                yield Breach("", message, f"set {table} of {switch.name} as rendered", devices=(switch.name,))


def _word_faults(table: str, row: Mapping[str, Value]) -> Iterator[str]:
    """Yield the entries of a map that SONiC cannot read, and those that it does not accept, with the effect of each."""
    most_key, most_value = most = MOST_MAPPED[table]
    # orchagent reads each with std::stoi and ends (run on 202505; sonic-swss orchagent/qosorch.cpp
    # convertFieldValuesToAttributes).
    odd = [f"{key}: {to}" for key, to in row.items() if not (_is_number(key) and _is_number(to))]
    if odd:
        yield f"{first_few(odd, 4)}, which is not a number: orchagent ends when it reads the row, and all ports go down"
    far = [f"{key}: {to}" for key, to in row.items() if _is_beyond((key, to), most)]
    if far:
        yield (
            f"{first_few(far, 4)}: SONiC knows keys up to {most_key} and values up to {most_value}, and refuses to"
            " reload this configuration"
        )


def _is_number(value: Value) -> bool:
    return _NUMERIC.match(str(value)) is not None


def _is_beyond(entry: tuple[str, Value], most: tuple[int, int]) -> bool:
    """Tell whether a number of an entry is outside of the range of SONiC's YANG models."""
    for value, highest in zip(entry, most, strict=True):
        if _WHOLE.fullmatch(str(value)) and not 0 <= int(str(value)) <= highest:
            return True
    return False


@RULE.on_link
def maps(link: LinkEnds) -> LinkBreaches:
    """Look whether traffic class, queue, group and PFC priority of a lossless class are one number."""
    for end in link.switches:
        for traffic_class in link.lossless_classes:
            priority = traffic_class.priority
            for step, pairs in _steps(end, link.design(end)).items():
                number = pairs.get(priority)
                if number != priority:
                    actual = "nothing" if number is None else number
                    message = (
                        f"{traffic_class.name} has priority {priority} between {end} and {link.far(end)}, its {step} on"
                        f" {end} is {actual}"
                    )
                    table = step.partition("(")[2].rstrip(")")
                    fix = map_fix(end, table, pairs, str(priority), priority)
                    yield LinkBreach(end, f"{step} {traffic_class.name}", message, fix)


def _steps(end: "PortSettings", design: "PortSettings") -> Mapping[str, Mapping[int, int]]:
    """Return the maps from traffic class or priority that were read, by their target."""
    steps = {
        "queue (TC_TO_QUEUE_MAP)": end.queues,
        "priority group (TC_TO_PRIORITY_GROUP_MAP)": end.groups,
        "paused queue (MAP_PFC_PRIORITY_TO_QUEUE)": end.paused_queues,
    }
    # Only some chips take this map (qos_config.j2: Mellanox and Barefoot).
    if design.paused_groups:
        steps["pausing group (PFC_PRIORITY_TO_PRIORITY_GROUP_MAP)"] = end.paused_groups
    return {step: pairs for step, pairs in steps.items() if pairs is not None}


@RULE.on_link
def shared_steps(link: LinkEnds) -> LinkBreaches:
    """Look for other traffic classes and priorities that lead to the queue or group of a lossless class."""
    for end in link.switches:
        for traffic_class in link.lossless_classes:
            priority = traffic_class.priority
            for step, pairs in _steps(end, link.design(end)).items():
                others = [str(number) for number, to in pairs.items() if to == priority and number != priority]
                if others:
                    message = (
                        f"{', '.join(others)} and the lossless {priority} of {traffic_class.name} have one {step} on"
                        f" {end}, towards {link.far(end)}: a pause stops both"
                    )
                    fix = f"map {', '.join(others)} to another number than {priority} on {end.device}"
                    yield LinkBreach(end, f"shared {step} {traffic_class.name}", message, fix)


def _other_code_points(end: "PortSettings", traffic_class: TrafficClass) -> list[str]:
    """Return the code points of other classes that an end maps to the priority of ``traffic_class``."""
    mapped = [dscp for dscp, priority in (end.priorities or {}).items() if priority == traffic_class.priority]
    return [str(dscp) for dscp in mapped if dscp not in traffic_class.dscp]


@RULE.on_link
def mixed(link: LinkEnds) -> LinkBreaches:
    """Look for other traffic in a lossless priority."""
    rest = next((traffic_class.priority for traffic_class in link.policies.classes if traffic_class.is_default), 0)
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
                yield LinkBreach(end, f"mixed {traffic_class.name}", message, f"map them to {rest} on {end.device}")
