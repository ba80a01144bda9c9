"""Every leaf has an AS number of its own, and the spines of a plane share one, which stops valley paths (RFC 7938
section 5.2.1). They are private (RFC 6996) without the reserved last ones (RFC 7300)."""

from collections.abc import Sequence
from itertools import combinations

from railweave.checks.registry import Breach, Breaches, rule
from railweave.design.identity import PODS
from railweave.design.reserve import PRIVATE_ASNS
from railweave.intent.model import Intent
from railweave.wording import either

# RFC 7607, RFC 6793, and RFC 7300 for the last ones of 16 and of 32 bits.
_RESERVED_ASNS = {0: "reserved", 23_456: "AS_TRANS", 65_535: "reserved", 4_294_967_295: "reserved"}

RULE = rule(
    "B-1",
    "AS numbers are private, not reserved, and the ranges of the tiers do not overlap",
    __doc__,
    "addressing: {asn: {leaf: 4200001000, spine: 4200001000}}",
)


@RULE.on_intent
def check_as_numbers(intent: Intent) -> Breaches:
    """Yield a breach for each tier whose AS numbers are not private, and for each pair of tiers that share one.

    The ranges are those of the smallest fabric that the intent can mean.
    """
    private = {}
    for name, numbers in _ranges_of_tiers(intent).items():
        if any(first <= numbers[0] and numbers[-1] <= last for first, last in PRIVATE_ASNS):
            private[name] = numbers
            continue
        yield _not_private(name, numbers)
    for (tier, numbers), (other_tier, other_numbers) in combinations(private.items(), 2):
        shorter, longer = sorted((numbers, other_numbers), key=len)
        # Numbers of spines have gaps, so ranges that overlap need not meet.
        shared = next((number for number in shorter if number in longer), None)
        if shared is not None:
            yield _shared_number(intent, tier, other_tier, shared)


def _not_private(tier: str, numbers: Sequence[int]) -> Breach:
    """Return the breach of a tier with AS numbers that are reserved, or not all private."""
    reason = _RESERVED_ASNS.get(numbers[0], "not all private")
    range_text = str(numbers[0])
    if len(numbers) > 1:
        range_text += f" to {numbers[-1]}"
    message = f"the AS numbers of the {tier.replace('_', '-')} tier, {range_text}, are {reason}"
    fix = "use 4200000000 to 4294967294, or 64512 to 65534 for a small fabric (RFC 6996)"
    return Breach(f"addressing.asn.{tier}", message, fix)


def _shared_number(intent: Intent, tier: str, other_tier: str, number: int) -> Breach:
    """Return the breach of two tiers with the same AS number, at a range that the intent states if there is one."""
    paths = [f"addressing.asn.{tier}", f"addressing.asn.{other_tier}"]
    stated = [path for path in paths if path in intent.places] or paths
    tiers = f"{tier.replace('_', '-')} and {other_tier.replace('_', '-')}"
    fix = f"move {either(f'`{path}`' for path in stated)} away from the other range"
    return Breach(stated[-1], f"AS number {number} would belong to {tiers} switches", fix)


def _ranges_of_tiers(intent: Intent) -> dict[str, range]:
    """Return the AS numbers that each tier needs at least, by its key in the intent."""
    topology = intent.topology
    addressing = intent.policies.addressing
    leaves = max(topology.leaf.count or 1, topology.reserve.leaves or 1) * topology.planes
    spine = addressing.spine_asn
    # A plane keeps a number for each pod that it may get.
    ranges = {
        "leaf": range(addressing.leaf_asn, addressing.leaf_asn + leaves),
        "spine": range(spine, spine + (topology.planes - 1) * PODS + 1, PODS),
    }
    if topology.asks_for_pods:
        ranges["super_spine"] = range(addressing.super_spine_asn, addressing.super_spine_asn + topology.planes)
    return ranges
