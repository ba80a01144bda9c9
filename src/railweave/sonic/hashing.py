"""The ECMP hash: which fields tell flows apart, and the seed by which tiers choose independently of each other.

RoCEv2 has one UDP destination port, and a NIC hashes the queue pair into the source port; no release up to 202605 has a
field for the queue pair itself (sonic-hash.yang). The seed is not configuration: orchagent takes it at start from the
switch's type, in every release (sonic-buildimage dockers/docker-orchagent/switch.json.j2).
"""

from typing import TYPE_CHECKING

from railweave.sonic.neutral import SWITCH_HASH

if TYPE_CHECKING:
    from railweave.sonic.resolved import ResolvedTables

ENTROPY = "L4_SRC_PORT"
"""The field in which alone the flows between two NICs differ."""
PLACE = f"{SWITCH_HASH}|GLOBAL|ecmp_hash"
HASH_FIELDS = ("DST_IP", "IP_PROTOCOL", "L4_DST_PORT", ENTROPY, "SRC_IP")
"""What is rendered; names as in sonic-hash.yang."""

_SEEDS = (("ToRRouter", 0), ("LeafRouter", 10), ("SpineRouter", 25))
"""Seeds by a part of DEVICE_METADATA.type, the first that fits."""


def hash_seed(sonic_type: str | None) -> int | None:
    """Return the seed that SONiC gives the ECMP hash of a switch of this type; None if the type was not read."""
    if sonic_type is None:
        return None
    for type_part, seed in _SEEDS:
        if type_part in sonic_type:
            return seed
    # A switch without a type, or of another one, has the default of switch.json.j2.
    return 0


def hashed_fields(read: "ResolvedTables") -> tuple[str, ...] | None:
    """Return the configured fields of the ECMP hash, empty if there are none; None if that was not read."""
    if not read.knows(SWITCH_HASH) and not read.is_whole:
        return None
    stated = read.row(SWITCH_HASH, "GLOBAL").get("ecmp_hash", ())
    if isinstance(stated, str):
        return tuple(stated.split(","))
    return stated
