"""Readings put together from their parts."""

from collections.abc import Iterable, Mapping

from railweave.acceptance.readings import Answer, Scalar, ToolReading

_WORST_FIRST = (Answer.ERROR, Answer.INVALID, Answer.INCOMPLETE, Answer.AMBIGUOUS, Answer.NOT_MEASURED)


def worst(answers: Iterable[Answer]) -> Answer:
    """Return the answer of a file from those of its parts: the one that is least a value."""
    present = set(answers)
    return next((answer for answer in _WORST_FIRST if answer in present), Answer.OK)


def reading(
    kind: str, answer: Answer, values: Mapping[str, Scalar] | None = None, remarks: Iterable[str] = ()
) -> ToolReading:
    """Return a reading with its remarks once each."""
    return ToolReading(kind, answer, values or {}, tuple(dict.fromkeys(remarks)))


def several(kind: str, name: str, count: int) -> ToolReading:
    """Return the reading of a file with more than one result: which of them is the planned one is not in it."""
    return reading(
        kind, Answer.AMBIGUOUS, {name: count}, (f"the file holds {count} {name}, or parts of them: one a file",)
    )
