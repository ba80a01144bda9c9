"""The split of a switch: how many of its ports go down, to GPU nodes or the tier below, and how many go up.

Ports are logical ports after breakout. Directions of one breakout share cages, else each takes whole cages. Downlinks
fill the panel from its first port, uplinks the rest. The split never depends on today's number of spines, so adding
switches above moves no port.
"""

from fractions import Fraction
from math import ceil, floor, gcd
from typing import NamedTuple

from railweave.intent.model import UplinkWiring


class Breakout(NamedTuple):
    """A port speed in Gb/s and the ports of that speed that one cage gives."""

    speed_gbps: int
    per_cage: int


NO_UPLINKS = Breakout(0, 0)
"""The breakout upwards of a tier that has none above."""


class Split(NamedTuple):
    """Downlinks and uplinks of a switch, in logical ports."""

    down: int
    up: int


class TierPorts(NamedTuple):
    """The logical ports of the switches of a tier, by their place on the panel."""

    total: int
    # Downlinks are the ports from 0 on.
    down: int
    # The first port for uplinks, and how many there are.
    block: int
    room: int
    # Neighboring cages of one breakout, from the front of the panel: (number of cages, breakout).
    groups: tuple[tuple[int, Breakout], ...]
    # Ports between downlinks and uplinks that are kept for single leaf classes.
    blocks: int = 0


NO_PORTS = TierPorts(total=0, down=0, block=0, room=0, groups=())
"""The ports of a tier that is not there."""


def split_step(ports: int) -> int:
    """Return the step of automatic uplinks, whose number is a multiple of it: 4, or 1 on switches with few ports."""
    if ports >= 16:
        return 4
    return 1


def automatic_split(cages: int, down: Breakout, up: Breakout, ratio: Fraction) -> Split | None:
    """Return the split with the most downlinks, then the fewest uplinks, within ``ratio``; None if there is none.

    ``ratio`` is downlink to uplink bandwidth, 1 for a non-blocking switch.
    """
    ports = cages * up.per_cage
    step = split_step(ports)
    downlinks_per_uplink = ratio * Fraction(up.speed_gbps, down.speed_gbps)
    best: Split | None = None
    for uplinks in range(step, ports, step):
        downlinks = min(floor(downlinks_per_uplink * uplinks), downlink_room(cages, down, up, uplinks))
        if downlinks > 0 and (best is None or downlinks > best.down):
            best = Split(downlinks, uplinks)
    return best


def downlink_room(cages: int, down: Breakout, up: Breakout, uplinks: int) -> int:
    """Return how many downlinks fit beside ``uplinks``."""
    if down == up:
        return cages * up.per_cage - uplinks
    uplink_cages = ceil(uplinks / up.per_cage)
    return max(0, cages - uplink_cages) * down.per_cage


def place_ports(
    cages: int, down: Breakout, up: Breakout, downlinks: int, reserved_uplinks: int | None, whole: int = 1
) -> TierPorts | None:
    """Return the places of ``downlinks`` and of the block of uplinks; None if they do not fit.

    The block is the last ``reserved_uplinks`` ports of the panel. With None it is all ports after the downlinks, from a
    multiple of ``whole`` ports on, so that uplinks that share a cage with each other share none with a downlink.
    """
    if down != up:
        return _place_two_breakouts(cages, down, up, downlinks, reserved_uplinks)
    total = cages * up.per_cage
    block = ceil(downlinks / whole) * whole
    if reserved_uplinks is not None:
        block = total - reserved_uplinks
    if not downlinks <= block <= total:
        return None
    return TierPorts(total=total, down=downlinks, block=block, room=total - block, groups=((cages, up),))


def _place_two_breakouts(
    cages: int, down: Breakout, up: Breakout, downlinks: int, reserved_uplinks: int | None
) -> TierPorts | None:
    """Return the places of ports whose directions share no cage, with the cages of downlinks first; None if they do not
    fit."""
    down_cages = ceil(downlinks / down.per_cage)
    if reserved_uplinks is not None:
        down_cages = cages - ceil(reserved_uplinks / up.per_cage)
    up_cages = cages - down_cages
    down_ports = down_cages * down.per_cage
    if down_cages < 0 or up_cages < 0 or down_ports < downlinks:
        return None
    total = down_ports + up_cages * up.per_cage
    block = down_ports
    if reserved_uplinks is not None:
        block = total - reserved_uplinks
    groups = tuple((count, breakout) for count, breakout in ((down_cages, down), (up_cages, up)) if count)
    return TierPorts(total=total, down=downlinks, block=block, room=total - block, groups=groups)


def whole_cages(wiring: UplinkWiring, up: Breakout, uplinks: int) -> int:
    """Return the number of ports of which the first port of a block of uplinks has to be a multiple.

    If uplinks are wired cage by cage, it is the most ports of a cage that divide ``uplinks``, which are those of a
    switch or of a leaf-spine pair.
    """
    if wiring is UplinkWiring.PORTS:
        return 1
    return gcd(up.per_cage, uplinks)


def all_down(cages: int, down: Breakout) -> TierPorts:
    """Return the ports of a switch of the top tier, which all go down."""
    total = cages * down.per_cage
    return TierPorts(total=total, down=total, block=total, room=0, groups=((cages, down),))
