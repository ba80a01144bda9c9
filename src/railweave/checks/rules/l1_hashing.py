"""Switches choose among equal paths by a hash. With one seed in adjacent tiers, or without the one field in which the
flows between two NICs differ (RoCEv2 puts the queue pair's hash into the UDP source port), many flows take one path."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, SwitchRead, rule
from railweave.sonic.hashing import ENTROPY, PLACE, hash_seed, hashed_fields

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings

RULE = rule(
    "L-1",
    "adjacent tiers have different ECMP hash seeds and hash on the UDP source port of RDMA",
    __doc__,
    f"{PLACE} SRC_IP,DST_IP",
)


@RULE.on_link
def compare_seeds(link: LinkEnds) -> LinkBreaches:
    """Yield a breach if the two switches of a link have the same hash seed.

    SONiC derives the seed from the type of a switch.
    """
    lower = link.lower
    upper = link.upper
    seed = hash_seed(lower.sonic_type)
    if not lower.is_host and seed is not None and seed == hash_seed(upper.sonic_type):
        message = (
            f"{lower.device} is of {_type_text(lower)} and {upper.device} of {_type_text(upper)}, whose ECMP hash has"
            f" one seed ({seed}): flows that one sends one way the other does not spread"
        )
        fix = "give adjacent tiers types of different seeds: ToRRouter, LeafRouter and SpineRouter from the leaves up"
        yield LinkBreach(lower, "type", message, fix)


def _type_text(end: "PortSettings") -> str:
    if not end.sonic_type:
        return "no type"
    return f"type {end.sonic_type}"


@RULE.on_switch
def check_hash_fields(switch: SwitchRead) -> Breaches:
    """Yield a breach if the hash of a switch leaves out the UDP source port or a field of the design."""
    actual = hashed_fields(switch.read)
    design = hashed_fields(switch.design) or ()
    if actual is None or not switch.fabric.hosts:
        return
    # Where the design sets no fields either, L-1 is reported of the whole tier.
    if not actual and not design:
        return
    host = switch.fabric.hosts[0].name
    message = _hash_fault(switch.name, host, actual, design)
    if not message:
        return
    fix = f"set {PLACE} of {switch.name} as rendered"
    if not design:
        fix = f"add {ENTROPY} to {PLACE} of {switch.name}, or take the row out and reload"
    yield Breach("", message, fix, devices=(switch.name, host))


def _hash_fault(switch: str, host: str, actual: Collection[str], design: Collection[str]) -> str:
    """Return what the fields of a hash lack, empty if they have all of the design.

    ``host`` is a node whose flows the hash does not spread, as an example.
    """
    if not actual:
        return f"the fields of the ECMP hash of {switch} are not set: whether it takes in {ENTROPY} is open"
    if ENTROPY not in actual:
        return (
            f"{switch} hashes over {', '.join(actual)}, without {ENTROPY}, in which alone the flows of {host} to"
            " one other NIC differ: all of them take one path"
        )
    missing = [field for field in design if field not in actual]
    if missing:
        return f"{switch} hashes over {', '.join(actual)}, by design over {', '.join(missing)} too"
    return ""
