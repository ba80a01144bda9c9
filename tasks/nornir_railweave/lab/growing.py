"""Adding nodes and cables to a running lab: they are a Containerlab lab of their own beside the first one."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml

from nornir_railweave.lab.cable_ends import connect, isolate, remove
from nornir_railweave.lab.containerlab import Containerlab, ContainerlabError, ContainerNode
from nornir_railweave.lab.folder import MORE, RUNNING, LabFolder
from nornir_railweave.lab.keys import host_keys, public_key
from nornir_railweave.lab.laboratory import await_boot, docker, note_endpoints, refuse_used_ports, waiting_ends
from railweave.lab.cables import EXTERNAL_KIND, LabTopology, container_name, read_record, record
from railweave.lab.growth import LabGrowth
from railweave.wording import command_line, first_few, listed

# What happens when the new switches do not boot, for a message.
_REMOVED = "what was added is removed again"


def refuse_unable(lab: LabFolder) -> None:
    """Raise ContainerlabError if this process or machine cannot run a lab of this kind."""
    if os.geteuid() != 0:
        raise ContainerlabError("Containerlab needs root: run the command as root or with sudo")
    lab.containerlab.refuse_too_old(lab.kind)


def running_topology(lab: LabFolder) -> LabTopology | None:
    """Return the nodes and cables of the lab if it runs, as `start` and `grow` noted them; None if it does not.

    Removes what a `grow` that was killed has left behind. Raises ContainerlabError if the running lab is not this
    folder's or has lost nodes.
    """
    nodes = lab.containerlab.inspect()
    if not nodes:
        return None
    down = f"take it down first (`{command_line('lab', 'down')}`)"
    other_folders = {node.folder for node in nodes} - {"", str(lab.folder.resolve())}
    if other_folders:
        raise ContainerlabError(f"a lab {lab.name} runs already, started from {listed(sorted(other_folders))}: {down}")
    try:
        topology = read_record((lab.folder / RUNNING).read_bytes())
    except (OSError, ValueError):
        reason = f"{lab.folder / RUNNING} does not say with which nodes and cables"
        raise ContainerlabError(f"a lab {lab.name} runs already, and {reason}: {down}") from None
    lost = _lost(nodes, topology)
    if lost:
        raise ContainerlabError(f"a lab {lab.name} runs already, but not all of it ({first_few(lost)}): {down}")
    _remove_interrupted(lab, topology)
    return topology


def _remove_interrupted(lab: LabFolder, topology: LabTopology) -> None:
    """Remove additions that were cut off: those with nodes that ``topology``, which is noted last, does not have."""
    noted_containers = {container_name(lab.name, name, node) for name, node in topology.nodes.items()}
    for further in lab.further:
        added_nodes = yaml.safe_load(further.topology.read_text(encoding="utf-8"))["topology"]["nodes"]
        if not added_nodes.keys() <= noted_containers:
            _remove(lab, further)


def _remove(lab: LabFolder, further: Containerlab) -> None:
    """Remove a lab of added nodes, with the ends of its cables and its file."""
    with contextlib.suppress(ContainerlabError):
        further.destroy()
    remove(waiting_ends(lab.name, further.topology))
    further.topology.unlink()


def _lost(nodes: Iterable[ContainerNode], topology: LabTopology) -> list[str]:
    """Return each node of a lab that does not run, with its state."""
    states = {node.name: node.state for node in nodes}
    lost: list[str] = []
    for name, node in topology.nodes.items():
        # Containerlab does not start external nodes.
        if node["kind"] != EXTERNAL_KIND and states.get(name) != "running":
            lost.append(f"{name}: {states.get(name, 'gone')}")
    return lost


def refuse_obstacles(name: str, growth: LabGrowth) -> None:
    """Raise ContainerlabError if a running lab cannot become what its intent says."""
    if growth.obstacles:
        reasons = first_few((f"\n  {obstacle}" for obstacle in growth.obstacles), separator="")
        anew = f"`{command_line('lab', 'down')}` and `{command_line('lab', 'up')}`"
        raise ContainerlabError(
            f"the running lab {name} cannot be changed like this; nothing was done:{reasons}\n"
            f"start it anew ({anew}), or undo the change of the intent or the image"
        )


def grow(
    lab: LabFolder,
    growth: LabGrowth,
    write: Callable[[], None],
    routes: Mapping[str, tuple[str, ...]],
    boot_s: float | None = None,
) -> None:
    """Add nodes and cables to the running lab, and return when the new switches answer.

    ``write`` writes the files of the new nodes. ``routes`` are the commands that add routes on nodes that run already.
    The new switches may take ``boot_s`` seconds to boot, by default as long as their kind needs. On any failure what
    this call added is removed, and the rest runs on. Raises ContainerlabError.
    """
    new = lab.part(growth.added)
    refuse_used_ports(new)
    write()
    if growth.document is None:
        return
    further = _further(lab, growth.document)
    ends = waiting_ends(lab.name, further.topology)
    remove(ends)
    try:
        known_hosts = host_keys(new, public_key(lab)) if lab.own_image else ""
        further.deploy()
        isolate(ends)
        connect(growth.joints)
        await_boot(new, boot_s, _REMOVED)
        _add_routes(lab, routes)
    except BaseException:
        _remove(lab, further)
        for name in growth.added:
            shutil.rmtree(lab.folder / "nodes" / name, ignore_errors=True)
        raise
    if known_hosts:
        with (lab.folder / "known_hosts").open("a", encoding="utf-8") as file:
            file.write(known_hosts)
    note_endpoints(lab)
    # Last: the next call removes the nodes that are not noted here, as left by one that was killed.
    (lab.folder / RUNNING).write_bytes(record(growth.topology))


def _further(lab: LabFolder, document: Mapping[str, Any]) -> Containerlab:
    """Write the topology file of an addition under the first free number; return the lab of that file."""
    number = 2
    while (lab.folder / MORE.format(number)).exists():
        number += 1
    further = lab.beside((lab.folder / MORE.format(number)).resolve())
    text = yaml.safe_dump({**document, "name": further.lab}, sort_keys=False, width=120)
    further.topology.write_text(text, encoding="utf-8")
    return further


def _add_routes(lab: LabFolder, routes: Mapping[str, tuple[str, ...]]) -> None:
    """Run the commands of each node that add routes there. Raises ContainerlabError if one fails."""
    for name, commands in routes.items():
        completed = docker("exec", lab.container(name), "sh", "-ec", "\n".join(commands))
        if completed.returncode:
            raise ContainerlabError(f"{name} does not take its new routes:\n  {completed.stderr.strip()}")
