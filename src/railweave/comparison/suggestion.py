"""Designs for the nodes, workload and growth of an intent: every switch model that carries them, the fewest switches
first.

What the intent says of nodes, classes, shape and ratio stays; the models of its switches, and what follows from them
(counts, stripes, reserve, speeds of ports), are left open and designed anew.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import yaml

from railweave.catalog.load import Catalog
from railweave.catalog.nics import NicPorts
from railweave.checks.capability import CatalogCapability, SwitchCapability
from railweave.comparison.nic_choices import nic_choices
from railweave.design.build import calculate
from railweave.errors import UsageError
from railweave.fabric.sizing import Sizing
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent, Nics

_KEPT = ("shape", "rails", "planes", "oversubscription")
"""What of the topology is a wish of the user and no consequence of switch models."""

_OF_DEVICES = ("overrides", "racks")
"""Keys that name devices of the present design."""


_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Hundreds of designs are tried as text: libyaml writes them several times as fast where it is there."""

_VIRTUAL = frozenset({"sonic-vs"})
"""Models that nobody can buy."""


class SuggestedDesign(NamedTuple):
    """A design by its switch models and planes."""

    leaf: str
    spine: str
    planes: int
    # Its intent.
    text: str
    sizing: Sizing
    # The NICs of a node in a few words if these are tried too.
    nics: str = ""

    @property
    def name(self) -> str:
        """Return it in a few words."""
        name = self.leaf
        if self.leaf != self.spine:
            name += f" + {self.spine}"
        if self.planes != 1:
            name += f", {self.planes} planes"
        if self.nics:
            name = f"{self.nics}: {name}"
        return name

    @property
    def cost(self) -> tuple[int, ...]:
        """Return what designs are sorted by, the least first: switches, tiers, links between switches, models."""
        sizing = self.sizing
        switches = sizing.leaves + sizing.spines + sizing.super_spines
        links = sizing.links.leaf_spine + sizing.links.spine_super_spine
        return switches, sizing.tiers, links, len({self.leaf, self.spine}), self.planes


class Tried(NamedTuple):
    """Every design that can be built, the one of the fewest switches first, of how many that were tried; ``nics`` are
    the choices of NICs, the most bandwidth first, none where the NICs stay."""

    candidates: tuple[SuggestedDesign, ...]
    tried: int
    nics: tuple[str, ...] = ()


class _Variant(NamedTuple):
    """The intent with its NICs in one of their port modes: speed of a port in Gb/s, and the planes that they make."""

    document: Mapping[str, Any]
    speeds_gbps: frozenset[int]
    planes: int
    nics: str = ""


def candidates(
    intent: Intent, document: Mapping[str, Any], models: CatalogCapability, catalog: Catalog, *, nics: bool = False
) -> Tried:
    """Return the designs of every pair of models that carries the nodes' ports, in every port mode of their NICs that
    has the same bandwidth; with ``nics`` instead for every choice of NICs that suits the workload. ``document`` is the
    intent as YAML.

    What they configure is not checked here: `check` may refuse one of them. Raises UsageError where NICs are to be
    chosen for several kinds of nodes.
    """
    lossless = any(traffic_class.lossless for traffic_class in intent.policies.classes)
    find_variants = _variants
    if nics:
        find_variants = _nic_variants
    variants = list(find_variants(intent, document, catalog))
    built = []
    tried = 0
    for variant in variants:
        for leaf, spine in _pairs(variant.speeds_gbps, models, lossless=lossless):
            tried += 1
            design = _made(variant, leaf, spine, catalog)
            if design is not None:
                built.append(design)
    order = tuple(variant.nics for variant in variants if variant.nics)
    return Tried(tuple(sorted(built, key=lambda design: (design.cost, design.name))), tried, order)


def _made(variant: _Variant, leaf: str, spine: str, catalog: Catalog) -> SuggestedDesign | None:
    for tiers in (2, 3):
        text = _text(variant, leaf, spine, super_spine=tiers > 2)
        sizing = calculate(load_intent_text(text, "suggestion.yml"), catalog)
        if sizing is not None and sizing.tiers <= tiers:
            return SuggestedDesign(leaf, spine, variant.planes, text, sizing, variant.nics)
    return None


def _variants(intent: Intent, document: Mapping[str, Any], catalog: Catalog) -> Iterator[_Variant]:
    """Yield the intent as it is, then with the NICs of its only kind of nodes in other modes of the same bandwidth."""
    speeds = frozenset(nodes.nics.speed_gbps for nodes in intent.nodes if nodes.leaf is None)
    yield _Variant(document, speeds, intent.topology.planes or 1)
    nics = intent.nodes[0].nics
    # Planes that do not follow from the ports of a NIC are stated for a reason that another mode would not meet.
    if len(intent.nodes) > 1 or intent.topology.planes not in {None, nics.ports}:
        return
    for mode in _modes_of_same_bandwidth(nics, catalog):
        changed = {"ports": mode.ports, "speed": f"{mode.speed_gbps}G"}
        yield _with_nics(document, changed, mode.speed_gbps, mode.ports)


