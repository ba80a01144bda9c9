"""Intents that grow, for a property of sequences: where they begin, what they state beside, and the steps of growth.

A document is an intent as nested mappings. A step makes the next document of one; what it cannot change it leaves.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hypothesis import strategies as st
from schema_leaves import with_values

Document = dict[str, Any]

NOKIA, TWIN, SMALL = "nokia-ixr7220-h4-64d", "nvidia-sn5600", "nvidia-sn4700"
"""Switches of 64 cages with a port of 400G each, of 64 cages with two, and of 32 cages with one."""
INLINE = {"ports": 64, "speed": "400G"}

NOT_OF_PORTS = {
    "nodes[].name": "a name",
    "nodes[].nics.pcie": "the slot that carries a NIC",
    "nodes[].nics.pci_addresses": "names of interfaces",
    "nodes[].nics.rdma_devices": "names of devices",
}
"""Keys of ``nodes`` and ``topology`` that no port, cable or identity follows from, with what they are."""


def _nics(count: int = 4, speed: str = "400G", ports: int = 1, model: str = "connectx-7") -> Document:
    return {"count": count, "speed": speed, "ports": ports, "model": model}


def _document(count: int, nics: Document, **topology: Any) -> Document:
    leaf = {"leaf": {"model": NOKIA}, "spine": {"model": NOKIA}} | topology
    gpu = {"name": "gpu", "count": count, "gpus": 8, "nics": nics}
    return {
        "fabric": "pod1",
        "workload": {"kind": "pretraining"},
        "nodes": [gpu],
        # Without a lossless class no port needs headroom, which few models publish for every speed.
        "traffic_classes": [{"name": "rest", "role": "bulk", "dscp": "default", "priority": 0, "share": 100}],
        "topology": {key: value for key, value in leaf.items() if value is not None},
    }


STARTS: Mapping[str, Document] = {
    "rails": _document(8, _nics()),
    "links of a pair": _document(8, _nics(), links_per_pair=1, stripe=8, reserve={"spines": 16}),
    "cages of two": _document(8, _nics(), leaf={"model": TWIN}, spine={"model": TWIN}),
    "racks": _document(4, _nics(), shape="rack-aligned"),
    "rails apart": _document(8, _nics(), shape="rail-only", spine=None),
    "rails apart in two tiers": _document(34, _nics(2), shape="rail-only", tiers=2, spine=None),
    "one switch": _document(3, _nics(8), leaf={"model": NOKIA, "count": 1}, spine=None),
    "two leaves": _document(6, _nics(8), leaf={"model": NOKIA, "count": 2}),
    "two planes": _document(8, _nics(4, "200G", 2), planes=2),
    "four planes": _document(8, _nics(2, "200G", 4, "connectx-8"), planes=4),
    "dual-ToR": _document(8, _nics(4, "200G", 2), leaves_per_nic=2),
    "three tiers": _document(8, _nics(), tiers=3, pod=2, stripe=4, reserve={"pods": 4}),
    "a third tier later": _document(8, _nics(), pod=2, stripe=4, reserve={"pods": 4}),
    "inline": _document(8, _nics(), leaf=INLINE, spine=INLINE, super_spine=INLINE, reserve={"pods": 2}),
}

OPTIONS: Mapping[str, Sequence[Any]] = {
    "workload.kind": ("inference", "mixed"),
    "nodes[].nics.count": (1, 2, 4, 8),
    "nodes[].nics.speed": ("100G", "200G", "400G"),
    "nodes[].nics.ports": (1, 2),
    "nodes[].nics.cages": (1, 2),
    "nodes[].stripe": (2, 4, 8, 16),
    "nodes[].first_stripe": (0, 1),
    "topology.rails": (1, 2, 4, 8),
    "topology.tiers": (1, 2, 3),
    "topology.planes": (1, 2),
    "topology.leaves_per_nic": (1, 2),
    "topology.oversubscription": ("1:1", "1.5:1", "2:1", "4:1"),
    "topology.stripe": (2, 3, 4, 8, 16),
    "topology.links_per_pair": (1, 2, 4),
    "topology.split": ("panel", "stripe"),
    "topology.wiring": ("ports", "cages"),
    "topology.leaf.model": (NOKIA, TWIN, SMALL),
    "topology.leaf.count": (1, 2, 4, 8),
    "topology.leaf.downlink_speed": ("200G", "400G"),
    "topology.leaf.uplink_speed": ("200G", "400G", "800G"),
    "topology.spine.model": (NOKIA, TWIN, SMALL),
    "topology.spine.count": (2, 4, 8, 16),
    "topology.spine.uplink_speed": ("200G", "400G", "800G"),
    "topology.super_spine": ({"model": TWIN, "oversubscription": "2:1"}, {"model": NOKIA, "count": 32}),
    "topology.pod": (1, 2, 3),
    "topology.reserve.leaves": (8, 16, 32),
    "topology.reserve.spines": (4, 8, 16),
    "topology.reserve.pods": (1, 2, 4),
}

starts = st.builds(
    with_values,
    st.sampled_from(list(STARTS.values())),
    st.dictionaries(st.sampled_from(list(OPTIONS)), st.integers(0, 4), max_size=2).map(
        lambda places: {path: OPTIONS[path][place % len(OPTIONS[path])] for path, place in places.items()}
    ),
)


class Step(Protocol):
    """A step of growth."""

    def applied(self, document: Document) -> Document: ...


@dataclass(frozen=True)
class MoreNodes:
    """More nodes of an entry."""

    entry: int
    more: int

    def applied(self, document: Document) -> Document:
        grown = copy.deepcopy(document)
        entry = grown["nodes"][self.entry % len(grown["nodes"])]
        entry["count"] += self.more
        return grown


@dataclass(frozen=True)
class AnotherKind:
    """One more entry of nodes: ``keys`` beside its NICs, which are like those of the first but for number and speed."""

    count: int
    nics: int | None
    speed: str | None
    keys: tuple[tuple[str, Any], ...]

    def applied(self, document: Document) -> Document:
        grown = copy.deepcopy(document)
        nics = {key: value for key, value in grown["nodes"][0]["nics"].items() if key != "cages"}
        nics["count"] = self.nics or nics["count"]
        nics["speed"] = self.speed or nics["speed"]
        name = f"kind{'abcdefgh'[len(grown['nodes'])]}"
        grown["nodes"].append({"name": name, "count": self.count, "nics": nics, **dict(self.keys)})
        return grown


@dataclass(frozen=True)
class LargerNumber:
    """A number of topology that doubles; ``default`` is what it is taken for where it is not stated, None for none."""

    path: str
    default: int | None = None

    def applied(self, document: Document) -> Document:
        place: Any = document
        for name in self.path.split("."):
            place = place.get(name) if isinstance(place, dict) else None
        number = place or self.default
        if number is None:
            return document
        return with_values(document, {self.path: 2 * number})


@dataclass(frozen=True)
class MoreTiers:
    """Spines above one switch, or one a rail, else a third tier; a number of leaves is left to the nodes."""

    def applied(self, document: Document) -> Document:
        grown = copy.deepcopy(document)
        topology = grown["topology"]
        if "spine" in topology:
            topology["tiers"] = 3
        elif topology.get("shape") == "rail-only":
            topology["tiers"] = 2
        else:
            topology.pop("tiers", None)
            topology["leaf"].pop("count", None)
            topology |= {"shape": "rack-aligned", "spine": {"model": NOKIA}}
        return grown


@dataclass(frozen=True)
class AutomaticLeaves:
    """The number of leaves left to the nodes, which are more than before."""

    more: int

    def applied(self, document: Document) -> Document:
        grown = MoreNodes(0, self.more).applied(document)
        if "spine" in grown["topology"]:
            grown["topology"]["leaf"].pop("count", None)
        return grown


GPUS = (("gpus", 4),)
STORAGE = (("gpus", 0), ("role", "storage"))
SHARING = (("share_leaves", True),)
OWN_LEAVES = [
    {"model": model, **more}
    for model in (SMALL, TWIN, NOKIA)
    for more in ({}, {"uplink_speed": "800G", "reserve": 8}, {"links_per_pair": 2, "reserve": 4})
]
leaves_of_kinds = st.one_of(
    st.just(SHARING),
    st.just(()),
    st.sampled_from([(("leaf", leaf),) for leaf in OWN_LEAVES]),
    st.just((("leaf", {"downlink_speed": "100G"}),)),
)
stripes_of_kinds = st.one_of(
    st.just(()),
    st.sampled_from([(("stripe", 2),), (("stripe", 8),)]),
    st.sampled_from([(("first_stripe", 4),), (("first_stripe", 16),)]),
)
more_nodes = st.builds(MoreNodes, st.integers(0, 2), st.sampled_from([1, 2, 3, 5, 8, 13, 30]))
kinds = st.builds(
    AnotherKind,
    st.sampled_from([1, 2, 3, 5, 9, 20]),
    st.none() | st.sampled_from([1, 2, 8]),
    st.none() | st.sampled_from(["100G", "200G", "400G"]),
    st.builds(lambda *keys: sum(keys, ()), st.sampled_from([GPUS, STORAGE]), leaves_of_kinds, stripes_of_kinds),
)
steps = st.one_of(
    more_nodes,
    kinds,
    st.sampled_from(
        [
            LargerNumber("topology.spine.count"),
            LargerNumber("topology.leaf.count"),
            LargerNumber("topology.reserve.leaves", 8),
            LargerNumber("topology.reserve.spines", 8),
            LargerNumber("topology.reserve.pods", 1),
        ]
    ),
    st.builds(MoreTiers),
    st.builds(AutomaticLeaves, st.sampled_from([2, 5, 13])),
)


def stated_keys() -> set[str]:
    """Return the paths of all keys that a document of the property may have."""
    documents = [*STARTS.values()]
    for path, values in OPTIONS.items():
        documents += (with_values(STARTS["rails"], {path: value}) for value in values)
    kind = {"share_leaves": True, "role": "storage", "leaf": {"downlink_speed": "100G"}}
    documents += ({"nodes": [kind]}, *({"nodes": [{"leaf": leaf}]} for leaf in OWN_LEAVES))
    return {path for document in documents for path in _paths(document, "")}


def _paths(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, f"{at}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, f"{at}[]")
    else:
        yield at
