"""The panel of switches of which only the number of cages and their speed are known: enough to count and to cable them.

Ports have the names that SONiC gives to the ports of switches with eight lanes a cage; nothing is configured on them.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import count

from railweave.fabric.panel import Panel, SwitchPort
from railweave.units import format_speed

_LANES_OF_A_CAGE = 8


@lru_cache(maxsize=256)
def inline_panel(cages: int, speed_gbps: int, groups: Sequence[tuple[int, int, int]]) -> Panel:
    """Return the panel of an inline model with ``cages`` cages of ``speed_gbps``.

    ``groups`` are (number of cages, speed of a port in Gb/s, ports of a cage) from front to back. The same values give
    the same object.
    """
    cage_numbers = count(1)
    ports: list[SwitchPort] = []
    for number, port_gbps, ports_of_a_cage in groups:
        for _ in range(number):
            ports += _ports_of(next(cage_numbers), port_gbps, ports_of_a_cage, len(ports))
    title = f"{cages}x{format_speed(speed_gbps)}"
    return Panel(model=title, hwsku="", platform="", asic="an unknown ASIC", ports=tuple(ports), breakout=())


def _ports_of(cage: int, speed_gbps: int, ports_of_a_cage: int, first: int) -> list[SwitchPort]:
    """Return the ports of the cage with that number, from 1; ``first`` is the index of its first port."""
    ports = []
    for position in range(ports_of_a_cage):
        number = (cage - 1) * _LANES_OF_A_CAGE + position * (_LANES_OF_A_CAGE // ports_of_a_cage)
        subport = position + 1 if ports_of_a_cage > 1 else 0
        alias = f"{cage}/{subport}" if subport else f"{cage}"
        ports.append(
            SwitchPort(
                index=first + position,
                name=f"Ethernet{number}",
                alias=alias,
                lanes="",
                speed_gbps=speed_gbps,
                panel=cage,
                subport=subport,
                fec="",
            )
        )
    return ports
