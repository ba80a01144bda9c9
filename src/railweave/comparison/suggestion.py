"""Designs for the nodes, workload and growth of an intent: every switch model that carries them, the fewest switches
first.

What the intent says of nodes, classes, shape and ratio stays; the models of its switches, and what follows from them
(counts, stripes, reserve, speeds of ports), are left open and designed anew.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from railweave.catalog.load import Catalog
from railweave.checks.capability import CatalogCapability
from railweave.comparison.nic_choices import nic_choices
from railweave.design.build import calculate
from railweave.errors import UsageError
from railweave.fabric.sizing import Sizing
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent

_KEPT = ("shape", "rails", "planes", "oversubscription")
"""What of the topology is a wish of the user and no consequence of switch models."""

_OF_DEVICES = ("overrides", "racks")
"""Keys that name devices of the present design."""


_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Hundreds of designs are tried as text: libyaml writes them several times as fast where it is there."""

_VIRTUAL = frozenset({"sonic-vs"})
"""Models that nobody can buy."""


class Candidate(NamedTuple):
    """A design by its switch models and planes: its intent as text, and its sizes. ``nics`` are the NICs of a node in a
    few words where these are tried too, else empty."""

    leaf: str
    spine: str
    planes: int
    text: str
    sizing: Sizing
    nics: str = ""

    @property
    def name(self) -> str:
        """Return it in a few words."""
        models = self.leaf if self.leaf == self.spine else f"{self.leaf} + {self.spine}"
        planes = "" if self.planes == 1 else f", {self.planes} planes"
        return f"{self.nics}: {models}{planes}" if self.nics else f"{models}{planes}"

    @property
    def cost(self) -> tuple[int, ...]:
        """Return what candidates are sorted by, the least first: switches, tiers, links between switches, models."""
        one = self.sizing
        switches = one.leaves + one.spines + one.super_spines
        links = one.links.leaf_spine + one.links.spine_super_spine
        return switches, one.tiers, links, len({self.leaf, self.spine}), self.planes


class Tried(NamedTuple):
    """Every design that can be built, the one of the fewest switches first, of how many that were tried; ``nics`` are
    the choices of NICs, the most bandwidth first, none where the NICs stay."""

    candidates: tuple[Candidate, ...]
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
    lossless = any(one.lossless for one in intent.policies.classes)
    found, tried = [], 0
    variants = list((_nic_variants if nics else _variants)(intent, document, catalog))
    for variant in variants:
        for leaf, spine in _pairs(variant.speeds_gbps, models, lossless=lossless):
            tried += 1
            if (made := _made(variant, leaf, spine, catalog)) is not None:
                found.append(made)
    order = tuple(one.nics for one in variants if one.nics)
    return Tried(tuple(sorted(found, key=lambda one: (one.cost, one.name))), tried, order)


def _made(variant: _Variant, leaf: str, spine: str, catalog: Catalog) -> Candidate | None:
    for tiers in (2, 3):
        text = _text(variant, leaf, spine, super_spine=tiers > 2)
        sizing = calculate(load_intent_text(text, "suggestion.yml"), catalog)
        if sizing is not None and sizing.tiers <= tiers:
            return Candidate(leaf, spine, variant.planes, text, sizing, variant.nics)
    return None


def _variants(intent: Intent, document: Mapping[str, Any], catalog: Catalog) -> Iterator[_Variant]:
    """Yield the intent as it is, then with the NICs of its only kind of nodes in other modes of the same bandwidth."""
    speeds = frozenset(nodes.nics.speed_gbps for nodes in intent.nodes if nodes.leaf is None)
    yield _Variant(document, speeds, intent.topology.planes or 1)
    nics = intent.nodes[0].nics
    if len(intent.nodes) > 1 or nics.model is None or intent.topology.planes not in {None, nics.ports}:
        return
    for mode in catalog.nic(nics.model).combinations:
        if mode.ports != nics.ports and mode.ports * mode.speed_gbps == nics.ports * nics.speed_gbps:
            changed = {"ports": mode.ports, "speed": f"{mode.speed_gbps}G"}
            yield _with_nics(document, changed, mode.speed_gbps, mode.ports)


def _nic_variants(intent: Intent, document: Mapping[str, Any], catalog: Catalog) -> Iterator[_Variant]:
    """Yield the intent with every choice of NICs that suits its workload; rails and planes follow from them."""
    if len(intent.nodes) > 1:
        raise UsageError("--nics chooses the NICs of one kind of nodes, and this intent has several")
    for one in nic_choices(intent, catalog):
        changed = {"count": one.per_node, "ports": one.ports, "speed": f"{one.speed_gbps}G", "model": one.model}
        made = _with_nics(document, changed, one.speed_gbps, one.ports)
        topology = {key: value for key, value in made.document["topology"].items() if key != "rails"}
        yield made._replace(document={**made.document, "topology": topology}, nics=str(one))


def _with_nics(document: Mapping[str, Any], nics: Mapping[str, Any], speed_gbps: int, planes: int) -> _Variant:
    """Return the intent with other NICs in its only kind of nodes; the speeds of its leaves follow from them."""
    (nodes,) = document["nodes"]
    topology = {**document["topology"], "planes": planes, "leaf": {}}
    kept = {key: value for key, value in nodes["nics"].items() if key != "pcie" or "model" not in nics}
    changed = {**nodes, "nics": {**kept, **nics}}
    return _Variant({**document, "nodes": [changed], "topology": topology}, frozenset({speed_gbps}), planes)


def _pairs(speeds_gbps: Collection[int], models: CatalogCapability, *, lossless: bool) -> Iterator[tuple[str, str]]:
    """Yield leaf and spine models: those that carry the nodes' ports, without loss where a class asks for it."""
    able: dict[str, int] = {}
    for one in models.switches:
        carried = {use.speed_gbps: use.ports for use in one.speeds if use.lossless_m is not None or not lossless}
        if carried.keys() >= set(speeds_gbps) and one.model.id not in _VIRTUAL:
            able[one.model.id] = max(carried.values())
    for leaf, least in able.items():
        yield from ((leaf, spine) for spine, ports in able.items() if ports >= least)


def _text(variant: _Variant, leaf: str, spine: str, *, super_spine: bool) -> str:
    """Return the intent with these models, as YAML."""
    document = variant.document
    before = document["topology"]
    topology = {key: before[key] for key in _KEPT if key in before}
    speed = (before.get("leaf") or {}).get("downlink_speed")
    topology["leaf"] = {"model": leaf} | ({"downlink_speed": speed} if speed else {})
    topology["spine"] = {"model": spine}
    if super_spine:
        topology["super_spine"] = {"model": spine}
    changed = {key: value for key, value in document.items() if key not in _OF_DEVICES} | {"topology": topology}
    return yaml.dump(changed, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def smallest(tried: Tried, accept: Callable[[Candidate], bool], most: int) -> tuple[Candidate, ...]:
    """Return the first ``most`` candidates that ``accept`` accepts, one for each leaf model and number of planes; where
    NICs are tried, one for each choice of them, in the order in which these were tried."""
    found: dict[tuple[str, int], Candidate] = {}
    order = {name: place for place, name in enumerate(tried.nics)}
    for one in sorted(tried.candidates, key=lambda one: order.get(one.nics, 0)):
        key = (one.nics, 0) if one.nics else (one.leaf, one.planes)
        if len(found) < most and key not in found and accept(one):
            found[key] = one
    return tuple(found.values())
