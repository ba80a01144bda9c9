"""Addresses of a fabric stay within it, so they come from the private ranges (RFC 1918, RFC 6598, RFC 4193)."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.checks.rules.rw109_usable_pools import unusable_blocks
from railweave.diagnostics import Severity
from railweave.fabric.policy import parse_pool
from railweave.intent.model import Intent, pool_path

_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
_PRIVATE = tuple(map(parse_pool, _RANGES))

RULE = rule("RW115", "address pools are private", __doc__, "addressing: {hosts: 8.32.0.0/11}")


@RULE.on_intent
def check_private_pools(intent: Intent) -> Breaches:
    """Yield a warning for each pool that is not private."""
    for name, pool in intent.pools.items():
        # RW109 refuses a pool with unusable addresses.
        if not unusable_blocks(pool) and not any(private.holds(pool) for private in _PRIVATE):
            ranges = "of RFC 1918 or RFC 6598" if pool.bits == 32 else "within fd00::/8 (RFC 4193)"
            fix = f"choose a pool {ranges}, or be sure that these addresses are yours"
            yield Breach(pool_path(name), f"the pool of {name} {pool} is not private", fix, Severity.WARNING)
