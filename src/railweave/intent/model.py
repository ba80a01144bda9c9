"""The intent as plain values: what the user's file says, with defaults filled in and nothing computed.

``None`` stands for ``auto``. Every value that a later check may question has its place in ``Intent.places``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from railweave.diagnostics import Where
from railweave.fabric.policy import Policies
from railweave.intent.paths import parent


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


class Underlay(StrEnum):
    """How leaf-spine links are addressed: a /31 each (RFC 3021), or IPv6 link-local next hops (RFC 8950)."""

    NUMBERED = "numbered"
    UNNUMBERED = "unnumbered"


@dataclass(frozen=True, slots=True)
class Growth:
    """What must fit later; months is for people."""

    gpus: int
    months: int | None


@dataclass(frozen=True, slots=True)
class Workload:
    """The workload: ``gpus`` is checked against the nodes where it is given."""

    kind: WorkloadKind
    gpus: int | None
    growth: Growth | None


@dataclass(frozen=True, slots=True)
class Nics:
    """The fabric NICs of one node; ``speed_gbps`` is of one port. ``pcie`` is a slot id of the catalog.

    ``pci_addresses`` has one address a NIC, ``rdma_devices`` one name a port, NIC by NIC; both may be empty."""

    count: int
    speed_gbps: int
    ports: int
    model: str
    pcie: str
    pci_addresses: tuple[str, ...] = ()
    rdma_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nodes:
    """One kind of GPU server: hosts ``{name}1`` … ``{name}{count}``."""

    name: str
    count: int
    gpus: int
    nics: Nics
    first_stripe: int


@dataclass(frozen=True, slots=True)
class InlineModel:
    """A switch without a catalog entry, for sizing only."""

    ports: int
    speed_gbps: int


@dataclass(frozen=True, slots=True)
class TierIntent:
    """The switches of one tier: a catalog id or an inline model; counts are per plane."""

    model: str | InlineModel
    count: int | None
    downlink_gbps: int | None
    uplink_gbps: int | None


@dataclass(frozen=True, slots=True)
class Reserve:
    """Leaves and spines per plane that ports, addresses and AS numbers are laid out for."""

    leaves: int | None
    spines: int | None


@dataclass(frozen=True, slots=True)
class Topology:
    """The shape asked for. ``tiers`` is None, 2 or 3; ``rails`` None is the NICs of a node."""

    shape: Shape
    rails: int | None
    tiers: int | None
    planes: int
    oversubscription: Fraction | None
    stripe: int | None
    links_per_pair: int | None
    leaf: TierIntent
    spine: TierIntent
    super_spine: TierIntent | None
    reserve: Reserve


@dataclass(frozen=True, slots=True)
class Cable:
    """Cable length in metres and media id of the catalog (None is the cheapest that fits)."""

    length_m: int
    media: str | None


@dataclass(frozen=True, slots=True)
class Cabling:
    """Cables of the host links and of the leaf-spine links."""

    host: Cable
    leaf_spine: Cable


@dataclass(frozen=True, slots=True)
class Intent:
    """One intent file. ``places`` maps an intent path (``topology.spine.count``, ``nodes[0].nics.speed``) to where it
    stands in the file; ``sha256`` is of the file's bytes."""

    fabric: str
    workload: Workload
    nodes: tuple[Nodes, ...]
    topology: Topology
    policies: Policies
    cabling: Cabling
    places: Mapping[str, Where] = field(repr=False)
    file: str
    sha256: str

    def where(self, path: str) -> Where:
        """Return the place of ``path``, or of its nearest parent that stands in the file."""
        while path:
            if path in self.places:
                place = self.places[path]
                return Where(place.file, place.line, place.column, path)
            path = parent(path)
        return Where(self.file, 1, 1, "")
