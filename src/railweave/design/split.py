"""The split of a switch: how many of its ports go down, to GPU nodes or the tier below, and how many up.

Ports are logical ports after breakout; where both directions run at one speed they share cages, else each direction
takes whole cages. Downlinks fill the panel from its first port, uplinks its rest. The split never depends on how many
spines there are today, so that adding switches above moves no port.
"""

from fractions import Fraction
from math import floor, gcd
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
    """The ports of the switches of a tier by their place on the panel.

    ``total`` counts logical ports; downlinks are ports 0 to ``down`` - 1, and ``room`` ports for uplinks begin at
    ``block``. ``blocks`` ports between them are kept for some leaf classes. ``groups`` are the cages from front to back
    with the breakout of each run.
    """

    total: int
    down: int
    block: int
    room: int
    groups: tuple[tuple[int, Breakout], ...]
    blocks: int = 0


NO_PORTS = TierPorts(total=0, down=0, block=0, room=0, groups=())
"""The ports of a tier that is not there."""


def split_step(ports: int) -> int:
    """Return the multiple that automatic uplinks come in: 4, on small switches 1."""
    if ports >= 16:
        return 4
    return 1


def automatic_split(cages: int, down: Breakout, up: Breakout, ratio: Fraction) -> Split | None:
    """Return the split with the most downlinks, then the fewest uplinks, within ``ratio``; None where there is none.

    ``ratio`` is downlink to uplink bandwidth, 1 for a non-blocking switch.
    """
    ports = cages * up.per_cage
    step = split_step(ports)
    bandwidth = ratio * Fraction(up.speed_gbps, down.speed_gbps)
    best: Split | None = None
    for uplinks in range(step, ports, step):
        downlinks = min(floor(bandwidth * uplinks), downlink_room(cages, down, up, uplinks))
        if downlinks > 0 and (best is None or downlinks > best.down):
            best = Split(downlinks, uplinks)
    return best


def downlink_room(cages: int, down: Breakout, up: Breakout, uplinks: int) -> int:
    """Return how many downlinks fit beside ``uplinks``."""
    if down == up:
        return cages * up.per_cage - uplinks
    return max(0, cages - -(-uplinks // up.per_cage)) * down.per_cage


def place_ports(
    cages: int, down: Breakout, up: Breakout, downlinks: int, reserved_uplinks: int | None, whole: int = 1
) -> TierPorts | None:
    """Return where ``downlinks`` and the block of uplinks lie; None where they do not fit.

    The block is the top ``reserved_uplinks`` ports of the panel, or everything above the downlinks from a multiple of
    ``whole`` ports on: uplinks that are to share a cage with each other share none with a downlink.
    """
    if down != up:
        return _place_two_breakouts(cages, down, up, downlinks, reserved_uplinks)
    total = cages * up.per_cage
    block = -(-downlinks // whole) * whole
    if reserved_uplinks is not None:
        block = total - reserved_uplinks
    if not downlinks <= block <= total:
        return None
    return TierPorts(total=total, down=downlinks, block=block, room=total - block, groups=((cages, up),))


def _place_two_breakouts(
    cages: int, down: Breakout, up: Breakout, downlinks: int, reserved_uplinks: int | None
) -> TierPorts | None:
    """Return where ports lie whose directions share no cage: the cages of downlinks come first."""
    lower = -(-downlinks // down.per_cage)
    if reserved_uplinks is not None:
        lower = cages - -(-reserved_uplinks // up.per_cage)
    if not 0 <= lower <= cages or lower * down.per_cage < downlinks:
        return None
    total = lower * down.per_cage + (cages - lower) * up.per_cage
    block = lower * down.per_cage
    if reserved_uplinks is not None:
        block = total - reserved_uplinks
    groups = tuple(group for group in ((lower, down), (cages - lower, up)) if group[0])
    return TierPorts(total=total, down=downlinks, block=block, room=total - block, groups=groups)


def whole_cages(wiring: UplinkWiring, up: Breakout, uplinks: int) -> int:
    """Return the multiple of ports that a block of uplinks begins at: those of a cage, where they divide ``uplinks``,
    all of a switch or those of each pair."""
    if wiring is UplinkWiring.PORTS:
        return 1
    return gcd(up.per_cage, uplinks)


def all_down(cages: int, down: Breakout) -> TierPorts:
    """Return the ports of a top tier: all of them go down."""
    total = cages * down.per_cage
    return TierPorts(total=total, down=total, block=total, room=0, groups=((cages, down),))
