"""Jinja's sandbox, which looks at an attribute of a type once instead of in every line of every file."""

from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

_ANSWERS_KEPT = 1024
"""A template can make up names of attributes in a loop; the shipped ones use a few dozen."""


class Sandbox(ImmutableSandboxedEnvironment):
    """What templates run in: it lets them read what they are given, and neither change it nor reach Python through it.

    Whether an attribute is safe follows from its name and from the type of what has it, so the answer is kept: a fabric
    asks for the same twenty on each of its switches, and an answer costs more than the line that is written.
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of an environment of Jinja."""
        super().__init__(**options)
        self._answers: dict[tuple[type, str], bool] = {}

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Tell whether a template may read ``attr`` of ``obj``."""
        place = type(obj), attr
        known = self._answers.get(place)
        if known is None:
            if len(self._answers) >= _ANSWERS_KEPT:
                self._answers.clear()
            known = self._answers[place] = super().is_safe_attribute(obj, attr, value)
        return known
