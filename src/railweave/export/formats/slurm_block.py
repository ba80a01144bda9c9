"""Slurm's ``topology.conf`` for ``TopologyPlugin=topology/block`` (Slurm 23.11 or newer, topology.conf(5)).

A block is a stripe. The base block size is that of the smallest stripe; larger sizes double it as long as the blocks
fill them, as topograph does.
"""

from railweave.export.formats.slurm_tree import slurm_names
from railweave.export.hostlist import hostlist
from railweave.export.model import ExportFormat, ExportSource, demand, header
from railweave.export.topology import ClusterTopology

_ABOUT = "topology.conf of Slurm 23.11 or newer, for `TopologyPlugin=topology/block` in slurm.conf"


def block_sizes(topology: ClusterTopology) -> list[int]:
    """Return the block sizes in nodes: that of the smallest stripe, doubled as long as there are blocks to fill it."""
    base = min((len(group.nodes) for group in topology.lowest), default=0)
    if not base:
        return []
    sizes = [base]
    while 2 * sizes[-1] <= base * len(topology.lowest):
        sizes.append(2 * sizes[-1])
    return sizes


def _write(source: ExportSource) -> str:
    """Return the file with a line for each stripe; raises RefusedError for names that Slurm refuses."""
    demand(slurm_names(source))
    topology = source.topology
    lines = [f"BlockName={group.name} Nodes={hostlist(map(source.node, group.nodes))}" for group in topology.lowest]
    if lines:
        lines.append(f"BlockSizes={','.join(map(str, block_sizes(topology)))}")
    return header(source, _ABOUT) + "".join(f"{line}\n" for line in lines)


FORMAT = ExportFormat("slurm-block", "Slurm: topology.conf of topology/block", "topology.conf", _write)
