"""The keys of an intent file: which there are, what they take, what they default to (design.md section 3).

Used only where a file is read; everything after works on ``railweave.intent.model``. Every key has a description,
because editors show it through the JSON Schema.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from railweave.catalog.load import load_catalog
from railweave.fabric.policy import (
    LATEST_RELEASE,
    BufferModel,
    ClassRole,
    NetworkBackend,
    Pool,
    WatchdogAction,
)
from railweave.intent.kinds import CodePoints, Entry, FieldValue, Flag, Prefix, Ratio, Release, Speed, Text, Whole, Word
from railweave.intent.model import Shape, Underlay, WorkloadKind
from railweave.intent.presets import PresetName

SCHEMA_ID = "urn:railweave:intent:1"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NAME = r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?"
_NAME_RULE = "write lower-case letters, digits and hyphens, a letter first, at most 40; it becomes part of host names"

FabricName = Annotated[str, Text(what="a fabric name", pattern=_NAME, example="pod1", rule=_NAME_RULE)]
NodeName = Annotated[str, Text(what="a node name", pattern=_NAME, example="gpu", rule=_NAME_RULE)]
ClassName = Annotated[str, Text(what="a class name", pattern=_NAME, example="roce", rule=_NAME_RULE)]
Gpus = Annotated[int, Whole(least=1, most=10_000_000)]
SwitchId = Annotated[str | None, Text(what="a switch model id", example="nokia-ixr7220-h4-64d")]
NicId = Annotated[str, Text(what="a NIC model id", example="connectx-7")]
PcieId = Annotated[str, Text(what="a PCIe slot id", example="gen5x16")]
MediaId = Annotated[str | None, Text(what="a media id", auto=True)]
PciAddress = Annotated[
    str, Text(what="a PCI address", pattern=r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]", example="0000:1a:00.0")
]
RdmaDevice = Annotated[str, Text(what="an RDMA device", pattern=r"[A-Za-z][A-Za-z0-9_-]{0,62}", example="mlx5_0")]
Interface = Annotated[
    str | None, Text(what="an interface name", pattern=r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}", example="eno1")
]
AutoCount = Annotated[int | None, Whole(least=1, most=4096, auto=True)]
AutoSpeed = Annotated[int | None, Speed(auto=True)]
AsNumber = Annotated[int, Whole(least=1, most=4_294_967_295)]
MtuBytes = Annotated[int, Whole(least=68, most=9216)]
LengthM = Annotated[int, Whole(least=1, most=10_000)]

DEFAULT_CLASSES: tuple[dict[str, Any], ...] = (
    {"name": "roce", "role": "rdma", "dscp": [26], "lossless": True, "priority": 3, "share": 90},
    {"name": "cnp", "role": "cnp", "dscp": [48], "priority": 6, "strict": True},
    {"name": "best-effort", "role": "bulk", "dscp": "default", "priority": 0, "share": 10},
)


def _default(written: object, description: str) -> Any:
    """Return a key that may be left out; ``written`` is its default as a file would say it, and is read like it."""
    return Field(default=written, description=description)


class Keys(BaseModel):
    """A mapping of known keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, defer_build=True)


class GrowthKeys(Keys):
    """What must fit later; a fabric that cannot grow to it is refused."""

    gpus: Gpus = Field(description="GPUs that the fabric must be able to grow to")
    months: Annotated[int | None, Whole(least=1, most=240)] = Field(
        default=None, validate_default=False, description="until when, in months; for people"
    )


class WorkloadKeys(Keys):
    """What the cluster is for."""

    kind: Annotated[WorkloadKind, Word(words=WorkloadKind, what="kind of workload")] = Field(
        description="what runs on the cluster; chooses the automatic oversubscription"
    )
    gpus: Gpus | None = Field(default=None, description="GPUs of the cluster, checked against the nodes")
    growth: GrowthKeys | None = Field(default=None, description="what must fit later")


