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
"""CS6 (RFC 4594), with which FRR marks BGP by default."""


class MapChain(NamedTuple):
    """The maps as tuples, indexed by their own key; ``lossless`` lists the priorities that PFC protects."""

    dscp_to_tc: tuple[int, ...]
    tc_to_queue: tuple[int, ...]
    tc_to_group: tuple[int, ...]
    pfc_to_queue: tuple[int, ...]
    lossless: tuple[int, ...]


def map_chain(classes: Sequence[TrafficClass]) -> MapChain:
    """Return the maps of ``classes``; code points that no class names go to the default class."""
    default = next((traffic_class.priority for traffic_class in classes if traffic_class.is_default), 0)
    dscp_to_tc = [default] * DSCP_COUNT
    # Priority group 0 is the one that lossy classes share.
    tc_to_group = [0] * PRIORITY_COUNT
    for traffic_class in classes:
        for dscp in traffic_class.dscp:
            dscp_to_tc[dscp] = traffic_class.priority
        if traffic_class.lossless:
            tc_to_group[traffic_class.priority] = traffic_class.priority
    priorities = tuple(range(PRIORITY_COUNT))
    return MapChain(
        dscp_to_tc=tuple(dscp_to_tc),
        tc_to_queue=priorities,
        tc_to_group=tuple(tc_to_group),
        pfc_to_queue=priorities,
        lossless=tuple(sorted({traffic_class.priority for traffic_class in classes if traffic_class.lossless})),
    )


def control_dscp(classes: Iterable[TrafficClass]) -> int:
    """Return the code point of BGP's packets: the first of the control class, or CS6 if there is none."""
    for traffic_class in classes:
        if traffic_class.role is ClassRole.CONTROL and traffic_class.dscp:
            return traffic_class.dscp[0]
    return CONTROL_DSCP


def notification_dscp(classes: Iterable[TrafficClass]) -> tuple[int, ...]:
    """Return the code points of congestion notifications."""
    code_points: list[int] = []
    for traffic_class in classes:
        if traffic_class.role is ClassRole.CNP:
            code_points += traffic_class.dscp
    return tuple(code_points)
