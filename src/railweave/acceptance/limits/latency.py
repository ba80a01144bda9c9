"""Limits of latency: what light and serialization take at least, and what idle queues add at most.

A design knows neither the latency of a NIC nor that of a chip, so its lower bound is far below what is measured; a
smaller value is invalid. In an idle fabric no queue passes Kmin for long, and none reaches Kmax. In between the judge
compares pairs that cross as many tiers. No published value is a limit.
"""

from collections.abc import Iterator
from math import ceil

from railweave.acceptance.limits.basis import NicPair, PairLimits
from railweave.acceptance.limits.paths import Crossed, FabricPaths, NicAttachment
from railweave.acceptance.limits.queues import queue_thresholds
from railweave.acceptance.model import UNITS, Metric, MetricLimit
from railweave.qos.marking import ROUND_TRIP_US

# Light in glass, as in SONiC's headroom of NVIDIA's chips (buffer_headroom_mellanox.lua).
_METERS_PER_US = 198

_FORMULA = "cable_m / meters_per_us + wire_bytes * 8 / (line_gbps * 1000)"


def latency_limits(paths: FabricPaths, pair: NicPair, message_bytes: int) -> PairLimits:
    """Return the limits of LATENCY_TYPICAL and LATENCY_P999 in an idle fabric, in us one way.

    ``expect`` is a lower bound: a smaller value is invalid. A value warns above Kmin at every hop and fails above Kmax,
    each at least a round trip of a loaded fabric.
    """
    sender, receiver = paths.ends(pair)
    ports = tuple(_egress_ports(paths, sender, receiver))
    line_gbps = min(sender.speed_gbps, *(speed_gbps for _, speed_gbps in ports))
    cable_m = sender.length_m + receiver.length_m + _fabric_cable_m(paths, sender.leaf, receiver.leaf)
    # Switches forward a packet before its end has arrived (cut-through), so its bits count once.
    wire_bytes = message_bytes + ceil(message_bytes / paths.payload.packet_bytes) * paths.payload.overhead_bytes
    expect = cable_m / _METERS_PER_US + wire_bytes * 8 / (line_gbps * 1000)
    start_us = 0.0
    full_us = 0.0
    for switch, speed_gbps in ports:
        marking = queue_thresholds(paths, paths.fabric.switches[switch].name, speed_gbps).marking
        start_us += max(ROUND_TRIP_US, marking.minimum_bytes * 8 / (speed_gbps * 1000))
        full_us += max(4 * ROUND_TRIP_US, marking.maximum_bytes * 8 / (speed_gbps * 1000))
    inputs = {
        "cable_m": cable_m,
        "meters_per_us": _METERS_PER_US,
        "wire_bytes": wire_bytes,
        "line_gbps": line_gbps,
        "switches": len(ports),
        "kmin_us": round(start_us, 3),
        "kmax_us": round(full_us, 3),
    }
    limits = (
        MetricLimit(metric, UNITS[metric], expect, expect + full_us, expect + start_us, _FORMULA, inputs)
        for metric in (Metric.LATENCY_TYPICAL, Metric.LATENCY_P999)
    )
    shared: PairLimits = paths.computed.setdefault(("latency", *inputs.values()), tuple(limits))
    return shared


def _egress_ports(paths: FabricPaths, sender: NicAttachment, receiver: NicAttachment) -> Iterator[tuple[int, int]]:
    """Yield (switch, speed in Gb/s) of the ports by which a packet leaves the switches of a path."""
    crossed = paths.crossed(sender.leaf, receiver.leaf)
    spine_up, spine_down = (next((upper for _, upper in paths.up[end.leaf]), 0) for end in (sender, receiver))
    if crossed is not Crossed.LEAF:
        yield sender.leaf, paths.uplinks[sender.leaf].slowest_gbps
    if crossed is Crossed.SUPER_SPINE:
        yield spine_up, paths.uplinks[spine_up].slowest_gbps
        yield paths.up[spine_up][0][1], paths.uplinks[spine_down].slowest_gbps
    if crossed is not Crossed.LEAF:
        yield spine_down, paths.uplinks[receiver.leaf].slowest_gbps
    yield receiver.leaf, receiver.speed_gbps


def _fabric_cable_m(paths: FabricPaths, sender_leaf: int, receiver_leaf: int) -> int:
    """Return the length of the shortest cables between switches on a path."""
    lower_ends = []
    crossed = paths.crossed(sender_leaf, receiver_leaf)
    if crossed is not Crossed.LEAF:
        lower_ends += [sender_leaf, receiver_leaf]
    if crossed is Crossed.SUPER_SPINE:
        lower_ends += [paths.up[leaf][0][1] for leaf in (sender_leaf, receiver_leaf)]
    names = (paths.fabric.switches[switch].name for switch in lower_ends)
    return sum(min(link.length_m for link in paths.fabric.uplinks_of[name]) for name in names)
