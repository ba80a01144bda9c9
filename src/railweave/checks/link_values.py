"""What several rules of links compare: values that must be alike, and priorities that must be exactly some."""

from collections.abc import Collection

from railweave.checks.registry import LinkBreach, LinkBreaches
from railweave.checks.subjects import LinkEnds
from railweave.sonic.port_settings import PortSettings


def priorities_text(numbers: Collection[int] | None) -> str:
    """Return ``3, 4``, or that there is none."""
    return ", ".join(map(str, sorted(numbers))) if numbers else "no priority"


def unlike(link: LinkEnds, what: str, lower: object, upper: object) -> LinkBreaches:
    """Yield where both ends are set and are set otherwise, so that the link stays down."""
    if lower is not None and upper is not None and lower != upper:
        message = f"{link.lower} has {what} {lower}, {link.upper} {upper}: the link stays down"
        yield LinkBreach(link.upper, what, message, f"set {what} alike on both ends")


def not_exactly(
    link: LinkEnds, end: PortSettings, does: str, means: str, numbers: tuple[frozenset[int] | None, frozenset[int]]
) -> LinkBreaches:
    """Yield where a switch does something for other priorities than the intended ones; ``numbers`` are both."""
    actual, intended = numbers
    if actual is not None and actual != intended:
        right = priorities_text(intended)
        message = f"{end} {does} {priorities_text(actual)}, while {right} is lossless between it and {link.far(end)}"
        yield LinkBreach(end, does, message, f"put {means} of {end} on {right} and nothing else")
