"""The GPUs of the workload are what a reader expects of the cluster; the nodes are what is built."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule("RW102", "the GPUs of the workload are those of the nodes", __doc__, "workload: {gpus: 100}")


@RULE.on_intent
def compare_gpus(intent: Intent) -> Breaches:
    """Yield a breach if the nodes have other GPUs than the workload, or more than its growth."""
    total = sum(entry.count * entry.gpus for entry in intent.nodes)
    workload = intent.workload
    if workload.gpus is not None and workload.gpus != total:
        sums = " + ".join(f"{entry.count} × {entry.gpus}" for entry in intent.nodes)
        message = f"the workload has {workload.gpus} GPUs, the nodes have {sums} = {total}"
        yield Breach("workload.gpus", message, f"write gpus: {total}, or correct the count or gpus of the nodes")
    if workload.growth is not None and workload.growth.gpus < total:
        message = f"growth to {workload.growth.gpus} GPUs is less than the {total} of today"
        fix = f"write what must fit later, at least {total}, or leave `growth` out"
        yield Breach("workload.growth.gpus", message, fix)
