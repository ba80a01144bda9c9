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
    """The number of spines of a plane, pod or rail, and the links of one leaf-spine pair."""

    spines: int
    links_per_pair: int


class SpineRoom(NamedTuple):
    """What the number of spines of a group depends on; a group is a plane, pod or rail."""

    # Leaf indexes that need ports of every spine.
    leaves: int
    # Ports of a spine for them.
    ports: int
    # The spines of a group that the intent states, None if automatic.
    given: int | None
    # How many groups share the spines that the intent states.
    groups: int = 1
    # What a group is, for a message; empty if all leaves reach all spines.
    group: str = ""
    # Ports of a spine that are kept for other leaf classes.
    blocks: int = 0
    # Leaf indexes of the reserve, 0 if the intent states none.
    reserved: int = 0
    # Uplinks of a leaf if a stated stripe did not limit its split, 1 if none does.
    panel_uplinks: int = 1

    @property
    def each(self) -> str:
        """Return the group that numbers are of, for a message; empty if there is one group."""
        if not self.group:
            return ""
        return f" of each {self.group}"

    @property
    def down(self) -> str:
        """Return which ports of a spine are counted, for a message; empty if all are."""
        if self.group == "pod":
            return " down"
        if self.blocks:
            return " for them"
        return ""

    def stated(self, spines: int) -> int:
        """Return the number to state in the intent for ``spines`` of each group."""
        return spines * self.groups


class UplinkDemand(NamedTuple):
    """What a leaf needs of its uplinks."""

    # The bandwidth of all downlinks.
    down_gbps: int
    # The speed of one uplink.
    uplink_gbps: int
    # The highest oversubscription.
    ratio: Fraction
    # Links to a spine, and the intent path that states them.
    pair: int
    key: str
    # Ports for uplinks.
    room: int
    # Whose leaf it is, for a message; empty for leaves without a class of their own.
    of: str = ""

    def ratio_with(self, uplinks: int) -> Fraction:
        """Return the oversubscription with a number of uplinks."""
        return Fraction(self.down_gbps, uplinks * self.uplink_gbps)

    @property
    def least_spines(self) -> int:
        """Return the least number of spines that meets the ratio."""
        return ceil(self.ratio_with(self.pair) / self.ratio)


def spine_counts(uplinks: int) -> list[int]:
    """Return the numbers of spines, from 2 on, that share ``uplinks`` of a leaf evenly."""
    return [count for count in range(2, uplinks + 1) if uplinks % count == 0]


