"""NCCL's settings for a fabric, as ``/etc/nccl.conf`` and as environment (fabric-facts section 6.5).

NCCL sends with traffic class 0 unless told otherwise, which a fabric treats as best effort: a silently lossy fabric.
"""

from collections.abc import Mapping

from railweave.fabric.model import Fabric
from railweave.hosts.values import Node

_NOT_FOR_BOOTSTRAP = "^lo,docker,rail"
"""NCCL takes the first interface that no excluded prefix names: the front end."""


def nccl_settings(fabric: Fabric, node: Node) -> Mapping[str, str]:
    """Return NCCL's variables for ``node``, in the order in which they are written."""
    by_rail = meets_rails(fabric)
    settings = {}
    if node.marking is not None:
        settings["NCCL_IB_TC"] = str(node.marking.tos)
    devices = [f"{rail.rdma}:1" for rail in node.rails if rail.rdma]
    if devices:
        settings["NCCL_IB_HCA"] = "=" + ",".join(devices)
    # With rails a ring stays on its own; PXN moves data to the GPU of the right rail inside the node.
    settings["NCCL_CROSS_NIC"] = "0" if by_rail else "1"
    if by_rail:
        settings["NCCL_PXN_DISABLE"] = "0"
    settings["NCCL_SOCKET_IFNAME"] = fabric.policies.hosts.frontend or _NOT_FOR_BOOTSTRAP
    return settings


def meets_rails(fabric: Fabric) -> bool:
    """Tell whether every leaf serves one rail, not a rack."""
    return all(switch.rail is not None for switch in fabric.switches if switch.stripe is not None)
