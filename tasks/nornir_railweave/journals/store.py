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
        """Take over the first line of ``text``, without what logs in anywhere."""
        secrets = [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]
        shown = shown_text(text, (secret for secret in secrets if len(secret) >= _SHORTEST_SECRET))
        line = next((line.strip() for line in shown.splitlines() if line.strip()), "")
        super().__init__(printable(_QUERY.sub("?***", _LOGIN.sub("***@", line)))[:_LONGEST])


class Store(Protocol):
    """Records by name, ``FOLDER/NUMBER``; every call raises StoreError where the store does not answer in time."""

    def names(self, folder: str = "") -> list[str]:
        """Return the names of all records there are now, of one folder where it is named, in their order."""

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """Return the contents of records; those that are gone are left out."""

    def create(self, name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        """Create a record that lasts once this returns, and remove others; False where the name is taken by others.

        It is taken as well where its folder has a later one: what was removed never comes again. A record of this name
        with the same content is the caller's own, so a repeated call returns True.
        """


def later_than(name: str, names: Iterable[str]) -> bool:
    """Tell whether a folder has a record after this one; numbers have as many digits each."""
    folder, _, number = name.rpartition("/")
    numbers = (record.removeprefix(f"{folder}/") for record in names if record.startswith(f"{folder}/"))
    return any(other.isdecimal() and other > number for other in numbers)
