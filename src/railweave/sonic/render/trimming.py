"""Packet trimming: a packet of lossy RDMA that finds no room is cut to its headers and sent on in a strict queue.

A NIC that knows trimmed packets asks at once for what was cut; another one drops them, as the switch would have done.
The rows are those of SONiC's design of packet trimming (SWITCH_TRIMMING and BUFFER_PROFILE.packet_discard_action);
which ASICs trim, and from which release on, is a fact of the catalog.
"""

from typing import NamedTuple

from railweave.fabric.buffers import BufferProfile
from railweave.fabric.panel import Panel
from railweave.fabric.policy import ClassRole, Policies, TrafficClass
from railweave.fabric.releases import nearest
from railweave.qos.buffering import BufferPlan
from railweave.sonic.neutral import SWITCH_TRIMMING
from railweave.sonic.rows import Row

TRIM_PROFILE = "q_lossy_trim_profile"
"""The name in SONiC's design of packet trimming."""

# Ethernet 14, IPv6 40, UDP 8, BTH 12 and RETH 16 bytes make 90; the size of the examples in SONiC's design.
_KEPT_BYTES = 128


class Trimming(NamedTuple):
    """How a switch trims: the queues of lossy RDMA, and the DSCP and queue that trimmed packets get."""

    queues: tuple[int, ...]
    dscp: int
    queue: int


NO_TRIMMING = Trimming((), 0, 0)


def trimming_of(panel: Panel, policies: Policies) -> Trimming:
    """Return how switches of a panel trim.

    ``NO_TRIMMING`` if the ASIC or the release does not trim, or if no strict class can carry trimmed packets.
    """
    queues = tuple(traffic_class.priority for traffic_class in policies.classes if traffic_class.is_lossy_rdma)
    if not queues or not panel.trims_from or nearest(policies.sonic.release) < panel.trims_from:
        return NO_TRIMMING
    for traffic_class in policies.classes:
        if _can_carry_trimmed(traffic_class):
            return Trimming(queues, traffic_class.dscp[0], traffic_class.priority)
    return NO_TRIMMING


def _can_carry_trimmed(traffic_class: TrafficClass) -> bool:
    """Tell whether a class is one of notifications with a strict queue, which trimmed packets do not fill."""
    return traffic_class.role is ClassRole.CNP and traffic_class.strict and bool(traffic_class.dscp)


def trimming_rows(trimming: Trimming, panel: Panel, plan: BufferPlan) -> tuple[Row, ...]:
    """Return the rows of a switch that trims packets; none if it does not."""
    if not trimming.queues:
        return ()
    lossy = next(profile for profile in plan.buffers.profiles if profile.name == plan.buffers.lossy_queue)
    fields = {
        "dscp_value": str(trimming.dscp),
        "queue_index": str(trimming.queue),
        "size": str(_KEPT_BYTES),
    }
    reason = (
        f"RDMA is lossy (traffic_classes[].transport) and the {panel.asic} trims from SONiC {panel.trims_from} on: a"
        f" packet without room is cut to {_KEPT_BYTES} bytes and goes on in queue {trimming.queue} with DSCP"
        f" {trimming.dscp}, so that its NIC learns of the loss at once."
    )
    return (Row(SWITCH_TRIMMING, "GLOBAL", fields, reason), _profile_row(lossy, plan))


def _profile_row(lossy: BufferProfile, plan: BufferPlan) -> Row:
    """Return the profile of queues that trim, which has the values of the ``lossy`` one."""
    threshold_field = "dynamic_th" if lossy.is_dynamic else "static_th"
    fields = {
        threshold_field: str(lossy.threshold),
        "packet_discard_action": "trim",
        "pool": lossy.pool,
        "size": str(lossy.size_bytes),
    }
    reason = (
        f"As {lossy.name}, which {plan.buffers.hwsku} ships ({plan.buffers.source}), with what finds no room trimmed"
        " instead of dropped (traffic_classes[].transport)."
    )
    return Row("BUFFER_PROFILE", TRIM_PROFILE, dict(sorted(fields.items())), reason)
