"""How a GPU node marks and treats its packets, from the same traffic classes as the switches (check Q-2).

The NIC maps every DSCP that a class names to the priority that the switches map it to, no other one to a lossless
priority (by default a whole block of eight rides it), pauses exactly the lossless priorities, and marks RDMA and
congestion notifications (CNP) with the DSCPs of their classes. The ToS byte is DSCP x 4 plus ECT(0) = 2
(RFC 3168), so that switches may mark congestion instead of dropping.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.qos.mapping import PRIORITY_COUNT, map_chain

_ECT_0 = 2


def tos_of(dscp: int) -> int:
    """Return the ToS byte of a code point with ECT(0), such as 106 of 26."""
    return dscp * 4 + _ECT_0


@dataclass(frozen=True, slots=True)
class NicMarking:
    """Code points and priorities of a node's NICs. ``cnp_dscp`` is None where no class carries notifications.

    ``class_dscp`` holds (DSCP, priority) of every DSCP that a class names, all others have ``rest_priority``;
    ``share_percent`` is the RDMA class's part of the port, ``shares`` holds (priority, part) of every class, None for a
    strict one.
    """

    dscp: int
    priority: int
    cnp_dscp: int | None
    cnp_priority: int
    lossless: tuple[int, ...]
    class_dscp: tuple[tuple[int, int], ...]
    rest_priority: int
    share_percent: int
    shares: tuple[tuple[int, int | None], ...] = ()

    @property
    def tos(self) -> int:
        """Return the ToS byte of RDMA packets, able to carry ECN."""
        return tos_of(self.dscp)

    @property
    def pfc(self) -> tuple[bool, ...]:
        """Return which of the eight priorities are paused."""
        return tuple(priority in self.lossless for priority in range(PRIORITY_COUNT))


def marking(classes: Sequence[TrafficClass]) -> NicMarking | None:
    """Return the marking of ``classes``; None where no class with a DSCP of its own carries RDMA."""
    rdma = next((one for one in classes if one.role is ClassRole.RDMA and one.dscp), None)
    if rdma is None:
        return None
    cnp = next((one for one in classes if one.role is ClassRole.CNP and one.dscp), None)
    chain = map_chain(classes)
    return NicMarking(
        dscp=rdma.dscp[0],
        priority=rdma.priority,
        cnp_dscp=cnp.dscp[0] if cnp else None,
        cnp_priority=cnp.priority if cnp else 0,
        lossless=chain.lossless,
        class_dscp=tuple((dscp, one.priority) for one in classes for dscp in one.dscp),
        rest_priority=next((one.priority for one in classes if one.is_default), 0),
        share_percent=rdma.share_percent,
        shares=tuple((one.priority, None if one.strict else one.share_percent) for one in classes),
    )
