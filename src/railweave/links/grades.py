"""The grade of a cable, with reasons: A in order, B watch, C repair at the next opportunity, D drain."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from railweave.fabric.fec import LOSS_LIMIT, NO_FEC
from railweave.fabric.link_limits import LinkLimits
from railweave.fabric.link_policy import LinkPolicy
from railweave.links.errors import LinkErrors
from railweave.links.trend import Sample, hours_until, level, sustained_level
from railweave.wording import counted

_HOUR_S = 3600
# Hours within which a predicted loss is worth a repair: a maintenance window comes once a week.
_WEEK_H = 168
# So many standard deviations above the mean a count is not chance.
_DEVIATIONS = 3


class Grade(StrEnum):
    """The state of a cable; a later letter is worse."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


class Reason(NamedTuple):
    """Why a cable has a grade other than A."""

    grade: Grade
    text: str


class EndReading(NamedTuple):
    """What is known of one end of a link."""

    # The port in words: ``pod1-leaf1:Ethernet0``.
    name: str
    errors: LinkErrors
    # Error rates of earlier readings and of this one, oldest first; the last is of this reading if it is measured.
    samples: Sequence[Sample] = ()
    # How often the link went down within the hours of the policy.
    flaps: int = 0
    # The link is down although both ends should be up.
    down: bool = False
    # What the module at this end is short of, and how it differs from the planned one.
    optics: Sequence[Reason] = ()


def grade_of(reasons: Iterable[Reason]) -> Grade:
    """Return the worst grade of the reasons; A if there are none."""
    return max((reason.grade for reason in reasons), default=Grade.A)


def reasons_of(ends: Sequence[EndReading], limits: LinkLimits, policy: LinkPolicy) -> list[Reason]:
    """Return why a link is not of grade A, by both of its ends: each reason once, the worst first."""
    reasons: list[Reason] = []
    if any(end.down for end in ends):
        reasons.append(Reason(Grade.D, f"{_joined_names(end.name for end in ends if end.down)} is down"))
    for end in ends:
        if not end.down:
            reasons += _error_reasons(end, limits, policy)
        reasons += end.optics
    # Both ends count the same flap.
    flaps = max((end.flaps for end in ends), default=0)
    if flaps:
        grade = Grade.C
        if flaps >= policy.flaps:
            grade = Grade.D
        reasons.append(Reason(grade, f"went down {_times(flaps)} within {counted(policy.flap_hours, 'hour')}"))
    return sorted(dict.fromkeys(reasons), key=lambda reason: reason.grade, reverse=True)


def not_measured(end: EndReading) -> str:
    """Return the sentence that an end is not measured, with the reason."""
    return f"{end.name} is not measured: {end.errors.unmeasured}"


def _joined_names(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def _times(count: int) -> str:
    if count == 1:
        return "once"
    return f"{count} times"


def _error_reasons(end: EndReading, limits: LinkLimits, policy: LinkPolicy) -> Iterator[Reason]:
    """Yield the reasons that the errors of an end give, and one if it is not measured."""
    errors = end.errors
    if errors.uncorrectable and not end.flaps:
        yield _uncorrectable_reason(end, limits)
    if errors.unmeasured:
        yield Reason(Grade.B, not_measured(end))
    if errors.bit_error_rate is None or limits.fec is NO_FEC:
        return
    reason = rate_reason(end.samples, limits, policy)
    if reason is not None:
        yield Reason(reason.grade, f"{end.name} {reason.text}")
    if errors.loss_by_bins > limits.fec.loss(limits.drain):
        text = f"{end.name} has errors in bursts: {errors.loss_by_bins:.1e} of codewords will be lost, by the bins"
        yield Reason(Grade.D, text)


def _uncorrectable_reason(end: EndReading, limits: LinkLimits) -> Reason:
    """Return the grade of codewords that FEC could not correct: C for as many as chance allows at the limit, else D."""
    errors = end.errors
    allowed = errors.bits / limits.fec.codeword_bits * LOSS_LIMIT
    most_by_chance = allowed + _DEVIATIONS * allowed**0.5
    losses = "codewords that FEC could not correct"
    if limits.fec is NO_FEC:
        # A single wrong bit is a frame, which IEEE 802.3 allows now and then.
        most_by_chance = max(most_by_chance, _DEVIATIONS)
        losses = "frames with errors"
    grade = Grade.D
    one_may_be_chance = limits.fec is NO_FEC or allowed >= 1
    # Without measured bits nothing says that so many are allowed.
    if errors.bits and errors.uncorrectable <= most_by_chance and one_may_be_chance:
        grade = Grade.C
    return Reason(grade, f"{end.name} counted {errors.uncorrectable:,} {losses}")


def rate_reason(samples: Sequence[Sample], limits: LinkLimits, policy: LinkPolicy) -> Reason | None:
    """Return the grade of an error rate by its samples (oldest first), with the reason; None for grade A.

    A rate is drained for its trend only within a decade of what the FEC corrects: below that a prediction is too long.
    """
    if not samples:
        return None
    rate = level(samples)
    rate_text = f"has a bit error rate of {rate:.1e} before correction"
    # A rate that has been above the limit for minutes only is not drained.
    if min(rate, sustained_level(samples)) >= limits.drain:
        return Reason(Grade.D, f"{rate_text}, the limit of the job is {limits.drain:.1e}")
    if rate < limits.watch:
        return None
    return _trend_reason(rate, rate_text, hours_until(samples, limits.first_loss), limits, policy)


def _trend_reason(rate: float, rate_text: str, hours: float | None, limits: LinkLimits, policy: LinkPolicy) -> Reason:
    """Return the grade of a rate between the limits to watch and to drain.

    ``hours`` are those until codewords will be lost, None if the rate does not rise steadily. ``rate_text`` states the
    rate.
    """
    if rate >= limits.repair and hours is not None and hours <= policy.lead_hours:
        return Reason(Grade.D, f"{rate_text}, and will lose codewords in about {hours:.1f} hours")
    if rate >= limits.repair:
        return Reason(Grade.C, f"{rate_text}, within a decade of what {limits.fec.name} corrects")
    if hours is not None and hours <= _WEEK_H:
        return Reason(Grade.C, f"{rate_text}, and will lose codewords in about {hours:.0f} hours")
    return Reason(Grade.B, f"{rate_text}, within two decades of what {limits.fec.name} corrects")
