"""Modules of ports: a cage that is split has one module, whose readings are at its first port."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from railweave.fabric.model import Fabric
from railweave.links.optics import Module, module_of

_NO_MODULE = Module({}, {}, {})


class Cages:
    """The cages of the switches of a fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        # By switch and cage: into how many ports the cage is split.
        self._parts: Counter[tuple[str, int]] = Counter()
        # The first port of the cage, which alone has the readings of the module.
        self._holders: dict[tuple[str, int], str] = {}
        for switch in fabric.switches:
            for port in switch.panel.ports:
                cage = switch.name, port.panel
                self._parts[cage] += 1
                self._holders.setdefault(cage, port.name)

    def port(self, device: str, index: int) -> str:
        """Return the name of a port by its index in the panel of a switch."""
        return self._fabric.switch_of[device].panel.ports[index].name

    def holder(self, device: str, index: int) -> str:
        """Return the port that has the readings of a port's module: the first one of their cage."""
        return self._holders[self._cage(device, index)]

    def module(self, device: str, index: int, ports: Mapping[str, Any]) -> tuple[Module, range | None]:
        """Return the module of a port, and the lanes of the module that the port uses.

        The lanes are None if the port uses all of them, or if they are unknown. ``ports`` are those of the switch's
        ``link_state``.
        """
        state = ports.get(self.holder(device, index))
        if not isinstance(state, Mapping):
            return _NO_MODULE, None
        module = module_of(state)
        parts = self._parts[self._cage(device, index)]
        if parts == 1:
            return module, None
        return module, self._lanes(device, index, parts, module.lanes)

    def _cage(self, device: str, index: int) -> tuple[str, int]:
        return device, self._fabric.switch_of[device].panel.ports[index].panel

    def _lanes(self, device: str, index: int, parts: int, lanes: int) -> range | None:
        """Return the lanes of a port in a cage of several parts; None if its lanes cannot be divided evenly."""
        if lanes % parts:
            return None
        lanes_of_part = lanes // parts
        # Ports of a cage count from 1.
        subport = max(self._fabric.switch_of[device].panel.ports[index].subport, 1)
        first = (subport - 1) * lanes_of_part + 1
        return range(first, first + lanes_of_part)
