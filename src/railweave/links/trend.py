"""When a link will lose its first codeword: the trend of its error rate, read again and again.

The logarithm of the rate of a dying laser or a loosening plug rises about linearly. A step (a plug that was touched),
the temperature over a day and the noise of a link do not: a trend counts only if both halves of its window rise.
"""

from collections.abc import Sequence
from math import log10
from statistics import fmean, median
from typing import NamedTuple

HOUR_S = 3600.0
WINDOWS_H = (2.0, 12.0)
"""Hours over which a trend is fitted: the short one finds a decade in hours, the long one a decade in days."""

KEPT_H = 13.0
"""Samples older than this are not used."""

_BUCKETS = 12
_LEVEL_SAMPLES = 5
_LEVEL_S = 900.0
# A link that wanders around its limit is drained only if it is above for as long as a wander takes.
_SUSTAINED_SAMPLES = 25
_SUSTAINED_S = 1800.0
# Older samples are averaged over slots of this length, so that a file of a day stays small.
_SLOT_S = 600.0


class Sample(NamedTuple):
    """The bit error rate of a port at a time in Unix seconds."""

    at: float
    bit_error_rate: float


class TrendPoint(NamedTuple):
    """The mean error rate of a part of a window."""

    # Before the end of the window, so negative.
    hour: float
    # log10 of the bit error rate.
    value: float


def level(samples: Sequence[Sample]) -> float:
    """Return the present bit error rate: the median of the last samples, so that a single peak grades nothing."""
    return _median_of_last(samples, _LEVEL_SAMPLES, _LEVEL_S)


def sustained_level(samples: Sequence[Sample]) -> float:
    """Return the bit error rate of the last half hour, so that a link above its limit for minutes is not drained."""
    return _median_of_last(samples, _SUSTAINED_SAMPLES, _SUSTAINED_S)


def _median_of_last(samples: Sequence[Sample], count: int, seconds: float) -> float:
    """Return the median rate of at most ``count`` samples of the last ``seconds``; there is at least one sample."""
    last = samples[-1].at
    return median(sample.bit_error_rate for sample in samples[-count:] if sample.at > last - seconds)


def hours_until(samples: Sequence[Sample], bit_error_rate: float) -> float | None:
    """Return the hours until the trend of ``samples`` (oldest first) reaches a rate; None without a steady rise."""
    estimates = []
    for window_h in WINDOWS_H:
        hours = _hours_by_window(samples, log10(bit_error_rate), window_h)
        if hours is not None:
            estimates.append(hours)
    return min(estimates, default=None)


def _hours_by_window(samples: Sequence[Sample], target: float, window_h: float) -> float | None:
    """Return the hours until the trend of one window reaches ``target`` (log10 of a rate); None if it does not rise."""
    if not samples:
        return None
    points = _buckets(samples, samples[-1].at, window_h)
    middle = -window_h / 2
    first_half = [point for point in points if point.hour <= middle]
    second_half = [point for point in points if point.hour > middle]
    # A slope of fewer than three points is noise.
    least_points = _BUCKETS // 4
    if len(first_half) < least_points or len(second_half) < least_points:
        return None
    # A trend counts only if both halves rise.
    slope = min(_slope(first_half), _slope(second_half), _slope(points))
    if slope <= 0:
        return None
    mean = _mean(second_half)
    present_value = mean.value - slope * mean.hour
    return max(0.0, (target - present_value) / slope)


def _buckets(samples: Sequence[Sample], end: float, window_h: float) -> list[TrendPoint]:
    """Return a point for each part of a window that has samples with errors, the last part first."""
    part_s = window_h * HOUR_S / _BUCKETS
    counts = [0] * (_BUCKETS + 1)
    times = [0.0] * (_BUCKETS + 1)
    rates = [0.0] * (_BUCKETS + 1)
    for at, rate in reversed(samples):
        part = int((end - at) / part_s)
        if part > _BUCKETS:
            break
        counts[part] += 1
        times[part] += at - end
        rates[part] += rate
    points = []
    for count, time, rate in zip(counts, times, rates, strict=True):
        if rate > 0:
            points.append(TrendPoint(time / count / HOUR_S, log10(rate / count)))
    return points


def _slope(points: Sequence[TrendPoint]) -> float:
    """Return the slope of the least squares line through points, by hour; 0 if all are at one time."""
    mean = _mean(points)
    variance = 0.0
    covariance = 0.0
    for hour, value in points:
        variance += (hour - mean.hour) ** 2
        covariance += (hour - mean.hour) * (value - mean.value)
    if not variance:
        return 0.0
    return covariance / variance


def _mean(points: Sequence[TrendPoint]) -> TrendPoint:
    hours = sum(point.hour for point in points)
    values = sum(point.value for point in points)
    return TrendPoint(hours / len(points), values / len(points))


def kept(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples to keep for later readings: those of the short window, and averages of older ones by slots."""
    if not samples:
        return []
    end = samples[-1].at
    slots: dict[int, list[Sample]] = {}
    recent = []
    for sample in samples:
        if sample.at >= end - WINDOWS_H[0] * HOUR_S:
            recent.append(sample)
        elif sample.at >= end - KEPT_H * HOUR_S:
            slots.setdefault(int(sample.at // _SLOT_S), []).append(sample)
    older = []
    for slot in slots.values():
        at = fmean(sample.at for sample in slot)
        older.append(Sample(at, fmean(sample.bit_error_rate for sample in slot)))
    return older + recent
