"""The nodes of an intent: their GPUs, how their NICs divide over rails and planes, the names of hosts."""

from collections.abc import Iterator
from itertools import combinations

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import TIER_NAMES
from railweave.intent.model import Intent, Nodes, Shape


def node_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what does not fit among the nodes, the workload, rails and planes."""
    yield from _gpus(intent)
    yield from _planes(intent)
    if intent.topology.shape is Shape.RAIL_OPTIMIZED:
        yield from _rails(intent)
    yield from _names(intent)


def _gpus(intent: Intent) -> Iterator[Diagnostic]:
    total = sum(entry.count * entry.gpus for entry in intent.nodes)
    workload = intent.workload
    if workload.gpus is not None and workload.gpus != total:
        sums = " + ".join(f"{entry.count} × {entry.gpus}" for entry in intent.nodes)
        yield error(
            "RW102",
            f"the workload has {workload.gpus} GPUs, the nodes have {sums} = {total}",
            intent.where("workload.gpus"),
            fix=f"write gpus: {total}, or correct the count or gpus of the nodes",
        )
    if workload.growth is not None and workload.growth.gpus < total:
        yield error(
            "RW102",
            f"growth to {workload.growth.gpus} GPUs is less than the {total} of today",
            intent.where("workload.growth.gpus"),
            fix=f"write what must fit later, at least {total}, or leave `growth` out",
        )


def _planes(intent: Intent) -> Iterator[Diagnostic]:
    planes = intent.topology.planes
    for index, entry in enumerate(intent.nodes):
        if entry.nics.ports % planes:
            path = f"nodes[{index}].nics.ports"
            yield error(
                "RW103",
                f"a NIC with {entry.nics.ports} ports does not reach {planes} planes alike",
                intent.where(path),
                fix=f"give a NIC {planes} ports or a multiple of it, or lower `topology.planes`",
            )


def _rails(intent: Intent) -> Iterator[Diagnostic]:
    """A node's ports of one plane divide evenly over the rails, so that every rail meets the same leaf."""
    topology = intent.topology
    rails = topology.rails or intent.nodes[0].nics.count
    for index, entry in enumerate(intent.nodes):
        if entry.nics.ports % topology.planes:
            continue
        ports = entry.nics.count * (entry.nics.ports // topology.planes)
        if ports % rails:
            stated = f"{rails} rails" if topology.rails else f"{rails} rails, one a NIC of `nodes[0]`"
            yield error(
                "RW103",
                f"the {ports} ports that a node `{entry.name}` has in a plane do not divide over {stated}",
                intent.where("topology.rails" if topology.rails else f"nodes[{index}].nics.count"),
                fix="make `topology.rails` a divisor of the node's ports, or change the NICs of the node",
            )


def _names(intent: Intent) -> Iterator[Diagnostic]:
    for (first, one), (second, other) in combinations(enumerate(intent.nodes), 2):
        shared = _shared_host(one, other)
        if shared is not None:
            yield error(
                "RW104",
                f"nodes `{one.name}` and `{other.name}` would both have a host {shared}",
                intent.where(f"nodes[{second}].name"),
                fix=f"give `nodes[{second}]` another name than `nodes[{first}]`, not one that only adds a number",
            )
    for index, entry in enumerate(intent.nodes):
        if entry.name in {f"{intent.fabric}-{role}" for role in TIER_NAMES}:
            yield error(
                "RW104",
                f"hosts `{entry.name}1` … would be named like switches",
                intent.where(f"nodes[{index}].name"),
                fix="choose a name that says what the servers are, like gpu",
            )


def _shared_host(one: Nodes, other: Nodes) -> str | None:
    """Return a host name that two entries share: ``gpu`` and ``gpu1`` meet at ``gpu11``."""
    short, long = sorted((one, other), key=lambda entry: len(entry.name))
    digits = long.name.removeprefix(short.name)
    if not long.name.startswith(short.name) or (digits and (not digits.isdigit() or digits.startswith("0"))):
        return None
    numbers = range(1, short.count + 1)
    return next((f"{long.name}{n}" for n in range(1, long.count + 1) if int(f"{digits}{n}") in numbers), None)
