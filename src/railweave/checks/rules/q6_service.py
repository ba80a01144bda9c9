"""Strict queues go before all others, the higher number first, and the others by weight: who goes after a strict queue
without a limit may get nothing, and a changed weight or rate gives a class another part of every link than designed."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, SwitchRead, rule
from railweave.checks.rules.h_pools import conflicts
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.intent.model import Intent
from railweave.qos.scheduling import is_light

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings
    from railweave.sonic.resolved import Scheduler

RULE = rule(
    "Q-6",
    "every class is served as its share, strictness and rates say",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 5, strict: true}]",
)

_LEAST_PERCENT = 10
"""The least part of a congested link that RDMA is of use with: a tenth of what the NICs were bought for."""


@RULE.on_intent
def starving(intent: Intent) -> Breaches:
    """Look for strict classes that carry bulk data: nothing limits them, and who goes after them gets nothing."""
    classes = intent.policies.classes
    for index, one in enumerate(classes):
        behind = [
            f"{other.name} (queue {other.priority})"
            for other in classes
            if not other.strict or other.priority < one.priority
        ]
        if one.strict and not is_light(one) and behind:
            message = (
                f"class `{one.name}` (queue {one.priority}) is strict and has no rate limit: {', '.join(behind)} get"
                " nothing while it fills a link"
            )
            fix = "give it `share`; `strict` is for notifications (role: cnp) and control traffic, which are limited"
            yield Breach(f"traffic_classes[{index}].strict", message, fix)


@RULE.on_intent
def starved(intent: Intent) -> Breaches:
    """Look for RDMA classes with next to no share."""
    classes = intent.policies.classes
    total = sum(one.share_percent for one in classes if not one.strict)
    for index, one in enumerate(classes):
        percent = 100 * one.share_percent / total if total and not one.strict else 100
        if one.role is ClassRole.RDMA and 0 < percent < _LEAST_PERCENT:
            others = ", ".join(
                f"{other.name} (queue {other.priority}) {other.share_percent}"
                for other in classes
                if other is not one and other.share_percent
            )
            message = (
                f"class `{one.name}` (queue {one.priority}) has a share of {one.share_percent} against {others}: RDMA"
                f" gets {percent:.3g} % of a congested link"
            )
            yield Breach(f"traffic_classes[{index}].share", message, f"give it {_LEAST_PERCENT} % or more")


Schedulers = Mapping[int, "Scheduler | None"]


@RULE.on_switch
def twice(switch: SwitchRead) -> Breaches:
    """Look for queues that two rows set."""
    yield from conflicts(switch, in_buffer=False)


@RULE.on_link
def as_designed(link: LinkEnds) -> LinkBreaches:
    """Compare how the queues of a port are served with the design."""
    for end in link.switches:
        found, design = end.schedulers, link.design(end).schedulers
        if found is None or design is None:
            continue
        classes, towards = link.policies.classes, f"{end} towards {link.far(end)}"
        for kind, what in (*_kinds(classes, found, design), *_rates(classes, found, design), *_port(end)):
            yield LinkBreach(end, kind, f"{what} on {towards}", f"set QUEUE and SCHEDULER of {end.device} as rendered")
        shares = {one.name: (_share(one, classes, found), _share(one, classes, design)) for one in classes}
        other = {name: both for name, both in shares.items() if both[0] != both[1]}
        if other:
            told = ", ".join(
                f"{name} {_percent(has)} (by design {_percent(wants)})" for name, (has, wants) in other.items()
            )
            fix = f"set the weights of SCHEDULER of {end.device} as rendered"
            yield LinkBreach(end, "shares", f"queues share {towards} otherwise than designed: {told}", fix)


def _kinds(classes: tuple[TrafficClass, ...], found: Schedulers, design: Schedulers) -> Iterator[tuple[str, str]]:
    """Yield queues that are served in another way, and strict ones that nothing is designed for."""
    for one in classes:
        has, wants = found.get(one.priority), design.get(one.priority)
        told = one.role is ClassRole.CNP and one.strict  # by Q-4
        if wants and not told and (has.kind if has else None) != wants.kind:
            actual = f"is served {has.kind or 'in no way'}" if has else "has no scheduler"
            yield f"kind {one.name}", f"queue {one.priority} of {one.name} {actual}, not {wants.kind}"
    for queue, has in found.items():
        if has and has.is_strict and queue not in design:
            yield f"strict {queue}", f"queue {queue}, which no class has, is strict and goes before all shares"


def _rates(classes: tuple[TrafficClass, ...], found: Schedulers, design: Schedulers) -> Iterator[tuple[str, str]]:
    for one in classes:
        has, wants = found.get(one.priority), design.get(one.priority)
        if has and wants and has.rates != wants.rates:
            actual, right = (_text(by) for by in (has, wants))
            yield f"rate {one.name}", f"queue {one.priority} of {one.name} has {actual}, by design {right}"


def _port(end: "PortSettings") -> Iterator[tuple[str, str]]:
    if end.port_scheduler and end.port_scheduler.rates:
        yield "port", f"all queues together have {_text(end.port_scheduler)}"


def _text(scheduler: "Scheduler") -> str:
    rates = " ".join(f"{name} {value}" for name, value in scheduler.rates)
    return f"a rate limit ({rates})" if rates else "no rate limit"


def _share(one: TrafficClass, classes: tuple[TrafficClass, ...], by: Schedulers) -> Fraction:
    """Return the part that a class has of what strict queues leave."""
    weights = {each.priority: served.weight for each in classes if (served := by.get(each.priority))}
    return Fraction(weights.get(one.priority, 0), sum(weights.values()) or 1)


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.4g} %"
