"""Headroom, buffer budget and "ECN before PFC" of every kind of switch in the fabric (fabric-facts 4.5 to 4.7).

A kind is a panel in a tier: its switches have the same buffer, ports and cables, so each is looked at once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from railweave.checks.buffer_facts import VIRTUAL, lossless_names, unproven
from railweave.checks.registry import rule
from railweave.checks.rules.e1_thresholds import SEVERITY, broken_thresholds
from railweave.diagnostics import Diagnostic, Severity, Where, error, has_errors, warning
from railweave.fabric.buffers import BufferSlices, Division
from railweave.fabric.model import LINK_KINDS, Fabric, Panel, Switch, Tier
from railweave.fabric.policy import BufferModel, Marking, Policies, TrafficClass
from railweave.qos.buffering import BufferPlan, plan_buffers
from railweave.qos.marking import bandwidth_delay_bytes, choose_marking
from railweave.qos.mmu.headroom import Headroom, NoHeadroom
from railweave.qos.mmu.pause import MarkingRule, broken_rules, marks_text
from railweave.qos.mmu.pools import POOL_EXHAUSTED
from railweave.units import format_speed
from railweave.wording import counted

_LATE = (
    "A sender that is marked slows down, one that is paused only stops: PFC would do the work of congestion control."
)
_EXAMPLE = "traffic_classes: [{{name: roce, dscp: [26], lossless: true, priority: 3, ecn: {{min_kb: {}, max_kb: {}}}}}]"

for _rule in (
    rule(
        "E-3",
        "ECN marks everything before a single congested priority group pauses",
        _LATE,
        _EXAMPLE.format(200, 90_000),
    ),
    rule("E-4", "ECN marks before PFC pauses with every port congested", _LATE, _EXAMPLE.format(8_000, 90_000)),
    rule(
        "E-5",
        "ECN marks before PFC even when one ingress port feeds all egress ports",
        _LATE,
        _EXAMPLE.format(800, 3200),
    ),
    rule(
        "E-6",
        "ECN marks before PFC while a lossy queue is full",
        "Where lossy groups share the buffer of lossless ones, a full best-effort queue lowers where PFC pauses.",
        _EXAMPLE.format(950, 3800),
    ),
):
    _rule.on_link(partial(broken_thresholds, code=_rule.code))
rule(
    "RW403",
    "marking starts above what one flow at line rate has on its way",
    "One flow at line rate fills a queue by what is on its way; marked before that, it slows down without congestion.",
    _EXAMPLE.format(1, 800),
)

Places = Callable[[str], Where]

_POOL_SHARED_WIDELY = 2
"""Headroom of all groups in relation to their common pool: up to here PFC is lossless but for rare coincidences."""


class SwitchKind(NamedTuple):
    """Switches of one panel and tier. ``cables`` counts (speed, length, level of the link) of the one with the most."""

    panel: Panel
    tier: Tier
    devices: tuple[str, ...]
    cables: Mapping[tuple[int, int, int], int]


def buffer_findings(fabric: Fabric, where: Places) -> tuple[Diagnostic, ...]:
    """Return what does not fit in the buffers of the fabric's switches; nothing where no class is lossless.

    What holds for several kinds of switches is one diagnostic with all of their devices."""
    devices: dict[Diagnostic, list[str]] = {}
    for one in _findings(fabric, where):
        devices.setdefault(one._replace(devices=()), []).extend(one.devices)
    return tuple(one._replace(devices=tuple(names)) for one, names in devices.items())


def _findings(fabric: Fabric, where: Places) -> Iterator[Diagnostic]:
    if not any(one.lossless for one in fabric.policies.classes):
        return
    for kind in _kinds(fabric):
        # Of a chassis RW126 says that it is not configured.
        if kind.panel.buffers is None and not kind.panel.card_cages:
            yield unproven(fabric, kind.panel, kind.tier, kind.devices, where)
        yield from kind_findings(kind, fabric.policies, where)


def kind_findings(kind: SwitchKind, policies: Policies, where: Places) -> Iterator[Diagnostic]:
    """Yield what does not fit in the buffers of one kind of switches."""
    plan = plan_buffers(kind.panel, kind.tier, policies, {length_m for _, length_m, _ in kind.cables})
    if plan is None:
        return
    yield from _headroom(kind, plan, where)
    yield from _classes(policies, kind, plan, where)
    budget = list(_budget(kind, plan, where))
    yield from budget
    if not has_errors(budget):
        yield from _marking(policies, kind, plan, where)


def _kinds(fabric: Fabric) -> list[SwitchKind]:
    found: dict[tuple[int, Tier], list[Switch]] = {}
    for switch in fabric.switches:
        found.setdefault((id(switch.panel), switch.tier), []).append(switch)
    return [one for (_, tier), switches in found.items() for one in _by_cables(fabric, tier, switches)]


def _by_cables(fabric: Fabric, tier: Tier, switches: list[Switch]) -> list[SwitchKind]:
    """Return the switches of one panel by their cables; those whose cables others have too, and more, are with them."""
    alike: dict[frozenset[tuple[tuple[int, int, int], int]], list[str]] = {}
    for switch in switches:
        cables = Counter((link.speed_gbps, link.length_m, link.level) for link in fabric.links_of[switch.name])
        alike.setdefault(frozenset(cables.items()), []).append(switch.name)
    kinds: list[tuple[Counter[tuple[int, int, int]], list[str]]] = []
    for items, names in sorted(alike.items(), key=lambda one: -sum(ports for _, ports in one[0])):
        cables = Counter(dict(items))
        covering = next((held for more, held in kinds if cables <= more), None)
        if covering is None:
            kinds.append((cables, names))
        else:
            covering.extend(names)
    order = {switch.name: place for place, switch in enumerate(switches)}
    return [
        SwitchKind(switches[0].panel, tier, tuple(sorted(names, key=order.__getitem__)), cables)
        for cables, names in kinds
    ]


def _headroom(kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    """H-headroom: every used speed and cable length has headroom that its vendor publishes or computes."""
    told = set()
    for speed_gbps, length_m, level in sorted(kind.cables):
        room = plan.headroom[speed_gbps, length_m]
        if isinstance(room, NoHeadroom) and room.reason not in told:
            told.add(room.reason)
            yield error("H-headroom", room.reason, _length_place(level, where), fix=room.fix, devices=kind.devices)


def _length_place(level: int, where: Places) -> Where:
    """Return the place that gives the cables of a level their lengths: the racks where the intent has them."""
    racks = where("racks")
    return racks if racks.line and racks.path else where(f"cabling.{LINK_KINDS[level] if level else 'host'}.length_m")


def _classes(policies: Policies, kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    limit = plan.buffers.lossless_classes
    count = plan.limits.lossless_classes
    if limit is not None and count > limit:
        yield error(
            "H-budget",
            f"{count} classes are lossless ({lossless_names(policies)}); the {kind.panel.asic} of {plan.buffers.hwsku}"
            " has headroom for"
            f" {limit}",
            where("traffic_classes"),
            fix=f"keep to {limit} lossless classes",
            devices=kind.devices,
        )


def _budget(kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    """H-budget: what the lossless groups of the ports in use take, against what there is."""
    parts = []
    uses: Counter[tuple[int, int]] = Counter()
    for (speed_gbps, length_m, _), ports in sorted(kind.cables.items()):
        room = plan.headroom[speed_gbps, length_m]
        uses[speed_gbps, length_m] += ports
        if isinstance(room, Headroom):
            each = room.xoff_bytes if plan.full.is_pooled else room.size_bytes
            parts.append(f"{ports} ports of {format_speed(speed_gbps)} over {length_m} m take {each} bytes each")
    found = plan.divided(uses)
    needed, hwsku = found.headroom_bytes, plan.buffers.hwsku
    text = f"{'; '.join(parts)}: {needed} bytes for {counted(plan.limits.lossless_classes, 'lossless class')}"
    place, fix = where("cabling"), "use shorter cables, fewer ports or fewer lossless classes"
    if found.is_pooled:
        text = f"{text}, {needed / found.budget_bytes:.2f} times"
        yield from _pooled(found, plan.buffers.slices, text, kind, place, fix)
    elif plan.model is BufferModel.TRADITIONAL and found.chip_bytes is not None:
        pools = found.stated_bytes - needed
        message = f"{text}, and the pools of {hwsku} take {pools}: {found.stated_bytes} of {found.chip_bytes} bytes"
        message = f"{message} of the chip"
        fix = f"{fix}, or leave out sonic.buffer_model, so that the switch sizes its pools"
        if found.stated_bytes > found.chip_bytes:
            yield error("H-budget", message, place, fix=fix, devices=kind.devices)
        elif found.stated_bytes + sum(found.reserved.values()) > found.chip_bytes:
            message = f"{message}, which also sets aside {sum(found.reserved.values())} for ports and mirrors"
            yield warning("H-budget", message, place, fix=fix, devices=kind.devices)
    elif needed >= found.budget_bytes:
        message = f"{text}, of {found.budget_bytes} bytes that {hwsku} has for headroom"
        yield error("H-budget", message, place, fix=fix, devices=kind.devices)


def _pooled(
    found: Division, slices: BufferSlices, text: str, kind: SwitchKind, place: Where, fix: str
) -> Iterator[Diagnostic]:
    """Compare the headroom of all groups with the pool that they share, each slice its part."""
    ratio = found.headroom_bytes / found.budget_bytes
    message = f"{text} the {found.budget_bytes} bytes of the headroom pool of {kind.panel.hwsku}"
    if ratio > POOL_EXHAUSTED:
        message = f"{message}: it does not last where a quarter of the groups is paused at once"
        yield error("H-budget", message, place, fix=fix, devices=kind.devices)
    elif ratio > min(_POOL_SHARED_WIDELY, POOL_EXHAUSTED / slices.total):
        if slices.total > 1:
            message = f"{message}{slices}: one slice's part does not last where a quarter of the groups is paused in it"
        yield warning("H-budget", message, place, fix=fix, devices=kind.devices)
    elif ratio > 1:
        message = f"{message}: it lasts unless all ports are paused at once"
        yield Diagnostic("H-budget", Severity.INFO, message, place, kind.devices)


_MEANING = {
    "E-1": "the thresholds do not rise or do not fit the queue",
    "E-2": "PFC always fires before ECN",
    "E-3": "PFC fires before ECN marks every packet",
    "E-4": "PFC fires before ECN when all ports are congested",
    "E-5": "ECN may not mark before PFC when one ingress port feeds all egress ports",
    "E-6": "PFC fires before ECN when all ports are congested and one lossy queue is full",
}


def _marking(policies: Policies, kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    """E-1 to E-6 for every lossless class and port speed in use."""
    for index, one in enumerate(policies.classes):
        if not one.lossless:
            continue
        if one.ecn is not None and one.ecn.minimum_bytes >= one.ecn.maximum_bytes:
            continue  # a diagnostic of the intent itself
        for speed_gbps in sorted({speed for speed, _, _ in kind.cables}):
            marking = choose_marking(one, speed_gbps, policies.marking, plan).thresholds
            stated = one.ecn is not None or policies.marking is not None
            place = where(_place(policies, index, one))
            subject = f"{one.name} on ports of {format_speed(speed_gbps)} of {plan.buffers.hwsku}"
            for broken in broken_rules(marking, plan.limits):
                found = _not_held(broken, f"{subject}: {_MEANING[broken.code]}", marking, place, plan, kind)
                if not stated:
                    found = found._replace(fix=_WITHOUT_THRESHOLDS.get(broken.code, found.fix))
                if found.severity is Severity.ERROR and one.ecn is None and kind.panel.asic == VIRTUAL:
                    message = f"{found.message}; a virtual switch has no buffer, hardware like this would be refused"
                    found = found._replace(severity=Severity.WARNING, message=message)
                yield found
            least = bandwidth_delay_bytes(speed_gbps)
            if stated and marking.minimum_bytes < least:
                message = f"{subject}: marking starts at {marking.minimum_bytes} bytes, below the {least} that one flow"
                message = f"{message} at line rate has on its way"
                yield Diagnostic("RW403", Severity.INFO, message, place, kind.devices)


def _place(policies: Policies, index: int, one: TrafficClass) -> str:
    if one.ecn is not None:
        return f"traffic_classes[{index}].ecn"
    return "preset" if policies.marking else f"traffic_classes[{index}]"


_WITHOUT_THRESHOLDS = dict.fromkeys(
    ("E-1", "E-2", "E-3", "E-4"),
    "use shorter cables or fewer lossless classes, or state ecn thresholds for the class",
)
"""The fix without configured thresholds: the rule's own are as low as they get."""


