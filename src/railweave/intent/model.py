"""The intent as plain values: the user's file with defaults filled in and nothing computed.

``None`` stands for ``auto``. Every value that a later check may question has its place in ``Intent.places``. The keys
of the file are the fields here, or their aliases; every key has a description, because editors show it through the JSON
Schema. Keys that become policies of the fabric are in ``schema``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Any

from pydantic import ConfigDict, PrivateAttr, model_validator

from railweave.catalog.load import load_catalog
from railweave.diagnostics import Where
from railweave.fabric.devices import NodeRole
from railweave.fabric.policy import Policies, Pool
from railweave.intent.as_built import AsBuilt
from railweave.intent.cabling import Cabling
from railweave.intent.keys import Keys, default, key, section, unset
from railweave.intent.kinds import Flag, Text, Whole, Word
from railweave.intent.management import ManagementKeys
from railweave.intent.notations import Ratio, Speed
from railweave.intent.paths import parent
from railweave.intent.racks import Racks

_NAME = r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?"
_NAME_RULE = "write lower-case letters, digits and hyphens, a letter first, at most 40; it becomes part of host names"
FabricName = Annotated[str, Text(what="a fabric name", pattern=_NAME, example="pod1", rule=_NAME_RULE)]
NodeName = Annotated[str, Text(what="a node name", pattern=_NAME, example="gpu", rule=_NAME_RULE)]
ClassName = Annotated[str, Text(what="a class name", pattern=_NAME, example="roce", rule=_NAME_RULE)]
Gpus = Annotated[int, Whole(least=1, most=10_000_000)]
SwitchId = Annotated[
    str | None, Text(what="a switch model id", example="nokia-ixr7220-h4-64d", ids=lambda: load_catalog().switch_ids())
]
NicId = Annotated[str | None, Text(what="a NIC model id", example="connectx-7", ids=lambda: load_catalog().nic_ids())]
PcieId = Annotated[str | None, Text(what="a PCIe slot id", example="gen5x16", ids=lambda: load_catalog().pcie_ids())]
PciAddress = Annotated[
    str, Text(what="a PCI address", pattern=r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", example="0000:1a:00.0")
]
RdmaDevice = Annotated[str, Text(what="an RDMA device", pattern=r"[A-Za-z][A-Za-z0-9_-]{0,62}", example="mlx5_0")]
AutoCount = Annotated[int | None, Whole(least=1, most=4096, auto=True)]
AutoSpeed = Annotated[int | None, Speed(auto=True)]


class WorkloadKind(StrEnum):
    """What the cluster is for; it chooses the automatic oversubscription."""

    PRETRAINING = "pretraining"
    FINE_TUNING = "fine-tuning"
    INFERENCE = "inference"
    MIXED = "mixed"


class Shape(StrEnum):
    """How nodes meet leaves."""

    RAIL_OPTIMIZED = "rail-optimized"
    RACK_ALIGNED = "rack-aligned"
    RAIL_ONLY = "rail-only"

    @property
    def has_rails(self) -> bool:
        """Tell whether a leaf serves one rail, not a rack."""
        return self is not Shape.RACK_ALIGNED


class UplinkWiring(StrEnum):
    """How the uplinks of a switch are shared out over the switches above."""

    CAGES = "cages"
    PORTS = "ports"


class SplitRule(StrEnum):
    """What the ports of a leaf are split by, where the links of a pair are automatic."""

    STRIPE = "stripe"
    PANEL = "panel"


class Growth(Keys):
    """What must fit later; a fabric that cannot grow to it is refused."""

    gpus: Gpus = key("GPUs that the fabric must be able to grow to")
    months: Annotated[int | None, Whole(least=1, most=240)] = unset("until when, in months; for people")


class Workload(Keys):
    """What the cluster is for."""

    kind: Annotated[WorkloadKind, Word(words=WorkloadKind, what="kind of workload")] = key(
        "what runs on the cluster; chooses the automatic oversubscription"
    )
    gpus: Gpus | None = unset("GPUs of the cluster, checked against the nodes")
    growth: Growth | None = unset("what must fit later")


class Nics(Keys):
    """The fabric NICs of one node; those of storage and front end are not listed."""

    count: Annotated[int, Whole(least=1, most=64)] = key("fabric NICs of a node")
    speed_gbps: Annotated[int, Speed()] = key("speed of one port of the NIC, like 400G", "speed")
    ports: Annotated[int, Whole(least=1, most=8)] = default(1, "ports of one NIC")
    cages: Annotated[int | None, Whole(least=1, most=8, auto=True)] = default(
        "auto", "cages of one NIC, which its ports share evenly; auto is one a port"
    )
    model: NicId = unset("NIC model of the catalog, like connectx-7; for sizing only it may be left out")
    pcie: PcieId = unset("PCIe slot that carries the NIC; by default the best that the NIC model is made for")
    pci_addresses: tuple[PciAddress, ...] = default([], "PCI addresses of the NICs, one each; they pin interface names")
    rdma_devices: tuple[RdmaDevice, ...] = default(
        [], "RDMA devices of the ports, NIC by NIC; by default the vendor's names from 0 on, like mlx5_0"
    )

    # Those of its ports that are in one of several fabrics, empty for all of them.
    _own_ports: tuple[int, ...] = PrivateAttr(default=())

    @property
    def own_ports(self) -> tuple[int, ...]:
        """Return the ports of each NIC that are in the fabric, by number."""
        return self._own_ports or tuple(range(self.ports))

    @property
    def are_shared(self) -> bool:
        """Tell whether other ports of these NICs are in another fabric."""
        return len(self.own_ports) < self.ports

    def with_own_ports(self, ports: tuple[int, ...]) -> "Nics":
        """Return the NICs as a fabric has them that only the ports ``ports`` of each NIC are in."""
        copy = self.model_copy()
        copy._own_ports = ports
        return copy

    @property
    def ports_of_a_cage(self) -> int:
        """Return how many ports of a NIC share a cage. P-2 refuses a number of cages that does not divide the ports."""
        return max(1, self.ports // (self.cages or self.ports))


class NodeLeaf(Keys):
    """The leaves of one entry of nodes, where they are other switches or run at another speed than those of topology.

    Their uplinks are like those of all leaves, or of another speed or number: then spines keep ports apart for them.
    """

    model: SwitchId = unset("switch model of these leaves; by default topology.leaf.model")
    downlink_gbps: AutoSpeed = default(
        "auto", "speed of their ports to these nodes; auto is the NIC's", "downlink_speed"
    )
    uplink_gbps: AutoSpeed = default(
        "auto", "speed of their ports to the spines; auto is that of all leaves", "uplink_speed"
    )
    links_per_pair: Annotated[int | None, Whole(least=1, most=512, auto=True)] = default(
        "auto", "parallel links between one of them and one spine; auto is topology.links_per_pair"
    )
    reserve: Annotated[int | None, Whole(least=1, most=4096)] = unset(
        "leaves of one plane that every spine keeps ports apart for; required where uplinks differ from those of all"
    )


class Nodes(Keys):
    """One kind of server: nodes NAME1 to NAMEn."""

    name: NodeName = key("name of the kind; nodes are NAME1 to NAMEn")
    count: Annotated[int, Whole(least=1, most=65_536)] = key("servers of this kind")
    role: Annotated[NodeRole, Word(words=NodeRole, what="role of a node")] = default(
        "gpu", "what these servers are; only those with GPUs get the settings of NCCL"
    )
    gpus: Annotated[int, Whole(least=0, most=1024)] = default(
        0, "GPUs of one server, to be stated of role gpu; storage and CPU nodes have none"
    )
    nics: Nics = key("the fabric NICs of one server")
    first_stripe: Annotated[int | None, Whole(least=0, most=4095, auto=True)] = default(
        "auto",
        "first stripe of these nodes, from 0; auto is 0 for the first entry, then the next multiple of the stripes that"
        " are reserved for the first, or without reserve.leaves of the next power of two above twice its stripes",
    )
    stripe: Annotated[int | None, Whole(least=1, most=4096, auto=True)] = default(
        "auto",
        "nodes of this entry that share one set of leaves; auto is topology.stripe, with share_leaves all of them or"
        " what the fewest stripes need, rounded up to a power of two",
    )
    share_leaves: Annotated[bool, Flag()] = default(
        False, "these nodes are on the leaves of the first entry, on the ports behind those of its stripe"
    )
    leaf: NodeLeaf | None = unset(
        "leaves of these nodes alone, from the second entry on: another model, other ports towards nodes or spines"
    )


@dataclass(frozen=True, slots=True)
class InlineModel:
    """A switch without a catalog entry, for sizing only."""

    ports: int
    speed_gbps: int


class TierIntent(Keys):
    """The switches of one tier: a catalog model, or ports and speed for sizing without one."""

    model: SwitchId = unset("switch model of the catalog")
    ports: Annotated[int | None, Whole(least=2, most=1024)] = unset("ports of a switch without a catalog model")
    speed_gbps: Annotated[int | None, Speed()] = unset("port speed of a switch without a catalog model", "speed")
    count: AutoCount = default("auto", "switches of this tier in one plane")

    @property
    def inline(self) -> InlineModel | None:
        """Return the switch without a catalog entry; None if ``model`` names one of the catalog."""
        if self.model is not None:
            return None
        return InlineModel(self.ports or 0, self.speed_gbps or 0)


class LeafIntent(TierIntent):
    """The leaves; the speeds choose the breakout of their ports."""

    downlink_gbps: AutoSpeed = default("auto", "speed of the ports to the nodes; auto is the NIC's", "downlink_speed")
    uplink_gbps: AutoSpeed = default("auto", "speed of the ports to the spines; auto is the NIC's", "uplink_speed")


class SpineIntent(TierIntent):
    """The spines; those with super-spines above may have uplinks of another speed than their downlinks."""

    uplink_gbps: AutoSpeed = default(
        "auto", "three tiers: speed of the ports to the super-spines; auto is the leaves' uplink_speed", "uplink_speed"
    )


class SuperSpineIntent(TierIntent):
    """The super-spines, which join pods."""

    oversubscription: Annotated[Fraction | None, Ratio(auto=True)] = default(
        "auto", "downlink to uplink bandwidth of a spine; auto is that of a leaf"
    )


class Reserve(Keys):
    """How many switches of one plane ports, addresses and AS numbers are laid out for."""

    leaves: AutoCount = default(
        "auto",
        "leaves of one plane that there is room for, in all pods; an automatic number of spines has ports for them",
    )
    spines: AutoCount = default("auto", "spines of one plane that there is room for, in all pods")
    pods: AutoCount = default(
        "auto", "pods that there is room for; given, spines keep ports for super-spines free while there is one pod"
    )


def _spine_or_rails(schema: dict[str, Any]) -> None:
    """State in the JSON Schema that a rail-only fabric and one switch alone may leave their spines out."""
    schema["required"].remove("spine")
    rail_only = {"properties": {"shape": {"const": Shape.RAIL_ONLY.value}}, "required": ["shape"]}
    one_leaf = {"properties": {"leaf": {"properties": {"count": {"const": 1}}, "required": ["count"]}}}
    schema["if"] = {"anyOf": [rail_only, one_leaf]}
    schema["else"] = {"required": ["spine"]}


class Topology(Keys):
    """The shape of the fabric."""

    model_config = ConfigDict(json_schema_extra=_spine_or_rails)

    shape: Annotated[Shape, Word(words=Shape, what="shape of a fabric")] = default(
        "rail-optimized", "how nodes meet leaves"
    )
    rails: Annotated[int | None, Whole(least=1, most=64, auto=True)] = default("auto", "rails; auto is one a NIC")
    tiers: Annotated[int | None, Whole(least=1, most=3, auto=True)] = default(
        "auto", "tiers of switches: 2 or 3; 1 is one switch, in a rail-only fabric one a rail"
    )
    planes: Annotated[int, Whole(least=1, most=8)] = default(
        1, "disjoint copies of the fabric; port p of a NIC goes to plane p modulo planes"
    )
    leaves_per_nic: Annotated[int, Whole(least=1, most=8)] = default(
        1,
        "leaves of one plane that the ports of a NIC are spread over; 2 is dual-ToR: each NIC has an address beside"
        " those of its ports, which both leaves announce",
    )
    oversubscription: Annotated[Fraction | None, Ratio(auto=True)] = default(
        "auto",
        "downlink to uplink bandwidth of a leaf; auto: pretraining 1:1, mixed and fine-tuning 1.5:1, inference 2:1",
    )
    stripe: Annotated[int | None, Whole(least=1, most=4096, auto=True)] = default(
        "auto", "nodes that share one set of leaves"
    )
    links_per_pair: Annotated[int | None, Whole(least=1, most=512, auto=True)] = default(
        "auto", "parallel links between one leaf and one spine"
    )
    split: Annotated[SplitRule, Word(words=SplitRule, what="split of a leaf")] = default(
        "stripe",
        "stripe: a given stripe caps the downlinks of a leaf, whose uplinks are then those that the ratio asks for;"
        " panel: all ports of a leaf are split at the ratio, whatever the stripe, as in 0.1",
    )
    wiring: Annotated[UplinkWiring, Word(words=UplinkWiring, what="wiring of uplinks")] = default(
        "cages",
        "cages: the uplinks of a cage go to one switch above wherever the links of a pair allow; ports: each by itself,"
        " as in 0.1",
    )
    leaf: LeafIntent = key("the switches that the nodes plug into")
    spine: SpineIntent = key(
        "the switches that join the leaves; left out with `shape`, leaf.count: 1 is one switch; in a rail-only fabric"
        " it is by default the switch that the leaves are, else it is required"
    )
    super_spine: SuperSpineIntent | None = unset(
        "the switches that join pods, in three tiers; by default the switch that the spines are"
    )
    pod: Annotated[int | None, Whole(least=1, most=4096, auto=True)] = default(
        "auto",
        "three tiers: stripes (rack-aligned: leaves) of one pod; auto is as many as the spines' down ports hold",
    )
    reserve: Reserve = section(Reserve, "what ports, addresses and AS numbers are laid out for")

    @model_validator(mode="before")
    @classmethod
    def _spines_like_leaves(cls, value: Any) -> Any:
        """Add the spines that a rail-only fabric or one of a single switch may leave out: they are like its leaves."""
        if not isinstance(value, dict) or "spine" in value:
            return value
        leaf = value.get("leaf")
        if not isinstance(leaf, dict):
            leaf = {}
        spine = {key: leaf[key] for key in ("model", "ports", "speed") if key in leaf}
        # One switch is rack-aligned unless the file states another shape.
        shape = value.get("shape", Shape.RACK_ALIGNED)
        if shape == Shape.RAIL_ONLY:
            return {**value, "spine": spine}
        if leaf.get("count") == 1 and shape == Shape.RACK_ALIGNED:
            return {"tiers": 1, **value, "shape": Shape.RACK_ALIGNED, "spine": spine}
        return value

    def named_tiers(self) -> tuple[tuple[str, TierIntent], ...]:
        """Return the tiers that the file names, each with its intent path."""
        tiers: list[tuple[str, TierIntent]] = [("topology.leaf", self.leaf)]
        may_omit_spine = self.shape is Shape.RAIL_ONLY or self.tiers == 1
        # A file that leaves its spines out has spines like its leaves (`_spines_like_leaves`).
        is_like_leaf = self.spine.model == self.leaf.model and self.spine.inline == self.leaf.inline
        if not (may_omit_spine and is_like_leaf):
            tiers.append(("topology.spine", self.spine))
        if self.super_spine is not None:
            tiers.append(("topology.super_spine", self.super_spine))
        return tuple(tiers)

    @property
    def asks_for_pods(self) -> bool:
        """Tell whether the file states anything about a third tier, whose pool and AS numbers then have to be valid."""
        return self.tiers == 3 or self.super_spine is not None or self.reserve.pods is not None


MANAGEMENT = "management"
"""The key of the management network's pool in ``Intent.pools``; in the file it is in a section of its own."""


