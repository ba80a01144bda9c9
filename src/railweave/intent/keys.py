"""Sections of the intent: mappings of known keys, with defaults and descriptions."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field


class Keys(BaseModel):
    """An immutable mapping of known keys."""

    # Deferred, because only the validator of the whole intent is used, and building one for every section takes time.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)

    def with_values(self, **changes: Any) -> Self:
        """Return a copy with other values, which are not validated."""
        return self.model_copy(update=changes)


def key(description: str, alias: str | None = None) -> Any:
    """Return a required key; ``alias`` is its name in the file if that differs from the field's."""
    return Field(alias=alias, description=description)


def default(written: object, description: str, alias: str | None = None) -> Any:
    """Return an optional key; ``written`` is its default as in a file, and is validated like a value there."""
    return Field(default=written, alias=alias, description=description)


def unset(description: str, alias: str | None = None) -> Any:
    """Return an optional key that is None if it is left out; a file cannot write None."""
    return Field(default=None, validate_default=False, alias=alias, description=description)


def section(kind: type[Keys], description: str) -> Any:
    """Return an optional mapping, whose keys all have defaults."""
    return Field(default_factory=kind, description=description)
