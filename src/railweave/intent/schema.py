"""The keys of an intent file, with their kinds and defaults.

Nodes and the shape of the fabric are values themselves (``model``); the keys here become the policies of the fabric.
Used only where a file is read.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from railweave.catalog.load import load_catalog
from railweave.diagnostics import Where
from railweave.fabric.policy import (
    AddressFamily,
    Addressing,
    BgpPolicy,
    BufferModel,
    ClassRole,
    HostPolicy,
    Ipv6Pool,
    LoadBalancing,
    Marking,
    Mtu,
    NetworkBackend,
    Overrides,
    Policies,
    Pool,
    SonicPolicy,
    TrafficClass,
    Transport,
    WatchdogAction,
    WatchdogPolicy,
)
from railweave.fabric.releases import DEFAULT_RELEASE, RELEASES
from railweave.intent.acceptance import AcceptanceKeys
from railweave.intent.cabling import Cabling
from railweave.intent.fabric_keys import with_fabrics
from railweave.intent.floors import FailureKeys
from railweave.intent.keys import Keys, default, key, section, unset
from railweave.intent.kinds import CodePoints, Entry, FieldValue, Flag, Text, Whole, Word
from railweave.intent.links import LinkKeys
from railweave.intent.management import ManagementKeys
from railweave.intent.model import ClassName, FabricName, Intent, Nodes, Topology, Workload
from railweave.intent.notations import Ipv6Prefix, Prefix, Release
from railweave.intent.presets import PresetName, marking_of, preset_classes
from railweave.intent.racks import Racks
from railweave.intent.telemetry import TelemetryKeys
from railweave.intent.tenants import TenantKeys

SCHEMA_ID = "urn:railweave:intent:1"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"

Interface = Annotated[
    str | None, Text(what="an interface name", pattern=r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}", example="eno1")
]
AsNumber = Annotated[int, Whole(least=1, most=4_294_967_295)]
MtuBytes = Annotated[int, Whole(least=68, most=9216)]

# DSCP 26 for RoCE and 48 for notifications are the defaults of most vendors.
DEFAULT_CLASSES: tuple[dict[str, Any], ...] = (
    {"name": "roce", "role": "rdma", "dscp": [26], "lossless": True, "priority": 3, "share": 90},
    {"name": "cnp", "role": "cnp", "dscp": [48], "priority": 6, "strict": True},
    {"name": "best-effort", "role": "bulk", "dscp": "default", "priority": 0, "share": 10},
)

USUAL_ROLES: Mapping[str, ClassRole] = {
    "roce": ClassRole.RDMA,
    "rocev2": ClassRole.RDMA,
    "rdma": ClassRole.RDMA,
    "cnp": ClassRole.CNP,
    "control": ClassRole.CONTROL,
    "network-control": ClassRole.CONTROL,
    "routing": ClassRole.CONTROL,
    "bgp": ClassRole.CONTROL,
    "storage": ClassRole.STORAGE,
    "nvme": ClassRole.STORAGE,
    "nfs": ClassRole.STORAGE,
    "best-effort": ClassRole.BULK,
    "bulk": ClassRole.BULK,
    "default": ClassRole.BULK,
    "management": ClassRole.BULK,
    "scavenger": ClassRole.BULK,
}
"""The role of a class that names none, by its name."""


class Underlay(StrEnum):
    """How leaf-spine links are addressed: a /31 each (RFC 3021), or IPv6 link-local next hops (RFC 8950)."""

    NUMBERED = "numbered"
    UNNUMBERED = "unnumbered"


class AsnKeys(Keys):
    """The first AS number of each tier (RFC 7938 section 5.2.1, private ranges of RFC 6996)."""

    leaf: AsNumber = default(4_210_000_000, "AS number of the first leaf; every leaf has its own")
    spine: AsNumber = default(4_200_001_000, "AS number that the spines of a pod and plane share")
    super_spine: AsNumber = default(4_200_000_000, "AS number of the super-spines of a plane")


class AddressingKeys(Keys):
    """Address pools and AS numbers; every identity is a position in them."""

    underlay: Annotated[Underlay, Word(words=Underlay, what="kind of underlay")] = default(
        "numbered", "numbered: a /31 a link (RFC 3021); unnumbered: IPv6 next hops (RFC 8950)"
    )
    loopbacks: Annotated[Pool, Prefix()] = default(
        "10.255.0.0/16", "loopbacks: leaves in the lower half, spines in the upper, super-spines from its end down"
    )
    links: Annotated[Pool, Prefix()] = default("10.192.0.0/11", "a /31 for every leaf-spine link")
    hosts: Annotated[Pool | None, Prefix(optional=True)] = default(
        "10.32.0.0/11",
        "IPv4 addresses of the nodes: a block a leaf, a /31 a host link; none: the nodes have IPv6 alone (hosts_ipv6)",
    )
    hosts_ipv6: Annotated[Ipv6Pool, Ipv6Prefix()] | None = unset(
        "IPv6 addresses of the nodes: a /64 a leaf, a /127 an access link; on an unnumbered underlay"
    )
    nics: Annotated[Pool, Prefix()] = default(
        "10.64.0.0/11",
        "topology.leaves_per_nic above 1: a /32 for every NIC and plane, which all leaves of the NIC announce",
    )
    core: Annotated[Pool, Prefix()] = default(
        "10.224.0.0/12", "three tiers: a /31 for every link between spines and super-spines"
    )
    asn: AsnKeys = section(AsnKeys, "the first AS number of each tier")

    def policy(self) -> Addressing:
        """Return the pools and AS number bases."""
        return Addressing(
            unnumbered=self.underlay is Underlay.UNNUMBERED,
            loopbacks=self.loopbacks,
            links=self.links,
            hosts=self.hosts,
            core=self.core,
            leaf_asn=self.asn.leaf,
            spine_asn=self.asn.spine,
            super_spine_asn=self.asn.super_spine,
            hosts_ipv6=self.hosts_ipv6,
            nics=self.nics,
        )


class BgpKeys(Keys):
    """How BGP sessions notice that the other end is gone: timers in seconds (RFC 4271 section 4.4), and BFD."""

    keepalive_s: Annotated[int, Whole(least=1, most=21_845)] = default(3, "seconds between keepalives", "keepalive")
    hold_s: Annotated[int, Whole(least=3, most=65_535)] = default(
        9, "seconds without a keepalive after which a session falls; at least three keepalives", "hold"
    )
    bfd: Annotated[bool, Flag()] = default(
        False, "BFD watches every session: 3 packets missed, 300 ms apart, end it; SONiC 202505 and later"
    )


class EcnKeys(Keys):
    """ECN marking of the queue of a lossless class, or of lossy RDMA; 1 KB is 1000 bytes."""

    min_kb: Annotated[int, Whole(least=1, most=2_000_000)] = key(
        "queue depth at which marking starts, in KB (1000 bytes)"
    )
    max_kb: Annotated[int, Whole(least=1, most=2_000_000)] = key(
        "queue depth from which every packet is marked, in KB (1000 bytes)"
    )
    probability: Annotated[int | None, Whole(least=1, most=100, auto=True)] = default(
        "auto", "percent of packets that are marked just below max_kb"
    )


class ClassKeys(Keys):
    """A traffic class."""

    name: ClassName = key("name of the class")
    role: Annotated[ClassRole | None, Word(words=ClassRole, what="role of a class", auto=True)] = default(
        "auto", "what the class carries; auto goes by the name where it is a usual one"
    )
    dscp: Annotated[tuple[int, ...] | None, CodePoints()] = key(
        "code points of the class, or default for all that no other class names"
    )
    lossless: Annotated[bool, Flag()] = default(False, "paused by PFC instead of dropped")
    priority: Annotated[int, Whole(least=0, most=7)] = key(
        "traffic class and queue; of a lossless class also priority group and PFC priority"
    )
    strict: Annotated[bool, Flag()] = default(
        False, "served before all classes that have a share; of role cnp and control up to 10 % of the port"
    )
    share: Annotated[int, Whole(least=0, most=100)] = default(0, "percent of the bandwidth that strict classes leave")
    ecn: EcnKeys | None = unset(
        "ECN thresholds of a lossless class, or of lossy RDMA; by default they follow from preset or port speed"
    )
    transport: Annotated[Transport | None, Word(words=Transport, what="transport", auto=True)] = default(
        "auto",
        "of role rdma: roce-lossless with PFC, roce-lossy without; auto is roce-lossless where the class is lossless",
    )

    def policy(self) -> TrafficClass:
        """Return the traffic class."""
        ecn = None
        if self.ecn:
            # The key's KB is 1000 bytes.
            ecn = Marking(self.ecn.min_kb * 1000, self.ecn.max_kb * 1000, self.ecn.probability)
        return TrafficClass(
            name=self.name,
            role=self.role or USUAL_ROLES[self.name],
            dscp=self.dscp or (),
            is_default=self.dscp is None,
            lossless=self.lossless,
            priority=self.priority,
            strict=self.strict,
            share_percent=self.share,
            ecn=ecn,
            transport=self.transport,
        )


class WatchdogKeys(Keys):
    """The PFC watchdog: a queue that is paused too long counts as a storm."""

    enabled: Annotated[bool, Flag()] = default(True, "watch the lossless queues of every used port")
    detection_ms: Annotated[int | None, Whole(least=100, most=5000, auto=True)] = default(
        "auto", "milliseconds of pause that are a storm; auto is 200 for each 32 ports of the switch"
    )
    restoration_ms: Annotated[int | None, Whole(least=100, most=60_000, auto=True)] = default(
        "auto", "milliseconds without pause after which the queue is restored; auto is the detection time"
    )
    poll_ms: Annotated[int | None, Whole(least=100, most=3000, auto=True)] = default(
        "auto", "milliseconds between two looks at all queues, at most the other two times"
    )
    action: Annotated[WatchdogAction, Word(words=WatchdogAction, what="watchdog action")] = default(
        "drop", "what happens to the packets of a stormed queue"
    )


class SonicKeys(Keys):
    """What the switches run."""

    release: Annotated[str, Release()] = default(
        DEFAULT_RELEASE, f"SONiC branch that the switches run: {', '.join(RELEASES)}; another is treated as the nearest"
    )
    buffer_model: Annotated[BufferModel | None, Word(words=BufferModel, what="buffer model", auto=True)] = default(
        "auto", "traditional: headroom from a table; dynamic: the switch computes it; auto is what the platform ships"
    )
    acl_rules: Annotated[int | None, Whole(least=16, most=65_536, auto=True)] = default(
        "auto", "rules that an ingress ACL table of the leaves holds; auto is what the catalog states of their ASIC"
    )


class MtuKeys(Keys):
    """IP MTU in bytes."""

    fabric_bytes: MtuBytes = default(9100, "IP MTU of the switches' ports in bytes", "fabric")
    hosts_bytes: MtuBytes = default(9000, "IP MTU of the nodes' fabric NICs in bytes", "hosts")


def _nic_vendors() -> tuple[str, ...]:
    return load_catalog().vendor_ids()


class HostsKeys(Keys):
    """How the GPU nodes are set up."""

    vendor: Annotated[str | None, Entry(ids=_nic_vendors, what="NIC vendor", auto=True)] = default(
        "auto", "whose tools set the NICs; auto follows the NIC model"
    )
    manage: Annotated[bool, Flag()] = default(False, "the nodes are planned and changed, not only rendered")
    network: Annotated[NetworkBackend, Word(words=NetworkBackend, what="network configuration of a node")] = default(
        "networkd", "what configures the nodes' interfaces"
    )
    frontend: Interface = unset("front-end interface, on which NCCL finds its peers")
    qps_per_connection: Annotated[int | None, Whole(least=1, most=128)] = unset(
        "queue pairs of an NCCL connection, 1 by NCCL's default; each takes a path of its own"
    )
    rdma_family: Annotated[AddressFamily | None, Word(words=AddressFamily, what="family of addresses", auto=True)] = (
        default("auto", "addresses that RDMA and NCCL use; auto is IPv4 where nodes have both (addressing.hosts_ipv6)")
    )

    def policy(self, addressing: Addressing) -> HostPolicy:
        """Return the settings of nodes whose addresses are from the pools of ``addressing``."""
        rdma_family = self.rdma_family
        if rdma_family is None:
            rdma_family = AddressFamily.IPV6 if addressing.hosts is None else AddressFamily.IPV4
        return HostPolicy(
            vendor=self.vendor,
            manage=self.manage,
            network=self.network,
            frontend=self.frontend,
            queue_pairs=self.qps_per_connection,
            rdma_family=rdma_family,
        )


RowFields = dict[str, Annotated[str | tuple[str, ...], FieldValue()]]
ScopeRows = dict[str, dict[str, RowFields]]


class IntentKeys(Keys):
    """The intent: what one fabric should be."""

    fabric: FabricName = key("name of the fabric; begins the names of its devices, pod1-leaf1")
    workload: Workload = key("what the cluster is for")
    nodes: tuple[Nodes, ...] = Field(min_length=1, description="the GPU servers, one entry a kind")
    topology: Topology = key("the shape of the fabric and its switches")
    addressing: AddressingKeys = section(AddressingKeys, "address pools and AS numbers")
    bgp: BgpKeys = section(BgpKeys, "how BGP sessions notice that the other end is gone")
    preset: Annotated[PresetName | None, Word(words=PresetName, what="preset")] = unset(
        "published traffic classes and ECN thresholds of a vendor; traffic_classes replaces its classes"
    )
    traffic_classes: Annotated[tuple[ClassKeys, ...], Field(min_length=1)] = default(
        list(map(dict, DEFAULT_CLASSES)), "all traffic classes of the fabric"
    )
    pfc_watchdog: WatchdogKeys = section(WatchdogKeys, "the PFC watchdog of the switches")
    edge_guard: Annotated[bool, Flag()] = default(
        False, "leaves drop what nodes send with the notifications' DSCP and is neither RoCE, BGP nor ICMP"
    )
    load_balancing: Annotated[LoadBalancing, Word(words=LoadBalancing, what="load balancing")] = default(
        "hash", "how switches spread flows over equal paths; flowlet and packet are in no community release yet"
    )
    sonic: SonicKeys = section(SonicKeys, "what the switches run")
    mtu: MtuKeys = section(MtuKeys, "IP MTU of fabric and nodes")
    cabling: Cabling = section(Cabling, "lengths and media of the cables")
    failures: FailureKeys = section(FailureKeys, "what has to be left whatever fails")
    acceptance: AcceptanceKeys = section(AcceptanceKeys, "how the fabric is tested, and what passes")
    telemetry: TelemetryKeys = section(TelemetryKeys, "how the fabric is monitored")
    links: LinkKeys = section(LinkKeys, "when a cable is poor, and when it must leave service")
    racks: Racks | None = unset("where nodes and switches stand; gives each cable a length of its own")
    management: ManagementKeys | None = unset("the out-of-band management network: addresses and cables of its ports")
    hosts: HostsKeys = section(HostsKeys, "how the GPU nodes are set up")
    tenants: tuple[TenantKeys, ...] = default(
        [], "the teams that share the fabric: leaves let each node reach its tenant and those that this one reaches"
    )
    overrides: Mapping[str, ScopeRows] = Field(
        default={}, description="CONFIG_DB rows that railweave does not know, by role (leaf, spine) or device name"
    )

    def classes(self) -> tuple[TrafficClass, ...]:
        """Return the traffic classes that the intent lists, or those of its preset, or else the default ones."""
        if self.preset and "traffic_classes" not in self.model_fields_set:
            return preset_classes(self.preset)
        return tuple(entry.policy() for entry in self.traffic_classes)

    def policies(self) -> Policies:
        """Return everything that devices' configurations depend on besides their links.

        The fabric has frozen values of its own for them: it lies below the intent and is imported without pydantic.
        """
        addressing = self.addressing.policy()
        marking = marking_of(self.preset) if self.preset else None
        return Policies(
            classes=self.classes(),
            mtu=Mtu(**dict(self.mtu)),
            bgp=BgpPolicy(**dict(self.bgp)),
            addressing=addressing,
            overrides=Overrides(self.overrides),
            hosts=self.hosts.policy(addressing),
            watchdog=WatchdogPolicy(**dict(self.pfc_watchdog)),
            sonic=SonicPolicy(**dict(self.sonic)),
            marking=marking,
            edge_guard=self.edge_guard,
            floors=self.failures.floors(),
            acceptance=self.acceptance.policy(),
            telemetry=self.telemetry.policy(counts="telemetry" in self.model_fields_set),
            links=self.links.policy(),
            load_balancing=self.load_balancing,
            tenants=tuple(tenant.policy() for tenant in self.tenants),
        )

    def intent(self, places: Mapping[str, Where], file: str, sha256: str) -> Intent:
        """Return the intent with these keys; ``places`` and ``sha256`` are those of ``file``, which has them."""
        policies = self.policies()
        return Intent(
            fabric=self.fabric,
            workload=self.workload,
            nodes=self.nodes,
            topology=self.topology,
            policies=policies,
            cabling=self.cabling,
            places=places,
            file=file,
            sha256=sha256,
            racks=self.racks,
            management=self.management,
        )


class _FileSchema(GenerateJsonSchema):
    """JSON Schema of what may be written: a key is left out rather than null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        # 0 stands for a missing default, as None is one.
        if schema.get("default", 0) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an intent file, for editors and for checks without railweave."""
    schema = with_fabrics(IntentKeys.model_json_schema(schema_generator=_FileSchema))
    return {"$schema": _DIALECT, "$id": SCHEMA_ID, **schema, "title": "railweave intent"}