def pool_path(name: str) -> str:
    """Return the intent path of an address pool by its key in ``Intent.pools``."""
    if name == MANAGEMENT:
        return "management.pool"
    return f"addressing.{name}"


@dataclass(frozen=True, slots=True)
class Part:
    """The place of one of several fabrics in a file."""

    # Its key in `fabrics`, and its place there.
    name: str
    number: int
    # By entry of nodes: how many NIC ports the groups before the fabric's have.
    first_ports: Mapping[str, int]
    # The entries whose first group is the fabric's; their GPUs meet in it.
    collectives: frozenset[str]


@dataclass(frozen=True, slots=True)
class Intent:
    """One fabric of an intent file."""

    # The start of the names of its switches.
    fabric: str
    workload: Workload
    nodes: tuple[Nodes, ...]
    topology: Topology
    # Everything that configurations depend on besides links.
    policies: Policies
    cabling: Cabling
    # The place of a value by its intent path: topology.spine.count, nodes[0].nics.speed.
    places: Mapping[str, Where] = field(repr=False)
    # The name of the file in diagnostics.
    file: str
    # Of the file's bytes, and of those of the file of lengths if it names one.
    sha256: str
    racks: Racks | None = None
    management: ManagementKeys | None = None
    # The rows of the file of lengths.
    as_built: tuple[AsBuilt, ...] = ()
    # None if the file has one fabric.
    part: Part | None = None
    # The other fabrics of the file.
    others: tuple["Intent", ...] = field(default=(), repr=False)

    @property
    def stripe_caps_split(self) -> bool:
        """Tell whether the number of a leaf's uplinks follows from the nodes of its stripe, not from all its ports.

        It does if the intent states the stripe of every entry of nodes that has leaves of its own.
        """
        topology = self.topology
        if topology.links_per_pair is not None or topology.split is not SplitRule.STRIPE:
            return False
        if topology.stripe is not None:
            return True
        return all(entry.stripe is not None for entry in self.nodes if not entry.share_leaves)

    @property
    def carries_collectives(self) -> bool:
        """Tell whether GPUs meet in this fabric."""
        return self.part is None or bool(self.part.collectives)

    @property
    def pools(self) -> Mapping[str, Pool]:
        """Return the address pools in use by key, including that of a third tier which is only reserved."""
        addressing = self.policies.addressing
        pools = dict(addressing.pools)
        if self.topology.asks_for_pods and not addressing.unnumbered:
            pools["core"] = addressing.core
        # A NIC has an address of its own only if several leaves announce it.
        if self.topology.leaves_per_nic > 1:
            pools["nics"] = addressing.nics
        if self.management is not None:
            pools[MANAGEMENT] = self.management.pool
        return pools

    def where(self, path: str) -> Where:
        """Return the place of the value at ``path``, or of the nearest value around it that the file has."""
        while path:
            if path in self.places:
                return self.places[path]
            path = parent(path)
        return Where(self.file, 1, 1, "")
