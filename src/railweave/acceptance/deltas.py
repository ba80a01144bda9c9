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
"""The most that a counter of each width grows over a round: a fall that implies more is not a wrap.

800 Gb/s are 2^53 bytes a day.
"""


def counter_delta(name: str, before: int, after: int) -> CounterDelta:
    """Return how much a counter grew, and whether it wrapped (WRAP) or fell without a wrap (INVALID).

    The growth of a watermark is its later value, because the device keeps the maximum.
    """
    entry = counter_name(name)
    if entry is not None and entry.meaning in WATERMARKS:
        return CounterDelta(after, Answer.OK)
    if after >= before:
        return CounterDelta(after - before, Answer.OK)
    if _has_wrapped(name, before, after):
        return CounterDelta(after + (1 << counter_bits(name)) - before, Answer.WRAP)
    return CounterDelta(0, Answer.INVALID)


def _has_wrapped(name: str, before: int, after: int) -> bool:
    """Tell whether a counter that fell passed its last value and grew by a plausible number."""
    bits = counter_bits(name)
    values = 1 << bits
    return before < values and after + values - before < _PLAUSIBLE[bits]


def row_has_restarted(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Tell whether at least half of a row's counters fell without a wrap: somebody reset them.

    Counters that were 0, watermarks and counters that the later row lacks do not count.
    """
    # A shortcut for speed: a reading has a hundred thousand rows, and in most of them nothing fell.
    if not any(after.get(name, value) < value for name, value in before.items()):
        return False
    resets = 0
    counters = 0
    for name, value_before in before.items():
        value_after = after.get(name)
        entry = counter_name(name)
        is_watermark = entry is not None and entry.meaning in WATERMARKS
        if value_before == 0 or value_after is None or is_watermark:
            continue
        counters += 1
        if value_after < value_before and not _has_wrapped(name, value_before, value_after):
            resets += 1
    return resets > 0 and 2 * resets >= counters


def integers_of(row: Any) -> dict[str, int] | None:
    """Return the values of a row that are readings of counters (`are_counted`), or None if it is not an object."""
    if not isinstance(row, dict):
        return None
    if are_counted(row.values()):
        return row
    return {name: value for name, value in row.items() if are_counted((value,))}


def are_counted(values: Collection[Any]) -> bool:
    """Tell whether all values are readings of counters: integers, not bools, from 0 up to but not `UNREADABLE`."""
    # All at once, without a step of Python for each: a reading of a large fabric has millions.
    return not values or (set(map(type, values)) == {int} and min(values) >= 0 and max(values) < UNREADABLE)
