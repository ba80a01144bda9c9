"""Hosts are named NAME1 to NAMEn and switches after the fabric and their tier: no name may mean two devices."""

from itertools import combinations

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.devices import TIER_NAMES
from railweave.intent.model import Intent, Nodes

RULE = rule("RW104", "names of nodes and switches are unique", __doc__, "nodes: [{name: pod1-leaf}]")


@RULE.on_intent
def compare_names(intent: Intent) -> Breaches:
    """Yield a breach for each entry of nodes that shares a name with another entry or with switches."""
    for (index, entry), (other_index, other) in combinations(enumerate(intent.nodes), 2):
        shared = _shared_host(entry, other)
        if shared is not None:
            message = f"nodes `{entry.name}` and `{other.name}` would both have a node {shared}"
            fix = f"give `nodes[{other_index}]` another name than `nodes[{index}]`, not one that only adds a number"
            yield Breach(f"nodes[{other_index}].name", message, fix)
    for index, entry in enumerate(intent.nodes):
        if entry.name in {f"{intent.fabric}-{role.replace('-', '')}" for role in TIER_NAMES}:
            message = f"nodes `{entry.name}1` … would be named like switches"
            yield Breach(f"nodes[{index}].name", message, "choose a name that says what the servers are, like gpu")


def _shared_host(entry: Nodes, other: Nodes) -> str | None:
    """Return the first node name that two entries share, as ``gpu`` and ``gpu1`` share ``gpu11``; None if there is
    none."""
    short, long = sorted((entry, other), key=lambda nodes: len(nodes.name))
    if not long.name.startswith(short.name):
        return None
    # Node n of gpu1 is gpu1n, the name of node 1n of gpu; names are numbered from 1, without leading zeros.
    digits = long.name.removeprefix(short.name)
    if digits and (not digits.isdigit() or digits.startswith("0")):
        return None
    for number in range(1, long.count + 1):
        if 1 <= int(f"{digits}{number}") <= short.count:
            return f"{long.name}{number}"
    return None
