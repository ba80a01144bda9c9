"""Mappings of known keys: how a section of the intent states its keys, with defaults and descriptions."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field


class Keys(BaseModel):
    """A mapping of known keys, a value that never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)

    def with_values(self, **changes: Any) -> Self:
        """Return a copy with other values, which are taken as they are."""
        return self.model_copy(update=changes)


def key(description: str, alias: str | None = None) -> Any:
    """Return a key that must be there; ``alias`` is its name in the file where that is another one."""
    return Field(alias=alias, description=description)


def default(written: object, description: str, alias: str | None = None) -> Any:
    """Return a key that may be left out; ``written`` is its default as a file would say it, and is read like it."""
    return Field(default=written, alias=alias, description=description)


def unset(description: str, alias: str | None = None) -> Any:
    """Return a key that may be left out and is None then, which no file can say."""
    return Field(default=None, validate_default=False, alias=alias, description=description)


def section(kind: type[Keys], description: str) -> Any:
    """Return a mapping of keys that all have defaults."""
    return Field(default_factory=kind, description=description)
