"""Where several leaves share a NIC (dual-ToR), a link or a leaf may fail and the NIC keeps its address: what is bound
to that address, as sockets are, moves to another port. RDMA does not: each port is an RDMA device of its own, and a
queue pair stays on the port whose address it was made with. One device for both ports needs a bond, whose ports have
one MAC address towards switches that act as one; routed ports have neither.

A leaf without any uplink is not a failed leaf to its nodes: their ports stay up, and SONiC has nothing that shuts them
with the uplinks."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.fabric.policy import ClassRole

RULE = rule(
    "T-14",
    "RDMA survives the loss of a leaf that shares its NIC with another",
    __doc__,
    "{nodes: [{nics: {ports: 2, speed: 200G, model: connectx-7}}], topology: {leaves_per_nic: 2, leaf: {count: 8},"
    " spine: {count: 8}}}",
)


@RULE.on_fabric
def check_shared_nics(fabric: Fabric) -> Breaches:
    """Yield advice on NICs that several leaves share.

    It says what a leaf without uplinks does, and what RDMA loses with a leaf.
    """
    leaves = fabric.leaves_per_nic
    if leaves == 1:
        return
    yield _leaf_without_uplinks()
    carries_rdma = any(traffic_class.role is ClassRole.RDMA for traffic_class in fabric.policies.classes)
    if not carries_rdma:
        return
    message = (
        f"{fabric.lowest.counted(leaves)} share each NIC, and each port of it is an RDMA device of its own: when a link"
        " or switch fails, the queue pairs of that port end, and sockets bound to the NIC's address move to another"
        " port"
    )
    fix = "let jobs restart from a checkpoint, or use a library that moves queue pairs to another port"
    yield Breach("topology.leaves_per_nic", message, fix, Severity.INFO)


def _leaf_without_uplinks() -> Breach:
    """Return the advice on leaves without uplinks, whose nodes have another leaf."""
    message = (
        "a leaf that loses all of its uplinks keeps its ports to nodes up: they go on sending to it, and it drops what"
        " is not for its own nodes, although the other leaf would deliver it"
    )
    fix = "watch the sessions of leaves, and shut the node ports of one without any (`config interface shutdown`)"
    return Breach("topology.leaves_per_nic", message, fix, Severity.INFO)
