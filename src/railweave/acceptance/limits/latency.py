"""Latency has a lower bound, what light and serialization take, and an upper one, what idle queues add at most.

    expect = cable_m / 198 + wire_bytes * 8 / (line_gbps * 1000) us, one way; a smaller value is invalid
    warn = expect + Kmin at each hop; fail = expect + Kmax at each hop, each at least 16 and 32 us

Switches forward a packet before its end has arrived, so its bits count once. No design knows the latency of a NIC or of
a chip, so the lower bound is far below what is measured. In an idle fabric no queue passes Kmin for long, and none
reaches Kmax. In between, pairs that cross as many tiers are compared. No published value is a limit.
"""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from railweave.acceptance.limits.basis import Inputs, NicPair, PairLimits
from railweave.acceptance.limits.paths import Crossed, FabricPaths, NicAttachment
from railweave.acceptance.limits.queues import queue_thresholds
from railweave.acceptance.model import UNITS, Metric, MetricLimit
from railweave.qos.marking import ROUND_TRIP_US

# Light in glass, as in SONiC's headroom of NVIDIA's chips (buffer_headroom_mellanox.lua).
_METERS_PER_US = 198

_FORMULA = "cable_m / meters_per_us + wire_bytes * 8 / (line_gbps * 1000)"


class CableReach(NamedTuple):
    """The slowest speed and the shortest length among the uplinks of a switch."""

    speed_gbps: int
    length_m: int


class EgressPort(NamedTuple):
    """A port by which a packet leaves a switch: its cable, and the time in which a queue of Kmin and Kmax drains."""

    speed_gbps: int
    length_m: int
    kmin_us: float
    kmax_us: float


def latency_limits(paths: FabricPaths, pair: NicPair, message_bytes: int) -> PairLimits:
    """Return the limits of LATENCY_TYPICAL and LATENCY_P999 of messages in an idle fabric, in us one way.

    ``expect`` is a lower bound: a smaller value is invalid.
    """
    sender, receiver = paths.ends(pair)
    hops = tuple(_hops(paths, sender, receiver))
    key = "latency", message_bytes, sender.speed_gbps, sender.length_m, hops
    if key not in paths.computed:
        paths.computed[key] = tuple(_limits(paths, sender, hops, message_bytes))
    limits: PairLimits = paths.computed[key]
    return limits


def _limits(
    paths: FabricPaths, sender: NicAttachment, hops: tuple[EgressPort, ...], message_bytes: int
) -> Iterator[MetricLimit]:
    """Yield the limits of LATENCY_TYPICAL and LATENCY_P999 on a path: the cable of ``sender``, then ``hops``."""
    line_gbps = min(sender.speed_gbps, *(hop.speed_gbps for hop in hops))
    cable_m = sender.length_m + sum(hop.length_m for hop in hops)
    # Switches forward a packet before its end has arrived (cut-through), so its bits count once.
    wire_bytes = message_bytes + ceil(message_bytes / paths.payload.packet_bytes) * paths.payload.overhead_bytes
    expect = cable_m / _METERS_PER_US + wire_bytes * 8 / (line_gbps * 1000)
    kmin_us = round(sum(hop.kmin_us for hop in hops), 3)
    kmax_us = round(sum(hop.kmax_us for hop in hops), 3)
    inputs: Inputs = {"cable_m": cable_m, "meters_per_us": _METERS_PER_US, "wire_bytes": wire_bytes}
    inputs |= {"line_gbps": line_gbps, "switches": len(hops), "kmin_us": kmin_us, "kmax_us": kmax_us}
    fail = expect + kmax_us
    warn = expect + kmin_us
    for metric in (Metric.LATENCY_TYPICAL, Metric.LATENCY_P999):
        yield MetricLimit(
            metric=metric, unit=UNITS[metric], expect=expect, fail=fail, warn=warn, formula=_FORMULA, inputs=inputs
        )


def _hops(paths: FabricPaths, sender: NicAttachment, receiver: NicAttachment) -> Iterator[EgressPort]:
    """Yield the ports by which a packet leaves the switches of a path, over the first spine of each leaf.

    A switch sends down over the same links that the switch below uses as its uplinks.
    """
    crossed = paths.crossed(sender.switch, receiver.switch)
    if crossed is not Crossed.LEAF:
        sender_spine = paths.up[sender.switch][0].switch
        receiver_spine = paths.up[receiver.switch][0].switch
        yield _port(paths, sender.switch, *_uplink(paths, sender.switch))
        if crossed is Crossed.SUPER_SPINE:
            super_spine = paths.up[sender_spine][0].switch
            yield _port(paths, sender_spine, *_uplink(paths, sender_spine))
            yield _port(paths, super_spine, *_uplink(paths, receiver_spine))
        yield _port(paths, receiver_spine, *_uplink(paths, receiver.switch))
    yield _port(paths, receiver.switch, receiver.speed_gbps, receiver.length_m)


def _port(paths: FabricPaths, switch: int, speed_gbps: int, length_m: int) -> EgressPort:
    """Return the port of a switch with a cable of this speed and length, with the drain times of its queue."""
    key = "egress", switch, speed_gbps, length_m
    if key not in paths.computed:
        marking = queue_thresholds(paths, paths.fabric.switches[switch].name, speed_gbps).marking
        # NICs and nodes add some us, whatever the thresholds: two and four round trips are the least.
        kmin_us = max(2.0 * ROUND_TRIP_US, marking.minimum_bytes * 8 / (speed_gbps * 1000))
        kmax_us = max(4.0 * ROUND_TRIP_US, marking.maximum_bytes * 8 / (speed_gbps * 1000))
        paths.computed[key] = EgressPort(speed_gbps, length_m, kmin_us, kmax_us)
    port: EgressPort = paths.computed[key]
    return port


def _uplink(paths: FabricPaths, switch: int) -> CableReach:
    """Return the slowest speed and the shortest length of a switch's uplinks."""
    key = "uplink", switch
    if key not in paths.computed:
        links = paths.fabric.uplinks_of[paths.fabric.switches[switch].name]
        paths.computed[key] = CableReach(paths.uplinks[switch].slowest_gbps, min(link.length_m for link in links))
    uplink: CableReach = paths.computed[key]
    return uplink