def fitting_counts(uplinks: int, shared: int, leaf_indexes: int, spine_ports: int) -> list[int]:
    """Return the numbers of spines, ascending, that divide the ``shared`` uplinks and have ports for the leaves.

    ``uplinks`` are those of a leaf of the first class. ``leaf_indexes`` leaves need ports of a spine, which has
    ``spine_ports``.
    """
    return [count for count in spine_counts(shared) if leaf_indexes * (uplinks // count) <= spine_ports]


def divide_uplinks(
    intent: Intent, uplinks: int, shared: int, room: SpineRoom
) -> tuple[SpineTier | None, tuple[Diagnostic, ...]]:
    """Return the spines that all ``uplinks`` of a leaf are divided among (``links_per_pair: auto``), or None and why
    there are none.

    ``shared`` is the greatest common divisor of the uplinks of all leaf classes, which the spines have to divide.
    """
    fitting = fitting_counts(uplinks, shared, room.leaves, room.ports)
    # One spine divides any uplinks, but fitting_counts begins with two.
    if not fitting and room.given != 1:
        most_spines = max(spine_counts(shared), default=0)
        if most_spines:
            return None, (_too_few_spines(intent, most_spines, uplinks // most_spines, room),)
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
    """Return the links of a pair with the ``given`` number of spines, or None and why the number is wrong."""
    fitting = fitting_counts(uplinks, shared, room.leaves, room.ports)
    if shared % given:
        # The error names the uplinks of a leaf of the first class if the spines do not divide these.
        undivided_uplinks = shared
        if uplinks % given:
            undivided_uplinks = uplinks
        possible = [room.stated(count) for count in fitting]
        return None, (_uneven(intent, given, undivided_uplinks, possible, room),)
    pair = uplinks // given
    if room.leaves * pair > room.ports:
        return None, (_spines_full(intent, pair, uplinks, fitting[0], room),)
    return SpineTier(given, pair), ()


def multiply_pairs(
    intent: Intent, leaf: TierPorts, demands: Sequence[UplinkDemand], room: SpineRoom
) -> tuple[SpineTier | None, tuple[Diagnostic, ...]]:
    """Return the spines with stated ``links_per_pair``, or None and all errors.

    Their number is the stated one, or the least with which all leaves have the ratio that is asked for. ``leaf`` has
    the ports of a leaf of the first class.
    """
    pair = intent.topology.links_per_pair or 1
    spines = room.given or max(demand.least_spines for demand in demands)
    diagnostics = []
    if spines * pair > leaf.room:
        diagnostics.append(_uplinks_exceeded(intent, spines, pair, leaf, room))
    diagnostics += [_ratio_not_met(intent, spines, demand, room) for demand in demands if spines < demand.least_spines]
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
    """Return the error of too many leaves for the ports of spines, where leaf classes allow no more spines."""
    return error(
        "T-3",
        f"leaf classes of different uplinks share at most {counted(spines, 'spine')}{room.each}:"
        f" {_too_many_links(pair, room)}",
        intent.where("topology.spine"),
        fix=f"use spines with {room.leaves * pair} ports{room.down}, larger leaves in nodes[].leaf, or a lower"
        " first_stripe where stripes are left out",
    )


def _uneven(intent: Intent, given: int, uplinks: int, possible: list[int], room: SpineRoom) -> Diagnostic:
    """Return the error of ``given`` spines that do not divide the uplinks of a leaf."""
    return error(
        "T-2",
        f"{counted(given, 'spine')}{room.each} cannot share the {uplinks} uplinks of a leaf evenly: {uplinks} ÷ {given}"
        f" is not whole",
        intent.where("topology.spine.count"),
        fix=f"use {either(possible)} spines{_panel_split(given, room)}",
    )


def _panel_split(given: int, room: SpineRoom) -> str:
    """Return the part of a fix that names the split with which the given spines are possible; empty if none is."""
    pair, rest = divmod(room.panel_uplinks, given)
    if rest or room.leaves * pair > room.ports:
        return ""
    return f", or topology.split: panel, which gives a leaf {room.panel_uplinks} uplinks"


def _spines_full(intent: Intent, pair: int, uplinks: int, more_spines: int, room: SpineRoom) -> Diagnostic:
    """Return the error of stated spines with too few ports for ``pair`` links to each leaf."""
    return error(
        "T-3",
        _too_many_links(pair, room),
        intent.where("topology.spine.count"),
        fix=f"use {room.stated(more_spines)} spines ({counted(uplinks // more_spines, 'link')} a pair; this moves"
        f" cables of an existing fabric), or spines with {room.leaves * pair} ports{room.down}",
    )


def _pairs_exceed_spine(intent: Intent, pair: int, room: SpineRoom) -> Diagnostic:
    """Return the error of stated links of a pair that need more ports than a spine has."""
    most_links = room.ports // room.leaves
    fixes = []
    if most_links or not room.blocks:
        fixes.append(f"use at most {most_links} links_per_pair with more spines")
    if room.blocks:
        fixes.append("reserve fewer of the leaves that spines keep ports apart for")
    fixes.append(f"spines with {room.leaves * pair} ports{room.down}")
    return error(
        "T-3",
        _too_many_links(pair, room),
        intent.where("topology.links_per_pair"),
        fix=", or ".join(fixes),
    )


def _too_many_links(pair: int, room: SpineRoom) -> str:
    return (
        f"{room.leaves} leaves{room.each} × {pair} links need {room.leaves * pair} ports on every spine; a spine has"
        f" {room.ports}{room.down}"
    )


def _ratio_not_met(intent: Intent, spines: int, demand: UplinkDemand, room: SpineRoom) -> Diagnostic:
    """Return the error that a number of spines leaves a leaf with more oversubscription than the intent asks for."""
    links_per_pair = demand.pair
    ratio = demand.ratio_with(spines * links_per_pair)
    needed_uplinks = demand.least_spines * links_per_pair
    fixes = []
    if needed_uplinks <= demand.room:
        fixes.append(f"use {room.stated(demand.least_spines)} spines")
    needed_links_per_pair = ceil(needed_uplinks / spines)
    if needed_links_per_pair * spines <= demand.room:
        fixes.append(f"use {demand.key}: {needed_links_per_pair}")
    fixes.append(f"ask for oversubscription: {asking_text(ratio)}")
    return error(
        "T-4",
        f"{counted(spines, 'spine')}{room.each} × {counted(links_per_pair, 'link')} a pair leave a leaf{demand.of} with"
        f" {ratio_text(ratio)}; {ratio_text(demand.ratio)} is asked for",
        intent.where("topology.spine.count"),
        fix=", or ".join(fixes),
    )


def _uplinks_exceeded(intent: Intent, spines: int, pair: int, leaf: TierPorts, room: SpineRoom) -> Diagnostic:
    """Return the error of more links to spines than a leaf has ports for."""
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