class NicKeys(Keys):
    """The fabric NICs of one node; those of storage and front end are not listed."""

    count: Annotated[int, Whole(least=1, most=64)] = Field(description="fabric NICs of a node")
    speed: Annotated[int, Speed()] = Field(description="speed of one port of the NIC, like 400G")
    ports: Annotated[int, Whole(least=1, most=8)] = _default(1, "ports of one NIC")
    model: NicId = Field(description="NIC model of the catalog, like connectx-7")
    pcie: PcieId = _default("gen5x16", "PCIe slot that carries the NIC")
    pci_addresses: list[PciAddress] = _default([], "PCI addresses of the NICs, one each; they pin interface names")
    rdma_devices: list[RdmaDevice] = _default(
        [], "RDMA devices of the ports, NIC by NIC; by default the vendor's names from 0 on, like mlx5_0"
    )


class NodeKeys(Keys):
    """One kind of GPU server: hosts NAME1 to NAMEn."""

    name: NodeName = Field(description="name of the kind; hosts are NAME1 to NAMEn")
    count: Annotated[int, Whole(least=1, most=65_536)] = Field(description="servers of this kind")
    gpus: Annotated[int, Whole(least=1, most=1024)] = Field(description="GPUs of one server")
    nics: NicKeys = Field(description="the fabric NICs of one server")
    first_stripe: Annotated[int, Whole(least=0, most=4095)] = _default(
        0,
        "first stripe of these nodes, from 0; required from the second entry on, so that each has its own",
    )


class TierKeys(Keys):
    """The switches of one tier: a catalog model, or ports and speed for sizing without one."""

    model: SwitchId = Field(default=None, validate_default=False, description="switch model of the catalog")
    ports: Annotated[int | None, Whole(least=2, most=1024)] = Field(
        default=None, validate_default=False, description="ports of a switch without a catalog model"
    )
    speed: Annotated[int | None, Speed()] = Field(
        default=None, validate_default=False, description="port speed of a switch without a catalog model"
    )
    count: AutoCount = _default("auto", "switches of this tier in one plane")


class LeafKeys(TierKeys):
    """The leaves; the speeds choose the breakout of their ports."""

    downlink_speed: AutoSpeed = _default("auto", "speed of the ports to the nodes; auto is the NIC's")
    uplink_speed: AutoSpeed = _default("auto", "speed of the ports to the spines; auto is the NIC's")


class ReserveKeys(Keys):
    """How many switches of one plane ports, addresses and AS numbers are laid out for."""

    leaves: AutoCount = _default("auto", "leaves of one plane that there is room for")
    spines: AutoCount = _default("auto", "spines of one plane that there is room for")


class TopologyKeys(Keys):
    """The shape of the fabric."""

    shape: Annotated[Shape, Word(words=Shape, what="shape of a fabric")] = _default(
        "rail-optimized", "how nodes meet leaves"
    )
    rails: Annotated[int | None, Whole(least=1, most=64, auto=True)] = _default("auto", "rails; auto is one a NIC")
    tiers: Annotated[int | None, Whole(least=2, most=3, auto=True)] = _default("auto", "tiers of switches, 2 or 3")
    planes: Annotated[int, Whole(least=1, most=8)] = _default(
        1, "disjoint copies of the fabric; port p of a NIC goes to plane p modulo planes"
    )
    oversubscription: Annotated[Fraction | None, Ratio(auto=True)] = _default(
        "auto",
        "downlink to uplink bandwidth of a leaf; auto: pretraining 1:1, mixed and fine-tuning 1.5:1, inference 2:1",
    )
    stripe: Annotated[int | None, Whole(least=1, most=4096, auto=True)] = _default(
        "auto", "nodes that share one set of leaves"
    )
    links_per_pair: Annotated[int | None, Whole(least=1, most=512, auto=True)] = _default(
        "auto", "parallel links between one leaf and one spine"
    )
    leaf: LeafKeys = Field(description="the switches that the nodes plug into")
    spine: TierKeys = Field(description="the switches that join the leaves")
    super_spine: TierKeys | None = Field(default=None, description="the switches that join pods, in three tiers")
    reserve: ReserveKeys = Field(
        default_factory=ReserveKeys, description="what ports, addresses and AS numbers are laid out for"
    )


class AsnKeys(Keys):
    """The first AS number of each tier (RFC 7938 section 5.2.1, private ranges of RFC 6996)."""

    leaf: AsNumber = _default(4_210_000_000, "AS number of the first leaf; every leaf has its own")
    spine: AsNumber = _default(4_200_001_000, "AS number that the spines of a pod and plane share")
    super_spine: AsNumber = _default(4_200_000_000, "AS number of the super-spines of a plane")


