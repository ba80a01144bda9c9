"""Traffic classes: every packet in one class, every class in a queue that suits it (fabric-facts sections 4.1, 4.2)."""

from collections import defaultdict
from collections.abc import Iterator

from railweave.diagnostics import Diagnostic, error, info, warning
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.intent.model import Intent
from railweave.wording import either

BGP_DSCP = 48
"""The code point of BGP and BFD packets where no control class names another (CS6, RFC 4594 section 3.1)."""
_MOST_LOSSLESS = 2


def class_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what is wrong with the traffic classes, each alone and all together."""
    for index, one in enumerate(intent.policies.classes):
        yield from _role(intent, index, one)
        yield from _share(intent, index, one)
        yield from _ecn(intent, index, one)
    yield from _names(intent)
    yield from _priorities(intent)
    yield from _code_points(intent)
    yield from _default(intent)
    yield from _shares(intent)
    yield from _lossless(intent)
    yield from _control(intent)


def _role(intent: Intent, index: int, one: TrafficClass) -> Iterator[Diagnostic]:
    """Q-4, and what else a class must or must not be by what it carries."""
    path = f"traffic_classes[{index}]"
    if one.role is ClassRole.CNP and one.lossless:
        yield error(
            "Q-4",
            f"class `{one.name}` carries congestion notifications and must not be lossless: paused by the congestion"
            " that they report, they come too late",
            intent.where(f"{path}.lossless"),
            fix="write lossless: false and strict: true",
        )
    elif one.role is ClassRole.CNP and not one.strict:
        yield warning(
            "Q-4",
            f"class `{one.name}` carries congestion notifications and waits behind other classes",
            intent.where(path),
            fix="write strict: true and leave `share` out",
        )
    if one.role is ClassRole.CONTROL and one.lossless:
        yield error(
            "RW108",
            f"class `{one.name}` carries BGP and must not be lossless: a paused session falls",
            intent.where(f"{path}.lossless"),
            fix="write lossless: false and strict: true",
        )
    if one.lossless and one.priority == 0:
        yield error(
            "Q-1",
            f"lossless class `{one.name}` has priority 0, whose priority group holds all classes that are not lossless",
            intent.where(f"{path}.priority"),
            fix="give it a priority from 1 to 7; 3 is the usual one",
        )
    if one.role is ClassRole.RDMA and not one.lossless:
        yield warning(
            "RW114",
            f"class `{one.name}` carries RDMA and is not lossless: go-back-N NICs resend whole windows for one drop",
            intent.where(path),
            fix="write lossless: true, unless every NIC can do with losses",
        )


def _share(intent: Intent, index: int, one: TrafficClass) -> Iterator[Diagnostic]:
    path = f"traffic_classes[{index}]"
    if one.strict and one.share_percent:
        yield error(
            "RW016",
            f"class `{one.name}` is strict and has a share; a strict class goes before all shares",
            intent.where(f"{path}.share"),
            fix="leave out `share` or `strict`",
        )
    elif not one.strict and not one.share_percent:
        yield error(
            "RW107",
            f"class `{one.name}` has no share and is not strict, so its queue would never be served under load",
            intent.where(path),
            fix="add `share`: percent of what strict classes leave, or `strict: true`",
        )


def _ecn(intent: Intent, index: int, one: TrafficClass) -> Iterator[Diagnostic]:
    """E-1 and Q-5: thresholds that rise, and only where packets are marked instead of dropped."""
    if one.ecn is None:
        return
    path = f"traffic_classes[{index}].ecn"
    if not one.lossless:
        yield error(
            "Q-5",
            f"class `{one.name}` is not lossless and has ECN thresholds: packets without ECT would be dropped there",
            intent.where(path),
            fix="leave out `ecn`, or write lossless: true",
        )
    elif one.ecn.minimum_bytes >= one.ecn.maximum_bytes:
        low, high = one.ecn.minimum_bytes // 1000, one.ecn.maximum_bytes // 1000
        yield error(
            "E-1",
            f"class `{one.name}`: marking would start at {low} KB and be complete at {high} KB",
            intent.where(f"{path}.min_kb"),
            fix=f"swap them: min_kb: {high}, max_kb: {low}"
            if low > high
            else f"raise max_kb, to {4 * low} for example",
        )


def _names(intent: Intent) -> Iterator[Diagnostic]:
    seen: dict[str, int] = {}
    for index, one in enumerate(intent.policies.classes):
        if one.name in seen:
            yield error(
                "RW105",
                f"two traffic classes are named `{one.name}`",
                intent.where(f"traffic_classes[{index}].name"),
                fix=f"rename this one or traffic_classes[{seen[one.name]}]",
            )
        seen.setdefault(one.name, index)


def _priorities(intent: Intent) -> Iterator[Diagnostic]:
    """Q-1: a priority is a traffic class and queue of its own; a shared lossless one would pause the other class."""
    classes = intent.policies.classes
    first: dict[int, TrafficClass] = {}
    for index, one in enumerate(classes):
        other = first.setdefault(one.priority, one)
        if other is one:
            continue
        lossless = one.lossless or other.lossless
        consequence = "PFC would pause both" if lossless else "they would be one class"
        free = [str(number) for number in range(8) if number not in {each.priority for each in classes}]
        yield error(
            "Q-1" if lossless else "RW105",
            f"classes `{other.name}` and `{one.name}` both have {'lossless ' if lossless else ''}priority"
            f" {one.priority}: {consequence}",
            intent.where(f"traffic_classes[{index}].priority"),
            fix=f"give one of them {either(free)}" if free else "take a class out: there are 8 priorities",
        )


def _code_points(intent: Intent) -> Iterator[Diagnostic]:
    first: dict[int, TrafficClass] = {}
    for index, one in enumerate(intent.policies.classes):
        for place, dscp in enumerate(one.dscp):
            path = f"traffic_classes[{index}].dscp[{place}]"
            if dscp not in first:
                first[dscp] = one
                continue
            other = first[dscp]
            holders = f"twice in class `{one.name}`" if other is one else f"in classes `{other.name}` and `{one.name}`"
            yield error(
                "RW105",
                f"DSCP {dscp} is listed {holders}",
                intent.where(path),
                fix="keep it in one class",
            )


def _default(intent: Intent) -> Iterator[Diagnostic]:
    defaults = [(index, one) for index, one in enumerate(intent.policies.classes) if one.is_default]
    if not defaults:
        yield error(
            "RW106",
            "no traffic class takes the code points that no class names",
            intent.where("traffic_classes"),
            fix="add {name: best-effort, dscp: default, priority: 0, share: 10}",
        )
    for index, one in defaults[1:]:
        yield error(
            "RW106",
            f"classes `{defaults[0][1].name}` and `{one.name}` both take the code points that no class names",
            intent.where(f"traffic_classes[{index}].dscp"),
            fix="list the code points of one of them",
        )
    for index, one in defaults:
        if one.lossless:
            yield error(
                "RW106",
                f"class `{one.name}` takes all other code points and must not be lossless: anything could pause a port",
                intent.where(f"traffic_classes[{index}].lossless"),
                fix="list its code points, and let a class that is not lossless be the default",
            )


def _shares(intent: Intent) -> Iterator[Diagnostic]:
    classes = intent.policies.classes
    total = sum(one.share_percent for one in classes if not one.strict)
    if total > 100:
        index = next(index for index in reversed(range(len(classes))) if classes[index].share_percent)
        sums = " + ".join(str(one.share_percent) for one in classes if one.share_percent and not one.strict)
        yield error(
            "RW107",
            f"the shares of the classes are {sums} = {total} percent",
            intent.where(f"traffic_classes[{index}].share"),
            fix="lower them to 100 together; strict classes have none",
        )


def _lossless(intent: Intent) -> Iterator[Diagnostic]:
    classes = intent.policies.classes
    if not any(one.role is ClassRole.RDMA for one in classes):
        yield warning(
            "RW114",
            "no traffic class carries RDMA",
            intent.where("traffic_classes"),
            fix="give the class of the GPU traffic role: rdma",
        )
    elif not any(one.role is ClassRole.CNP for one in classes):
        yield warning(
            "Q-4",
            "no traffic class carries congestion notifications: they wait in the default class",
            intent.where("traffic_classes"),
            fix="add {name: cnp, dscp: [48], priority: 6, strict: true}",
        )
    lossless = [one.name for one in classes if one.lossless]
    if len(lossless) > _MOST_LOSSLESS:
        yield warning(
            "H-budget",
            f"{len(lossless)} lossless classes ({', '.join(lossless)}): each reserves headroom on every port",
            intent.where("traffic_classes"),
            fix="keep to one lossless class, two where storage needs its own",
        )


def _control(intent: Intent) -> Iterator[Diagnostic]:
    """Say which class BGP and BFD ride, and refuse where it could be paused."""
    classes = intent.policies.classes
    controls = [index for index, one in enumerate(classes) if one.role is ClassRole.CONTROL]
    if len(controls) > 1:
        yield error(
            "RW108",
            f"classes `{classes[controls[0]].name}` and `{classes[controls[1]].name}` both carry BGP",
            intent.where(f"traffic_classes[{controls[1]}]"),
            fix="give one of them another role",
        )
    if controls:
        if not classes[controls[0]].dscp:
            yield error(
                "RW108",
                f"class `{classes[controls[0]].name}` carries BGP and names no DSCP to mark it with",
                intent.where(f"traffic_classes[{controls[0]}].dscp"),
                fix=f"write dscp: [{BGP_DSCP}] here and `default` in another class",
            )
        return
    holders: dict[int, TrafficClass] = defaultdict(lambda: next((one for one in classes if one.is_default), classes[0]))
    holders.update({dscp: one for one in classes for dscp in one.dscp})
    rider = holders[BGP_DSCP]
    where = intent.where("traffic_classes")
    if rider.lossless and rider.role is not ClassRole.CNP:
        yield error(
            "RW108",
            f"BGP is sent with DSCP {BGP_DSCP}, which class `{rider.name}` makes lossless: a paused session falls",
            where,
            fix=f"take {BGP_DSCP} out of it, or add a class with role: control",
        )
    elif rider.strict and "traffic_classes" in intent.places:
        yield info("RW108", f"BGP and BFD ride class `{rider.name}` at DSCP {BGP_DSCP}", where)
    elif not rider.strict and not rider.lossless:
        yield warning(
            "RW108",
            f"BGP is sent with DSCP {BGP_DSCP} and rides class `{rider.name}`, which is not strict",
            where,
            fix=f"put {BGP_DSCP} into the cnp class, or add a strict class with role: control",
        )
