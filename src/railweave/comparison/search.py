"""The search for designs, the best first, in three steps: a bound, the sizes, the checked design.

A heap has designs by a value that is never above their true one: first a bound from ports and bandwidths, then the
value of their sizes, at last that of the checked design. Each step takes longer than the one before, and is taken only
for the design with the least value. So a checked design that leaves the heap is the best of all that remain.
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
    """The value of a checked design, None if ``error`` prevents its suggestion."""

    value: Fraction | None
    error: Diagnostic | None


class Refused(NamedTuple):
    """A design that is not suggested although its value is better, and the first error that `check` finds in it."""

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
    # Returns the sizes of a design, None if it has errors.
    size: Callable[[SuggestedDesign], Sizing | None]
    # Lays a design out and checks it.
    check: Callable[[SuggestedDesign, Sizing], Verdict]
    # Returns how many keys of the intent a design changes.
    changed: Callable[[SuggestedDesign, Sizing], int]
    # The value of the intent itself, which no suggestion exceeds; None if it is not known.
    limit: Fraction | None
    # What the intent itself buys, as in `counts`; None if it has no sizes.
    present: tuple[object, ...] | None


class _Rank(NamedTuple):
    """What designs are sorted by, in this order; before a step is taken, lower bounds of it."""

    value: Fraction
    switches: int
    tiers: int
    # The bandwidth of all cages.
    cage_gbps: int
    # Links between switches.
    links: int = 0
    # Different switch models.
    models: int = 0
    # Keys of the intent.
    changed: int = 0
    name: str = ""


class _RankedDesign(NamedTuple):
    """A checked design with its rank."""

    rank: _Rank
    design: SuggestedDesign


class SearchResult(NamedTuple):
    """The designs of a search, the best first, and how many were examined."""

    ranked: tuple[_RankedDesign, ...]
    refused: tuple[Refused, ...]
    # What they buy, as in `counts`.
    purchases: frozenset[tuple[object, ...]]
    # Forms with models.
    considered: int
    sized: int
    laid_out: int


class _Entry(NamedTuple):
    """A design on the heap, and the steps that are taken: ``sizing`` first, then ``checked``."""

    design: SuggestedDesign
    # Further models of leaf and spine with the same ports, to try if the design has errors.
    next_models: tuple[tuple[str, str], ...]
    sizing: Sizing | None = None
    checked: bool = False


class Search:
    """A search over the forms of ``variants`` for which ``keeps`` returns True; ``own`` is the shape of the intent."""

    def __init__(
        self,
        problem: Problem,
        variants: Sequence[NodeVariant],
        own: Shape,
        keeps: Callable[[Form], bool] = lambda _: True,
    ) -> None:
        self._problem = problem
        self._heap: list[tuple[_Rank, int, _Entry]] = []
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

        Of designs that buy the same, only the one with the fewest changed keys is returned. A design that buys what is
        in ``purchases`` is not returned.
        """
        best_of_kind: dict[tuple[object, ...], _RankedDesign] = {}
        purchases = set(purchases)
        limit = self._problem.limit
        while self._heap and len(best_of_kind) < most:
            rank, _, entry = heappop(self._heap)
            # No suggestion exceeds the value of the intent itself.
            if limit is not None and rank.value > limit:
                break
            if entry.design.kind in best_of_kind or self._is_purchased(entry, purchases):
                continue
            if entry.checked and entry.sizing is not None:
                best_of_kind[entry.design.kind] = _RankedDesign(rank, entry.design)
                purchases.add(_purchase(entry.design, entry.sizing))
            else:
                self._take_next_step(entry)
        return SearchResult(
            ranked=tuple(best_of_kind.values()),
            refused=tuple(self._refused),
            purchases=frozenset(purchases),
            considered=self.considered,
            sized=self.sized,
            laid_out=self.laid_out,
        )

    def _is_purchased(self, entry: _Entry, purchases: Collection[tuple[object, ...]]) -> bool:
        """Tell whether a design that has sizes buys one of ``purchases``."""
        return entry.sizing is not None and _purchase(entry.design, entry.sizing) in purchases

    def _take_next_step(self, entry: _Entry) -> None:
        """Size or check a design, and put it back on the heap.

        It leaves the search if it has errors, or if as many designs were checked as may be.
        """
        if entry.sizing is None:
            self._size(entry)
        elif self.laid_out < MOST_LAID_OUT:
            self._check(entry, entry.sizing)

    def _add(self, variant: NodeVariant, form: Form) -> None:
        """Put a form on the heap with every pair of switch classes, and with uplinks of every speed to try."""
        classes = self._problem.classes[variant.speeds_gbps]
        down_gbps = variant.down_gbps
        for leaf, spine in product(classes, classes):
            if _fits_one_tier(variant, form, leaf):
                # Without links between switches there is no spine and no speed of uplinks to choose.
                if leaf == spine:
                    self._push_bound(variant, form, leaf, spine)
                continue
            # Nodes for which one switch is too small have spines in other forms.
            if form.one_switch:
                continue
            # More spines with fewer ports than the leaf would be needed than the leaf has uplinks.
            if spine.ports_at(down_gbps) < leaf.ports_at(down_gbps):
                continue
            common_gbps = dict(leaf.ports).keys() & dict(spine.ports).keys()
            for form_with_speed in uplink_speeds(form, down_gbps, set(common_gbps)):
                self._push_bound(variant, form_with_speed, leaf, spine)

    def _push_bound(self, variant: NodeVariant, form: Form, leaf: PortClass, spine: PortClass) -> None:
        """Put a form on the heap with the first models of two classes, if switches of these can carry the nodes."""
        least = least_switches(variant, form, leaf, spine)
        if least is None:
            return
        self.considered += 1
        first_models, *next_models = _model_pairs(leaf, spine, self._problem.weights)
        self._push_least(SuggestedDesign(variant, form, *first_models), tuple(next_models), least)

    def _push_least(
        self, design: SuggestedDesign, next_models: tuple[tuple[str, str], ...], least: "LeastSwitches"
    ) -> None:
        """Put a design on the heap by the fewest switches that it may have."""
        tiers = 1
        if least.above:
            tiers = 2
        rank = _Rank(
            value=_sum_over(self._problem.weights, design, least),
            switches=least.leaves + least.above,
            tiers=tiers,
            cage_gbps=_sum_over(self._problem.cage_gbps, design, least),
        )
        self._push(rank, _Entry(design, next_models))

    def _push(self, rank: _Rank, entry: _Entry) -> None:
        # The running number decides between equal ranks: entries have no order.
        heappush(self._heap, (rank, next(self._order), entry))

    def _size(self, entry: _Entry) -> None:
        """Put a design back on the heap with its sizes, unless it has errors or useless spines.

        If its leaves have room, the same design with even stripes is put on the heap as well.
        """
        design = entry.design
        sizing = self._problem.size(design)
        self.sized += 1
        if sizing is None or _joins_nothing(design, sizing):
            return
        value = _sum_over(self._problem.weights, design, _switches_of(sizing))
        self._push_sized(entry._replace(sizing=sizing), value)
        stripe = _even_stripe(design, sizing)
        if stripe is not None:
            even = design._replace(form=design.form._replace(stripe=stripe))
            self._push_least(even, entry.next_models, LeastSwitches(sizing.leaves, _LEAST_SPINES))

    def _push_sized(self, entry: _Entry, value: Fraction) -> None:
        """Put a design with sizes on the heap by ``value``."""
        sizing = entry.sizing
        if sizing is None:
            raise ValueError(f"{entry.design.name} has no sizes")
        design = entry.design
        rank = _Rank(
            value=value,
            switches=switches(sizing),
            tiers=sizing.tiers,
            cage_gbps=_sum_over(self._problem.cage_gbps, design, _switches_of(sizing)),
            links=sizing.links.leaf_spine + sizing.links.spine_super_spine,
            models=len({design.leaf, design.spine}),
            changed=self._problem.changed(design, sizing),
            name=design.name,
        )
        self._push(rank, entry)

    def _check(self, entry: _Entry, sizing: Sizing) -> None:
        """Check a design, and put it back on the heap if it may be suggested.

        Otherwise the same design with the next models is put on the heap, if there are any.
        """
        verdict = self._problem.check(entry.design, sizing)
        self.laid_out += 1
        if verdict.error is None and verdict.value is not None:
            self._push_sized(entry._replace(checked=True), verdict.value)
            return
        if verdict.error is not None:
            self._refused.append(Refused(entry.design.name, switches(sizing), verdict.error))
        if entry.next_models:
            (leaf, spine), *next_models = entry.next_models
            design = entry.design._replace(leaf=leaf, spine=spine)
            self._push_least(design, tuple(next_models), _switches_of(sizing))


