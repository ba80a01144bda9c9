"""Hosts are named NAME1 to NAMEn and switches after the fabric and their tier: no name may mean two devices."""

from itertools import combinations

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.devices import TIER_NAMES
from railweave.intent.model import Intent, Nodes

RULE = rule("RW104", "names of nodes and switches are unique", __doc__, "nodes: [{name: pod1-leaf}]")


@RULE.on_intent
def names(intent: Intent) -> Breaches:
    """Compare the names of nodes with each other and with those of switches."""
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
    """Return a node name that two entries share: ``gpu`` and ``gpu1`` meet at ``gpu11``."""
    short, long = sorted((entry, other), key=lambda nodes: len(nodes.name))
    digits = long.name.removeprefix(short.name)
    if not long.name.startswith(short.name) or (digits and (not digits.isdigit() or digits.startswith("0"))):
        return None
    # Host n of gpu1 is gpu1n, which gpu has, too, if it has so many hosts.
    numbers = range(1, short.count + 1)
    for number in range(1, long.count + 1):
        if int(f"{digits}{number}") in numbers:
            return f"{long.name}{number}"
    return None
