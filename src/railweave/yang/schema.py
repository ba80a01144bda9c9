"""The YANG schema of each CONFIG_DB table: the place of its rows in the data tree, and their fields.

SONiC's convention (``sonic_yang_ext.py`` of sonic-buildimage): module ``sonic-x`` has one container of its own name,
each container in that is a table, and a table has lists (rows by key) or containers (rows of a fixed name).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.secrets import shown_key


@dataclass(frozen=True, slots=True)
class MapFields:
    """The inner list of a map table: each field of a row is an entry, its name in ``key``, its text in ``value``."""

    element: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RowSchema:
    """Rows of one form: a list with ``keys``, or the container of a fixed row, which has none.

    ``leaves`` and ``leaf_lists`` are the fields other than the keys; only map tables have ``map_fields``.
    """

    element: str
    keys: tuple[str, ...]
    leaves: frozenset[str]
    leaf_lists: frozenset[str]
    map_fields: MapFields | None = None

    def unknown(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names of ``fields`` that the model does not have."""
        if self.map_fields:
            return ()
        return tuple(name for name in fields if name not in self.leaves and name not in self.leaf_lists)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One table: its module, its lists in schema order, and its fixed rows by key."""

    module: str
    namespace: str
    lists: tuple[RowSchema, ...]
    fixed: Mapping[str, RowSchema]

    def candidates(self, key: str) -> tuple[RowSchema, ...]:
        """Return the forms that a row of this key can have, in schema order."""
        if key in self.fixed:
            return (self.fixed[key],)
        parts = key.count("|") + 1
        return tuple(form for form in self.lists if len(form.keys) == parts)


SchemaIndex = Mapping[str, TableSchema]
"""The schema of each table that has a model, by name."""


@dataclass(frozen=True, slots=True)
class ConfigPlace:
    """A place in CONFIG_DB; ``field`` is empty for a whole row, ``key`` too for a whole table."""

    table: str
    key: str = ""
    field: str = ""

    def __str__(self) -> str:
        """Return ``TABLE|key|field``, the form that ``railweave explain`` takes; a key that is a secret is hidden."""
        key = self.key and shown_key(self.table, self.key)
        return "|".join(part for part in (self.table, key, self.field) if part)


@dataclass(frozen=True, slots=True)
class Violation:
    """One failure. ``rows`` counts the rows of the table with the same failure, including the named one.

    ``unmodelled``: the table has no model, so its rows were not checked.
    """

    place: ConfigPlace
    words: str
    value: str = ""
    rows: int = 1
    unmodelled: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """One error of libyang: its words, its data path, and its line of the XML (0 if it has none)."""

    words: str
    path: str = ""
    line: int = 0
