"""Rules of thumb for designs, each with its source. A design that does not meet one may have good reasons."""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.comparison.nic_choices import gpu_gbps
from railweave.design.ratios import RECOMMENDED_RATIO, ratio_text
from railweave.fabric.model import Fabric
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent, Shape, WorkloadKind
from railweave.wording import counted

FEWEST_SPINES = 4
TWO_TIERS_HOLD_GPUS = 1000
"""Above about so many GPUs guides advise a third tier (five stages), unless rails or planes divide the fabric."""

MOST_LEFT_PERCENT = 5
"""Ports of a switch that a full design leaves free, in percent: 95 % of the ports are used."""


GPU_GBPS = {
    WorkloadKind.PRETRAINING: 400,
    WorkloadKind.MIXED: 400,
    WorkloadKind.FINE_TUNING: 200,
    WorkloadKind.INFERENCE: 200,
}
"""What a GPU gets from the network at least, in Gb/s, by workload."""


class Guideline(NamedTuple):
    """A rule of thumb."""

    # For programs.
    key: str
    # What it asks for.
    name: str
    # What the design has.
    value: str
    # None where it does not apply.
    met: bool | None
    # Who asks for it.
    source: str


def guidelines(sizing: Sizing, fabric: Fabric | None, intent: Intent) -> tuple[Guideline, ...]:
    """Return every rule of thumb for a design. Those about ports in use are left out if it has no ``fabric``."""
    return tuple(_guidelines(sizing, fabric, intent))


def _guidelines(sizing: Sizing, fabric: Fabric | None, intent: Intent) -> Iterator[Guideline]:
    """Yield the rules of thumb of ``guidelines``."""
    yield _ratio(sizing, intent)
    yield _bandwidth(sizing, intent)
    yield _tiers(sizing, intent)
    yield _spines(sizing)
    if fabric is None:
        return
    for tier, used_percent in _used_percent(fabric):
        yield Guideline(
            key=f"{tier.replace('-', '_')}_ports",
            name=f"95 % of the ports of a {tier} in use",
            value=f"{int(used_percent)} %",
            met=used_percent >= 100 - MOST_LEFT_PERCENT,
            source="ports that carry nothing are paid for; a reserve for growth is a reason to have them",
        )


def _ratio(sizing: Sizing, intent: Intent) -> Guideline:
    """Return the rule about the oversubscription of a leaf. It does not apply without spines."""
    advised = RECOMMENDED_RATIO[intent.workload.kind]
    ratio = sizing.oversubscription.leaf
    value = "no spines"
    met = None
    if sizing.spines:
        value = f"{ratio_text(ratio)}, advised {ratio_text(advised)}"
        # Without collectives, as in a storage network, the ratio is the user's choice.
        if intent.carries_collectives:
            met = ratio <= advised
    return Guideline(
        key="ratio",
        name="oversubscription for the workload",
        value=value,
        met=met,
        source="what check RW209 recommends for the workload",
    )


def _bandwidth(sizing: Sizing, intent: Intent) -> Guideline:
    """Return the rule about the bandwidth of a GPU. It does not apply without GPUs."""
    least = GPU_GBPS[intent.workload.kind]
    gbps = gpu_gbps(intent)
    value = "no GPUs"
    met = None
    if gbps is not None:
        value = f"{gbps:,.4g}, advised {least}"
        # The GPUs of a single node do not need the network.
        if intent.carries_collectives and sizing.nodes > 1:
            met = gbps >= least
    return Guideline(
        key="gpu_bandwidth",
        name="Gb/s of a GPU for the workload",
        value=value,
        met=met,
        source="NVIDIA's Enterprise Reference Architectures: a 400G NIC for every H100, H200 or B200 "
        "(docs.nvidia.com/enterprise-reference-architectures/hgx-ai-factory-h100-h200-b200), one for two GPUs of an "
        "RTX PRO node (rtx-pro-ai-factory), 800G for every B300 or GB300 (hgx-ai-factory, nvl72-ai-factory). With "
        "less, GPUs wait: Tencent Cloud states up to half of a training step for communication, and 40 % more GPU "
        "utilization with 3.2 Tb/s a node, for clusters of up to 100,000 GPUs (26 June 2023)",
    )


def _tiers(sizing: Sizing, intent: Intent) -> Guideline:
    """Return the rule about tiers, rails and planes. It applies to large fabrics only."""
    rails = sizing.rails
    if intent.topology.shape is Shape.RACK_ALIGNED:
        # Its leaves belong to racks: the rails of the NICs divide nothing.
        rails = 1
    met = None
    if sizing.gpus > TWO_TIERS_HOLD_GPUS:
        met = sizing.tiers > 2 or rails > 1 or sizing.planes > 1
    return Guideline(
        key="tiers",
        name=f"3 tiers or rails above {TWO_TIERS_HOLD_GPUS:,} GPUs",
        value=", ".join((counted(sizing.tiers, "tier"), counted(rails, "rail"), counted(sizing.planes, "plane"))),
        met=met,
        source=(
            "guides of engineers advise five stages, or rails and planes that keep two tiers enough; NVIDIA's "
            "Enterprise Reference Architectures take super-spines for large numbers of endpoints (docs.nvidia.com/"
            "enterprise-reference-architectures/nvl72-ai-factory, network logical architecture)"
        ),
    )


def _spines(sizing: Sizing) -> Guideline:
    """Return the rule about the spines of a plane."""
    spines_per_plane = 0
    met = None
    # A fabric of one tier has no spines, and the rule does not apply to it.
    if sizing.spines:
        spines_per_plane = sizing.spines // sizing.planes
        met = spines_per_plane >= FEWEST_SPINES
    return Guideline(
        key="spines",
        name=f"{FEWEST_SPINES} spines or more a plane",
        value=f"{spines_per_plane:,}",
        met=met,
        source=(
            "Juniper's validated designs (github.com/Juniper/jvd): two spines showed PFC storms when links failed (T-7)"
        ),
    )


def _used_percent(fabric: Fabric) -> Iterator[tuple[str, float]]:
    """Yield the name of each tier with the percentage of its switches' ports that are cabled."""
    for tier, switches in zip(fabric.tiers, fabric.tier_switches, strict=True):
        ports = sum(len(switch.panel.ports) for switch in switches)
        cabled = sum(len(fabric.links_of[switch.name]) for switch in switches)
        if ports:
            yield tier.name, 100 * cabled / ports
