"""The fabrics of one intent apart from each other (RW127): their pools, AS numbers and names.

They share nodes, and a node has one routing table: an address that two fabrics give would not say which of them is
meant.
"""

from collections.abc import Iterator

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent, pool_path

_CODE = "RW127"


def fabrics_apart(intent: Intent) -> Iterator[Diagnostic]:
    """Yield the conflicts of a fabric with the other fabrics of its file."""
    for breach in _met(intent):
        yield breach.diagnostic(_CODE, intent.where(breach.path))


def _met(intent: Intent) -> Iterator[Breach]:
    for other in intent.others:
        if intent.fabric == other.fabric:
            message = f"two fabrics are named {intent.fabric}: their switches would have the same names"
            yield Breach("fabric", message, "give one of them another name with `fabric`")
        yield from _pools_met(intent, other)
    if intent.others:
        yield from _numbers_met(intent)


def _pools_met(intent: Intent, other: Intent) -> Iterator[Breach]:
    for key, pool in intent.pools.items():
        for theirs, their_pool in other.pools.items():
            if pool.meets(their_pool):
                message = (
                    f"the pool of {key} ({pool}) of {intent.fabric} overlaps"
                    f" that of {theirs} ({their_pool}) of {other.fabric}"
                )
                yield Breach(pool_path(key), message, f"state another `{pool_path(key)}` for one of the fabrics")


def _numbers_met(intent: Intent) -> Iterator[Breach]:
    """Yield the ranges of AS numbers, in use or reserved for leaves, that overlap one of another fabric."""
    own = _numbers(intent)
    for other in intent.others:
        for their_tier, their_numbers in _numbers(other).items():
            for tier, numbers in own.items():
                if numbers[0] <= their_numbers[-1] and their_numbers[0] <= numbers[-1]:
                    message = (
                        f"the AS numbers of the {tier} tier of {intent.fabric}, {_text(numbers)}, meet"
                        f" those of the {their_tier} tier of {other.fabric}, {_text(their_numbers)}"
                    )
                    key = tier.replace("-", "_")
                    fix = f"state another `addressing.asn.{key}` for one of the fabrics"
                    yield Breach(f"addressing.asn.{key}", message, fix)


def _numbers(intent: Intent) -> dict[str, range]:
    """Return the AS numbers of each tier from the first to the last; of an intent that cannot be built none."""
    fabric = design(intent, load_catalog()).fabric
    if fabric is None:
        return {}
    reserved = (intent.topology.reserve.leaves or 0) * intent.topology.planes
    lowest = intent.policies.addressing.leaf_asn
    ranges: dict[str, range] = {}
    for tier, numbers in _in_use(fabric).items():
        first = min(numbers)
        end = max(numbers) + 1
        if first == lowest:
            # Numbers are handed out from the lowest, and the reserve keeps some for leaves that are not there yet.
            end = max(end, lowest + reserved)
        ranges[tier] = range(first, end)
    return ranges


def _in_use(fabric: Fabric) -> dict[str, set[int]]:
    numbers: dict[str, set[int]] = {}
    for switch in fabric.switches:
        numbers.setdefault(switch.tier.name, set()).add(switch.asn)
    return numbers


def _text(numbers: range) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"{numbers[0]} to {numbers[-1]}"
