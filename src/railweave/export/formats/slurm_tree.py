"""Slurm's ``topology.conf`` for ``TopologyPlugin=topology/tree`` (topology.conf(5)).

Stripes of a rail-optimized fabric are one switch each, because the rails of a node are no choice of the scheduler.
Separate networks have separate roots: Slurm places no job across them.
"""

from collections.abc import Iterator

from railweave.diagnostics import Diagnostic
from railweave.export.hostlist import hostlist
from railweave.export.model import ExportFormat, ExportSource, demand, header
from railweave.export.names import SLURM, name_faults

_ABOUT = "topology.conf of Slurm, for `TopologyPlugin=topology/tree` in slurm.conf"


def slurm_names(source: ExportSource) -> Iterator[Diagnostic]:
    """Yield an error for each name of a node or switch that Slurm refuses."""
    nodes = [source.node(name) for group in source.topology.lowest for name in group.nodes]
    fix = "give a shorter --node-suffix, or rename the entry in `nodes`"
    yield from name_faults(nodes, SLURM, "node", source.top, fix)
    groups = [group.name for group in source.topology.groups]
    yield from name_faults(groups, SLURM, "switch", source.top, "shorten the name of the fabric in the intent")


def _write(source: ExportSource) -> str:
    """Return the file with a line for each switch; raises RefusedError for names that Slurm refuses."""
    demand(slurm_names(source))
    lines = []
    for group in source.topology.groups:
        if group.tier == 0:
            lines.append(f"SwitchName={group.name} Nodes={hostlist(map(source.node, group.nodes))}")
        else:
            below = hostlist(lower.name for lower in group.groups)
            lines.append(f"SwitchName={group.name} Switches={below}")
    return header(source, _ABOUT) + "".join(f"{line}\n" for line in lines)


FORMAT = ExportFormat("slurm-tree", "Slurm: topology.conf of topology/tree", "topology.conf", _write)
