"""Cable media: kinds of cables, and the products that carry each speed.

The fields of these values are the fields of the catalog's files (``data/README.md``).
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple


class Pmd(NamedTuple):
    """One speed of a medium as a product: its usual name, the lane rates on both sides, and its reach in metres."""

    name: str
    speed_gbps: int
    host_lane_gbps: int
    wire_lane_gbps: int
    reach_m: int


class Medium(NamedTuple):
    """A kind of cable."""

    title: str
    source: str
    # The cheapest medium has the lowest.
    cost_rank: int
    # The cages that it has plugs for.
    form_factors: tuple[str, ...]
    pmds: tuple[Pmd, ...]
    # The fiber between two modules; empty if the ends are fixed to the cable.
    fiber: str = ""
    # All lanes share one fiber each way, by wavelengths.
    duplex: bool = False
    # The lengths that are sold, ascending, as `lengths_source` states them.
    lengths_m: tuple[int, ...] = ()
    # Above those, multiples of this are sold; none if it is 0.
    length_step_m: int = 0
    lengths_source: str = ""
    # Its name in the file.
    id: str = ""

    def sold_m(self, length_mm: int, sold: Sequence[int] = ()) -> int | None:
        """Return the shortest length in meters that is sold and not below ``length_mm``, None if there is none.

        ``sold`` are the lengths that a user states, in place of the medium's.
        """
        for length_m in sorted(sold) or self.lengths_m:
            if length_m * 1000 >= length_mm:
                return length_m
        if sold or not self.length_step_m:
            return None
        return ceil(length_mm / (self.length_step_m * 1000)) * self.length_step_m
