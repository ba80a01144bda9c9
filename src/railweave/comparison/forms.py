"""The forms that a search for designs explores: how nodes meet the network, before switch models are chosen."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import gcd
from typing import Any, NamedTuple

import yaml

from railweave.catalog.load import Catalog
from railweave.catalog.nics import NicPorts
from railweave.comparison.nic_choices import nic_choices
from railweave.design.ratios import AUTOMATIC_RATIO
from railweave.errors import RefusedError, UsageError
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent, Nics, Nodes, Shape

KEPT = ("oversubscription", "leaves_per_nic")
"""Keys of the topology that stay as the user states them: they do not follow from a form or from switch models."""

OF_DEVICES = ("overrides", "racks")
"""Keys that name devices of the present design."""

_FIRST_STRIPE = "first_stripe"
_OF_OWN_LEAVES = (_FIRST_STRIPE, "stripe", "leaf")
_MOST_UPLINK_SPEEDS = 2
"""Speeds of uplinks that are tried beside that of the NICs."""

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml writes several times as fast where it is there."""


class Form(NamedTuple):
    """How nodes meet leaves, and what joins these; all but the switch models."""

    shape: Shape
    # 0 where racks have leaves instead.
    rails: int
    planes: int
    # Gb/s of the links between leaves and spines; None for the speed of the NICs.
    uplink_gbps: int | None = None
    # Nodes that share one set of leaves; None for as many as the leaves hold.
    stripe: int | None = None
    # Whether all nodes of a plane meet in one switch, without spines.
    one_switch: bool = False

    def __str__(self) -> str:
        """Return the form in a few words: ``rail-only, 4 rails, 2 planes, uplinks of 800G``."""
        words = [self.shape.value]
        if self.one_switch:
            words = ["one switch"]
        if self.shape.has_rails:
            words.append(f"{self.rails} rails")
        if self.planes > 1:
            words.append(f"{self.planes} planes")
        if self.uplink_gbps is not None:
            words.append(f"uplinks of {self.uplink_gbps}G")
        if self.stripe is not None:
            words.append(f"stripes of {self.stripe}")
        return ", ".join(words)


class NodeVariant(NamedTuple):
    """The intent with its NICs in one of their port modes, or with other NICs."""

    # The intent as YAML, without what names devices of the present design.
    document: Mapping[str, Any]
    # The same as values; its topology is a placeholder.
    intent: Intent
    # The NICs of a node in a few words if these are tried too.
    nics: str = ""

    @property
    def speeds_gbps(self) -> tuple[int, ...]:
        """Return the speeds at which leaves of the topology meet nodes."""
        downlink_gbps = self.intent.topology.leaf.downlink_gbps
        if downlink_gbps:
            return (downlink_gbps,)
        return tuple(sorted({nodes.nics.speed_gbps for nodes in self.intent.nodes if nodes.leaf is None}))

    @property
    def down_gbps(self) -> int:
        """Return the speed at which the leaves meet the first kind of nodes."""
        return self.intent.topology.leaf.downlink_gbps or self.intent.nodes[0].nics.speed_gbps

    @property
    def ratio(self) -> Fraction:
        """Return the oversubscription that the intent asks for."""
        return self.intent.topology.oversubscription or AUTOMATIC_RATIO[self.intent.workload.kind]

    def ports_on_a_leaf(self, nodes: Nodes, form: Form) -> int:
        """Return the ports of one node on each leaf that it meets."""
        return nodes.nics.count * nodes.nics.ports // (form.planes * max(form.rails, 1))


def variants(intent: Intent, document: Mapping[str, Any], catalog: Catalog) -> tuple[NodeVariant, ...]:
    """Return the intent as it is, then variants of its nodes. Those that a rule of the intent refuses are left out.

    With one kind of nodes, variants have other modes of the NICs with the same bandwidth. Further ones have automatic
    first stripes, since stripes of another design may be shorter or longer, or later kinds of nodes on the leaves of
    the first.
    """
    candidates = [_variant(document, {})]
    if len(intent.nodes) == 1:
        modes = _modes_of_same_bandwidth(intent.nodes[0].nics, catalog)
        candidates += (_variant(document, {"ports": mode.ports, "speed": f"{mode.speed_gbps}G"}) for mode in modes)
    candidates += _with_other_leaves(document)
    return tuple(variant for variant in candidates if variant is not None)


def _with_other_leaves(document: Mapping[str, Any]) -> Iterator[NodeVariant | None]:
    """Yield the intent with its nodes on other leaves; None for a variant that a rule of the intent refuses.

    If it states first stripes, one variant has automatic ones. If it has several kinds of nodes, one variant has the
    later kinds on the leaves of the first.
    """
    nodes = document["nodes"]
    first_entry, *later_entries = nodes
    if any(_FIRST_STRIPE in entry for entry in nodes):
        with_automatic_stripes = [_without(entry, (_FIRST_STRIPE,)) for entry in nodes]
        yield _variant({**document, "nodes": with_automatic_stripes}, {})
    if later_entries:
        sharing_entries = [{**_without(entry, _OF_OWN_LEAVES), "share_leaves": True} for entry in later_entries]
        yield _variant({**document, "nodes": [first_entry, *sharing_entries]}, {})


def _without(entry: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in keys}


def nic_variants(intent: Intent, document: Mapping[str, Any], catalog: Catalog) -> tuple[NodeVariant, ...]:
    """Return the intent with every choice of NICs that suits its workload, the most bandwidth first.

    Raises UsageError for several kinds of nodes.
    """
    if len(intent.nodes) > 1:
        raise UsageError("--nics chooses the NICs of one kind of nodes, and this intent has several")
    result = []
    for choice in nic_choices(intent, catalog):
        speed = f"{choice.speed_gbps}G"
        change = {"count": choice.per_node, "ports": choice.ports, "speed": speed, "model": choice.model}
        variant = _variant(document, change, str(choice))
        if variant is not None:
            result.append(variant)
    return tuple(result)


