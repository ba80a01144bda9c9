"""What both ends of a link must agree on for RoCE to work, each finding with both ends, the values and the way out.

Most RoCE fabrics fail on settings that differ along a path: a priority that one end pauses and the other drops, a code
point that lands in another class, a packet size that one hop does not carry (fabric-facts sections 4 and 5).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from railweave.checks.ends import DSCPS, End
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.fabric.policy import ClassRole, Policies, TrafficClass
from railweave.qos.pause import PauseLimits, tiers

Limits = Callable[[str], PauseLimits | None]
"""The pause limits of a switch by name, None where its buffer is not known."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A link: the end nearer to the GPUs, and the other."""

    lower: End
    upper: End

    @property
    def switches(self) -> tuple[End, ...]:
        """Return the ends that are switches."""
        return tuple(end for end in (self.lower, self.upper) if not end.is_host)

    def far(self, end: End) -> End:
        """Return the other end."""
        return self.upper if end is self.lower else self.lower


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not fit on one link. Findings of one ``code``, ``device`` and ``what`` are told once."""

    code: str
    severity: Severity
    device: str
    what: str
    message: str
    fix: str
    devices: tuple[str, ...]


def link_findings(pair: Pair, policies: Policies, limits: Limits) -> Iterator[Finding]:
    """Yield everything about one link that does not fit."""
    yield from _pfc(pair, policies)
    yield from _code_points(pair, policies)
    for end in pair.switches:
        yield from _map_chain(end, pair.far(end), policies)
        yield from _mixed(end, pair.far(end), policies)
        yield from _notification(end, pair.far(end), policies)
        yield from _protected(end, pair.far(end), policies)
        yield from _thresholds(end, pair.far(end), limits(end.device))
    yield from _packet_size(pair)
    yield from _physical(pair)
    yield from _hash(pair)


def together(findings: Iterator[Finding], place: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
    """Return findings as diagnostics, those of one kind and device as one that counts its links."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for one in findings:
        kinds.setdefault((one.code, one.device, one.what), []).append(one)
    told = []
    for alike in kinds.values():
        first = alike[0]
        more = f" (and on {len(alike) - 1} more links)" if len(alike) > 1 else ""
        devices = tuple(dict.fromkeys(name for one in alike for name in one.devices))
        told.append(
            Diagnostic(first.code, first.severity, first.message + more, place(first.device), devices, first.fix)
        )
    return tuple(told)


def _found(code: str, end: End, far: End, what: str, message: str, fix: str) -> Finding:
    return Finding(code, Severity.ERROR, end.device, what, message, fix, (end.device, far.device))


def _listed(numbers: frozenset[int] | None) -> str:
    return ", ".join(map(str, sorted(numbers))) if numbers else "no priority"


def _pfc(pair: Pair, policies: Policies) -> Iterator[Finding]:
    """Q-3: both ends pause the same priorities, the lossless ones."""
    wanted = frozenset(one.priority for one in policies.classes if one.lossless)
    for end in (pair.upper, pair.lower):
        far = pair.far(end)
        if end.pfc is None or end.pfc == wanted:
            continue
        yield _found(
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
                yield _found("Q-2", end, far, f"dscp {one.name}", *_wrong_priority(end, far, one, wrong))


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
                yield _found(
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
            yield _found(
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
            yield _found("Q-4", end, far, "paused", message, f"take {one.priority} out of pfc_enable of {end}")
        if one.strict and end.strict is not None and one.priority not in end.strict:
            message = f"queue {one.priority} of {one.name} is not strict on {end} towards {far}"
            yield _found("Q-4", end, far, "strict", message, f"give QUEUE|{end.port}|{one.priority} a strict scheduler")


def _protected(end: End, far: End, policies: Policies) -> Iterator[Finding]:
    """Q-5, W-1 and H-headroom: marking, watchdog and headroom on exactly the lossless priorities."""
    wanted = frozenset(one.priority for one in policies.classes if one.lossless)
    watched = wanted if policies.watchdog.enabled else frozenset()
    rules = (
        ("Q-5", "marks with ECN", "WRED profiles", end.marked, wanted),
        ("W-1", "watches for storms", "the watchdog", end.watched, watched),
        ("H-headroom", "keeps headroom for", "lossless buffer profiles", end.headroom, wanted),
    )
    for code, does, means, found, right in rules:
        if found is None or found == right:
            continue
        yield _found(
            code,
            end,
            far,
            does,
            f"{end} {does} {_listed(found)}, while {_listed(right)} is lossless between it and {far}",
            f"put {means} of {end} on {_listed(right)} and nothing else",
        )


def _thresholds(end: End, far: End, limits: PauseLimits | None) -> Iterator[Finding]:
    """E-1 and E-2 of the thresholds as they are set."""
    if limits is None:
        return
    for queue, marking in (end.thresholds or {}).items():
        for tier in tiers(marking, limits):
            if tier.code in {"E-1", "E-2"} and not tier.holds:
                yield _found(
                    tier.code,
                    end,
                    far,
                    f"queue {queue}",
                    f"queue {queue} of {end}, from which {far} receives: {tier.numbers}",
                    f"start marking below {min(limits.single_bytes, limits.all_bytes)} bytes, and end it above that",
                )


def _packet_size(pair: Pair) -> Iterator[Finding]:
    """M-1 and M-2: a host sends no more than the switch carries, and switches carry the same."""
    lower, upper = pair.lower, pair.upper
    if lower.mtu_bytes is None or upper.mtu_bytes is None:
        return
    sizes = f"{lower} has an MTU of {lower.mtu_bytes} bytes, {upper} of {upper.mtu_bytes}"
    if lower.is_host and lower.mtu_bytes > upper.mtu_bytes:
        message = f"{sizes}: what the node sends is dropped"
        yield _found("M-1", upper, lower, "mtu", message, f"raise the MTU of {upper} to {lower.mtu_bytes} or more")
    elif not lower.is_host and lower.mtu_bytes != upper.mtu_bytes:
        end = lower if lower.mtu_bytes < upper.mtu_bytes else upper
        message = f"{sizes}: larger packets are lost one way"
        yield _found("M-2", end, pair.far(end), "mtu", message, "set both to mtu.fabric")


def _physical(pair: Pair) -> Iterator[Finding]:
    """P-3, P-5 and P-6: speed, error correction and negotiation."""
    rules = (
        ("P-3", "speed", pair.lower.speed_gbps, pair.upper.speed_gbps, "G"),
        ("P-5", "FEC", pair.lower.fec, pair.upper.fec, ""),
        ("P-6", "autonegotiation", pair.lower.autoneg, pair.upper.autoneg, ""),
    )
    for code, what, one, other, unit in rules:
        if one is None or other is None or one == other:
            continue
        message = f"{pair.lower} has {what} {one}{unit}, {pair.upper} {other}{unit}: the link stays down"
        yield _found(code, pair.upper, pair.lower, what, message, f"set {what} alike on both ends")


def _hash(pair: Pair) -> Iterator[Finding]:
    """L-1: the tiers of a path hash with different seeds, which SONiC takes from the type."""
    lower, upper = pair.lower, pair.upper
    if lower.is_host or lower.sonic_type is None or lower.sonic_type != upper.sonic_type:
        return
    yield _found(
        "L-1",
        lower,
        upper,
        "type",
        f"{lower.device} and {upper.device} are both of type {lower.sonic_type}, whose ECMP hash has one seed: flows"
        " that one sends one way the other does not spread",
        "give adjacent tiers different DEVICE_METADATA types: ToRRouter for leaves, LeafRouter for spines",
    )