class AddressingKeys(Keys):
    """Address pools and AS numbers; every identity is a position in them."""

    underlay: Annotated[Underlay, Word(words=Underlay, what="kind of underlay")] = _default(
        "numbered", "numbered: a /31 a link (RFC 3021); unnumbered: IPv6 next hops (RFC 8950)"
    )
    loopbacks: Annotated[Pool, Prefix()] = _default(
        "10.255.0.0/16", "loopbacks: leaves in the lower half, spines in the upper"
    )
    links: Annotated[Pool, Prefix()] = _default("10.192.0.0/11", "a /31 for every leaf-spine link")
    hosts: Annotated[Pool, Prefix()] = _default("10.32.0.0/11", "a block a leaf, a /31 a host link")
    asn: AsnKeys = Field(default_factory=AsnKeys, description="the first AS number of each tier")


class BgpKeys(Keys):
    """BGP timers in seconds (RFC 4271 section 4.4)."""

    keepalive: Annotated[int, Whole(least=1, most=21_845)] = _default(3, "seconds between keepalives")
    hold: Annotated[int, Whole(least=3, most=65_535)] = _default(
        9, "seconds without a keepalive after which a session falls; at least three keepalives"
    )


class EcnKeys(Keys):
    """ECN marking of a lossless class's queue; 1 KB is 1000 bytes."""

    min_kb: Annotated[int, Whole(least=1, most=2_000_000)] = Field(
        description="queue depth at which marking starts, in KB (1000 bytes)"
    )
    max_kb: Annotated[int, Whole(least=1, most=2_000_000)] = Field(
        description="queue depth from which every packet is marked, in KB (1000 bytes)"
    )
    probability: Annotated[int | None, Whole(least=1, most=100, auto=True)] = _default(
        "auto", "percent of packets that are marked just below max_kb"
    )


class ClassKeys(Keys):
    """A traffic class."""

    name: ClassName = Field(description="name of the class")
    role: Annotated[ClassRole | None, Word(words=ClassRole, what="role of a class", auto=True)] = _default(
        "auto", "what the class carries; auto goes by the name where it is a usual one"
    )
    dscp: Annotated[tuple[int, ...] | None, CodePoints()] = Field(
        description="code points of the class, or default for all that no other class names"
    )
    lossless: Annotated[bool, Flag()] = _default(False, "paused by PFC instead of dropped")
    priority: Annotated[int, Whole(least=0, most=7)] = Field(
        description="traffic class and queue; of a lossless class also priority group and PFC priority"
    )
    strict: Annotated[bool, Flag()] = _default(False, "served before all classes that have a share")
    share: Annotated[int, Whole(least=0, most=100)] = _default(0, "percent of the bandwidth that strict classes leave")
    ecn: EcnKeys | None = Field(
        default=None, description="ECN thresholds of a lossless class; by default they follow from preset or port speed"
    )


class WatchdogKeys(Keys):
    """The PFC watchdog: a queue that stands paused too long is taken for a storm."""

    enabled: Annotated[bool, Flag()] = _default(True, "watch the lossless queues of every used port")
    detection_ms: Annotated[int | None, Whole(least=100, most=5000, auto=True)] = _default(
        "auto", "milliseconds of pause that are a storm; auto is 200 for each 32 ports of the switch"
    )
    restoration_ms: Annotated[int | None, Whole(least=100, most=60_000, auto=True)] = _default(
        "auto", "milliseconds without pause after which the queue is restored; auto is the detection time"
    )
    poll_ms: Annotated[int | None, Whole(least=100, most=3000, auto=True)] = _default(
        "auto", "milliseconds between two looks at all queues, at most the other two times"
    )
    action: Annotated[WatchdogAction, Word(words=WatchdogAction, what="watchdog action")] = _default(
        "drop", "what happens to the packets of a stormed queue"
    )


class SonicKeys(Keys):
    """What the switches run."""

    release: Annotated[str, Release()] = _default(LATEST_RELEASE, "SONiC branch of the switches, like 202505")
    buffer_model: Annotated[BufferModel | None, Word(words=BufferModel, what="buffer model", auto=True)] = _default(
        "auto", "traditional: headroom from a table; dynamic: the switch computes it; auto is what the platform ships"
    )


