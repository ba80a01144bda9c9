"""What a validation finds: the place in CONFIG_DB and the model's own words."""

from dataclasses import dataclass

from railweave.secrets import shown_key


@dataclass(frozen=True, slots=True)
class Place:
    """A place in CONFIG_DB; ``field`` is empty for a whole row, ``key`` too for a whole table."""

    table: str
    key: str = ""
    field: str = ""

    def __str__(self) -> str:
        """Return ``TABLE|key|field``, the form that ``railweave explain`` takes; a key that is a secret hidden."""
        return "|".join(part for part in (self.table, self.key and shown_key(self.table, self.key), self.field) if part)


@dataclass(frozen=True, slots=True)
class Violation:
    """One failure. ``rows`` counts the rows of the table with the same failure, the named one among them.

    ``unmodelled`` tells that nothing is known of the table, so that its rows were not judged.
    """

    place: Place
    words: str
    value: str = ""
    rows: int = 1
    unmodelled: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """One error of libyang: its words, the data path and the line of the XML that it names (0 where it names none)."""

    words: str
    path: str = ""
    line: int = 0
