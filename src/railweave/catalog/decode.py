"""Catalog files into values, strictly: every field of a file is a field of its value, with the value's type."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from railweave.catalog.model import Medium, NicModel, PcieSlot
from railweave.codec import Place, place_text
from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_Value = TypeVar("_Value")
_Entry = TypeVar("_Entry", NicModel, Medium)
_ADAPTERS: "dict[object, TypeAdapter[Any]]" = {}
_WORDS = {
    "missing": "the field is missing",
    "extra_forbidden": "there is no such field",
    "unexpected_keyword_argument": "there is no such field",
}


class NicsFile(NamedTuple):
    """``nics.json``: NICs by their ids."""

    nics: Mapping[str, NicModel]


class MediaFile(NamedTuple):
    """``media.json``: media by their ids."""

    media: Mapping[str, Medium]


class PcieFile(NamedTuple):
    """``pcie.json``: the slots, in the order of their generations."""

    source: str
    slots: tuple[PcieSlot, ...]


class CatalogError(RailweaveError):
    """A catalog file cannot be read; the text names the file and what is wrong in it."""

    def __init__(self, file: str, message: str) -> None:
        """Put the file's name before the message."""
        self.file = file
        super().__init__(f"{file}: {message}")


class FormError(ValueError):
    """A text is JSON, but not a valid file; ``faults`` says where and why."""

    def __init__(self, faults: list[tuple[Place, str]]) -> None:
        """Take the faults, each with its place."""
        self.faults = faults
        super().__init__("; ".join(message for _, message in faults))


def decode(kind: type[_Value], text: str) -> _Value:
    """Parse a file's text; raises JSONDecodeError or FormError."""
    # Imported late: pydantic takes long to start, and some commands need no model.
    from pydantic import TypeAdapter, ValidationError

    adapter = _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))
    try:
        value: _Value = adapter.validate_json(text, strict=True)
        return value
    except ValidationError as wrong:
        # For a text that is not JSON, json has the better error: with line and column.
        json.loads(text)
        faults = []
        for fault in wrong.errors(include_url=False, include_input=False, include_context=False):
            place = fault["loc"]
            message = _WORDS.get(fault["type"], fault["msg"])
            faults.append((place, f"{place_text(place) or 'the file'}: {message}"))
        raise FormError(faults) from wrong


def with_ids(entries: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Return the entries of a file, each with its name as its id."""
    return {name: entry._replace(id=name) for name, entry in entries.items()}
