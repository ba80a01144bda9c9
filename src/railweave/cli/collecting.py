"""Collecting the facts of live devices into a folder, for ``railweave check --facts``."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.project import Project
from railweave.api.reaching import ReachedFabric, reached_fabric
from railweave.diagnostics import error
from railweave.errors import RailweaveError, RefusedError
from railweave.files import write_private

if TYPE_CHECKING:
    from railweave.fabric.model import Fabric, Host


@dataclass(frozen=True, slots=True)
class Collected:
    """What was collected: the devices whose facts are written, and why others could not be read."""

    switches: tuple[str, ...]
    nodes: tuple[str, ...]
    faults: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Read:
    """Facts of one device as text, empty where ``fault`` says why there are none."""

    name: str
    text: str
    fault: str


def collect_facts(project: Project, target: str, out: Path, limit: str) -> Collected:
    """Read the switches and nodes of the project's intent that ``limit`` names, and write ``out/NAME.json`` each.

    Nothing is changed on any of them. The file of a device that cannot be read is removed, so that nobody takes what it
    was for what it is. Raises RefusedError where a name means nobody, RailweaveError where ``out`` cannot be written.
    """
    fabric = reached_fabric(project, target)
    switches, hosts = chosen_devices(fabric.designed.fabric, limit)
    read: list[_Read] = []
    # Switches are written before nodes are asked, so that a fault of Ansible loses nothing that was read.
    for one in chain(_of_switches(fabric, switches), _of_nodes(fabric, hosts, target)):
        _write(out, one)
        read.append(one)
    known = fabric.designed.fabric.switch_of
    good = [one.name for one in read if not one.fault]
    return Collected(
        tuple(name for name in good if name in known),
        tuple(name for name in good if name not in known),
        {one.name: one.fault for one in read if one.fault},
    )


def _write(out: Path, one: _Read) -> None:
    file = out / f"{one.name}.json"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if one.fault:
            file.unlink(missing_ok=True)
        else:
            write_private(file, one.text.encode())
    except OSError as wrong:
        raise RailweaveError(f"cannot write the facts into {out}: {wrong.strerror}") from wrong


def chosen_devices(fabric: "Fabric", limit: str) -> tuple[tuple[str, ...], "tuple[Host, ...]"]:
    """Return the switches and nodes that a comma-separated list of patterns means by name, role or kind of node.

    All where it is empty. Raises RefusedError (RW807) where a pattern means nobody.
    """
    patterns = [pattern for pattern in (part.strip() for part in limit.split(",")) if pattern]
    kinds = {switch.name: switch.tier.name for switch in fabric.switches}
    kinds |= {host.name: host.kind for host in fabric.hosts}
    chosen = {name for name, kind in kinds.items() if not patterns or any(_means(one, name, kind) for one in patterns)}
    unknown = [one for one in patterns if not any(_means(one, name, kind) for name, kind in kinds.items())]
    if unknown:
        examples = ", ".join(
            (fabric.switches[0].name, *(host.name for host in fabric.hosts[:1]), *(tier.name for tier in fabric.tiers))
        )
        raise RefusedError(
            [
                error(
                    "RW807", f"no switch and no node is called {', '.join(unknown)}", fix=f"write names like {examples}"
                )
            ]
        )
    return (
        tuple(switch.name for switch in fabric.switches if switch.name in chosen),
        tuple(host for host in fabric.hosts if host.name in chosen),
    )


def _means(pattern: str, name: str, kind: str) -> bool:
    return fnmatchcase(name, pattern) or kind == pattern


def _of_switches(fabric: ReachedFabric, names: Sequence[str]) -> Iterator[_Read]:
    from nornir_railweave.tasks.collecting import collect
    from railweave.checks.fact_files import switch_facts

    with fabric.progress():
        found = collect(fabric.nornir, names, switch_facts, events=fabric.shown)
    yield from (_Read(name, one.text, one.error) for name, one in found.items())


def _of_nodes(fabric: ReachedFabric, hosts: "tuple[Host, ...]", target: str) -> Iterator[_Read]:
    from railweave.cli.node_runs import nodes_of
    from railweave.hosts.facts import node_facts
    from railweave.hosts.values import host_vendor

    access = fabric.target.hosts
    if access is None:
        if hosts:
            print(
                f"{len(hosts)} nodes are not read: target {target} does not say how they are reached", file=sys.stderr
            )
        return
    by_name = {host.name: host for host in hosts}
    for one in nodes_of(fabric.designed, hosts, access, target).read():
        facts = node_facts(one.facts or {}, host_vendor(fabric.designed.fabric, by_name[one.name]))
        yield _Read(one.name, json.dumps(facts, indent=2) + "\n", one.error)
