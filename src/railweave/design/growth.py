"""An intent of more nodes: the same fabric as it grows, with everything that follows from their number."""

from dataclasses import replace

from railweave.fabric.model import NodeRole
from railweave.intent.model import Intent, Nodes


def growing(intent: Intent) -> Nodes:
    """Return the entry of nodes that grows: the last with GPUs, behind whose stripes there is room."""
    with_gpus = [entry for entry in intent.nodes if entry.role is NodeRole.GPU and entry.gpus]
    return max(with_gpus or intent.nodes, key=lambda entry: entry.first_stripe)


def gpus_of(intent: Intent) -> int:
    """Return the GPUs of all nodes."""
    return sum(entry.count * entry.gpus for entry in intent.nodes)


def grown(intent: Intent, nodes: int) -> Intent:
    """Return the intent with so many nodes of the entry that grows; its leaves follow from them, its spines stay.

    What it states of the workload's GPUs and growth is left out.
    """
    entry = growing(intent)
    topology = intent.topology
    leaf = topology.leaf.with_values(count=None)
    return replace(
        intent,
        workload=intent.workload.with_values(gpus=None, growth=None),
        nodes=tuple(one.with_values(count=nodes) if one is entry else one for one in intent.nodes),
        topology=topology.with_values(leaf=leaf),
    )