def _not_held(
    broken: MarkingRule, subject: str, marking: Marking, place: Where, plan: BufferPlan, kind: SwitchKind
) -> Diagnostic:
    limits = plan.limits
    below_kb = max(1, (min(limits.single_bytes, limits.all_bytes) - 1) // 1000)
    lossy_kb = (limits.lossy_all_bytes - 1) // 1000
    fix = {
        "E-1": f"lower ecn.max_kb to at most {(limits.queue_bytes or 0) // 1000}",
        "E-2": f"lower ecn.min_kb to at most {below_kb}, or leave ecn and preset out",
        "E-3": f"lower ecn.max_kb to at most {limits.single_bytes // 1000}",
        "E-4": f"lower ecn.min_kb to at most {below_kb}, or use shorter cables",
        "E-5": f"nothing, or lower ecn.min_kb to {max(1, (limits.conservative_bytes - 1) // 1000)}",
        "E-6": f"lower ecn.min_kb to at most {lossy_kb}" if lossy_kb > 0 else "keep lossy traffic off these ports",
    }[broken.code]
    message = f"{subject}: {broken.numbers}"
    if broken.code != "E-1":
        message = f"{message}; {marks_text(marking, limits)}"
    return Diagnostic(broken.code, SEVERITY[broken.code], message, place, kind.devices, fix)
