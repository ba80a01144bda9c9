"""Facts of live devices: their settings, collected into files that `check` compares with the intent."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from nornir_railweave.target.node_access import node_access
from nornir_railweave.tasks.facts import collect as collect_switches
from railweave.api.hosts import reach_nodes, selected
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.checks.facts import switch_facts
from railweave.errors import RailweaveError
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.files import write_private
from railweave.hosts.facts import node_facts
from railweave.hosts.values import host_vendor
from railweave.masking import masked
from railweave.wording import counted

__all__ = ["collect"]


@dataclass(frozen=True, slots=True)
class Collected:
    """The devices whose facts were written, and by name why others could not be read."""

    switches: tuple[str, ...]
    nodes: tuple[str, ...]
    unread: dict[str, str]


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Facts of one device as text; empty with an ``error``, the reason why there are none."""

    device: str
    text: str
    error: str


def collect(project: Project, target: str, out: Path, *, limit: str = "") -> Collected:
    """Read the switches and nodes that ``limit`` names, by default all, and write ``out/NAME.json`` of each.

    No device is changed. The file of a device that cannot be read is removed, so that no outdated facts remain. Raises
    RefusedError if a name matches no device, RailweaveError if ``out`` cannot be written.
    """
    live = live_fabric(project, target)
    switch_names, hosts = _limited_devices(live.designed.fabric, limit)
    # Switches are written before nodes are read, so that a failure of Ansible loses nothing.
    switches = write_readings(out, _switch_facts(live, switch_names))
    nodes = write_readings(out, _node_facts(project, live, hosts))
    unread = {facts.device: facts.error for facts in chain(switches, nodes) if facts.error}
    return Collected(_names_written(switches), _names_written(nodes), unread)


def _limited_devices(fabric: Fabric, limit: str) -> tuple[list[str], tuple[Host, ...]]:
    """Return the switches' names and the nodes that ``limit`` names; raises RefusedError if a part of it names none."""
    kind_of = {switch.name: switch.tier.name for switch in fabric.switches}
    kind_of |= {host.name: host.kind for host in fabric.hosts}
    names = selected(kind_of, limit)
    switch_names = [switch.name for switch in fabric.switches if switch.name in names]
    return switch_names, tuple(host for host in fabric.hosts if host.name in names)


def write_readings(out: Path, readings: Iterable[DeviceFacts]) -> list[DeviceFacts]:
    """Write the facts of each device as soon as it is read, and return them."""
    written_facts = []
    for facts in readings:
        _write(out, facts)
        written_facts.append(facts)
    return written_facts


def _names_written(readings: Iterable[DeviceFacts]) -> tuple[str, ...]:
    """Return the devices whose facts were written into a file."""
    return tuple(facts.device for facts in readings if not facts.error)


def _write(out: Path, facts: DeviceFacts) -> None:
    """Write the facts of a device, or remove its file where it could not be read."""
    file = out / f"{facts.device}.json"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if facts.error:
            file.unlink(missing_ok=True)
        else:
            write_private(file, masked(facts.text).encode())
    except OSError as fault:
        raise RailweaveError(f"cannot write the facts into {out}: {fault.strerror}") from fault


def _switch_facts(live: LiveFabric, names: list[str]) -> Iterator[DeviceFacts]:
    # Without switches the login of the target is not tried: it may be missing where only nodes are read.
    if names:
        with live.progress():
            yield from switch_readings(live, names)


def switch_readings(live: LiveFabric, names: list[str]) -> Iterator[DeviceFacts]:
    """Yield the facts of the switches ``names``, whose sessions stay open."""
    readings = collect_switches(live.nornir, names, switch_facts, events=live.shown)
    for name, reading in readings.items():
        yield DeviceFacts(name, reading.text, reading.error)


def _node_facts(project: Project, live: LiveFabric, hosts: tuple[Host, ...]) -> Iterator[DeviceFacts]:
    """Yield the facts of nodes; none, with a note to the operator, if the target does not say how to reach them."""
    access = node_access(live.designed.fabric.name, live.target)
    if access is None:
        if hosts:
            count = counted(len(hosts), "node")
            project.operator.tell(f"{count} not read: target {live.target.name} does not say how to reach them")
        return
    host_of = {host.name: host for host in hosts}
    for reading in reach_nodes(project, live.designed, hosts, live.target, access).read():
        host = host_of[reading.name]
        yield node_reading(live.designed.fabric, host, reading.facts, reading.error, has_nics=access.nic_settings)


def node_reading(
    fabric: Fabric, host: Host, read: Mapping[str, Any] | None, why: str, *, has_nics: bool = True
) -> DeviceFacts:
    """Return the facts of a node from what its program read; ``why`` is the reason if nothing could be read.

    Without ``has_nics`` (``hosts.nic_settings`` of the target) the node's interfaces have no settings of a NIC.
    """
    # Without a reading the facts are empty.
    facts = node_facts(read or {}, host_vendor(fabric, host), has_nics=has_nics)
    return DeviceFacts(host.name, json.dumps(facts, indent=2) + "\n", why)
