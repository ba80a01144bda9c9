"""The ports of a link beside their queues: packet size, speed, watchdog times, flooding, and the seed of the hash."""

from collections.abc import Iterator

from railweave.checks.ends import End
from railweave.checks.pairs import Finding, Pair, found
from railweave.fabric.policy import Policies
from railweave.units import format_speed

_SEEDS = (("SpineRouter", 25), ("LeafRouter", 10), ("ToRRouter", 0))
"""The seed of the ECMP hash by a part of DEVICE_METADATA.type, the first that fits (SONiC docker-orchagent,
switch.json.j2)."""


def port_findings(pair: Pair, policies: Policies) -> Iterator[Finding]:
    """Yield what does not fit between the ports of a link."""
    for end in pair.switches:
        yield from _watch_times(end, pair.far(end))
        yield from _flooding(end, pair.far(end), policies)
        yield from _lanes(end, pair)
    yield from _packet_size(pair)
    yield from _physical(pair)
    yield from _hash(pair)


def _watch_times(end: End, far: End) -> Iterator[Finding]:
    """W-1 and W-2: the watchdog can tell the times that it is given, and does not drop whether or not there is a storm.

    sonic-pfcwd.yang: neither time is shorter than the poll."""
    if end.drops_lossless:
        message = f"{end.device} drops all lossless packets, {end} towards {far} too: its BIG_RED_SWITCH is on"
        yield found("W-1", end, far, "red switch", message, "turn it off: `sudo pfcwd big_red_switch disable`")
    times = end.watch_times
    if times is None:
        return
    for name, time_ms in (("detection_time", times.detection_ms), ("restoration_time", times.restoration_ms)):
        if time_ms is not None and time_ms < times.poll_ms:
            message = f"the watchdog of {end} towards {far} looks every {times.poll_ms} ms and cannot tell {time_ms} ms"
            fix = f"raise PFC_WD|{end.port}|{name} to {times.poll_ms} or more, or lower PFC_WD|GLOBAL|POLL_INTERVAL"
            yield found("W-2", end, far, name, f"{message} ({name})", fix)


def _flooding(end: End, far: End, policies: Policies) -> Iterator[Finding]:
    """D-2: no lossless port is in a domain that floods.

    A packet to an unknown address is flooded to every port of the domain, also up: lossless, it waits on all of them,
    which is how RoCE fabrics have stood still (Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016).
    """
    lossless = sorted(one.priority for one in policies.classes if one.lossless)
    if not lossless or not end.domains:
        return
    listed = ", ".join(sorted(end.domains))
    yield found(
        "D-2",
        end,
        far,
        f"floods {listed}",
        f"{end} towards {far} is in {listed}, which floods packets to unknown addresses, and priority"
        f" {', '.join(map(str, lossless))} is lossless there: PFC may stand still in a ring",
        f"take {end.port} out of {listed}; every link of the fabric is routed",
    )


def _packet_size(pair: Pair) -> Iterator[Finding]:
    """M-1 and M-2: a host sends no more than the switch carries, and switches carry the same."""
    lower, upper = pair.lower, pair.upper
    if lower.mtu_bytes is None or upper.mtu_bytes is None:
        return
    sizes = f"{lower} has an MTU of {lower.mtu_bytes} bytes, {upper} of {upper.mtu_bytes}"
    if lower.is_host and lower.mtu_bytes > upper.mtu_bytes:
        message = f"{sizes}: what the node sends is dropped"
        yield found("M-1", upper, lower, "mtu", message, f"raise the MTU of {upper} to {lower.mtu_bytes} or more")
    elif not lower.is_host and lower.mtu_bytes != upper.mtu_bytes:
        end = lower if lower.mtu_bytes < upper.mtu_bytes else upper
        message = f"{sizes}: larger packets are lost one way"
        yield found("M-2", end, pair.far(end), "mtu", message, "set both to mtu.fabric")


def _physical(pair: Pair) -> Iterator[Finding]:
    """P-3, P-5 and P-6: speed, error correction and negotiation."""
    rules = (
        ("P-3", "speed", pair.lower.speed_gbps, pair.upper.speed_gbps, "G"),
        ("P-5", "FEC", pair.lower.fec, pair.upper.fec, ""),
        ("P-6", "autonegotiation", pair.lower.autoneg, pair.upper.autoneg, ""),
    )
    for code, what, one, other, unit in rules:
        if one is None or other is None or one == other:
            continue
        message = f"{pair.lower} has {what} {one}{unit}, {pair.upper} {other}{unit}: the link stays down"
        yield found(code, pair.upper, pair.lower, what, message, f"set {what} alike on both ends")


def _lanes(end: End, pair: Pair) -> Iterator[Finding]:
    """P-3: a port has the lanes of its breakout, for which the cable was chosen."""
    if end.lanes is None or end.lanes_wanted is None or end.lanes == end.lanes_wanted:
        return
    far = pair.far(end)
    yield found(
        "P-3",
        end,
        far,
        "lanes",
        f"{end} runs over {end.lanes} lanes; the cable ({pair.media}) to {far} was chosen for {end.lanes_wanted} at"
        f" {format_speed(pair.speed_gbps)}",
        f"break {end.port} out as BREAKOUT_CFG of the rendered configuration says",
    )


def hash_seed(sonic_type: str | None) -> int | None:
    """Return the seed that SONiC gives the ECMP hash of a switch of this type, None of a type it has none for."""
    return next((seed for part, seed in _SEEDS if part in (sonic_type or "")), None)


def _hash(pair: Pair) -> Iterator[Finding]:
    """L-1: the tiers of a path hash with different seeds, which SONiC takes from the type."""
    lower, upper = pair.lower, pair.upper
    seed = hash_seed(lower.sonic_type)
    if lower.is_host or seed is None or seed != hash_seed(upper.sonic_type):
        return
    yield found(
        "L-1",
        lower,
        upper,
        "type",
        f"{lower.device} is of type {lower.sonic_type} and {upper.device} of type {upper.sonic_type}, whose ECMP hash"
        f" has one seed ({seed}): flows that one sends one way the other does not spread",
        "give adjacent tiers types of different seeds: ToRRouter for leaves, LeafRouter for spines",
    )
