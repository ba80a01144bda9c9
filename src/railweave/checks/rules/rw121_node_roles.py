"""A GPU node has GPUs, whose collectives NCCL runs; storage and CPU nodes are attached without them."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.devices import NodeRole
from railweave.intent.model import Intent
from railweave.wording import counted

RULE = rule(
    "RW121",
    "nodes with GPUs have the role gpu, and only they",
    __doc__,
    "nodes: [{role: storage, gpus: 8}]",
)


@RULE.on_intent
def compare_roles(intent: Intent) -> Breaches:
    """Yield a breach for each entry of GPU nodes without GPUs, and for each other entry with GPUs."""
    for index, entry in enumerate(intent.nodes):
        if entry.role is NodeRole.GPU and entry.gpus == 0:
            message = f"nodes `{entry.name}` have no GPUs and the role gpu"
            yield Breach(
                f"nodes[{index}].gpus", message, "write role: storage or role: cpu, or how many GPUs they have"
            )
        elif entry.role is not NodeRole.GPU and entry.gpus:
            message = f"nodes `{entry.name}` have {counted(entry.gpus, 'GPU')} and the role {entry.role}"
            yield Breach(f"nodes[{index}].role", message, "write gpus: 0, or leave role out: nodes with GPUs are gpu")
