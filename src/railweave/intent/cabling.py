"""The cables of an intent: their media and lengths, by level of the fabric."""

from collections.abc import Mapping
from typing import Annotated

from railweave.catalog.load import load_catalog
from railweave.intent.keys import Keys, default, section, unset
from railweave.intent.kinds import Text, Whole

MediaId = Annotated[
    str | None, Text(what="a media id", auto=True, ids=lambda: [medium.id for medium in load_catalog().media()])
]
AsBuiltFile = Annotated[
    str,
    Text(
        what="a CSV file beside the intent",
        pattern=r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*/)*[A-Za-z0-9_][A-Za-z0-9._-]*\.csv",
        example="as-built.csv",
    ),
]
LengthM = Annotated[int, Whole(least=1, most=10_000)]


class Cable(Keys):
    """The cables between nodes and leaves: their longest length in metres, and their media id (None: the cheapest)."""

    length_m: LengthM = default(20, "longest cable in metres")
    media: MediaId = default("auto", "media id of the catalog; auto is the cheapest that fits")


class LeafSpineCable(Cable):
    """The cables between leaves and spines."""

    length_m: LengthM = default(30, "longest cable in metres")


class SpineSuperSpineCable(Cable):
    """The cables between spines and super-spines."""

    length_m: LengthM = default(100, "longest cable in metres")


class Cabling(Keys):
    """Lengths and media of the cables."""

    host: Cable = section(Cable, "cables between nodes and leaves")
    leaf_spine: LeafSpineCable = section(LeafSpineCable, "cables between leaves and spines")
    spine_super_spine: SpineSuperSpineCable = section(
        SpineSuperSpineCable, "cables between spines and super-spines, in three tiers"
    )

    as_built: AsBuiltFile | None = unset(
        "CSV beside the intent with lengths as they were measured: cables.csv with its own length_m"
    )

    @property
    def by_level(self) -> Mapping[str, Cable]:
        """Return the cables by their key, in the order of the level of their upper ends."""
        return {"host": self.host, "leaf_spine": self.leaf_spine, "spine_super_spine": self.spine_super_spine}
