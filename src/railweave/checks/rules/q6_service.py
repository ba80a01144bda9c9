"""Strict queues go before all others, the higher number first, and the others by weight: who goes after a strict queue
without a limit may get nothing, and a changed weight or rate gives a class another part of every link than designed."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

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
    "scheduling matches the class definitions",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 5, strict: true}]",
)

# With less of a congested link RDMA has not even a tenth of what the NICs were bought for.
_LEAST_PERCENT = 10


@RULE.on_intent
def check_strict_classes(intent: Intent) -> Breaches:
    """Yield a breach for each strict class that carries bulk data.

    Nothing limits it, and the classes after it get nothing.
    """
    classes = intent.policies.classes
    for index, traffic_class in enumerate(classes):
        if not traffic_class.strict or is_light(traffic_class):
            continue
        starved = [
            f"{other.name} (queue {other.priority})"
            for other in classes
            if not other.strict or other.priority < traffic_class.priority
        ]
        if starved:
            message = (
                f"class `{traffic_class.name}` (queue {traffic_class.priority}) is strict and has no rate limit:"
                f" {', '.join(starved)} get nothing while it fills a link"
            )
            fix = "give it `share`; `strict` is for notifications (role: cnp) and control traffic, which are limited"
            yield Breach(f"traffic_classes[{index}].strict", message, fix)


@RULE.on_intent
def check_rdma_shares(intent: Intent) -> Breaches:
    """Yield a breach for each RDMA class with less than a tenth of a congested link."""
    classes = intent.policies.classes
    total = sum(traffic_class.share_percent for traffic_class in classes if not traffic_class.strict)
    for index, traffic_class in enumerate(classes):
        if traffic_class.role is not ClassRole.RDMA or traffic_class.strict:
            continue
        # A class without a share is an error of its own (RW107).
        if not traffic_class.share_percent:
            continue
        percent = 100 * traffic_class.share_percent / total
        if percent < _LEAST_PERCENT:
            message = (
                f"class `{traffic_class.name}` (queue {traffic_class.priority}) has a share of"
                f" {traffic_class.share_percent} against {_other_shares(classes, traffic_class)}: RDMA gets"
                f" {percent:.3g} % of a congested link"
            )
            yield Breach(f"traffic_classes[{index}].share", message, f"give it {_LEAST_PERCENT} % or more")


def _other_shares(classes: Iterable[TrafficClass], own: TrafficClass) -> str:
    """Return the other classes that have a share, with their queues and percent."""
    others = [other for other in classes if other is not own and other.share_percent]
    return ", ".join(f"{other.name} (queue {other.priority}) {other.share_percent}" for other in others)


Schedulers = Mapping[int, "Scheduler | None"]


@RULE.on_switch
def check_conflicts(switch: SwitchRead) -> Breaches:
    """Yield a breach for each table with queues that two rows set to different values."""
    yield from conflicts(switch, in_buffer=False)


@RULE.on_link
def compare_with_design(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each difference between the service of a port's queues and the design."""
    classes = link.policies.classes
    for end in link.switches:
        actual = end.schedulers
        design = link.design(end).schedulers
        if actual is None or design is None:
            continue
        towards = f"{end} towards {link.far(end)}"
        differences = (
            *_kind_differences(classes, actual, design),
            *_strict_without_class(actual, design),
            *_rate_differences(classes, actual, design),
            *_port_rate(end),
        )
        for difference in differences:
            fix = f"set QUEUE and SCHEDULER of {end.device} as rendered"
            yield LinkBreach(end, difference.kind, f"{difference.text} on {towards}", fix)
        shares = list(_share_differences(classes, actual, design))
        if shares:
            message = f"queues share {towards} otherwise than designed: {', '.join(shares)}"
            yield LinkBreach(end, "shares", message, f"set the weights of SCHEDULER of {end.device} as rendered")


class _ServiceDifference(NamedTuple):
    """A difference of a port's scheduling from the design; those of one device and kind are reported once."""

    kind: str
    text: str


def _share_differences(classes: tuple[TrafficClass, ...], actual: Schedulers, design: Schedulers) -> Iterator[str]:
    """Yield a clause for each class with another share than designed."""
    for traffic_class in classes:
        share = _share(traffic_class, classes, actual)
        by_design = _share(traffic_class, classes, design)
        if share != by_design:
            yield f"{traffic_class.name} {_percent(share)} (by design {_percent(by_design)})"


def _kind_differences(
    classes: tuple[TrafficClass, ...], actual: Schedulers, design: Schedulers
) -> Iterator[_ServiceDifference]:
    """Yield a difference for each queue that is served in another way than designed."""
    for traffic_class in classes:
        intended = design.get(traffic_class.priority)
        # Q-4 reports the queue of notifications.
        if intended is None or (traffic_class.role is ClassRole.CNP and traffic_class.strict):
            continue
        scheduler = actual.get(traffic_class.priority)
        if scheduler is not None and scheduler.kind == intended.kind:
            continue
        served = "has no scheduler"
        if scheduler is not None:
            served = f"is served {scheduler.kind or 'in no way'}"
        queue = f"queue {traffic_class.priority} of {traffic_class.name}"
        yield _ServiceDifference(f"kind {traffic_class.name}", f"{queue} {served}, not {intended.kind}")


def _strict_without_class(actual: Schedulers, design: Schedulers) -> Iterator[_ServiceDifference]:
    """Yield a difference for each strict queue that no class has."""
    for number, scheduler in actual.items():
        if scheduler is not None and scheduler.is_strict and number not in design:
            text = f"queue {number}, which no class has, is strict and goes before all shares"
            yield _ServiceDifference(f"strict {number}", text)


def _rate_differences(
    classes: tuple[TrafficClass, ...], actual: Schedulers, design: Schedulers
) -> Iterator[_ServiceDifference]:
    """Yield a difference for each queue with another rate limit than designed."""
    for traffic_class in classes:
        scheduler = actual.get(traffic_class.priority)
        intended = design.get(traffic_class.priority)
        if scheduler is not None and intended is not None and scheduler.rates != intended.rates:
            queue = f"queue {traffic_class.priority} of {traffic_class.name}"
            text = f"{queue} has {_rates_text(scheduler)}, by design {_rates_text(intended)}"
            yield _ServiceDifference(f"rate {traffic_class.name}", text)


def _port_rate(end: "PortSettings") -> Iterator[_ServiceDifference]:
    """Yield a difference if a rate limit holds for all queues of a port together."""
    if end.port_scheduler and end.port_scheduler.rates:
        yield _ServiceDifference("port", f"all queues together have {_rates_text(end.port_scheduler)}")


def _rates_text(scheduler: "Scheduler") -> str:
    if not scheduler.rates:
        return "no rate limit"
    return f"a rate limit ({' '.join(f'{name} {value}' for name, value in scheduler.rates)})"


def _share(traffic_class: TrafficClass, classes: tuple[TrafficClass, ...], schedulers: Schedulers) -> Fraction:
    """Return the part that a class has of what strict queues leave."""
    weights: dict[int, int] = {}
    for other in classes:
        scheduler = schedulers.get(other.priority)
        if scheduler is not None:
            weights[other.priority] = scheduler.weight
    # A fraction: two configurations with the same ratio of weights are the same.
    return Fraction(weights.get(traffic_class.priority, 0), sum(weights.values()) or 1)


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.4g} %"
