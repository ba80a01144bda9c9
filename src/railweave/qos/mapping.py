"""The map chain of the traffic classes: DSCP to traffic class to queue and priority group, and PFC both ways.

A lossless class is only lossless when every map of the chain agrees: the code point leads to a traffic class of its
own, that to a queue and a priority group of its own, and a pause frame of the same priority stops that queue and
leaves from that group (IEEE 802.1Qbb). All 64 code points are mapped, because a code point without an entry falls to
the ASIC's own default.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from railweave.fabric.policy import ClassRole, TrafficClass

DSCP_COUNT = 64
"""Code points of the DS field (RFC 2474)."""

PRIORITY_COUNT = 8
"""Traffic classes, queues, priority groups and PFC priorities of a port."""

CONTROL_DSCP = 48
"""CS6 (RFC 4594): what FRR marks BGP with unless told otherwise."""


class MapChain(NamedTuple):
    """The maps as tuples, indexed by their own key; ``lossless`` lists the priorities that PFC protects."""

    dscp_to_tc: tuple[int, ...]
    tc_to_queue: tuple[int, ...]
    tc_to_group: tuple[int, ...]
    pfc_to_queue: tuple[int, ...]
    lossless: tuple[int, ...]


def map_chain(classes: Sequence[TrafficClass]) -> MapChain:
    """Return the maps of ``classes``: code points that no class names go to the default class."""
    rest = next((one.priority for one in classes if one.is_default), 0)
    dscp_to_tc = [rest] * DSCP_COUNT
    for one in classes:
        for dscp in one.dscp:
            dscp_to_tc[dscp] = one.priority
    lossless = tuple(sorted({one.priority for one in classes if one.lossless}))
    every = tuple(range(PRIORITY_COUNT))
    return MapChain(
        dscp_to_tc=tuple(dscp_to_tc),
        tc_to_queue=every,
        tc_to_group=tuple(priority if priority in lossless else 0 for priority in every),
        pfc_to_queue=every,
        lossless=lossless,
    )


def control_dscp(classes: Iterable[TrafficClass]) -> int:
    """Return the code point that BGP is marked with: the control class's first, else CS6."""
    return next((one.dscp[0] for one in classes if one.role is ClassRole.CONTROL and one.dscp), CONTROL_DSCP)


def notification_dscp(classes: Iterable[TrafficClass]) -> tuple[int, ...]:
    """Return the code points of congestion notifications."""
    return tuple(dscp for one in classes if one.role is ClassRole.CNP for dscp in one.dscp)
