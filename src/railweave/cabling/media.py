"""The medium of a link: the cheapest that links both ends' lanes at its length, or the one that the intent names.

The rules are of fabric-facts section 3.3; what each medium can do stands in the catalog.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.catalog.model import Medium, NicModel, Pmd, SwitchModel
from railweave.catalog.panel import cage_use, lane_rates, no_such_speed
from railweave.diagnostics import Blocker
from railweave.units import format_speed

__all__ = ["Blocker", "LaneEnd", "choose_medium", "linking_pmds", "nic_end", "reach_m", "switch_end"]


class LaneEnd(NamedTuple):
    """One end of a link as a module sees it.

    ``lane_gbps`` are the lane rates at which the end runs its speed; ``form_factors`` the cages that it can come
    with (one on a switch; NIC models are sold with several).
    """

    title: str
    speed_gbps: int
    lane_gbps: tuple[int, ...]
    form_factors: tuple[str, ...]

    def __str__(self) -> str:
        """Return the end in a phrase: ``SN5600 (400G as 4x100G, OSFP)``."""
        lanes = " or ".join(f"{self.speed_gbps // rate}x{rate}G" for rate in self.lane_gbps)
        return f"{self.title} ({format_speed(self.speed_gbps)} as {lanes}, {' or '.join(self.form_factors)})"


class LinkingPmds(NamedTuple):
    """The two modules (or cable ends) of a link that works, with one rate on the wire."""

    a: Pmd
    b: Pmd

    @property
    def reach_m(self) -> int:
        """Return the reach of the weaker end."""
        return min(self.a.reach_m, self.b.reach_m)


def switch_end(model: SwitchModel, speed_gbps: int) -> LaneEnd | Blocker:
    """Return a switch port's end at a speed."""
    use = cage_use(model, speed_gbps)
    if use is None:
        return no_such_speed(model, speed_gbps)
    cage = model.cage_type
    lanes, lane_gbps = cage.module
    rates = lane_rates(speed_gbps, lanes // use.ports, lane_gbps)
    return LaneEnd(model.title, speed_gbps, rates, (cage.form_factor,))


_EIGHT_LANES = ("OSFP", "QSFP-DD")
"""Form factors of eight lanes (OSFP MSA, QSFP-DD MSA); all QSFP have four."""


def nic_end(nic: NicModel, ports: int, speed_gbps: int, ports_of_a_cage: int = 1) -> LaneEnd | Blocker:
    """Return the end of one port of a NIC that is used as ``ports`` ports of a speed, some of which share a cage: it is
    of a form factor with lanes for all of them."""
    use = nic.find(ports, speed_gbps)
    if use is None:
        return nic.refusal(ports, speed_gbps)
    if ports_of_a_cage == 1:
        return LaneEnd(nic.title, speed_gbps, use.lane_gbps, nic.form_factors)
    fewest = ports_of_a_cage * -(-speed_gbps // max(use.lane_gbps))
    cages = tuple(one for one in nic.form_factors if _lanes(one) >= fewest)
    if not cages:
        shared = f"{ports_of_a_cage} ports of {format_speed(speed_gbps)}"
        reason = f"{shared} take {fewest} lanes, and {nic.title} comes with {' or '.join(nic.form_factors)}"
        return Blocker(reason, "state more cages, or leave `cages` out")
    most = max(map(_lanes, cages))
    rates = tuple(rate for rate in use.lane_gbps if ports_of_a_cage * speed_gbps <= most * rate)
    return LaneEnd(nic.title, speed_gbps, rates, cages)


def _lanes(form_factor: str) -> int:
    return 8 if form_factor.startswith(_EIGHT_LANES) else 4


def choose_medium(
    end_a: LaneEnd, end_b: LaneEnd, length_m: int, medium_id: str | None, catalog: Catalog
) -> Medium | Blocker:
    """Return the medium of a link of ``length_m`` metres.

    ``medium_id`` None is the cheapest that links the ends; a medium's id is checked. A refusal says what does not fit
    and which media would.
    """
    if end_a.speed_gbps != end_b.speed_gbps:
        return Blocker(
            f"{end_a} and {end_b} differ in speed", "give both ends of the link one speed, by breakout or by model"
        )
    fitting = [medium for medium in catalog.media() if reach_m(medium, end_a, end_b) >= length_m]
    if medium_id is None:
        return fitting[0] if fitting else _nothing_fits(end_a, end_b, length_m, catalog.media())
    medium = catalog.find_medium(medium_id)
    if medium is None:
        return Blocker(
            f"there is no medium {medium_id!r}",
            f"write media: auto, or one of {', '.join(one.id for one in catalog.media())}",
        )
    return medium if medium in fitting else _does_not_fit(medium, end_a, end_b, length_m, fitting)


def linking_pmds(medium: Medium, end_a: LaneEnd, end_b: LaneEnd) -> LinkingPmds | None:
    """Return the modules with which the medium links two ends the farthest, None where it cannot."""
    pairs = (
        LinkingPmds(pmd_a, pmd_b)
        for pmd_a in _pmds(medium, end_a)
        for pmd_b in _pmds(medium, end_b)
        if pmd_a.wire_lane_gbps == pmd_b.wire_lane_gbps
    )
    return max(pairs, key=lambda pair: pair.reach_m, default=None)


def reach_m(medium: Medium, end_a: LaneEnd, end_b: LaneEnd) -> int:
    """Return how far the medium links the ends, -1 where it does not at all."""
    pair = linking_pmds(medium, end_a, end_b)
    return -1 if pair is None else pair.reach_m


def _pmds(medium: Medium, end: LaneEnd) -> Iterator[Pmd]:
    """Yield what the medium offers for an end: it needs a plug for one of the end's cages and its lane rate."""
    if not set(medium.form_factors) & set(end.form_factors):
        return
    for pmd in medium.pmds:
        if pmd.speed_gbps == end.speed_gbps and pmd.host_lane_gbps in end.lane_gbps:
            yield pmd


def _does_not_fit(medium: Medium, end_a: LaneEnd, end_b: LaneEnd, length_m: int, fitting: Sequence[Medium]) -> Blocker:
    pair = linking_pmds(medium, end_a, end_b)
    if pair is not None:
        reason = f"{medium.id} ({medium.title}) reaches {pair.reach_m} m at these lanes and the link has {length_m} m"
    elif not (any(_pmds(medium, end_a)) and any(_pmds(medium, end_b))):
        lacking = end_b if any(_pmds(medium, end_a)) else end_a
        reason = f"{medium.id} ({medium.title}) does not exist for {lacking}"
    else:
        reason = f"{medium.id} ({medium.title}) does not link the lane rates of {end_a} and {end_b}"
    if fitting:
        return Blocker(reason, f"write media: {fitting[0].id} or media: auto" + _shorter(pair))
    return Blocker(reason, "no medium links these ends at this length" + _shorter(pair))


def _shorter(pair: LinkingPmds | None) -> str:
    return "" if pair is None else f", or a length_m of at most {pair.reach_m}"


def _nothing_fits(end_a: LaneEnd, end_b: LaneEnd, length_m: int, media: Sequence[Medium]) -> Blocker:
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
