"""What switches see of neighbors that do not answer, or that leave: which of the links to them are up."""

from collections.abc import Collection, Mapping

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, session
from nornir_railweave.target.connect import run_on
from railweave.fabric.model import Fabric


def links_up_towards(nr: Nornir, fabric: Fabric, silent: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the far ends, ``switch:port``, of the links to each ``silent`` switch or GPU node that are up there.

    A neighbor that does not answer either says nothing of its own ports, and they count as up.
    """
    ports_of = _far_ports(fabric, silent)
    up: dict[str, list[str]] = {name: [] for name in silent}
    for far, ports in run_on(nr, ports_of, ports_up, ports_of=ports_of).items():
        for port in ports:
            up[ports_of[far][port]].append(f"{far}:{port}")
    return {name: tuple(ends) for name, ends in up.items()}


def ports_up(task: Task, ports_of: Mapping[str, Mapping[str, str]]) -> Result:
    """Return those of a switch's ports in ``ports_of`` that are up."""
    ports = ports_of[task.host.name]
    with session(task) as opened:
        try:
            interfaces = opened.driver.interfaces()
            up = tuple(port for port in ports if interfaces.get(port, {}).get("is_up"))
        except DEVICE_ERRORS:
            up = tuple(ports)
    return Result(host=task.host, result=up)


def _far_ports(fabric: Fabric, silent: Collection[str]) -> dict[str, dict[str, str]]:
    """Return for each neighboring switch its ports that lead to silent ones, and to which."""
    ports_of: dict[str, dict[str, str]] = {}
    for name in silent:
        for link in fabric.links_of[name]:
            far = link.far(name)
            if far in fabric.switch_of and far not in silent:
                port = fabric.ports_of[far][link.port_of(far)].name
                ports_of.setdefault(far, {})[port] = name
    return ports_of
