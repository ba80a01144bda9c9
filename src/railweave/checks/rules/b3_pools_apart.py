"""Every address is a position in its pool; pools that overlap would give one to two devices."""

from itertools import combinations

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent, pool_path

RULE = rule(
    "B-3",
    "no address, subnet or loopback is given twice",
    __doc__,
    "addressing: {loopbacks: 10.32.0.0/16, hosts: 10.32.0.0/11}",
)


@RULE.on_intent
def compare_pools(intent: Intent) -> Breaches:
    """Yield a breach for each pair of pools that overlap, at a pool that the file states if there is one."""
    for (name, pool), (other_name, other_pool) in combinations(intent.pools.items(), 2):
        if pool.meets(other_pool):
            paths = [pool_path(other_name), pool_path(name)]
            path = next((path for path in paths if path in intent.places), paths[0])
            message = f"the pools of {name} ({pool}) and {other_name} ({other_pool}) overlap"
            yield Breach(path, message, "choose pools apart from each other; an address would be given twice")
