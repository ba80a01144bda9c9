"""What both ends of a link must agree on for RoCE to work, each finding with both ends, the values and the fix.

Most RoCE fabrics fail on settings that differ along a path: a priority that one end pauses and the other drops, a code
point that lands in another class, a packet size that one hop does not carry (fabric-facts sections 4 and 5).
"""

from collections.abc import Callable, Iterator

from railweave.checks.ends import DSCPS, End
from railweave.checks.link_ports import port_findings
from railweave.checks.pairs import Finding, Pair, found
from railweave.fabric.policy import ClassRole, Policies, TrafficClass
from railweave.qos.buffering import BufferPlan
from railweave.qos.headroom import Headroom
from railweave.qos.pause import PauseLimits, marking_rules
from railweave.units import format_speed

Plans = Callable[[str], BufferPlan | None]
"""How a switch divides its buffer, by name; None where its buffer is not known."""


def link_findings(pair: Pair, policies: Policies, plans: Plans) -> Iterator[Finding]:
    """Yield everything about one link that does not fit."""
    yield from _pfc(pair, policies)
    yield from _code_points(pair, policies)
    for end in pair.switches:
        yield from _map_chain(end, pair.far(end), policies)
        yield from _mixed(end, pair.far(end), policies)
        yield from _notification(end, pair.far(end), policies)
        yield from _protected(end, pair.far(end), policies)
        plan = plans(end.device)
        if plan is not None:
            yield from _thresholds(end, pair.far(end), plan.limits)
            yield from _enough_headroom(end, pair, plan)
    yield from port_findings(pair, policies)


def _listed(numbers: frozenset[int] | None) -> str:
    return ", ".join(map(str, sorted(numbers))) if numbers else "no priority"


def _pfc(pair: Pair, policies: Policies) -> Iterator[Finding]:
    """Q-3: both ends pause the same priorities, the lossless ones."""
    wanted = frozenset(one.priority for one in policies.classes if one.lossless)
    for end in (pair.upper, pair.lower):
        far = pair.far(end)
        if end.is_asymmetric:
            message = f"{end} obeys pauses of {far} and sends none (pfc_asym): what {far} sends on is lost"
            yield found("Q-3", end, far, "asymmetric", message, f"set PORT|{end.port}|pfc_asym to off")
        if end.pfc is None or end.pfc == wanted:
            continue
        yield found(
            "Q-3",
            end,
            far,
            f"pfc {sorted(end.pfc)}",
            f"{end} pauses {_listed(end.pfc)} and {far} {_listed(far.pfc)}: {_listed(wanted)} is lossless, and what one"
            " end drops or ignores the other relies on",
            f"let PFC of {end} be {_listed(wanted)}"
            + ("" if end.is_host else f" (PORT_QOS_MAP|{end.port}|pfc_enable)"),
        )


def _code_points(pair: Pair, policies: Policies) -> Iterator[Finding]:
    """Q-2: every code point of a class has the class's priority at both ends."""
    for end in (pair.upper, pair.lower):
        if end.priorities is None:
            continue
        far = pair.far(end)
        for one in policies.classes:
            wrong = [dscp for dscp in one.dscp if end.priorities.get(dscp, one.priority) != one.priority]
            if wrong:
                yield found("Q-2", end, far, f"dscp {one.name}", *_wrong_priority(end, far, one, wrong))


def _wrong_priority(end: End, far: End, one: TrafficClass, wrong: list[int]) -> tuple[str, str]:
    first = wrong[0]
    here = (end.priorities or {})[first]
    told = (far.priorities or {}).get(first)
    there = f"{one.priority} by the intent" if told is None else f"{told} by {far}"
    lossy = f", where it is not lossless on {end}" if one.lossless and here not in (end.pfc or ()) else ""
    trap = " (SONiC's default map AZURE sends all but six code points to 1)" if here == 1 and not end.is_host else ""
    message = f"DSCP {first} of {one.name} is priority {here} by {end} and {there}{lossy}{trap}"
    fix = f"map DSCP {', '.join(map(str, wrong))} to {one.priority} on {end.device}"
    return message, fix


def _map_chain(end: End, far: End, policies: Policies) -> Iterator[Finding]:
    """Q-1: traffic class, queue, group and PFC priority of a lossless class are one number."""
    if end.queues is None or end.groups is None or end.paused_queues is None:
        return
    for one in policies.classes:
        if not one.lossless:
            continue
        steps = {
            "queue (TC_TO_QUEUE_MAP)": end.queues.get(one.priority),
            "priority group (TC_TO_PRIORITY_GROUP_MAP)": end.groups.get(one.priority),
            "paused queue (MAP_PFC_PRIORITY_TO_QUEUE)": end.paused_queues.get(one.priority),
        }
        for step, number in steps.items():
            if number != one.priority:
                shown = "nothing" if number is None else number
                yield found(
                    "Q-1",
                    end,
                    far,
                    f"{step} {one.name}",
                    f"{one.name} has priority {one.priority} between {end} and {far}, its {step} on {end} is {shown}",
                    f"map {one.priority} to {one.priority} on {end.device}",
                )


