"""Cable media: which lane rates they link over which distance.

Two ends link when a medium has a PMD for each with one rate on the wire. A module with a gearbox has another rate
towards the host than on the wire: 400G-DR4 makes four wire lanes of 100G out of eight host lanes of 50G, so it links a
QSFP-DD cage to a QSFP112 one; SR8 and SR4, and all copper, carry the host's lanes as they are and do not
(fabric-facts section 3.3).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pmd:
    """One speed of a medium as a product: its usual name, the lane rates on both sides, and its reach in metres."""

    name: str
    speed_gbps: int
    host_lane_gbps: int
    wire_lane_gbps: int
    reach_m: int


@dataclass(frozen=True, slots=True)
class Medium:
    """A kind of cable. ``cost_rank`` orders media from the cheapest; ``is_copper`` asks for autonegotiation and link
    training; ``form_factors`` are the cages that it has plugs for."""

    id: str
    title: str
    source: str
    cost_rank: int
    is_copper: bool
    form_factors: tuple[str, ...]
    pmds: tuple[Pmd, ...]
