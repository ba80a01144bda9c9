"""Which links to a device are up, as its neighbors see them; for devices that do not answer, or that leave."""

from collections.abc import Collection, Mapping

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, session
from nornir_railweave.target.connect import run_on
from railweave.fabric.model import Fabric


def links_up_towards(nr: Nornir, fabric: Fabric, silent: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return for each ``silent`` switch or GPU node the neighbors' ports, ``switch:port``, whose link to it is up.

    All ports of a neighbor that does not answer count as up.
    """
    ports_of = _far_ports(fabric, silent)
    far_ends: dict[str, list[str]] = {name: [] for name in silent}
    for neighbor, ports in run_on(nr, ports_of, ports_up, ports_of=ports_of).items():
        for port in ports:
            silent_device = ports_of[neighbor][port]
            far_ends[silent_device].append(f"{neighbor}:{port}")
    return {name: tuple(ends) for name, ends in far_ends.items()}


def ports_up(task: Task, ports_of: Mapping[str, Mapping[str, str]]) -> Result:
    """Return which of a switch's ports in ``ports_of`` are up; all of them if it does not answer."""
    ports = ports_of[task.host.name]
    with session(task) as opened:
        try:
            interfaces = opened.driver.interfaces()
            up = tuple(port for port in ports if interfaces.get(port, {}).get("is_up"))
        except DEVICE_ERRORS:
            up = tuple(ports)
    return Result(host=task.host, result=up)


def _far_ports(fabric: Fabric, silent: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the ports that lead to a ``silent`` device, by neighbor: each port's name, and the device behind it.

    Neighbors that are silent themselves are left out.
    """
    ports_of: dict[str, dict[str, str]] = {}
    for name in silent:
        for link in fabric.links_of[name]:
            neighbor = link.far(name)
            if neighbor in fabric.switch_of and neighbor not in silent:
                port = fabric.ports_of[neighbor][link.port_of(neighbor)]
                ports_of.setdefault(neighbor, {})[port.name] = name
    return ports_of
