"""A GPU node while a value changes that both ends of a path share: it accepts the old and the new, and sends one.

A NIC accepts packets by its MTU, the priority of each code point, PFC and DCQCN per priority. It sends with the marking
of RDMA and of notifications, and up to the size that its routes allow, which may be smaller than the interface's MTU.
RDMA ignores routes: it uses the interface's MTU, and both ends of a queue pair agree on the smaller one.
"""

from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.hosts.values import NicMarking, NodeSettings, marking, node_of


def node_in_transition(accepts: Fabric, sends: Fabric, host: Host) -> NodeSettings:
    """Return the settings of ``host`` while it accepts the values of one fabric and sends those of another one."""
    node = node_of(accepts, host)
    if sends is accepts:
        return node
    sent_mtu_bytes = min(node.mtu_bytes, sends.policies.mtu.hosts_bytes)
    mixed_marking = _mixed_marking(node.marking, marking(sends.policies.classes))
    return node._replace(sent_mtu_bytes=sent_mtu_bytes, marking=mixed_marking)


def _mixed_marking(accepted: NicMarking | None, sent: NicMarking | None) -> NicMarking | None:
    """Return the marking of a NIC that accepts the code points of one marking and sends those of another.

    If one of the two is None, the accepted one is returned.
    """
    if accepted is None or sent is None:
        return accepted
    return accepted._replace(
        dscp=sent.dscp,
        priority=sent.priority,
        cnp_dscp=sent.cnp_dscp,
        cnp_priority=sent.cnp_priority,
        share_percent=sent.share_percent,
        # A NIC whose RDMA does without PFC keeps its retransmission until all receivers pause.
        is_lossy=sent.is_lossy,
    )


def route_mtu(node: NodeSettings) -> int | None:
    """Return the MTU of a node's routes in bytes; None if it is the interfaces' MTU."""
    if node.sent_mtu_bytes >= node.mtu_bytes:
        return None
    return node.sent_mtu_bytes
