"""The search for designs, the best first: bounds, then sizes, then whole designs, each for fewer than the one before.

A heap holds designs by a value that is never above their true one: first a bound from ports and bandwidths, then the
value of their sizes, at last that of the checked design. What comes out of the heap checked is the best that is left.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, product
from math import ceil
from typing import NamedTuple, TypeVar

from railweave.comparison.forms import Form, NodeVariant, forms, uplink_speeds
from railweave.comparison.hardware_choice import PortClass, Weights, most_down_ports
from railweave.comparison.suggestion import SuggestedDesign, counts, switches
from railweave.diagnostics import Diagnostic
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Shape

_LEAST_SPINES = 2
"""Spines of one network by the automatic rule."""

MOST_LAID_OUT = 24
"""Whole designs that are laid out for one search: each takes as long as a `check`."""


class Verdict(NamedTuple):
    """What a whole design is worth, None if ``error`` keeps it from being suggested."""

    value: Fraction | None
    error: Diagnostic | None


class Refused(NamedTuple):
    """A design that came before those that are suggested, and the first error that `check` finds in it."""

    name: str
    switches: int
    error: Diagnostic


class Problem(NamedTuple):
    """What a search is given."""

    # The switches to choose from, by the speeds of a variant's nodes.
    classes: Mapping[tuple[int, ...], Sequence[PortClass]]
    weights: Weights
    # The bandwidth of all cages of a model, in Gb/s.
    cage_gbps: Mapping[str, int]
    # Return the sizes of a design, None if its numbers do not come together.
    size: Callable[[SuggestedDesign], Sizing | None]
    # Lay a design out and check it.
    check: Callable[[SuggestedDesign, Sizing], Verdict]
    # Return how many keys of the intent it changes.
    changed: Callable[[SuggestedDesign, Sizing], int]
    # The value of the intent itself, which no suggestion exceeds; None if it is not known.
    limit: Fraction | None
    # What the intent itself buys, as `counts` has it; None where it has no sizes.
    present: tuple[object, ...] | None


_Key = tuple[Fraction, int, int, int, int, int, int, str]
"""What designs are sorted by: their value, switches, tiers, bandwidth of all cages, links between switches, models,
changed keys, name."""


class SearchResult(NamedTuple):
    """What a search came to: designs, the best first, and how much was looked at."""

    ranked: tuple[tuple[_Key, SuggestedDesign], ...]
    refused: tuple[Refused, ...]
    # What they buy, as `counts` has it.
    purchases: frozenset[tuple[object, ...]]
    # Forms with models.
    considered: int
    sized: int
    laid_out: int


class _Entry(NamedTuple):
    """A design on the heap, and how much of it is worked out: ``sizing`` first, then ``checked``."""

    design: SuggestedDesign
    # The models of its leaves and spines that have the same ports: the pairs that are left to try.
    others: tuple[tuple[str, str], ...]
    sizing: Sizing | None = None
    checked: bool = False


class Search:
    """A search over the forms of some variants; ``keeps`` limits it to some forms."""

    def __init__(
        self,
        problem: Problem,
        variants: Sequence[NodeVariant],
        own: Shape,
        keeps: Callable[[Form], bool] = lambda _: True,
    ) -> None:
        self._problem = problem
        self._heap: list[tuple[_Key, int, _Entry]] = []
        self._order = count()
        self._refused: list[Refused] = []
        self.considered = 0
        self.sized = 0
        self.laid_out = 0
        for variant in variants:
            for form in forms(variant, own):
                if keeps(form):
                    self._add(variant, form)

    def best(self, most: int, purchases: Collection[tuple[object, ...]]) -> SearchResult:
        """Return up to ``most`` designs, the best first and one of each kind.

        Designs of equal counts are one purchase, suggested with the fewest changed keys; ``purchases`` are those that
        are made already.
        """
        chosen: dict[tuple[object, ...], tuple[_Key, SuggestedDesign]] = {}
        purchases = set(purchases)
        while self._heap and len(chosen) < most:
            key, _, entry = heappop(self._heap)
            limit = self._problem.limit
            if limit is not None and key[0] > limit:
                break
            if entry.design.kind in chosen or self._is_purchased(entry, purchases):
                continue
            if entry.checked and entry.sizing is not None:
                chosen[entry.design.kind] = (key, entry.design)
                purchases.add(_purchase(entry.design, entry.sizing))
            else:
                self._work_out(entry)
        return SearchResult(
            tuple(chosen.values()),
            tuple(self._refused),
            frozenset(purchases),
            considered=self.considered,
            sized=self.sized,
            laid_out=self.laid_out,
        )

    def _is_purchased(self, entry: _Entry, purchases: Collection[tuple[object, ...]]) -> bool:
        return entry.sizing is not None and _purchase(entry.design, entry.sizing) in purchases

    def _work_out(self, entry: _Entry) -> None:
        """Work out more of a design, and put it back on the heap."""
        if entry.sizing is None:
            self._size(entry)
        elif self.laid_out < MOST_LAID_OUT:
            self._check(entry, entry.sizing)

    def _add(self, variant: NodeVariant, form: Form) -> None:
        """Put a form on the heap with every pair of switches, and with uplinks of every speed."""
        classes = self._problem.classes[variant.speeds_gbps]
        down_gbps = variant.down_gbps
        for leaf, spine in product(classes, classes):
            if _fits_one_tier(variant, form, leaf):
                # One switch a rail: no link between switches, and so no spine and no speed of uplinks to choose.
                if leaf == spine:
                    self._push_bound(variant, form, leaf, spine)
                continue
            # Nodes that one switch does not hold have spines in other forms.
            if form.one_switch:
                continue
            # A spine with fewer ports than the leaf would need more of them than the leaf has uplinks.
            if spine.ports_at(down_gbps) < leaf.ports_at(down_gbps):
                continue
            common_gbps = dict(leaf.ports).keys() & dict(spine.ports).keys()
            for faster in uplink_speeds(form, down_gbps, set(common_gbps)):
                self._push_bound(variant, faster, leaf, spine)

    def _push_bound(self, variant: NodeVariant, form: Form, leaf: PortClass, spine: PortClass) -> None:
        least = least_switches(variant, form, leaf, spine)
        if least is None:
            return
        self.considered += 1
        pairs = _pairs(leaf, spine, self._problem.weights)
        self._push_least(SuggestedDesign(variant, form, *pairs[0]), pairs[1:], least)

    def _push_least(self, design: SuggestedDesign, others: tuple[tuple[str, str], ...], least: tuple[int, int]) -> None:
        """Put a design on the heap by the fewest leaves and spines that it may have."""
        leaves, spines = least
        problem = self._problem
        value = problem.weights[design.leaf] * leaves + problem.weights[design.spine] * spines
        total_gbps = problem.cage_gbps[design.leaf] * leaves + problem.cage_gbps[design.spine] * spines
        tiers = 1
        if spines:
            tiers = 2
        self._push((value, leaves + spines, tiers, total_gbps, 0, 0, 0, ""), _Entry(design, others))

    def _push(self, key: _Key, entry: _Entry) -> None:
        # The running number decides between equal keys, so that values are never compared.
        heappush(self._heap, (key, next(self._order), entry))

    def _size(self, entry: _Entry) -> None:
        design = entry.design
        sizing = self._problem.size(design)
        self.sized += 1
        if sizing is None:
            return
        if _joins_nothing(design, sizing):
            return
        value = _with_models(self._problem.weights, design, sizing)
        self._push_sized(entry._replace(sizing=sizing), value)
        stripe = _even_stripe(design, sizing)
        if stripe is not None:
            even = design._replace(form=design.form._replace(stripe=stripe))
            self._push_least(even, entry.others, (sizing.leaves, _LEAST_SPINES))

    def _push_sized(self, entry: _Entry, value: Fraction) -> None:
        sizing = entry.sizing
        if sizing is None:
            raise ValueError(f"{entry.design.name} has no sizes")
        design = entry.design
        links = sizing.links.leaf_spine + sizing.links.spine_super_spine
        models = len({design.leaf, design.spine})
        changed = self._problem.changed(design, sizing)
        total_gbps = _with_models(self._problem.cage_gbps, design, sizing)
        self._push((value, switches(sizing), sizing.tiers, total_gbps, links, models, changed, design.name), entry)

    def _check(self, entry: _Entry, sizing: Sizing) -> None:
        verdict = self._problem.check(entry.design, sizing)
        self.laid_out += 1
        if verdict.error is None and verdict.value is not None:
            self._push_sized(entry._replace(checked=True), verdict.value)
            return
        if verdict.error is not None:
            self._refused.append(Refused(entry.design.name, switches(sizing), verdict.error))
        if entry.others:
            (leaf, spine), *others = entry.others
            design = entry.design._replace(leaf=leaf, spine=spine)
            self._push_least(design, tuple(others), (sizing.leaves, sizing.spines + sizing.super_spines))


_Number = TypeVar("_Number", int, Fraction)


def _with_models(of_model: Mapping[str, _Number], design: SuggestedDesign, sizing: Sizing) -> _Number:
    """Return the sum of a number of each model over all switches."""
    above = sizing.spines + sizing.super_spines
    return of_model[design.leaf] * sizing.leaves + of_model[design.spine] * above


def _joins_nothing(design: SuggestedDesign, sizing: Sizing) -> bool:
    """Return whether spines have a single leaf each, with all nodes."""
    apart = sizing.planes
    if design.form.shape is Shape.RAIL_ONLY:
        apart *= design.form.rails
    return sizing.tiers > 1 and sizing.leaves == apart


def _purchase(design: SuggestedDesign, sizing: Sizing) -> tuple[object, ...]:
    return counts((design.leaf, design.spine), design.variant.nics, sizing)


def _pairs(leaf: PortClass, spine: PortClass, weights: Weights) -> tuple[tuple[str, str], ...]:
    """Return the models of two classes in the order in which they are tried: the lightest, then one model for both."""
    ranks = {model: rank for rank, model in enumerate((*leaf.models, *spine.models))}
    pairs: Iterable[tuple[str, str]] = product(leaf.models, spine.models)
    if leaf == spine:
        # Two models with the same ports are two kinds of spare parts for nothing.
        pairs = ((model, model) for model in leaf.models)
    return tuple(sorted(pairs, key=lambda pair: (weights[pair[0]] + weights[pair[1]], ranks[pair[0]], ranks[pair[1]])))


def _fits_one_tier(variant: NodeVariant, form: Form, leaf: PortClass) -> bool:
    """Return whether all nodes meet in one switch, or those of each rail of a rail-only fabric."""
    if form.shape is not Shape.RAIL_ONLY and not form.one_switch:
        return False
    needed = 0
    for nodes in variant.intent.nodes:
        if not form.one_switch and (nodes.share_leaves or nodes.stripe is not None):
            # Where ports are on a leaf is the design's to say.
            return False
        needed += nodes.count * variant.ports_on_a_leaf(nodes, form)
    return needed <= leaf.ports_at(variant.down_gbps)


def least_switches(variant: NodeVariant, form: Form, leaf: PortClass, spine: PortClass) -> tuple[int, int] | None:
    """Return the fewest leaves and spines that carry the nodes at the ratio, of all planes; None if none do.

    Nodes with leaves of their own, or on leaves that they share, are left out: they can only add to it.
    """
    networks = form.planes * max(form.rails, 1)
    if _fits_one_tier(variant, form, leaf):
        return networks, 0
    up_gbps = form.uplink_gbps or variant.intent.nodes[0].nics.speed_gbps
    demand = _least_demand(variant, form, most_down_ports(leaf, variant.down_gbps, up_gbps, variant.ratio))
    if demand is None:
        return None
    # Rails that no cable joins have spines of their own.
    apart = 1
    if form.shape is Shape.RAIL_ONLY:
        apart = form.rails
    rails = max(form.rails, 1) // apart
    up_total_gbps = demand.node_gbps * rails / variant.ratio
    least = _least_above(demand.stripes * rails, up_total_gbps, up_gbps, spine, variant.ratio)
    if least.super_spines and form.shape is Shape.RAIL_ONLY:
        # Rails have no third tier.
        return None
    return networks * demand.stripes, form.planes * apart * (least.spines + least.super_spines)


class _Demand(NamedTuple):
    """The fewest stripes that hold the nodes, and the bandwidth of these on a rail, or on all leaves of racks."""

    stripes: int
    node_gbps: int


def _least_demand(variant: NodeVariant, form: Form, down_ports: int) -> _Demand | None:
    """Return what nodes ask of leaves with ``down_ports``, None where a leaf does not hold one node."""
    stripes = 0
    node_gbps = 0
    for nodes in variant.intent.nodes:
        if nodes.leaf is not None or nodes.share_leaves:
            continue
        ports = variant.ports_on_a_leaf(nodes, form)
        if not ports or down_ports < ports:
            return None
        stripes += ceil(nodes.count / (down_ports // ports))
        node_gbps += nodes.count * ports * variant.down_gbps
    return _Demand(stripes, node_gbps)


class _Above(NamedTuple):
    """The fewest switches above the leaves of a plane, or of a rail apart."""

    spines: int
    super_spines: int


def _least_above(leaves: int, up_total_gbps: Fraction, up_gbps: int, spine: PortClass, ratio: Fraction) -> _Above:
    """Return the fewest spines and super-spines that take ``up_total_gbps`` of ``leaves`` at the ratio."""
    ports = spine.ports_at(up_gbps)
    if leaves <= ports:
        return _Above(max(_LEAST_SPINES, ceil(up_total_gbps / (ports * up_gbps))), 0)
    # Two tiers join no more leaves than a spine has ports, so some ports of spines lead to super-spines.
    whole_gbps = max(speed_gbps * count for speed_gbps, count in spine.ports)
    down_ports = int(1 / (Fraction(1, ports) + Fraction(up_gbps) / (ratio * whole_gbps)))
    spines = ceil(up_total_gbps / (down_ports * up_gbps))
    return _Above(max(_LEAST_SPINES, spines), ceil(up_total_gbps / (ratio * whole_gbps)))


def _even_stripe(design: SuggestedDesign, sizing: Sizing) -> int | None:
    """Return the nodes of a stripe if all stripes have equally many, None where leaves are full anyway."""
    nodes = design.variant.intent.nodes
    if design.form.stripe or len(nodes) > 1 or nodes[0].stripe or sizing.tiers < 2:
        return None
    stripe = ceil(nodes[0].count / sizing.stripes)
    if stripe * design.variant.ports_on_a_leaf(nodes[0], design.form) >= sizing.leaf.down:
        return None
    return stripe


def search_forms(problem: Problem, variants: Sequence[NodeVariant], own: Form, most: int) -> SearchResult:
    """Return up to ``most`` designs, the best first; one of them has the shape and rails of ``own`` if any has."""

    def has_own(form: Form) -> bool:
        return (form.shape, form.rails, form.one_switch) == (own.shape, own.rails, own.one_switch)

    purchases = []
    if problem.present is not None:
        purchases.append(problem.present)
    kept = Search(problem, variants, own.shape, has_own).best(1, purchases)
    others = Search(problem, variants, own.shape, lambda form: not has_own(form))
    merged = _merged((kept, others.best(most - len(kept.ranked), kept.purchases)))
    return merged._replace(ranked=tuple(sorted(merged.ranked, key=lambda ranked: ranked[0])))


def search_nics(problem: Problem, variants: Sequence[NodeVariant], own: Shape, most: int) -> SearchResult:
    """Return the best design of each of the first ``most`` choices of NICs, in their order."""
    searches: list[SearchResult] = []
    for variant in variants:
        if sum(len(result.ranked) for result in searches) < most:
            searches.append(Search(problem, (variant,), own).best(1, ()))
    return _merged(searches)


def _merged(searches: Sequence[SearchResult]) -> SearchResult:
    ranked: list[tuple[_Key, SuggestedDesign]] = []
    refused: list[Refused] = []
    for result in searches:
        ranked += result.ranked
        refused += result.refused
    return SearchResult(
        tuple(ranked),
        tuple(refused),
        searches[-1].purchases,
        considered=sum(result.considered for result in searches),
        sized=sum(result.sized for result in searches),
        laid_out=sum(result.laid_out for result in searches),
    )
