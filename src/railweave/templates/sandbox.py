"""Jinja's sandbox, with the answers of ``is_safe_attribute`` cached."""

from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

_ANSWERS_KEPT = 1024
"""A template can make up names of attributes in a loop; the shipped ones use a few dozen."""


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of templates: they can read their values, but neither change them nor reach Python internals.

    Whether an attribute is safe depends only on its name and the type of the object, so answers are cached: a fabric
    asks for the same twenty on each switch, and an answer takes longer than to write the line.
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of an environment of Jinja."""
        super().__init__(**options)
        self._answers: dict[tuple[type, str], bool] = {}

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Tell whether a template may read ``attr`` of ``obj``."""
        key = type(obj), attr
        is_safe = self._answers.get(key)
        if is_safe is None:
            if len(self._answers) >= _ANSWERS_KEPT:
                self._answers.clear()
            is_safe = super().is_safe_attribute(obj, attr, value)
            self._answers[key] = is_safe
        return is_safe
