"""What the YANG models say of each CONFIG_DB table: where its rows stand in the data tree, and their fields.

SONiC's convention (``sonic_yang_ext.py`` of sonic-buildimage): module ``sonic-x`` has one container of its own name,
each container in that is a table, and in a table stand lists (rows by key) or containers (rows of a fixed name).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.secrets import shown_key


@dataclass(frozen=True, slots=True)
class Pairs:
    """The inner list of a map table: each field of a row is an entry, its name in ``key``, its text in ``value``."""

    element: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RowSchema:
    """Rows of one form: a list with ``keys``, or the container of a fixed row, which has none.

    ``leaves`` and ``leaf_lists`` are the fields beside the keys; ``pairs`` is there in map tables alone.
    """

    element: str
    keys: tuple[str, ...]
    leaves: frozenset[str]
    leaf_lists: frozenset[str]
    pairs: Pairs | None = None

    def unknown(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names of ``fields`` that the model does not have."""
        if self.pairs:
            return ()
        return tuple(name for name in fields if name not in self.leaves and name not in self.leaf_lists)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One table: the module it stands in, its lists in schema order, and its fixed rows by key."""

    module: str
    namespace: str
    lists: tuple[RowSchema, ...]
    fixed: Mapping[str, RowSchema]

    def candidates(self, key: str) -> tuple[RowSchema, ...]:
        """Return the forms that a row of this key can have, in schema order."""
        if key in self.fixed:
            return (self.fixed[key],)
        parts = key.count("|") + 1
        return tuple(one for one in self.lists if len(one.keys) == parts)


SchemaIndex = Mapping[str, TableSchema]
"""Table name to what the models say of it; a table without a model is not in it."""


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
