"""Identities: numbers, names, AS numbers and addresses, each a pure function of a device's place.

No identity depends on today's number of devices, so growth renumbers nothing (design rule "Identity"). A number is
index × planes + plane. The index of a spine counts through all pods with a fixed stride, that of a super-spine through
all groups. Names have the number + 1.
"""

from railweave.design.layout import Layout, TierLayout
from railweave.fabric.model import IPV6_BLOCK_LENGTH
from railweave.fabric.policy import Addressing

PODS = 1000
"""AS numbers of spines that each plane has: one a pod (RFC 7938 section 5.2.1); two tiers are pod 0."""


def device_number(index: int, plane: int, planes: int) -> int:
    """Return the number of a leaf or spine from its index within its plane."""
    return index * planes + plane


def device_name(fabric: str, role: str, number: int) -> str:
    """Return a switch's name: ``pod1-leaf1``, ``pod1-superspine1``."""
    return f"{fabric}-{role.replace('-', '')}{number + 1}"


def loopback(addressing: Addressing, level: int, number: int) -> int:
    """Return a switch's loopback address.

    Leaves count from the pool's second address upwards, spines from its middle upwards, super-spines from its last
    address downwards.
    """
    pool = addressing.loopbacks
    if level > 1:
        return pool.first + pool.size - 1 - number
    if level == 1:
        return pool.first + pool.size // 2 + number
    return pool.first + 1 + number


def asn(addressing: Addressing, level: int, number: int, plane: int, pod: int) -> int:
    """Return a switch's AS number: each leaf has its own, the spines of a pod and plane share one, and so do the
    super-spines of a plane (RFC 7938 section 5.2.1)."""
    if level > 1:
        return addressing.super_spine_asn + plane
    if level == 1:
        return spine_asn(addressing, plane, pod)
    return addressing.leaf_asn + number


def spine_asn(addressing: Addressing, plane: int, pod: int = 0) -> int:
    """Return the AS number that all spines of a pod and plane share, which stops valley paths."""
    return addressing.spine_asn + plane * PODS + pod


def host_block_size(layout: Layout) -> int:
    """Return the addresses of a leaf's host block: two for each port, rounded up to a prefix."""
    return 2 << (layout.lowest.ports.total - 1).bit_length()


def nic_block_size(layout: Layout) -> int:
    """Return the size of the block of NIC addresses that the leaves of a NIC announce: one for each port, rounded up to
    a prefix."""
    return host_block_size(layout) // 2


def nic_block(addressing: Addressing, layout: Layout, place: int, plane: int) -> int:
    """Return the first address of the block of NIC addresses that the leaf at ``place`` announces.

    The leaves that share its NICs announce the same block.
    """
    stripe = place // layout.stripe_leaves
    _, group_in_stripe = layout.leaf_role(place)
    index = stripe * layout.stripe_nics + group_in_stripe
    return addressing.nics.first + device_number(index, plane, layout.planes) * nic_block_size(layout)


def link_network(addressing: Addressing, lower: TierLayout, number: int) -> int:
    """Return the even address of the /31 at port 0 of the switch with ``number`` in the tier ``lower``."""
    pool = addressing.links
    if lower.level:
        pool = addressing.core
    return pool.first + 2 * number * lower.ports.total


def host_block(addressing: Addressing, layout: Layout, leaf: int) -> int | None:
    """Return the first address of the host block of the leaf with number ``leaf``, None where nodes have no IPv4."""
    pool = addressing.hosts
    if pool is None:
        return None
    return pool.first + leaf * host_block_size(layout)


IPV6_BLOCK_SIZE = 1 << (128 - IPV6_BLOCK_LENGTH)
"""Addresses of a leaf's /64."""


def ipv6_block(addressing: Addressing, leaf: int) -> int | None:
    """Return the first address of the /64 of the leaf with number ``leaf``, None where nodes have no IPv6."""
    pool = addressing.hosts_ipv6
    if pool is None:
        return None
    return pool.first + leaf * IPV6_BLOCK_SIZE
