"""What keeps journals outside of the runner: numbered records, each created once, never changed, and removed later.

That a number is taken, or passed, is all that two runners need to keep each other away: whoever numbers its records and
finds that knows that another one has come.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from railweave.errors import RailweaveError
from railweave.printable import printable
from railweave.secrets import shown_text

_LOGIN = re.compile(r"(?<=://)[^/\s'\"]*@")
_QUERY = re.compile(r"\?[^\s'\")]+")
_SECRET_NAME = re.compile(r"SECRET|TOKEN|PASSW|KEY|CREDENTIAL|SAS", re.IGNORECASE)
_SHORTEST_SECRET = 8
_LONGEST = 300


class StoreError(RailweaveError):
    """A store does not answer, or refuses; the text has no credentials."""

    def __init__(self, text: str) -> None:
        """Take the first line of ``text`` that is not blank, without credentials."""
        secrets: list[str] = []
        for name, value in os.environ.items():
            if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
                secrets.append(value)
        lines = [line.strip() for line in shown_text(text, secrets).splitlines()]
        first_line = next(filter(None, lines), "")
        without_login = _QUERY.sub("?***", _LOGIN.sub("***@", first_line))
        super().__init__(printable(without_login)[:_LONGEST])


class Store(Protocol):
    """Records by name, ``FOLDER/NUMBER``; every call raises StoreError where the store does not answer in time."""

    def names(self, folder: str = "") -> list[str]:
        """Return the names of all records there are now, of one folder where it is named, in their order."""

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of records; those that are gone are left out."""

    def create(self, name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        """Create a record durably, then remove those of ``removing``; return False if the name is taken.

        A name counts as taken if its folder has a later one: a number whose record was removed is not used again. A
        record of this name with the same content is the caller's own, so a repeated call returns True.
        """


def later_than(name: str, names: Iterable[str]) -> bool:
    """Tell whether ``names`` have a record in the folder of ``name`` with a higher number."""
    folder, _, number = name.rpartition("/")
    for record in names:
        folder_of_record, _, record_number = record.rpartition("/")
        # All numbers have the same count of digits, so they compare as text.
        if folder_of_record == folder and record_number.isdecimal() and record_number > number:
            return True
    return False
