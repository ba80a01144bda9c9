"""Readings put together from their parts."""

from collections.abc import Iterable, Mapping

from railweave.acceptance.readings import Answer, Scalar, ToolReading

_WORST_FIRST = (Answer.ERROR, Answer.INVALID, Answer.INCOMPLETE, Answer.AMBIGUOUS, Answer.NOT_MEASURED)


def worst(answers: Iterable[Answer]) -> Answer:
    """Return the worst of the answers of a file's parts, which is that of the file; OK if there are none."""
    part_answers = set(answers)
    return next((answer for answer in _WORST_FIRST if answer in part_answers), Answer.OK)


def reading(
    kind: str, answer: Answer, values: Mapping[str, Scalar] | None = None, remarks: Iterable[str] = ()
) -> ToolReading:
    """Return a reading with its remarks once each."""
    return ToolReading(kind, answer, values or {}, tuple(dict.fromkeys(remarks)))


def several(kind: str, name: str, count: int) -> ToolReading:
    """Return the reading of a file with more than one result, which does not say which of them was planned."""
    remarks = (f"the file holds {count} {name}, or parts of them: one a file",)
    return reading(kind, Answer.AMBIGUOUS, {name: count}, remarks)