class LeastSwitches(NamedTuple):
    """The fewest switches that a design may have, in all planes."""

    leaves: int
    # Spines and super-spines, which are of one model.
    above: int


def _switches_of(sizing: Sizing) -> LeastSwitches:
    return LeastSwitches(sizing.leaves, sizing.spines + sizing.super_spines)


_Number = TypeVar("_Number", int, Fraction)


def _sum_over(of_model: Mapping[str, _Number], design: SuggestedDesign, least: LeastSwitches) -> _Number:
    """Return the sum over all switches of a number that each model has in ``of_model``."""
    return of_model[design.leaf] * least.leaves + of_model[design.spine] * least.above


def _joins_nothing(design: SuggestedDesign, sizing: Sizing) -> bool:
    """Tell whether spines are useless because each separate network has a single leaf."""
    networks = sizing.planes
    if design.form.shape is Shape.RAIL_ONLY:
        networks *= design.form.rails
    return sizing.tiers > 1 and sizing.leaves == networks


def _purchase(design: SuggestedDesign, sizing: Sizing) -> tuple[object, ...]:
    return counts((design.leaf, design.spine), design.variant.nics, sizing)


def _model_pairs(leaf: PortClass, spine: PortClass, weights: Weights) -> tuple[tuple[str, str], ...]:
    """Return the models of leaf and spine of two classes, in the order in which they are tried.

    Those with the least weight come first, and equal ones are in the order of the classes.
    """
    ranks = {model: rank for rank, model in enumerate((*leaf.models, *spine.models))}

    def rank(pair: tuple[str, str]) -> tuple[Fraction, int, int]:
        leaf_model, spine_model = pair
        return weights[leaf_model] + weights[spine_model], ranks[leaf_model], ranks[spine_model]

    pairs: Iterable[tuple[str, str]] = product(leaf.models, spine.models)
    if leaf == spine:
        # One model for both needs one kind of spare parts.
        pairs = ((model, model) for model in leaf.models)
    return tuple(sorted(pairs, key=rank))