def _modes_of_same_bandwidth(nics: Nics, catalog: Catalog) -> Iterator[NicPorts]:
    if nics.model is None:
        return
    for mode in catalog.nic(nics.model).combinations:
        if mode.ports != nics.ports and mode.ports * mode.speed_gbps == nics.ports * nics.speed_gbps:
            yield mode


def _nic_variants(intent: Intent, document: Mapping[str, Any], catalog: Catalog) -> Iterator[_Variant]:
    """Yield the intent with every choice of NICs that suits its workload; rails and planes follow from them."""
    if len(intent.nodes) > 1:
        raise UsageError("--nics chooses the NICs of one kind of nodes, and this intent has several")
    for choice in nic_choices(intent, catalog):
        changed = {
            "count": choice.per_node,
            "ports": choice.ports,
            "speed": f"{choice.speed_gbps}G",
            "model": choice.model,
        }
        variant = _with_nics(document, changed, choice.speed_gbps, choice.ports)
        topology = {key: value for key, value in variant.document["topology"].items() if key != "rails"}
        yield variant._replace(document={**variant.document, "topology": topology}, nics=str(choice))


def _with_nics(document: Mapping[str, Any], nics: Mapping[str, Any], speed_gbps: int, planes: int) -> _Variant:
    """Return the intent with other NICs in its only kind of nodes; the speeds of its leaves follow from them."""
    (nodes,) = document["nodes"]
    topology = {**document["topology"], "planes": planes, "leaf": {}}
    kept = {key: value for key, value in nodes["nics"].items() if key != "pcie" or "model" not in nics}
    changed = {**nodes, "nics": {**kept, **nics}}
    return _Variant({**document, "nodes": [changed], "topology": topology}, frozenset({speed_gbps}), planes)


def _pairs(speeds_gbps: Collection[int], models: CatalogCapability, *, lossless: bool) -> Iterator[tuple[str, str]]:
    """Yield leaf and spine models: those that carry the nodes' ports, without loss where a class asks for it."""
    most_ports: dict[str, int] = {}
    for switch in models.switches:
        ports = _ports_by_speed(switch, lossless=lossless)
        if ports.keys() >= set(speeds_gbps) and switch.model.id not in _VIRTUAL:
            most_ports[switch.model.id] = max(ports.values())
    for leaf, spine in product(most_ports, most_ports):
        # A spine with fewer ports than the leaf would need more of them than the leaf has uplinks.
        if most_ports[spine] >= most_ports[leaf]:
            yield leaf, spine


def _ports_by_speed(switch: SwitchCapability, *, lossless: bool) -> dict[int, int]:
    uses = switch.speeds
    if lossless:
        uses = tuple(use for use in uses if use.lossless_m is not None)
    return {use.speed_gbps: use.ports for use in uses}


def _text(variant: _Variant, leaf: str, spine: str, *, super_spine: bool) -> str:
    """Return the intent with these models, as YAML."""
    document = variant.document
    before = document["topology"]
    topology = {key: before[key] for key in _KEPT if key in before}
    speed = (before.get("leaf") or {}).get("downlink_speed")
    topology["leaf"] = {"model": leaf}
    if speed:
        topology["leaf"]["downlink_speed"] = speed
    topology["spine"] = {"model": spine}
    if super_spine:
        topology["super_spine"] = {"model": spine}
    changed = {key: value for key, value in document.items() if key not in _OF_DEVICES} | {"topology": topology}
    return yaml.dump(changed, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def smallest(tried: Tried, accept: Callable[[SuggestedDesign], bool], most: int) -> tuple[SuggestedDesign, ...]:
    """Return the first ``most`` designs that ``accept`` accepts, one for each leaf model and number of planes; where
    NICs are tried, one for each choice of them, in the order in which these were tried."""
    chosen: dict[tuple[str, int], SuggestedDesign] = {}
    order = {name: place for place, name in enumerate(tried.nics)}
    for design in sorted(tried.candidates, key=lambda candidate: order.get(candidate.nics, 0)):
        key = (design.leaf, design.planes)
        if design.nics:
            key = (design.nics, 0)
        # `accept` checks a whole design, so it comes last.
        if len(chosen) < most and key not in chosen and accept(design):
            chosen[key] = design
    return tuple(chosen.values())
