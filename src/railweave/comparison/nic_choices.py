"""The NICs of GPU nodes for a workload: how many for each GPU, how fast, and which model.

Reference architectures give every GPU of a training node a NIC of its own, and two GPUs of an inference or fine-tuning
node one between them (NVIDIA's Enterprise Reference Architectures: docs.nvidia.com/enterprise-reference-architectures,
HGX AI factory and RTX PRO AI factory).
"""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.catalog.nics import NicModel, NicPorts
from railweave.intent.model import Intent, WorkloadKind
from railweave.units import format_speed

GPUS_OF_A_NIC = {
    WorkloadKind.PRETRAINING: (1,),
    WorkloadKind.MIXED: (1,),
    WorkloadKind.FINE_TUNING: (1, 2),
    WorkloadKind.INFERENCE: (1, 2),
}
"""How many GPUs share a NIC, by workload."""


class NicChoice(NamedTuple):
    """The NICs of each node: how many there are, and how they are used."""

    per_node: int
    # Ports of one NIC, one to each plane, and their speed.
    ports: int
    speed_gbps: int
    model: str

    def __str__(self) -> str:
        """Return the choice in a few words: ``8 × 2 × 400G``."""
        speed = format_speed(self.speed_gbps)
        if self.ports > 1:
            return f"{self.per_node} × {self.ports} × {speed}"
        return f"{self.per_node} × {speed}"

    @property
    def total_gbps(self) -> int:
        """Return the bandwidth of all NICs of a node."""
        return self.per_node * self.ports * self.speed_gbps


def nic_choices(intent: Intent, catalog: Catalog) -> tuple[NicChoice, ...]:
    """Return the NICs to try for the workload, the most bandwidth of a node first.

    There is one choice for each number of NICs and each bandwidth of a NIC, of the vendor that the intent has.
    """
    nodes = intent.nodes[0]
    modes = _best_modes(nodes.nics.model, catalog)
    counts: set[int] = set()
    choices = []
    for gpus_of_nic in GPUS_OF_A_NIC[intent.workload.kind]:
        per_node = nodes.gpus // gpus_of_nic
        if per_node and per_node not in counts:
            counts.add(per_node)
            for model, port_mode in modes:
                choices.append(NicChoice(per_node, port_mode.ports, port_mode.speed_gbps, model))
    return tuple(sorted(choices, key=lambda choice: (-choice.total_gbps, -choice.per_node)))


def gpu_gbps(intent: Intent) -> float | None:
    """Return the Gb/s of the NICs for each GPU in the first kind of nodes with GPUs; None without GPUs."""
    for nodes in intent.nodes:
        if nodes.gpus:
            return nodes.nics.count * nodes.nics.ports * nodes.nics.speed_gbps / nodes.gpus
    return None


class _NicMode(NamedTuple):
    """A NIC model in one of its port modes."""

    model: str
    port_mode: NicPorts


def _best_modes(own: str | None, catalog: Catalog) -> list[_NicMode]:
    """Return the best mode for each bandwidth of a NIC: that with the fewest ports.

    Of equal modes that of ``own``, the model of the intent, is taken, else that of the first model. Only models of the
    same vendor are compared, or those of all vendors if the intent has no model.
    """
    vendor = catalog.vendor_of(own)
    best: dict[int, _NicMode] = {}
    for model in catalog.nic_ids():
        if vendor is not None and catalog.vendor_of(model) != vendor:
            continue
        for port_mode in _full_speed_modes(catalog.nic(model)):
            mode = _NicMode(model, port_mode)
            total_gbps = port_mode.ports * port_mode.speed_gbps
            if total_gbps not in best or _rank(mode, own) < _rank(best[total_gbps], own):
                best[total_gbps] = mode
    return list(best.values())


def _rank(mode: _NicMode, own: str | None) -> tuple[int, bool, str]:
    """Return the sort key of a mode, the best first; ``own`` is the model of the intent."""
    return mode.port_mode.ports, mode.model != own, mode.model


def _full_speed_modes(nic: NicModel) -> Iterator[NicPorts]:
    """Yield the modes of a NIC in which all ports together carry the sum of their speeds."""
    for mode in nic.combinations:
        if nic.total_gbps(mode.ports, mode.speed_gbps) == mode.ports * mode.speed_gbps:
            yield mode
