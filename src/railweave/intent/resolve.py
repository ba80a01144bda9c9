"""Validated keys to the frozen intent: defaults filled in, nothing computed."""

from collections.abc import Mapping

from railweave.diagnostics import Where
from railweave.fabric.policy import (
    Addressing,
    BgpTimers,
    HostPolicy,
    Marking,
    Mtu,
    Overrides,
    Policies,
    SonicPolicy,
    TrafficClass,
    WatchdogPolicy,
)
from railweave.intent.model import (
    Cable,
    Cabling,
    Growth,
    InlineModel,
    Intent,
    Nics,
    Nodes,
    Reserve,
    TierIntent,
    Topology,
    Underlay,
    Workload,
)
from railweave.intent.presets import marking_of, preset_classes
from railweave.intent.rules import USUAL_ROLES
from railweave.intent.schema import (
    AddressingKeys,
    ClassKeys,
    EcnKeys,
    HostCableKeys,
    IntentKeys,
    LeafKeys,
    LeafSpineCableKeys,
    NodeKeys,
    TierKeys,
    TopologyKeys,
    WatchdogKeys,
    WorkloadKeys,
)


def resolve(keys: IntentKeys, places: Mapping[str, Where], file: str, sha256: str) -> Intent:
    """Return the intent that ``keys`` state; ``places`` and ``sha256`` are those of the file they were read from."""
    return Intent(
        fabric=keys.fabric,
        workload=_workload(keys.workload),
        nodes=tuple(_nodes(entry) for entry in keys.nodes),
        topology=_topology(keys.topology),
        policies=Policies(
            classes=_classes(keys),
            mtu=Mtu(keys.mtu.fabric, keys.mtu.hosts),
            bgp=BgpTimers(keys.bgp.keepalive, keys.bgp.hold),
            addressing=_addressing(keys.addressing),
            overrides=Overrides(keys.overrides),
            hosts=HostPolicy(keys.hosts.vendor, keys.hosts.manage, keys.hosts.network, keys.hosts.frontend),
            watchdog=_watchdog(keys.pfc_watchdog),
            sonic=SonicPolicy(keys.sonic.release, keys.sonic.buffer_model),
            marking=marking_of(keys.preset) if keys.preset else None,
        ),
        cabling=Cabling(_cable(keys.cabling.host), _cable(keys.cabling.leaf_spine)),
        places=places,
        file=file,
        sha256=sha256,
    )


def _workload(keys: WorkloadKeys) -> Workload:
    growth = Growth(keys.growth.gpus, keys.growth.months) if keys.growth else None
    return Workload(keys.kind, keys.gpus, growth)


def _nodes(keys: NodeKeys) -> Nodes:
    nics = Nics(
        count=keys.nics.count,
        speed_gbps=keys.nics.speed,
        ports=keys.nics.ports,
        model=keys.nics.model,
        pcie=keys.nics.pcie,
        pci_addresses=tuple(keys.nics.pci_addresses),
        rdma_devices=tuple(keys.nics.rdma_devices),
    )
    return Nodes(keys.name, keys.count, keys.gpus, nics, keys.first_stripe)


def _topology(keys: TopologyKeys) -> Topology:
    return Topology(
        shape=keys.shape,
        rails=keys.rails,
        tiers=keys.tiers,
        planes=keys.planes,
        oversubscription=keys.oversubscription,
        stripe=keys.stripe,
        links_per_pair=keys.links_per_pair,
        leaf=_tier(keys.leaf),
        spine=_tier(keys.spine),
        super_spine=_tier(keys.super_spine) if keys.super_spine else None,
        reserve=Reserve(keys.reserve.leaves, keys.reserve.spines),
    )


def _tier(keys: TierKeys) -> TierIntent:
    model = keys.model if keys.model is not None else InlineModel(keys.ports or 0, keys.speed or 0)
    if isinstance(keys, LeafKeys):
        return TierIntent(model, keys.count, keys.downlink_speed, keys.uplink_speed)
    return TierIntent(model, keys.count, None, None)


def _classes(keys: IntentKeys) -> tuple[TrafficClass, ...]:
    """Return the classes that the intent lists, else those of its preset, else the default ones."""
    if keys.preset and "traffic_classes" not in keys.model_fields_set:
        return preset_classes(keys.preset)
    return tuple(_traffic_class(entry) for entry in keys.traffic_classes)


def _traffic_class(keys: ClassKeys) -> TrafficClass:
    return TrafficClass(
        name=keys.name,
        role=keys.role or USUAL_ROLES[keys.name],
        dscp=keys.dscp or (),
        is_default=keys.dscp is None,
        lossless=keys.lossless,
        priority=keys.priority,
        strict=keys.strict,
        share_percent=keys.share,
        ecn=_marking(keys.ecn) if keys.ecn else None,
    )


def _marking(keys: EcnKeys) -> Marking:
    return Marking(keys.min_kb * 1000, keys.max_kb * 1000, keys.probability)


def _watchdog(keys: WatchdogKeys) -> WatchdogPolicy:
    return WatchdogPolicy(keys.enabled, keys.detection_ms, keys.restoration_ms, keys.poll_ms, keys.action)


def _addressing(keys: AddressingKeys) -> Addressing:
    return Addressing(
        unnumbered=keys.underlay is Underlay.UNNUMBERED,
        loopbacks=keys.loopbacks,
        links=keys.links,
        hosts=keys.hosts,
        leaf_asn=keys.asn.leaf,
        spine_asn=keys.asn.spine,
        super_spine_asn=keys.asn.super_spine,
    )


def _cable(keys: HostCableKeys | LeafSpineCableKeys) -> Cable:
    return Cable(keys.length_m, keys.media)
