"""Switches choose among equal paths by a hash. With one seed in adjacent tiers, or without the one field in which the
flows between two NICs differ (RoCEv2 puts the queue pair's hash into the UDP source port), many flows take one path."""

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, SwitchRead, rule

RULE = rule(
    "L-1",
    "adjacent tiers have different ECMP hash seeds and hash on the UDP source port of RDMA",
    __doc__,
    "SWITCH_HASH|GLOBAL|ecmp_hash SRC_IP,DST_IP",
)

_ENTROPY = "L4_SRC_PORT"
_SEEDS = (("SpineRouter", 25), ("LeafRouter", 10), ("ToRRouter", 0))
"""The seed of the ECMP hash by a part of DEVICE_METADATA.type, the first that fits (SONiC docker-orchagent,
switch.json.j2)."""


def hash_seed(sonic_type: str | None) -> int | None:
    """Return the seed that SONiC gives the ECMP hash of a switch of this type, None of a type it has none for."""
    return next((seed for part, seed in _SEEDS if part in (sonic_type or "")), None)


@RULE.on_link
def seeds(link: LinkEnds) -> LinkBreaches:
    """Compare the seeds of two tiers, which SONiC takes from the type."""
    lower, upper = link.lower, link.upper
    seed = hash_seed(lower.sonic_type)
    if not lower.is_host and seed is not None and seed == hash_seed(upper.sonic_type):
        message = (
            f"{lower.device} is of type {lower.sonic_type} and {upper.device} of type {upper.sonic_type}, whose ECMP"
            f" hash has one seed ({seed}): flows that one sends one way the other does not spread"
        )
        fix = "give adjacent tiers types of different seeds: ToRRouter for leaves, LeafRouter for spines"
        yield LinkBreach(lower, "type", message, fix)


@RULE.on_switch
def fields(switch: SwitchRead) -> Breaches:
    """Look whether the hash takes in what tells the flows between two NICs apart."""
    stated = switch.tables.get("SWITCH_HASH", {}).get("GLOBAL", {}).get("ecmp_hash")
    if stated is None or not switch.fabric.hosts:
        return
    actual = stated.split(",") if isinstance(stated, str) else list(stated)
    if _ENTROPY not in actual:
        host = switch.fabric.hosts[0].name
        message = (
            f"{switch.name} hashes over {', '.join(actual)}, without {_ENTROPY}, in which alone the flows of {host} to"
            " one other NIC differ: all of them take one path"
        )
        fix = f"add {_ENTROPY} to SWITCH_HASH|GLOBAL|ecmp_hash of {switch.name}, or take the row out"
        yield Breach("", message, fix, devices=(switch.name, host))
