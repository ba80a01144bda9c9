"""Which part of a poor cable to look at first, by what the modules of its ends report beside the errors."""

from collections.abc import Sequence
from typing import NamedTuple

from railweave.links.grades import Grade
from railweave.links.optics import OpticsBreach


class SuspectEnd(NamedTuple):
    """One end of a cable that is poor."""

    # The port in words: ``pod1-leaf1:Ethernet0``.
    name: str
    breaches: Sequence[OpticsBreach]
    # The port counts errors that grade the cable.
    errors: bool
    # The module is the end of a copper cable; None if it does not say so.
    copper: bool | None


def suspect_of(grade: Grade, ends: Sequence[SuspectEnd]) -> str:
    """Return the part of a cable that is most likely at fault, and where it is; empty if nothing points to one.

    The cause comes before its effects: heat before errors, a fading laser before the light that its partner misses.
    """
    if grade is Grade.A:
        return ""
    return _by_optics(ends) or _by_errors(ends)


def _by_optics(ends: Sequence[SuspectEnd]) -> str:
    """Return the part that readings of modules point to: heat, then a fading laser, then missing light."""
    hot = [end.name for end in ends if _has_breach(end, "temp", "high")]
    if hot:
        return f"cooling at {' and '.join(hot)}"
    for end in ends:
        if _has_breach(end, "txbias", "high") or _has_breach(end, "txpower", "low"):
            return f"laser of the module of {end.name}"
    for end in ends:
        if _has_breach(end, "rxpower", "low"):
            return f"fiber or connector towards {end.name}"
    return ""


def _by_errors(ends: Sequence[SuspectEnd]) -> str:
    """Return the part that the errors of the ends point to; empty if they point to none.

    If only one end of two counts errors, what sends to it is at fault.
    """
    if any(end.copper for end in ends):
        return "copper cable"
    ends_with_errors = [end for end in ends if end.errors]
    ends_without_errors = [end for end in ends if not end.errors]
    # A node's end is not read, so nothing is known of its module.
    if len(ends_with_errors) != 1 or len(ends_without_errors) != 1:
        return ""
    return f"fiber towards {ends_with_errors[0].name}, or the module of {ends_without_errors[0].name}"


def _has_breach(end: SuspectEnd, name: str, side: str) -> bool:
    return any(breach.name == name and breach.side == side for breach in end.breaches)
