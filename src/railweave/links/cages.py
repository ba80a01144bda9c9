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
        for switch in fabric.switches:
            for port in switch.panel.ports:
                cage = switch.name, port.panel
                self._parts[cage] = self._parts.get(cage, 0) + 1

    def port(self, device: str, index: int) -> str:
        """Return the name of a port by its place in the panel."""
        return self._fabric.switch_of[device].panel.ports[index].name

    def module(self, device: str, index: int, ports: Mapping[str, Any]) -> tuple[Module, range | None]:
        """Return the module of a port, and the lanes that the port has of it; None if it has all.

        ``ports`` are those of the switch's ``link_state``.
        """
        panel = self._fabric.switch_of[device].panel
        port = panel.ports[index]
        parts = self._parts[device, port.panel]
        holder = port
        if parts > 1:
            # Only the first port of a cage has the module's readings.
            holder = next(other for other in panel.ports if other.panel == port.panel)
        state = ports.get(holder.name)
        if not isinstance(state, Mapping):
            return _NO_MODULE, None
        module = module_of(state)
        lanes = module.lanes
        if parts == 1 or lanes % parts:
            return module, None
        first = (max(port.subport, 1) - 1) * (lanes // parts) + 1
        return module, range(first, first + lanes // parts)