def _fits_one_tier(variant: NodeVariant, form: Form, leaf: PortClass) -> bool:
    """Tell whether one switch has ports for all nodes, or in a rail-only fabric for those of a rail."""
    if form.shape is not Shape.RAIL_ONLY and not form.one_switch:
        return False
    needed_ports = 0
    for nodes in variant.intent.nodes:
        # Which ports of a leaf such nodes have is known only in the design.
        if not form.one_switch and (nodes.share_leaves or nodes.stripe is not None):
            return False
        needed_ports += nodes.count * variant.ports_on_a_leaf(nodes, form)
    return needed_ports <= leaf.ports_at(variant.down_gbps)


def least_switches(variant: NodeVariant, form: Form, leaf: PortClass, spine: PortClass) -> LeastSwitches | None:
    """Return the fewest switches that carry the nodes at the oversubscription of the intent; None if none do.

    Nodes with leaves of their own, or on leaves that they share, are not counted: they can only add switches.
    """
    leaves_of_stripe = form.planes * max(form.rails, 1)
    if _fits_one_tier(variant, form, leaf):
        return LeastSwitches(leaves_of_stripe, 0)
    up_gbps = form.uplink_gbps or variant.intent.nodes[0].nics.speed_gbps
    demand = _least_demand(variant, form, most_down_ports(leaf, variant.down_gbps, up_gbps, variant.ratio))
    if demand is None:
        return None
    # The rails of a rail-only fabric have spines of their own.
    networks = 1
    if form.shape is Shape.RAIL_ONLY:
        networks = form.rails
    rails_of_network = max(form.rails, 1) // networks
    up_total_gbps = demand.node_gbps * rails_of_network / variant.ratio
    above = _least_above(demand.stripes * rails_of_network, up_total_gbps, up_gbps, spine, variant.ratio)
    # A rail-only fabric has no third tier.
    if above.super_spines and form.shape is Shape.RAIL_ONLY:
        return None
    return LeastSwitches(
        leaves=leaves_of_stripe * demand.stripes,
        above=form.planes * networks * (above.spines + above.super_spines),
    )


class _Demand(NamedTuple):
    """What nodes need of leaves."""

    # The fewest stripes.
    stripes: int
    # The bandwidth of all nodes on one rail of a plane, or without rails on the plane.
    node_gbps: int


