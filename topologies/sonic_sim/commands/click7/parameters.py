"""Arguments and options with the errors of click 7.0."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click


class Argument(click.Argument):
    """An argument; the usage line shows it in brackets where it may be left out."""

    def make_metavar(self, ctx: click.Context | None = None) -> str:
        """Return how the usage line names it."""
        if self.metavar is not None:
            return self.metavar
        choices = getattr(self.type, "choices", None)
        name = (self.name or "").upper()
        if choices:
            name = f"[{'|'.join(choices)}]"
        if not self.required:
            name = f"[{name}]"
        if self.nargs != 1:
            name += "..."
        return name

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return its name in an error."""
        return f'"{self.make_metavar()}"'


class Option(click.Option):
    """An option; errors name all its spellings."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return its names in an error."""
        return " / ".join(f'"{name}"' for name in self.opts)


def argument(name: str, metavar: str | None = None, **settings: Any) -> click.Argument:
    """Return an argument; several commands may share it."""
    return Argument([name], metavar=metavar, **settings)


def option(*names: str, **settings: Any) -> click.Option:
    """Return an option; several commands may share it."""
    return Option(names, **settings)


def flag(*names: str, **settings: Any) -> click.Option:
    """Return an option without a value."""
    return Option(names, is_flag=True, **settings)


if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    # generic since 8.4; a node of the lab has Debian's 8.1
    _Type = click.ParamType


class Integer(_Type):
    """A whole number."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Anything else is a usage error."""
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value} is not a valid integer", param, ctx)


class Range(Integer):
    """A whole number between two others."""

    name = "integer range"

    def __init__(self, low: int, high: int | None = None) -> None:
        """Take the bounds; there may be no upper one."""
        self.low = low
        self.high = high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. One out of range is a usage error."""
        number = super().convert(value, param, ctx)
        if self.high is None and number < self.low:
            self.fail(f"{number} is smaller than the minimum valid value {self.low}.", param, ctx)
        if self.high is not None and not self.low <= number <= self.high:
            self.fail(f"{number} is not in the valid range of {self.low} to {self.high}.", param, ctx)
        return number


class Choice(_Type):
    """One of some words."""

    name = "choice"

    def __init__(self, choices: Sequence[str], case_sensitive: bool = True) -> None:
        """Take the words."""
        self.choices = tuple(choices)
        self.case_sensitive = case_sensitive

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return how help names it."""
        return f"[{'|'.join(self.choices)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word. A word that is not a choice is a usage error."""
        if value in self.choices:
            return str(value)
        # click 7.0 returns a word in lower case where case does not matter, whatever the choice looks like.
        if self.case_sensitive or value.lower() not in [word.lower() for word in self.choices]:
            self.fail(f"invalid choice: {value}. (choose from {', '.join(self.choices)})", param, ctx)
        return str(value.lower())