def _mixed(end: End, far: End, policies: Policies) -> Iterator[Finding]:
    """Q-1: nothing else rides a lossless priority."""
    if end.priorities is None:
        return
    rest = next((one.priority for one in policies.classes if one.is_default), 0)
    for one in policies.classes:
        if not one.lossless:
            continue
        others = [dscp for dscp in DSCPS if end.priorities[dscp] == one.priority and dscp not in one.dscp]
        if others:
            listed = ", ".join(map(str, others[:8])) + (" …" if len(others) > 8 else "")
            yield found(
                "Q-1",
                end,
                far,
                f"mixed {one.name}",
                f"DSCP {listed} ride the lossless priority {one.priority} of {one.name} on {end}, towards {far}: other"
                " traffic pauses RDMA, and is dropped where the queue marks",
                f"map them to {rest} on {end.device}",
            )


def _notification(end: End, far: End, policies: Policies) -> Iterator[Finding]:
    """Q-4: congestion notification goes first and is never paused."""
    for one in policies.classes:
        if one.role is not ClassRole.CNP:
            continue
        if end.pfc is not None and one.priority in end.pfc:
            message = (
                f"{end} pauses priority {one.priority} of {one.name} towards {far}: congestion delays its own report"
            )
            yield found("Q-4", end, far, "paused", message, f"take {one.priority} out of pfc_enable of {end}")
        if one.strict and end.strict is not None and one.priority not in end.strict:
            message = f"queue {one.priority} of {one.name} is not strict on {end} towards {far}"
            yield found("Q-4", end, far, "strict", message, f"give QUEUE|{end.port}|{one.priority} a strict scheduler")


def _protected(end: End, far: End, policies: Policies) -> Iterator[Finding]:
    """Q-5, W-1 and H-headroom: marking, watchdog and headroom on exactly the lossless priorities."""
    wanted = frozenset(one.priority for one in policies.classes if one.lossless)
    watched = wanted if policies.watchdog.enabled else frozenset()
    rules = (
        ("Q-5", "marks with ECN", "WRED profiles", end.marked, wanted),
        ("W-1", "watches for storms", "the watchdog", end.watched, watched),
        ("H-headroom", "keeps headroom for", "lossless buffer profiles", end.headroom, wanted),
    )
    for code, does, means, held, right in rules:
        if held is None or held == right:
            continue
        yield found(
            code,
            end,
            far,
            does,
            f"{end} {does} {_listed(held)}, while {_listed(right)} is lossless between it and {far}",
            f"put {means} of {end} on {_listed(right)} and nothing else",
        )


def _enough_headroom(end: End, pair: Pair, plan: BufferPlan) -> Iterator[Finding]:
    """H-headroom: what a group keeps, and the cable length configured in SONiC, are no less than the link needs."""
    far, link = pair.far(end), f"{pair.length_m} m of cable at {format_speed(pair.speed_gbps)}"
    room = plan.headroom.get((pair.speed_gbps, pair.length_m))
    if isinstance(room, Headroom) and end.cable_m is not None and end.cable_m < pair.length_m:
        yield found(
            "H-headroom",
            end,
            far,
            "cable",
            f"{end} is told of {end.cable_m} m of cable and {pair.length_m} m lead to {far}: its headroom is too small",
            f"set CABLE_LENGTH|AZURE|{end.port} to {room.row_m or pair.length_m}m",
        )
    for group, xoff in (end.xoff_bytes or {}).items():
        if isinstance(room, Headroom) and xoff < room.xoff_bytes:
            yield found(
                "H-headroom",
                end,
                far,
                f"xoff {group}",
                f"group {group} of {end} keeps {xoff} bytes of headroom, and {link} to {far} take {room.xoff_bytes}:"
                f" {room.formula}",
                f"give BUFFER_PG|{end.port}|{group} a profile with xoff {room.xoff_bytes} or more",
            )


def _thresholds(end: End, far: End, limits: PauseLimits) -> Iterator[Finding]:
    """E-1 and E-2 of the thresholds as they are set."""
    for queue, marking in (end.thresholds or {}).items():
        for rule in marking_rules(marking, limits):
            if rule.code in {"E-1", "E-2"} and not rule.holds:
                yield found(
                    rule.code,
                    end,
                    far,
                    f"queue {queue}",
                    f"queue {queue} of {end}, from which {far} receives: {rule.numbers}",
                    f"start marking below {min(limits.single_bytes, limits.all_bytes)} bytes, and end it above that",
                )