class MtuKeys(Keys):
    """IP MTU in bytes."""

    fabric: MtuBytes = _default(9100, "IP MTU of the switches' ports in bytes")
    hosts: MtuBytes = _default(9000, "IP MTU of the nodes' fabric NICs in bytes")


def _nic_vendors() -> tuple[str, ...]:
    return load_catalog().vendor_ids()


class HostsKeys(Keys):
    """How the GPU nodes are set up."""

    vendor: Annotated[str | None, Entry(ids=_nic_vendors, what="NIC vendor", auto=True)] = _default(
        "auto", "whose tools set the NICs; auto follows the NIC model"
    )
    manage: Annotated[bool, Flag()] = _default(False, "the nodes are planned and changed, not only rendered")
    network: Annotated[NetworkBackend, Word(words=NetworkBackend, what="network configuration of a node")] = _default(
        "networkd", "what configures the nodes' interfaces"
    )
    frontend: Interface = Field(
        default=None, validate_default=False, description="front-end interface, on which NCCL finds its peers"
    )


class HostCableKeys(Keys):
    """The cables between nodes and leaves."""

    length_m: LengthM = _default(20, "longest cable in metres")
    media: MediaId = _default("auto", "media id of the catalog; auto is the cheapest that fits")


class LeafSpineCableKeys(Keys):
    """The cables between leaves and spines."""

    length_m: LengthM = _default(30, "longest cable in metres")
    media: MediaId = _default("auto", "media id of the catalog; auto is the cheapest that fits")


class CablingKeys(Keys):
    """Lengths and media of the cables."""

    host: HostCableKeys = Field(default_factory=HostCableKeys, description="cables between nodes and leaves")
    leaf_spine: LeafSpineCableKeys = Field(
        default_factory=LeafSpineCableKeys, description="cables between leaves and spines"
    )


RowFields = dict[str, Annotated[str | tuple[str, ...], FieldValue()]]
ScopeRows = dict[str, dict[str, RowFields]]


class IntentKeys(Keys):
    """The intent: what one fabric should be."""

    fabric: FabricName = Field(description="name of the fabric; begins the names of its devices, pod1-leaf1")
    workload: WorkloadKeys = Field(description="what the cluster is for")
    nodes: list[NodeKeys] = Field(min_length=1, description="the GPU servers, one entry a kind")
    topology: TopologyKeys = Field(description="the shape of the fabric and its switches")
    addressing: AddressingKeys = Field(default_factory=AddressingKeys, description="address pools and AS numbers")
    bgp: BgpKeys = Field(default_factory=BgpKeys, description="BGP timers")
    preset: Annotated[PresetName | None, Word(words=PresetName, what="preset")] = Field(
        default=None,
        validate_default=False,
        description="published traffic classes and ECN thresholds of a vendor; traffic_classes replaces its classes",
    )
    traffic_classes: Annotated[list[ClassKeys], Field(min_length=1)] = _default(
        [dict(one) for one in DEFAULT_CLASSES], "all traffic classes of the fabric"
    )
    pfc_watchdog: WatchdogKeys = Field(default_factory=WatchdogKeys, description="the PFC watchdog of the switches")
    sonic: SonicKeys = Field(default_factory=SonicKeys, description="what the switches run")
    mtu: MtuKeys = Field(default_factory=MtuKeys, description="IP MTU of fabric and hosts")
    cabling: CablingKeys = Field(default_factory=CablingKeys, description="lengths and media of the cables")
    hosts: HostsKeys = Field(default_factory=HostsKeys, description="how the GPU nodes are set up")
    overrides: Mapping[str, ScopeRows] = Field(
        default={}, description="CONFIG_DB rows that railweave does not know, by role (leaf, spine) or device name"
    )


class _FileSchema(GenerateJsonSchema):
    """JSON Schema of what may be written: a key is left out rather than null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", 0) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an intent file, for editors and for checks without railweave."""
    schema = IntentKeys.model_json_schema(schema_generator=_FileSchema)
    return {"$schema": _DIALECT, "$id": SCHEMA_ID, **schema, "title": "railweave intent"}
