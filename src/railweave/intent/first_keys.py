"""The keys that most people write first; the reference of the intent lists all others as expert keys."""

FIRST_KEYS = (
    "fabric",
    "workload.kind",
    "workload.growth.gpus",
    "nodes[].name",
    "nodes[].count",
    "nodes[].gpus",
    "nodes[].nics.count",
    "nodes[].nics.speed",
    "nodes[].nics.ports",
    "nodes[].nics.model",
    "topology.shape",
    "topology.planes",
    "topology.oversubscription",
    "topology.leaf.model",
    "topology.leaf.count",
    "topology.spine.model",
    "topology.spine.count",
    "cabling.host.length_m",
    "cabling.leaf_spine.length_m",
    "sonic.release",
)
"""Paths of values, not of the mappings that hold them."""
