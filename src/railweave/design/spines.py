"""Spines: how many, and how many links each pair of leaf and spine has.

Every leaf reaches every spine of its plane with the same number of links; uneven bundles would overload the spines
that have fewer links towards a leaf (fabric-facts 2.1, rule 5).
"""

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from railweave.design.ratios import asking_text, ratio_text
from railweave.design.split import TierPorts
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent
from railweave.wording import counted, either


class SpineTier(NamedTuple):
    """Spines of one plane and the links of one leaf-spine pair."""

    spines: int
    links_per_pair: int


class UplinkDemand(NamedTuple):
    """The bandwidth in Gb/s of a leaf's downlinks and of one uplink, and the highest ratio of down to up."""

    down_gbps: int
    uplink_gbps: int
    ratio: Fraction

    def ratio_with(self, uplinks: int) -> Fraction:
        """Return the oversubscription with so many uplinks."""
        return Fraction(self.down_gbps, uplinks * self.uplink_gbps)

    def least_spines(self, pair: int) -> int:
        """Return the least number of spines with ``pair`` links each that meets the ratio."""
        return ceil(self.ratio_with(pair) / self.ratio)


def spine_counts(uplinks: int) -> list[int]:
    """Return the numbers of spines, from 2 on, that share ``uplinks`` of a leaf evenly."""
    return [count for count in range(2, uplinks + 1) if uplinks % count == 0]


def fitting_counts(uplinks: int, leaf_indexes: int, spine_ports: int) -> list[int]:
    """Return those of ``spine_counts`` whose spines have ports for ``leaf_indexes`` leaves."""
    return [count for count in spine_counts(uplinks) if leaf_indexes * (uplinks // count) <= spine_ports]


def divide_uplinks(
    intent: Intent, uplinks: int, leaf_indexes: int, spine_ports: int
) -> tuple[SpineTier | None, tuple[Diagnostic, ...]]:
    """Return the spines that all ``uplinks`` of a leaf are divided among (``links_per_pair: auto``)."""
    fitting = fitting_counts(uplinks, leaf_indexes, spine_ports)
    given = intent.topology.spine.count
    if not fitting and given != 1:
        return None, (_single_uplink(intent, uplinks),)
    if given is None:
        return SpineTier(fitting[0], uplinks // fitting[0]), ()
    if uplinks % given:
        return None, (_uneven(intent, given, uplinks, fitting),)
    pair = uplinks // given
    if leaf_indexes * pair > spine_ports:
        return None, (_spines_full(intent, leaf_indexes, pair, spine_ports, fitting),)
    return SpineTier(given, pair), ()


def multiply_pairs(
    intent: Intent, leaf: TierPorts, demand: UplinkDemand, leaf_indexes: int, spine_ports: int
) -> tuple[SpineTier | None, tuple[Diagnostic, ...]]:
    """Return the spines that a leaf reaches with the given ``links_per_pair`` each."""
    pair = intent.topology.links_per_pair or 1
    needed = demand.least_spines(pair)
    spines = intent.topology.spine.count or needed
    diagnostics = []
    if spines * pair > leaf.room:
        diagnostics.append(_uplinks_exceeded(intent, spines, pair, leaf))
    if spines < needed:
        diagnostics.append(_ratio_not_met(intent, spines, leaf, demand))
    if leaf_indexes * pair > spine_ports:
        diagnostics.append(_pairs_exceed_spine(intent, leaf_indexes, pair, spine_ports))
    return (None if diagnostics else SpineTier(spines, pair)), tuple(diagnostics)


def _single_uplink(intent: Intent, uplinks: int) -> Diagnostic:
    return error(
        "RW203",
        f"a leaf with {counted(uplinks, 'uplink')} cannot reach two spines",
        intent.where("topology.leaf"),
        fix="use a leaf with more ports",
    )


def _uneven(intent: Intent, given: int, uplinks: int, fitting: list[int]) -> Diagnostic:
    return error(
        "T-2",
        f"{counted(given, 'spine')} cannot share the {uplinks} uplinks of a leaf evenly: {uplinks} ÷ {given} is not"
        " whole",
        intent.where("topology.spine.count"),
        fix=f"use {either(fitting)} spines",
    )


def _spines_full(intent: Intent, leaves: int, pair: int, ports: int, fitting: list[int]) -> Diagnostic:
    more = fitting[0]
    uplinks = pair * (intent.topology.spine.count or 0)
    return error(
        "T-3",
        f"{leaves} leaves × {pair} links need {leaves * pair} ports on every spine; a spine has {ports}",
        intent.where("topology.spine.count"),
        fix=f"use {more} spines ({counted(uplinks // more, 'link')} a pair; cables of a fabric that stands move),"
        f" or spines with {leaves * pair} ports",
    )


def _pairs_exceed_spine(intent: Intent, leaves: int, pair: int, ports: int) -> Diagnostic:
    fewer = ports // leaves
    return error(
        "T-3",
        f"{leaves} leaves × {pair} links need {leaves * pair} ports on every spine; a spine has {ports}",
        intent.where("topology.links_per_pair"),
        fix=f"use at most {fewer} links_per_pair with more spines, or spines with {leaves * pair} ports",
    )


def _ratio_not_met(intent: Intent, spines: int, leaf: TierPorts, demand: UplinkDemand) -> Diagnostic:
    pair = intent.topology.links_per_pair or 1
    actual, needed = demand.ratio_with(spines * pair), demand.least_spines(pair)
    ways = [f"use {needed} spines"] if needed * pair <= leaf.room else []
    more = -(-needed * pair // spines)
    if more * spines <= leaf.room:
        ways.append(f"use links_per_pair: {more}")
    return error(
        "T-4",
        f"{counted(spines, 'spine')} × {counted(pair, 'link')} a pair leave a leaf with {ratio_text(actual)};"
        f" {ratio_text(demand.ratio)} is asked for",
        intent.where("topology.spine.count"),
        fix=", or ".join([*ways, f"ask for oversubscription: {asking_text(actual)}"]),
    )


def _uplinks_exceeded(intent: Intent, spines: int, pair: int, leaf: TierPorts) -> Diagnostic:
    return error(
        "RW207",
        f"{counted(spines, 'spine')} × {counted(pair, 'link')} need {spines * pair} uplinks;"
        f" a leaf with {leaf.down} downlinks has {leaf.room} of its {leaf.total} ports for them",
        intent.where("topology.spine.count" if intent.topology.spine.count else "topology.links_per_pair"),
        fix=f"use at most {leaf.room // pair} spines, fewer links_per_pair or a smaller stripe",
    )
