"""How much a counter grew between two readings: wrapped counters and those that restarted are separate answers.

A counter that falls has wrapped if what it then grew is plausible for its width. If most counters of a row restart,
the row was reset, by a reload or by hand. A counter that falls alone is invalid.
"""

from collections.abc import Collection, Mapping
from typing import Any

from railweave.acceptance.counter_names import WATERMARKS, counter_bits, counter_name
from railweave.acceptance.readings import Answer, CounterDelta

UNREADABLE = 2**64 - 1
"""What ionic and SAI report for a counter that the device could not read: no value, and not a large one."""

_PLAUSIBLE = {32: 2**31, 64: 2**56}
"""The most that a counter grows over a round; a fall that would need more is no wrap. 800 Gb/s need 2^53 byte a day."""


def counter_delta(name: str, before: int, after: int) -> CounterDelta:
    """Return how much a counter grew; of a watermark the value after, because its device keeps the maximum."""
    meaning = counter_name(name)
    if meaning is not None and meaning.meaning in WATERMARKS:
        return CounterDelta(after, Answer.OK)
    if after >= before:
        return CounterDelta(after - before, Answer.OK)
    if _has_wrapped(name, before, after):
        return CounterDelta(after + (1 << counter_bits(name)) - before, Answer.WRAP)
    return CounterDelta(0, Answer.INVALID)


def _has_wrapped(name: str, before: int, after: int) -> bool:
    bits = counter_bits(name)
    return before < 1 << bits and after + (1 << bits) - before < _PLAUSIBLE[bits]


def row_has_restarted(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Tell whether most counters of a row that were above 0 fell without a wrap: somebody reset them."""
    # In most rows nothing fell, and a hundred thousand rows of a reading are compared.
    if not any(after.get(name, value) < value for name, value in before.items()):
        return False
    falls = 0
    counted = 0
    for name, value in before.items():
        later = after.get(name)
        meaning = counter_name(name)
        if not value or later is None or (meaning is not None and meaning.meaning in WATERMARKS):
            continue
        counted += 1
        if later < value and not _has_wrapped(name, value, later):
            falls += 1
    return falls > 0 and 2 * falls >= counted


def integers_of(row: Any) -> dict[str, int] | None:
    """Return the counters of a row, without values that are no integers or not readable; None if it is no row."""
    if not isinstance(row, dict):
        return None
    if are_counted(row.values()):
        return row
    return {name: value for name, value in row.items() if are_counted((value,))}


def are_counted(values: Collection[Any]) -> bool:
    """Tell whether all values are those of counters: integers that the device could read; a bool is none."""
    # Many are checked at once: a reading of a large fabric has millions.
    return not values or (set(map(type, values)) == {int} and min(values) >= 0 and max(values) < UNREADABLE)
