"""The NICs that nodes of GPUs get for a workload: how many for each GPU, how fast, and which model.

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
    """``per_node`` NICs of a ``model`` in each node, each with ``ports`` ports of ``speed_gbps``, one to each plane."""

    per_node: int
    ports: int
    speed_gbps: int
    model: str

    def __str__(self) -> str:
        """Return it in a few words: ``8 × 2 × 400G``."""
        speed = format_speed(self.speed_gbps)
        if self.ports > 1:
            return f"{self.per_node} × {self.ports} × {speed}"
        return f"{self.per_node} × {speed}"

    @property
    def total_gbps(self) -> int:
        """Return the bandwidth of all NICs of a node."""
        return self.per_node * self.ports * self.speed_gbps


def nic_choices(intent: Intent, catalog: Catalog) -> tuple[NicChoice, ...]:
    """Return the NICs to try for the workload, the most bandwidth first: for each number of them and each bandwidth of
    one a model of the vendor that the intent has, in the mode with the fewest ports."""
    nodes = intent.nodes[0]
    counts = dict.fromkeys(nodes.gpus // gpus for gpus in GPUS_OF_A_NIC[intent.workload.kind] if nodes.gpus >= gpus)
    modes = _modes(nodes.nics.model, catalog)
    choices = (NicChoice(count, mode.ports, mode.speed_gbps, model) for count in counts for model, mode in modes)
    return tuple(sorted(choices, key=lambda choice: (-choice.total_gbps, -choice.per_node)))


def gpu_gbps(intent: Intent) -> float | None:
    """Return what the NICs of the first kind of nodes with GPUs carry for each of these, None without any."""
    for nodes in intent.nodes:
        if nodes.gpus:
            return nodes.nics.count * nodes.nics.ports * nodes.nics.speed_gbps / nodes.gpus
    return None


def _modes(own: str | None, catalog: Catalog) -> list[tuple[str, NicPorts]]:
    """Return a model and its mode for each bandwidth: the NIC that the intent has where it can, else the first of its
    vendor."""
    vendor = catalog.vendor_of(own)
    best: dict[int, tuple[tuple[int, bool, str], NicPorts]] = {}
    for model in catalog.nic_ids():
        if vendor is not None and catalog.vendor_of(model) != vendor:
            continue
        for total_gbps, mode in _full(catalog.nic(model)):
            rank = (mode.ports, model != own, model)
            if total_gbps not in best or rank < best[total_gbps][0]:
                best[total_gbps] = (rank, mode)
    return [(model, mode) for (_, _, model), mode in best.values()]


def _full(nic: NicModel) -> Iterator[tuple[int, NicPorts]]:
    """Yield what a NIC carries in each of its modes whose ports share nothing."""
    for mode in nic.combinations:
        total_gbps = mode.ports * mode.speed_gbps
        if nic.total_gbps(mode.ports, mode.speed_gbps) == total_gbps:
            yield total_gbps, mode