def _modes_of_same_bandwidth(nics: Nics, catalog: Catalog) -> Iterator[NicPorts]:
    if nics.model is None:
        return
    for mode in catalog.nic(nics.model).combinations:
        if mode.ports != nics.ports and mode.ports * mode.speed_gbps == nics.ports * nics.speed_gbps:
            yield mode


def _variant(document: Mapping[str, Any], nics: Mapping[str, Any], name: str = "") -> NodeVariant | None:
    """Return the intent with the keys ``nics`` changed in the NICs of its only kind of nodes.

    If ``nics`` is empty, the NICs stay as they are. ``name`` describes the NICs. Returns None if a rule of the intent
    refuses the variant.
    """
    changed = {key: value for key, value in document.items() if key not in OF_DEVICES}
    if nics:
        changed["nodes"] = [_with_nics(document["nodes"][0], nics)]
    cabling = dict(changed.get("cabling") or {})
    # Lengths as built are those of the present cables.
    if cabling.pop("as_built", None) is not None:
        changed["cabling"] = cabling
    placeholder = {**changed, "topology": _placeholder(document["topology"], other_nics=bool(nics))}
    try:
        intent = load_intent_text(yaml_text(placeholder), "suggestion.yml")
    except RefusedError:
        return None
    # Some rules depend on whether a key is stated, and the placeholder's keys are not.
    places = {path: where for path, where in intent.places.items() if not path.startswith("topology.")}
    return NodeVariant(changed, replace(intent, places=places), name)


def _with_nics(nodes: Mapping[str, Any], nics: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of nodes with the keys ``nics`` of its NICs changed."""
    changed = {**nodes["nics"], **nics}
    # The PCIe slot was stated for the model that is replaced.
    if "model" in nics:
        changed.pop("pcie", None)
    return {**nodes, "nics": changed}


def _placeholder(topology: Mapping[str, Any], *, other_nics: bool) -> dict[str, Any]:
    """Return the keys of a topology that stay, with switches of ports and speed alone: models are chosen later."""
    leaf = {"ports": 64, "speed": "400G"}
    downlink_speed = (topology.get("leaf") or {}).get("downlink_speed")
    # With other NICs the leaves have the speed of these.
    if downlink_speed and not other_nics:
        leaf["downlink_speed"] = downlink_speed
    kept = {key: value for key, value in topology.items() if key in KEPT}
    return {**kept, "leaf": leaf, "spine": {"ports": 64, "speed": "400G"}}


def yaml_text(document: Mapping[str, Any]) -> str:
    """Return an intent as YAML."""
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True))


def forms(variant: NodeVariant, own: Shape) -> Iterator[Form]:
    """Yield the forms over whose rails and planes the ports of the nodes divide evenly.

    All links have the speed of the NICs. ``own`` is the shape of the intent. If NICs are tried, only this shape is,
    with a rail for every NIC.
    """
    nodes = variant.intent.nodes
    common_ports = gcd(*(entry.nics.ports for entry in nodes))
    common_nics = gcd(*(entry.nics.count for entry in nodes))
    rail_counts = _divisors(common_nics)
    shapes = tuple(Shape)
    if variant.nics:
        shapes = (own,)
        rail_counts = [common_nics]
    for planes in _divisors(common_ports):
        for shape in shapes:
            if not shape.has_rails:
                yield Form(shape, 0, planes)
                yield Form(shape, 0, planes, one_switch=True)
                continue
            for rails in rail_counts:
                if _has_rails(nodes, shape, rails, own):
                    yield Form(shape, rails, planes)


def _has_rails(nodes: tuple[Nodes, ...], shape: Shape, rails: int, own: Shape) -> bool:
    """Tell whether a design of ``shape`` can have ``rails`` rails; ``own`` is the shape of the intent."""
    # One rail is the same as a rack-aligned network.
    if rails < 2:
        return False
    if shape is Shape.RAIL_ONLY and own is not Shape.RAIL_ONLY:
        # Traffic between rails takes the links between the GPUs of a node; nodes without GPUs are cut off (T-12).
        return all(entry.gpus >= rails for entry in nodes)
    return True


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(1, number + 1) if number % divisor == 0]


def uplink_speeds(form: Form, nic_gbps: int, common_gbps: set[int]) -> list[Form]:
    """Return a form with its uplinks at the speed of the NICs, then with uplinks at the fastest speeds above it.

    ``common_gbps`` are the speeds that both leaves and spines have.
    """
    faster_gbps = sorted((speed for speed in common_gbps if speed > nic_gbps), reverse=True)
    return [form, *(form._replace(uplink_gbps=speed) for speed in faster_gbps[:_MOST_UPLINK_SPEEDS])]


def shaped(variant: NodeVariant, form: Form, leaf: str, spine: str) -> Intent:
    """Return the intent of a variant in ``form``, with models of leaves and spines, as `design` takes it."""
    topology = variant.intent.topology
    tiers: int | None = None
    leaf_count: int | None = None
    if form.one_switch:
        tiers = 1
        leaf_count = 1
    changed = topology.with_values(
        shape=form.shape,
        tiers=tiers,
        rails=form.rails or None,
        planes=form.planes,
        stripe=form.stripe,
        leaf=topology.leaf.with_values(
            model=leaf, ports=None, speed_gbps=None, uplink_gbps=form.uplink_gbps, count=leaf_count
        ),
        spine=topology.spine.with_values(model=spine, ports=None, speed_gbps=None),
    )
    return replace(variant.intent, topology=changed)
