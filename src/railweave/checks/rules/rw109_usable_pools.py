"""Loopback, link-local, multicast and reserved addresses are no addresses of a switch or a node (RFC 6890)."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.policy import Pool, parse_pool
from railweave.intent.model import Intent, pool_path

# RFC 6890; site-local addresses are deprecated by RFC 3879.
_UNUSABLE = (
    (parse_pool("0.0.0.0/8"), "this network"),
    (parse_pool("127.0.0.0/8"), "loopback of the host itself"),
    (parse_pool("169.254.0.0/16"), "link-local"),
    (parse_pool("224.0.0.0/4"), "multicast"),
    (parse_pool("240.0.0.0/4"), "reserved"),
    (parse_pool("::/8"), "unspecified, loopback and mapped IPv4"),
    (parse_pool("fe80::/10"), "link-local"),
    (parse_pool("fec0::/10"), "site-local, which is deprecated"),
    (parse_pool("ff00::/8"), "multicast"),
)

RULE = rule("RW109", "address pools hold only addresses that can be used", __doc__, "addressing: {hosts: 224.0.0.0/11}")


@RULE.on_intent
def check_pools(intent: Intent) -> Breaches:
    """Yield a breach for each pool with addresses that no device can have."""
    for name, pool in intent.pools.items():
        blocks = unusable_blocks(pool)
        if blocks:
            message = f"the pool of {name} {pool} holds addresses that cannot be used: {', '.join(blocks)}"
            private = "10.0.0.0/8" if pool.bits == 32 else "fd00::/8"
            yield Breach(pool_path(name), message, f"choose a private pool, like {private} or a part of it")


def unusable_blocks(pool: Pool) -> list[str]:
    """Return the blocks of a pool that no device can have, each with its purpose."""
    return [f"{block} ({what})" for block, what in _UNUSABLE if pool.meets(block)]
