"""The medium of a link: the cheapest that links both ends at its length, or the one that the intent names.

Two ends link only if their modules run one lane rate on the wire; the catalog states what each medium can do.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from math import ceil
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.catalog.media import Medium, Pmd
from railweave.catalog.model import SwitchModel
from railweave.catalog.nics import NicModel
from railweave.catalog.panel import LANE_RATES_GBPS, cage_use, lane_rates, no_such_speed
from railweave.diagnostics import Blocker
from railweave.units import format_speed

__all__ = ["Blocker", "LaneEnd", "choose_medium", "linking_pmds", "nic_end", "open_end", "reach_m", "switch_end"]


class LaneEnd(NamedTuple):
    """One end of a link as a module sees it.

    ``lane_gbps`` lists the lane rates that make up the end's speed; ``form_factors`` the cages it can come with (one
    on a switch; NIC models are sold with several).
    """

    title: str
    speed_gbps: int
    lane_gbps: tuple[int, ...]
    form_factors: tuple[str, ...]

    def __str__(self) -> str:
        """Describe the end: ``SN5600 (400G as 4x100G, OSFP)``."""
        lanes = " or ".join(f"{self.speed_gbps // rate}x{rate}G" for rate in self.lane_gbps)
        return f"{self.title} ({format_speed(self.speed_gbps)} as {lanes}, {' or '.join(self.form_factors)})"


class LinkingPmds(NamedTuple):
    """The two modules (or cable ends) of a working link; both run one lane rate on the wire."""

    a: Pmd
    b: Pmd

    @property
    def reach_m(self) -> int:
        """Return the reach of the weaker end."""
        return min(self.a.reach_m, self.b.reach_m)


def switch_end(model: SwitchModel, speed_gbps: int) -> LaneEnd | Blocker:
    """Return the end of a switch's port at a speed, or why the model does not run the speed."""
    use = cage_use(model, speed_gbps)
    if use is None:
        return no_such_speed(model, speed_gbps)
    cage = model.cage_type
    lanes, lane_gbps = cage.module
    rates = lane_rates(speed_gbps, lanes // use.ports, lane_gbps)
    return LaneEnd(model.title, speed_gbps, rates, (cage.form_factor,))


def open_end(title: str, speed_gbps: int, catalog: Catalog) -> LaneEnd:
    """Return the end of a device without a model: it may have any form factor, and lanes of any rate."""
    form_factors = dict.fromkeys(chain.from_iterable(medium.form_factors for medium in catalog.media()))
    rates = lane_rates(speed_gbps, _MOST_LANES, max(LANE_RATES_GBPS))
    return LaneEnd(title, speed_gbps, rates, tuple(form_factors))


_MOST_LANES = 8
_EIGHT_LANES = ("OSFP", "QSFP-DD")
"""Form factors of eight lanes (OSFP MSA, QSFP-DD MSA); all QSFP have four."""


def nic_end(nic: NicModel, ports: int, speed_gbps: int, ports_of_a_cage: int = 1) -> LaneEnd | Blocker:
    """Return the end of one port of a NIC that is used as ``ports`` ports of a speed, or why it cannot be.

    ``ports_of_a_cage`` of them share a cage, whose form factor must have lanes for all of them.
    """
    use = nic.find(ports, speed_gbps)
    if use is None:
        return nic.refusal(ports, speed_gbps)
    if ports_of_a_cage == 1:
        return LaneEnd(nic.title, speed_gbps, use.lane_gbps, nic.form_factors)
    lanes_per_port = ceil(speed_gbps / max(use.lane_gbps))
    needed_lanes = ports_of_a_cage * lanes_per_port
    cages = tuple(form_factor for form_factor in nic.form_factors if _lanes_of(form_factor) >= needed_lanes)
    if not cages:
        shared = f"{ports_of_a_cage} ports of {format_speed(speed_gbps)}"
        reason = f"{shared} take {needed_lanes} lanes, and {nic.title} comes with {' or '.join(nic.form_factors)}"
        return Blocker(reason, "state more cages, or leave `cages` out")
    most_lanes = max(map(_lanes_of, cages))
    # Slower lanes need more of them: keep the rates at which all ports of the cage fit its lanes.
    rates = tuple(rate for rate in use.lane_gbps if ports_of_a_cage * speed_gbps <= most_lanes * rate)
    return LaneEnd(nic.title, speed_gbps, rates, cages)


def _lanes_of(form_factor: str) -> int:
    return 8 if form_factor.startswith(_EIGHT_LANES) else 4


def choose_medium(
    end_a: LaneEnd,
    end_b: LaneEnd,
    length_m: int,
    medium_id: str | None,
    catalog: Catalog,
    *,
    crosswise: bool = False,
) -> Medium | Blocker:
    """Return the medium of a link of ``length_m`` meters, or what does not fit and which media would.

    ``medium_id`` names the medium to check, None asks for the cheapest that links the ends. If links share cages
    ``crosswise``, the cheapest is looked for among fibers: no cable with fixed ends joins such cages.
    """
    if end_a.speed_gbps != end_b.speed_gbps:
        return Blocker(
            f"{end_a} and {end_b} differ in speed", "give both ends of the link one speed, by breakout or by model"
        )
    media: Sequence[Medium] = catalog.media()
    # The catalog lists media from the cheapest.
    fitting = [medium for medium in media if reach_m(medium, end_a, end_b) >= length_m]
    if medium_id is None:
        if crosswise:
            media = [medium for medium in media if medium.fiber]
            fitting = [medium for medium in fitting if medium.fiber]
        if not fitting:
            return _nothing_fits(end_a, end_b, length_m, media)
        return fitting[0]
    named = catalog.find_medium(medium_id)
    if named is None:
        ids = ", ".join(medium.id for medium in media)
        return Blocker(f"there is no medium {medium_id!r}", f"write media: auto, or one of {ids}")
    if named not in fitting:
        return _does_not_fit(named, end_a, end_b, length_m, fitting)
    return named


def linking_pmds(medium: Medium, end_a: LaneEnd, end_b: LaneEnd) -> LinkingPmds | None:
    """Return the modules with which the medium reaches farthest between two ends, None if it cannot link them."""
    return max(_pairs(medium, end_a, end_b), key=lambda pair: pair.reach_m, default=None)


def _pairs(medium: Medium, end_a: LaneEnd, end_b: LaneEnd) -> Iterator[LinkingPmds]:
    for pmd_a in _pmds(medium, end_a):
        for pmd_b in _pmds(medium, end_b):
            # Host lanes may differ: a gearbox (DR4, FR4 in QSFP-DD) leaves only the rate on the wire to match.
            if pmd_a.wire_lane_gbps == pmd_b.wire_lane_gbps:
                yield LinkingPmds(pmd_a, pmd_b)


def reach_m(medium: Medium, end_a: LaneEnd, end_b: LaneEnd) -> int:
    """Return the reach of the medium between the ends in meters, -1 if it does not link them."""
    pair = linking_pmds(medium, end_a, end_b)
    return -1 if pair is None else pair.reach_m


def _pmds(medium: Medium, end: LaneEnd) -> Iterator[Pmd]:
    """Yield the medium's modules for an end: with a plug for one of its cages, at its speed and lane rate."""
    if not set(medium.form_factors) & set(end.form_factors):
        return
    for pmd in medium.pmds:
        if pmd.speed_gbps == end.speed_gbps and pmd.host_lane_gbps in end.lane_gbps:
            yield pmd


def _does_not_fit(medium: Medium, end_a: LaneEnd, end_b: LaneEnd, length_m: int, fitting: Sequence[Medium]) -> Blocker:
    """Return why a medium that the intent names does not link two ends; ``fitting`` are the media that do."""
    pair = linking_pmds(medium, end_a, end_b)
    if pair is not None:
        reason = f"{medium.id} ({medium.title}) reaches {pair.reach_m} m at these lanes and the link has {length_m} m"
    elif not any(_pmds(medium, end_a)):
        reason = f"{medium.id} ({medium.title}) does not exist for {end_a}"
    elif not any(_pmds(medium, end_b)):
        reason = f"{medium.id} ({medium.title}) does not exist for {end_b}"
    else:
        reason = f"{medium.id} ({medium.title}) does not link the lane rates of {end_a} and {end_b}"
    if fitting:
        return Blocker(reason, f"write media: {fitting[0].id} or media: auto" + _shorter_text(pair))
    return Blocker(reason, "no medium links these ends at this length" + _shorter_text(pair))


def _shorter_text(pair: LinkingPmds | None) -> str:
    """Return the end of a fix, the length that the modules reach; empty if there are none."""
    return "" if pair is None else f", or a length_m of at most {pair.reach_m}"


def _nothing_fits(end_a: LaneEnd, end_b: LaneEnd, length_m: int, media: Sequence[Medium]) -> Blocker:
    """Return why none of ``media`` links two ends; if links share cages crosswise, ``media`` are fibers alone."""
    farthest = max(reach_m(medium, end_a, end_b) for medium in media)
    if farthest < 0:
        return Blocker(
            f"no medium links {end_a} and {end_b}: their lane rates have none in common",
            "choose a speed, a breakout or a model with the lane rate of the other end",
        )
    return Blocker(
        f"no medium reaches {length_m} m between {end_a} and {end_b}",
        f"give a length_m of at most {farthest}",
    )
