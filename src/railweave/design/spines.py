"""Spines: how many, and how many links each pair of leaf and spine has.

Every leaf reaches every spine of its plane, and in three tiers of its pod, with the same number of links; uneven
bundles would overload the spines that have fewer links towards a leaf.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from railweave.design.ratios import asking_text, ratio_text
from railweave.design.split import TierPorts
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent
from railweave.wording import counted, either


class SpineTier(NamedTuple):
    """Spines of one plane, of each pod in three tiers, and the links of one leaf-spine pair."""

    spines: int
    links_per_pair: int


class SpineRoom(NamedTuple):
    """What spines are for: ``leaves`` indexes of a plane, or of a pod or rail apart, on ``ports`` of a spine.

    ``given`` is how many of them the intent states, None for automatic; ``groups`` share the stated ones, and
    ``group`` says what these are, empty where all leaves reach all spines. ``blocks`` ports are kept for other leaf
    classes. ``reserved`` are the leaf indexes of the reserve, 0 where it states none. ``panel_uplinks`` are those that
    a leaf would have without the stripe that caps its split, 1 where none does."""

    leaves: int
    ports: int
    given: int | None
    groups: int = 1
    group: str = ""
    blocks: int = 0
    reserved: int = 0
    panel_uplinks: int = 1

    @property
    def each(self) -> str:
        """Return what its numbers are of, for a message."""
        if not self.group:
            return ""
        return f" of each {self.group}"

    @property
    def down(self) -> str:
        """Return which ports they are, for a message."""
        if self.group == "pod":
            return " down"
        if self.blocks:
            return " for them"
        return ""

    def stated(self, spines: int) -> int:
        """Return as many spines as the intent would state them: those of all groups."""
        return spines * self.groups


class UplinkDemand(NamedTuple):
    """The bandwidth in Gb/s of a leaf's downlinks and of one uplink, and the highest ratio of down to up.

    ``pair`` are its links to a spine, stated at the intent path ``key``, ``room`` its ports for uplinks; ``of`` says
    whose leaf it is, empty of those of all."""

    down_gbps: int
    uplink_gbps: int
    ratio: Fraction
    pair: int
    key: str
    room: int
    of: str = ""

    def ratio_with(self, uplinks: int) -> Fraction:
        """Return the oversubscription with so many uplinks."""
        return Fraction(self.down_gbps, uplinks * self.uplink_gbps)

    @property
    def least_spines(self) -> int:
        """Return the least number of spines that meets the ratio."""
        return ceil(self.ratio_with(self.pair) / self.ratio)


def spine_counts(uplinks: int) -> list[int]:
    """Return the numbers of spines, from 2 on, that share ``uplinks`` of a leaf evenly."""
    return [count for count in range(2, uplinks + 1) if uplinks % count == 0]


def fitting_counts(uplinks: int, shared: int, leaf_indexes: int, spine_ports: int) -> list[int]:
    """Return the numbers of spines that divide the ``shared`` uplinks and have ports for ``leaf_indexes`` leaves."""
    return [count for count in spine_counts(shared) if leaf_indexes * (uplinks // count) <= spine_ports]


def divide_uplinks(
    intent: Intent, uplinks: int, shared: int, room: SpineRoom
) -> tuple[SpineTier | None, tuple[Diagnostic, ...]]:
    """Return the spines that all ``uplinks`` of a leaf are divided among (``links_per_pair: auto``).

    ``shared`` is the greatest common divisor of the uplinks of all leaf classes, which the spines have to divide.
    """
    fitting = fitting_counts(uplinks, shared, room.leaves, room.ports)
    if not fitting and room.given != 1:
        most = max(spine_counts(shared), default=0)
        if most:
            return None, (_too_few_spines(intent, most, uplinks // most, room),)
        return None, (_single_uplink(intent, shared),)
    if room.given is not None:
        return _among_given(intent, uplinks, shared, room, room.given)
    for_reserve = fitting_counts(uplinks, shared, max(room.leaves, room.reserved), room.ports)
    # A reserve that no number of spines has ports for is reported by reserve_diagnostics.
    spines = (for_reserve or fitting)[0]
    return SpineTier(spines, uplinks // spines), ()


def _among_given(
    intent: Intent, uplinks: int, shared: int, room: SpineRoom, given: int
) -> tuple[SpineTier | None, tuple[Diagnostic, ...]]:
    fitting = fitting_counts(uplinks, shared, room.leaves, room.ports)
    if shared % given:
        uneven = shared
        if uplinks % given:
            uneven = uplinks
        return None, (_uneven(intent, given, uneven, [room.stated(count) for count in fitting], room),)
    pair = uplinks // given
    if room.leaves * pair > room.ports:
        return None, (_spines_full(intent, pair, uplinks, fitting[0], room),)
    return SpineTier(given, pair), ()


def multiply_pairs(
    intent: Intent, leaf: TierPorts, demands: Sequence[UplinkDemand], room: SpineRoom
) -> tuple[SpineTier | None, tuple[Diagnostic, ...]]:
    """Return the spines that every leaf reaches with the links of a pair that are given for it."""
    pair = intent.topology.links_per_pair or 1
    needed = max(demand.least_spines for demand in demands)
    spines = room.given or needed
    diagnostics = []
    if spines * pair > leaf.room:
        diagnostics.append(_uplinks_exceeded(intent, spines, pair, leaf, room))
    unmet = [demand for demand in demands if spines < demand.least_spines]
    diagnostics += [_ratio_not_met(intent, spines, demand, room) for demand in unmet]
    if room.leaves * pair > room.ports:
        diagnostics.append(_pairs_exceed_spine(intent, pair, room))
    if diagnostics:
        return None, tuple(diagnostics)
    return SpineTier(spines, pair), ()


def _single_uplink(intent: Intent, uplinks: int) -> Diagnostic:
    return error(
        "RW203",
        f"a leaf with {counted(uplinks, 'uplink')} cannot reach two spines",
        intent.where("topology.leaf"),
        fix="use a leaf with more ports",
    )


def _too_few_spines(intent: Intent, spines: int, pair: int, room: SpineRoom) -> Diagnostic:
    """Return the refusal of more leaves than spines have ports for, where a leaf class allows no more spines."""
    return error(
        "T-3",
        f"leaf classes of different uplinks share at most {counted(spines, 'spine')}{room.each}:"
        f" {_too_many_links(pair, room)}",
        intent.where("topology.spine"),
        fix=f"use spines with {room.leaves * pair} ports{room.down}, larger leaves in nodes[].leaf, or a lower"
        " first_stripe where stripes are left out",
    )


def _uneven(intent: Intent, given: int, uplinks: int, fitting: list[int], room: SpineRoom) -> Diagnostic:
    return error(
        "T-2",
        f"{counted(given, 'spine')}{room.each} cannot share the {uplinks} uplinks of a leaf evenly: {uplinks} ÷ {given}"
        f" is not whole",
        intent.where("topology.spine.count"),
        fix=f"use {either(fitting)} spines{_by_panel(given, room)}",
    )


def _by_panel(given: int, room: SpineRoom) -> str:
    """Return the split by which the spines of the intent share the uplinks of a leaf, empty where they do not."""
    if room.panel_uplinks % given or room.leaves * (room.panel_uplinks // given) > room.ports:
        return ""
    return f", or topology.split: panel, which gives a leaf {room.panel_uplinks} uplinks"


def _spines_full(intent: Intent, pair: int, uplinks: int, more: int, room: SpineRoom) -> Diagnostic:
    return error(
        "T-3",
        _too_many_links(pair, room),
        intent.where("topology.spine.count"),
        fix=f"use {room.stated(more)} spines ({counted(uplinks // more, 'link')} a pair; this moves cables of an"
        f" existing fabric), or spines with {room.leaves * pair} ports{room.down}",
    )


def _pairs_exceed_spine(intent: Intent, pair: int, room: SpineRoom) -> Diagnostic:
    most = room.ports // room.leaves
    ways = []
    if most or not room.blocks:
        ways.append(f"use at most {most} links_per_pair with more spines")
    if room.blocks:
        ways.append("reserve fewer of the leaves that spines keep ports apart for")
    return error(
        "T-3",
        _too_many_links(pair, room),
        intent.where("topology.links_per_pair"),
        fix=", or ".join([*ways, f"spines with {room.leaves * pair} ports{room.down}"]),
    )


def _too_many_links(pair: int, room: SpineRoom) -> str:
    return (
        f"{room.leaves} leaves{room.each} × {pair} links need {room.leaves * pair} ports on every spine; a spine has"
        f" {room.ports}{room.down}"
    )


def _ratio_not_met(intent: Intent, spines: int, demand: UplinkDemand, room: SpineRoom) -> Diagnostic:
    pair = demand.pair
    needed = demand.least_spines
    actual = demand.ratio_with(spines * pair)
    ways = []
    if needed * pair <= demand.room:
        ways.append(f"use {room.stated(needed)} spines")
    more = -(-needed * pair // spines)
    if more * spines <= demand.room:
        ways.append(f"use {demand.key}: {more}")
    return error(
        "T-4",
        f"{counted(spines, 'spine')}{room.each} × {counted(pair, 'link')} a pair leave a leaf{demand.of} with"
        f" {ratio_text(actual)}; {ratio_text(demand.ratio)} is asked for",
        intent.where("topology.spine.count"),
        fix=", or ".join([*ways, f"ask for oversubscription: {asking_text(actual)}"]),
    )


def _uplinks_exceeded(intent: Intent, spines: int, pair: int, leaf: TierPorts, room: SpineRoom) -> Diagnostic:
    path = "topology.links_per_pair"
    if room.given:
        path = "topology.spine.count"
    return error(
        "RW207",
        f"{counted(spines, 'spine')}{room.each} × {counted(pair, 'link')} need {spines * pair} uplinks;"
        f" a leaf with {leaf.down} downlinks has {leaf.room} of its {leaf.total} ports for them",
        intent.where(path),
        fix=f"use at most {room.stated(leaf.room // pair)} spines, fewer links_per_pair or a smaller stripe",
    )