def _least_demand(variant: NodeVariant, form: Form, down_ports: int) -> _Demand | None:
    """Return what nodes need of leaves with ``down_ports``; None if a leaf has too few ports for one node."""
    stripes = 0
    node_gbps = 0
    for entry in variant.intent.nodes:
        # Nodes on leaves of their own, or on those of others, can only add to the least (`least_switches`).
        if entry.leaf is not None or entry.share_leaves:
            continue
        node_ports = variant.ports_on_a_leaf(entry, form)
        if node_ports == 0 or node_ports > down_ports:
            return None
        nodes_of_a_stripe = down_ports // node_ports
        stripes += ceil(entry.count / nodes_of_a_stripe)
        node_gbps += entry.count * node_ports * variant.down_gbps
    return _Demand(stripes, node_gbps)


class _Above(NamedTuple):
    """The fewest switches above the leaves of a separate network: a plane, or a rail of a rail-only fabric."""

    spines: int
    super_spines: int


def _least_above(leaves: int, up_total_gbps: Fraction, up_gbps: int, spine: PortClass, ratio: Fraction) -> _Above:
    """Return the fewest spines and super-spines for ``leaves`` leaves with uplinks of ``up_total_gbps`` together.

    ``up_gbps`` is the speed of one uplink; ``ratio`` is the oversubscription.
    """
    ports = spine.ports_at(up_gbps)
    if leaves <= ports:
        spines = ceil(up_total_gbps / (ports * up_gbps))
        return _Above(max(_LEAST_SPINES, spines), 0)
    # Two tiers join no more leaves than a spine has ports, so some ports of spines lead to super-spines.
    switch_gbps = max(speed_gbps * count for speed_gbps, count in spine.ports)
    # What a port down takes of a spine: its own part, and that of the uplinks for its bandwidth.
    own_part = Fraction(1, ports)
    uplink_part = Fraction(up_gbps) / (ratio * switch_gbps)
    down_ports = int(1 / (own_part + uplink_part))
    spines = ceil(up_total_gbps / (down_ports * up_gbps))
    super_spines = ceil(up_total_gbps / (ratio * switch_gbps))
    return _Above(max(_LEAST_SPINES, spines), super_spines)


def _even_stripe(design: SuggestedDesign, sizing: Sizing) -> int | None:
    """Return the number of nodes of a stripe with which all stripes have about the same number.

    Returns None if leaves have no free ports then, if stripes are stated, or if there are several kinds of nodes.
    """
    first, *others = design.variant.intent.nodes
    is_stripe_stated = bool(design.form.stripe or first.stripe)
    if is_stripe_stated or others or sizing.tiers < 2:
        return None
    stripe = ceil(first.count / sizing.stripes)
    if stripe * design.variant.ports_on_a_leaf(first, design.form) >= sizing.leaf.down:
        return None
    return stripe


def search_forms(problem: Problem, variants: Sequence[NodeVariant], own: Form, most: int) -> SearchResult:
    """Return up to ``most`` designs, the best first. One of them has the shape and rails of ``own`` if any has."""

    def is_own(form: Form) -> bool:
        return (form.shape, form.rails, form.one_switch) == (own.shape, own.rails, own.one_switch)

    purchases = []
    if problem.present is not None:
        purchases.append(problem.present)
    own_result = Search(problem, variants, own.shape, is_own).best(1, purchases)
    other_search = Search(problem, variants, own.shape, lambda form: not is_own(form))
    other_result = other_search.best(most - len(own_result.ranked), own_result.purchases)
    merged = _merged((own_result, other_result))
    ranked = sorted(merged.ranked, key=lambda ranked_design: ranked_design.rank)
    return merged._replace(ranked=tuple(ranked))


def search_nics(problem: Problem, variants: Sequence[NodeVariant], own: Shape, most: int) -> SearchResult:
    """Return the best design of each of the first ``most`` choices of NICs, in their order."""
    searches: list[SearchResult] = []
    for variant in variants:
        if sum(len(result.ranked) for result in searches) < most:
            searches.append(Search(problem, (variant,), own).best(1, ()))
    return _merged(searches)


def _merged(searches: Sequence[SearchResult]) -> SearchResult:
    """Return the results of searches that followed each other as one; the purchases are those of the last one."""
    ranked: list[_RankedDesign] = []
    refused: list[Refused] = []
    for result in searches:
        ranked += result.ranked
        refused += result.refused
    return SearchResult(
        ranked=tuple(ranked),
        refused=tuple(refused),
        purchases=searches[-1].purchases,
        considered=sum(result.considered for result in searches),
        sized=sum(result.sized for result in searches),
        laid_out=sum(result.laid_out for result in searches),
    )
