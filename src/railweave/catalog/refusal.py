"""A refusal: why something cannot be built from the chosen hardware, and what would work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """``reason`` and ``way_out`` are sentences for a person; the caller knows the place in the intent and adds it."""

    reason: str
    way_out: str
