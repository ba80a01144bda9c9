"""Modules of ports: a cage that is split has one module, whose readings are at its first port."""

from collections.abc import Mapping
from typing import Any

from railweave.fabric.model import Fabric
from railweave.links.optics import Module, module_of

_NO_MODULE = Module({}, {}, {})


class Cages:
    """The cages of the switches of a fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._parts: dict[tuple[str, int], int] = {}
        # Only the first port of a cage has the readings of its module.
        self._holders: dict[tuple[str, int], str] = {}
        for switch in fabric.switches:
            for port in switch.panel.ports:
                cage = switch.name, port.panel
                self._parts[cage] = self._parts.get(cage, 0) + 1
                self._holders.setdefault(cage, port.name)

    def port(self, device: str, index: int) -> str:
        """Return the name of a port by its place in the panel."""
        return self._fabric.switch_of[device].panel.ports[index].name

    def holder(self, device: str, index: int) -> str:
        """Return the port of the same cage that has the readings of its module."""
        return self._holder(device, index)[1]

    def module(self, device: str, index: int, ports: Mapping[str, Any]) -> tuple[Module, range | None]:
        """Return the module of a port, and the lanes that the port has of it; None if it has all.

        ``ports`` are those of the switch's ``link_state``.
        """
        parts, holder = self._holder(device, index)
        state = ports.get(holder)
        if not isinstance(state, Mapping):
            return _NO_MODULE, None
        module = module_of(state)
        if parts == 1:
            return module, None
        return module, self._lanes(device, index, parts, module.lanes)

    def _holder(self, device: str, index: int) -> tuple[int, str]:
        """Return into how many ports the cage of a port is split, and which of them has the module's readings."""
        cage = device, self._fabric.switch_of[device].panel.ports[index].panel
        return self._parts[cage], self._holders[cage]

    def _lanes(self, device: str, index: int, parts: int, lanes: int) -> range | None:
        if lanes % parts:
            return None
        subport = self._fabric.switch_of[device].panel.ports[index].subport
        first = (max(subport, 1) - 1) * (lanes // parts) + 1
        return range(first, first + lanes // parts)
