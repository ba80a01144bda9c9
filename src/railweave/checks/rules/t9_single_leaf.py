"""A node whose ports all end at one switch is cut off when that switch fails, reboots or is upgraded, and a training
job waits for all of its nodes. Rails or planes give a node several switches."""

from collections import defaultdict

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.wording import compact, counted

RULE = rule(
    "T-9",
    "no node depends on a single leaf",
    __doc__,
    "nodes: [{nics: {count: 1}}]",
)


def _nodes_by_only_leaf(fabric: Fabric) -> dict[str, list[str]]:
    """Return the GPU nodes that have all ports at one leaf, by that leaf."""
    nodes: dict[str, list[str]] = defaultdict(list)
    for host in fabric.hosts:
        leaves = {link.upper for link in fabric.uplinks_of[host.name]}
        if len(leaves) == 1:
            nodes[leaves.pop()].append(host.name)
    return nodes


@RULE.on_fabric
def check_single_leaf(fabric: Fabric) -> Breaches:
    """Yield a breach if there are nodes with all ports at one leaf."""
    nodes_of_leaf = _nodes_by_only_leaf(fabric)
    if not nodes_of_leaf:
        return
    leaves = tuple(nodes_of_leaf)
    nodes = [name for names in nodes_of_leaf.values() for name in names]
    if len(leaves) > 1:
        message = (
            f"{compact(leaves)} are each the only switch of their GPU nodes ({compact(nodes)}): one failure cuts these"
            " off"
        )
    else:
        message = (
            f"{compact(leaves)} is the only switch of its GPU nodes ({compact(nodes)}): its failure cuts"
            f" {counted(len(nodes), 'node')} off"
        )
    fix = "give the nodes NICs on several rails or planes, or accept that a failed leaf takes its nodes out"
    severity = Severity.WARNING
    # In a rack-aligned fabric, whose leaves have no rail, one leaf a rack is intended.
    if len(leaves) > 1 and all(fabric.switch_of[name].rail is None for name in leaves):
        severity = Severity.INFO
    yield Breach("nodes", message, fix, severity, leaves)
