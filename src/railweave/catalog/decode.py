"""Catalog files into values, strictly: every field of a file is a field of its value, with the value's type."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from railweave.catalog.media import Medium
from railweave.catalog.nics import NicModel, PcieSlot
from railweave.codec import InvalidValueError, Place, place_text, read_text
from railweave.errors import RailweaveError

_Value = TypeVar("_Value")
_Entry = TypeVar("_Entry", NicModel, Medium)
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
    """Return the value of a file's text; raises InvalidTextError if it is not JSON, else FormError with all faults."""
    try:
        value: _Value = read_text(kind, text)
    except InvalidValueError as wrong:
        faults = []
        for part in wrong.parts:
            message = _WORDS.get(part.kind, part.message)
            faults.append((part.place, f"{place_text(part.place) or 'the file'}: {message}"))
        raise FormError(faults) from wrong
    return value


def with_ids(entries: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Return the entries of a file, each with its name as its id."""
    return {name: entry._replace(id=name) for name, entry in entries.items()}
