"""What is added to a lab that runs: whether this can be done, a Containerlab lab beside the first, and its cables."""

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import yaml

from nornir_railweave.lab.cable_ends import connect, isolate, remove
from nornir_railweave.lab.containerlab import Containerlab, ContainerlabError, ContainerNode
from nornir_railweave.lab.laboratory import (
    MORE,
    RUNNING,
    LabFolder,
    await_boot,
    docker,
    host_keys,
    public_key,
    refuse_used_ports,
    waiting_ends,
    write_endpoints,
)
from railweave.lab.cables import EXTERNAL_KIND, Topology, read_record, record
from railweave.lab.growth import Growth
from railweave.wording import command_line, first_few, listed

_REMOVED = "what was added is removed again"


def running_topology(lab: LabFolder) -> Topology | None:
    """Return the nodes and cables of the lab if it runs, as `start` and `grow` noted them; None if it does not.

    Raises ContainerlabError if this machine cannot run a lab of this kind, or the running one is not this folder's or
    has lost nodes.
    """
    if os.geteuid() != 0:
        raise ContainerlabError("Containerlab needs root: run the command as root or with sudo")
    lab.containerlab.refuse_too_old(lab.kind)
    nodes = lab.containerlab.inspect()
    if not nodes:
        return None
    down = f"take it down first (`{command_line('lab', 'down')}`)"
    elsewhere = {node.folder for node in nodes if node.folder not in {"", str(lab.folder.resolve())}}
    if elsewhere:
        raise ContainerlabError(f"a lab {lab.name} runs already, started from {listed(sorted(elsewhere))}: {down}")
    try:
        noted = read_record((lab.folder / RUNNING).read_bytes())
    except (OSError, ValueError):
        said = f"{lab.folder / RUNNING} does not say with which nodes and cables"
        raise ContainerlabError(f"a lab {lab.name} runs already, and {said}: {down}") from None
    if lost := _lost(nodes, noted):
        raise ContainerlabError(f"a lab {lab.name} runs already, but not all of it ({first_few(lost)}): {down}")
    return noted


def _lost(nodes: Iterable[ContainerNode], noted: Topology) -> list[str]:
    """Return which nodes of a lab do not run, and in which state they are."""
    states = {node.name: node.state for node in nodes}
    own = (name for name, node in noted.nodes.items() if node["kind"] != EXTERNAL_KIND)
    return [f"{name}: {states.get(name, 'gone')}" for name in own if states.get(name) != "running"]


def refuse_obstacles(name: str, growth: Growth) -> None:
    """Raise ContainerlabError if a running lab cannot become what its intent says."""
    if growth.obstacles:
        reasons = first_few((f"\n  {one}" for one in growth.obstacles), separator="")
        anew = f"`{command_line('lab', 'down')}` and `{command_line('lab', 'up')}`"
        raise ContainerlabError(
            f"the lab {name} runs and cannot become what the intent says; nothing was changed:{reasons}\n"
            f"start it anew ({anew}), or undo this change of the intent"
        )


def grow(
    lab: LabFolder,
    growth: Growth,
    write: Callable[[], None],
    routes: Mapping[str, tuple[str, ...]],
    boot_s: float | None = None,
) -> None:
    """Add nodes and cables to the running lab, and return when the new switches answer.

    ``write`` writes the files of the new nodes, ``routes`` are commands for nodes that run. On any failure what this
    call added is removed, and the rest runs on. Raises ContainerlabError.
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
        known = host_keys(new, public_key(lab)) if lab.own_image else ""
        further.deploy()
        isolate(ends)
        connect(growth.joints)
        await_boot(new, boot_s, _REMOVED)
        _add_routes(lab, routes)
    except BaseException:
        with contextlib.suppress(ContainerlabError):
            further.destroy()
        remove(ends)
        further.topology.unlink(missing_ok=True)
        for name in growth.added:
            shutil.rmtree(lab.folder / "nodes" / name, ignore_errors=True)
        raise
    if known:
        with (lab.folder / "known_hosts").open("a", encoding="utf-8") as file:
            file.write(known)
    write_endpoints(lab)
    (lab.folder / RUNNING).write_bytes(record(growth.topology))


def _further(lab: LabFolder, document: Mapping[str, Any]) -> Containerlab:
    """Write the lab of what is added beside those that run; fabrics have no `_` in their names."""
    number = next(one for one in itertools.count(2) if not (lab.folder / MORE.format(one)).exists())
    path = (lab.folder / MORE.format(number)).resolve()
    name = f"{lab.name}_{number}"
    path.write_text(yaml.safe_dump({**document, "name": name}, sort_keys=False, width=120), encoding="utf-8")
    return Containerlab(path, name)


def _add_routes(lab: LabFolder, routes: Mapping[str, tuple[str, ...]]) -> None:
    for name, lines in routes.items():
        done = docker("exec", f"clab-{lab.name}-{name}", "sh", "-ec", "\n".join(lines))
        if done.returncode:
            raise ContainerlabError(f"{name} does not take its new routes:\n  {done.stderr.strip()}")
