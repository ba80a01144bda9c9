"""Loopback, link-local, multicast and reserved addresses are no addresses of a switch or a node (RFC 6890)."""

from ipaddress import IPv4Network

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.policy import Pool
from railweave.intent.model import Intent

_UNUSABLE = (
    (IPv4Network("0.0.0.0/8"), "this network"),
    (IPv4Network("127.0.0.0/8"), "loopback of the host itself"),
    (IPv4Network("169.254.0.0/16"), "link-local"),
    (IPv4Network("224.0.0.0/4"), "multicast"),
    (IPv4Network("240.0.0.0/4"), "reserved"),
)

RULE = rule("RW109", "address pools hold only addresses that can be used", __doc__, "addressing: {hosts: 224.0.0.0/11}")


@RULE.on_intent
def usable(intent: Intent) -> Breaches:
    """Look for blocks that no device can have."""
    for name, pool in intent.pools.items():
        if blocks := unusable_blocks(pool):
            message = f"the pool of {name} {pool} holds addresses that cannot be used: {', '.join(blocks)}"
            yield Breach(f"addressing.{name}", message, "choose a private pool, like 10.0.0.0/8 or a part of it")


def unusable_blocks(pool: Pool) -> list[str]:
    """Return the blocks of a pool that no device can have, each with what it is for."""
    network = IPv4Network((pool.first, pool.length))
    return [f"{block} ({what})" for block, what in _UNUSABLE if network.overlaps(block)]
