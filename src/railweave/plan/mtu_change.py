"""In which order nodes and switches take another MTU, so that no packet is larger than a hop of its path.

A node sends packets of up to its own MTU, and a switch drops what is larger than the MTU of its port. What makes larger
packets possible therefore goes first on the switches, and what makes them impossible first on the nodes (rule M-1,
fabric-facts section 5). Where the packets of all nodes fit through both fabrics, no order is needed.
"""

from railweave.fabric.policy import Mtu


def nodes_go_first(base: Mtu, head: Mtu) -> bool:
    """Tell whether nodes of ``base`` send packets that the switches of ``head`` drop."""
    return base.hosts_bytes > head.fabric_bytes


def switches_go_first(base: Mtu, head: Mtu) -> bool:
    """Tell whether nodes of ``head`` send packets that the switches of ``base`` drop."""
    return head.hosts_bytes > base.fabric_bytes
