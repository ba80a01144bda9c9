"""Designs for the nodes, workload and growth of an intent: every switch model that carries them, the fewest switches
first.

What the intent says of nodes, classes, shape and ratio stays; the models of its switches, and what follows from them
(counts, stripes, reserve, speeds of ports), are left open and designed anew.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from railweave.catalog.load import Catalog
from railweave.checks.capability import Models
from railweave.design.build import design
from railweave.diagnostics import has_errors
from railweave.fabric.sizing import Sizing
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent

_KEPT = ("shape", "rails", "planes", "oversubscription")
"""What of the topology is a wish of the user and no consequence of switch models."""

_OF_DEVICES = ("overrides", "racks")
"""Keys that name devices of the present design."""


_VIRTUAL = frozenset({"sonic-vs"})
"""Models that nobody can buy."""


class Candidate(NamedTuple):
    """A design by its switch models and planes: its intent as text, and its sizes."""

    leaf: str
    spine: str
    planes: int
    text: str
    sizing: Sizing

    @property
    def name(self) -> str:
        """Return it in a few words."""
        models = self.leaf if self.leaf == self.spine else f"{self.leaf} + {self.spine}"
        return models if self.planes == 1 else f"{models}, {self.planes} planes"

    @property
    def cost(self) -> tuple[int, ...]:
        """Return what candidates are sorted by, the least first: switches, tiers, links between switches, models."""
        one = self.sizing
        switches = one.leaves + one.spines + one.super_spines
        links = one.links.leaf_spine + one.links.spine_super_spine
        return switches, one.tiers, links, len({self.leaf, self.spine}), self.planes


class Tried(NamedTuple):
    """Every design that can be built, the one of the fewest switches first, of how many that were tried."""

    candidates: tuple[Candidate, ...]
    tried: int


class _Variant(NamedTuple):
    """The intent with its NICs in one of their port modes: speed of a port in Gb/s, and the planes that they make."""

    document: Mapping[str, Any]
    speeds_gbps: frozenset[int]
    planes: int


def candidates(intent: Intent, document: Mapping[str, Any], models: Models, catalog: Catalog) -> Tried:
    """Return the designs of every pair of models that carries the nodes' ports, in every port mode of their NICs that
    has the same bandwidth; ``document`` is the intent as YAML.

    What they configure is not checked here: `check` may refuse one of them.
    """
    lossless = any(one.lossless for one in intent.policies.classes)
    found, tried = [], 0
    for variant in _variants(intent, document, catalog):
        for leaf, spine in _pairs(variant.speeds_gbps, models, lossless=lossless):
            tried += 1
            if (made := _made(variant, leaf, spine, catalog)) is not None:
                found.append(made)
    return Tried(tuple(sorted(found, key=lambda one: (one.cost, one.name))), tried)


def _made(variant: _Variant, leaf: str, spine: str, catalog: Catalog) -> Candidate | None:
    for tiers in (2, 3):
        text = _text(variant, leaf, spine, super_spine=tiers > 2)
        outcome = design(load_intent_text(text, "suggestion.yml"), catalog)
        built = outcome.sizing is not None and outcome.fabric is not None and not has_errors(outcome.diagnostics)
        if built and outcome.sizing is not None and outcome.sizing.tiers <= tiers:
            return Candidate(leaf, spine, variant.planes, text, outcome.sizing)
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
            (nodes,) = document["nodes"]
            changed = {**nodes["nics"], "ports": mode.ports, "speed": f"{mode.speed_gbps}G"}
            topology = {**document["topology"], "planes": mode.ports}
            topology["leaf"] = {}
            other = {**document, "nodes": [{**nodes, "nics": changed}], "topology": topology}
            yield _Variant(other, frozenset({mode.speed_gbps}), mode.ports)


def _pairs(speeds_gbps: Collection[int], models: Models, *, lossless: bool) -> Iterator[tuple[str, str]]:
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
    return yaml.safe_dump(changed, sort_keys=False, allow_unicode=True)


def smallest(tried: Tried, accept: Callable[[Candidate], bool], most: int) -> tuple[Candidate, ...]:
    """Return the first ``most`` candidates that ``accept`` accepts, one for each leaf model and number of planes."""
    found: dict[tuple[str, int], Candidate] = {}
    for one in tried.candidates:
        if len(found) == most:
            break
        if (one.leaf, one.planes) not in found and accept(one):
            found[one.leaf, one.planes] = one
    return tuple(found.values())
