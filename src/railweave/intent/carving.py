"""Address pools and AS numbers of several fabrics: what a fabric does not state, and another has, is carved.

Fabrics are taken in the order of the file. A value that a fabric states stays. Any other is the default of a single
fabric, or where a fabric above has that, the first of a fixed list that is free. So nothing moves when a fabric is
added at the end, and a fabric that could run beside the others before keeps what it has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.fabric.policy import Addressing, Pool, parse_pool

if TYPE_CHECKING:
    from railweave.intent.model import Intent

# As large as the defaults for a second fabric; for three more a /12 each (RFC 1918).
_POOLS = {
    "loopbacks": ("10.254.0.0/16", "10.30.0.0/16", "172.30.0.0/16", "10.14.0.0/16"),
    "links": ("10.128.0.0/11", "10.20.0.0/14", "172.20.0.0/14", "10.4.0.0/14"),
    "hosts": ("10.96.0.0/11", "10.16.0.0/14", "172.16.0.0/14", "10.0.0.0/14"),
    "core": ("10.240.0.0/13", "10.28.0.0/15", "172.28.0.0/15", "10.12.0.0/15"),
    "nics": ("10.160.0.0/11", "10.24.0.0/14", "172.24.0.0/14", "10.8.0.0/14"),
}
# The first AS number of each tier in eight fabrics; all of them are private (RFC 6996).
_NUMBERS = {
    "leaf_asn": range(4_210_000_000, 4_290_000_000, 10_000_000),
    "spine_asn": range(4_200_001_000, 4_200_801_000, 100_000),
    "super_spine_asn": range(4_200_000_000, 4_200_800_000, 100_000),
}


def carved(intents: "Mapping[str, Intent]") -> "dict[str, Intent]":
    """Return the fabrics of a file by name, with values for the pools and AS numbers that they do not state."""
    result: dict[str, Intent] = {}
    for name, intent in intents.items():
        fabrics_above = list(result.values())
        result[name] = _carve(intent, fabrics_above)
    return result


def free_values(intent: "Intent", others: "Sequence[Intent]") -> dict[str, str]:
    """Return pools and AS numbers for a fabric, by intent path, that do not overlap those of ``others``.

    The fabric keeps those of its own values that are free. A path for which no value is free is left out.
    """
    addressing = intent.policies.addressing
    taken_pools = [pool for other_fabric in others for pool in other_fabric.pools.values()]
    values = {}
    for key in _POOLS:
        if key not in intent.pools:
            continue
        pool = _first_free((intent.pools[key], *_candidates(key)), taken_pools)
        if pool is not None:
            values[f"addressing.{key}"] = str(pool)
            taken_pools.append(pool)
    for key, numbers in _NUMBERS.items():
        number = _free_number(key, [getattr(addressing, key), *numbers], others)
        if number is not None:
            values[f"addressing.asn.{key.removesuffix('_asn')}"] = str(number)
    return values


def _carve(intent: "Intent", fabrics_above: "Sequence[Intent]") -> "Intent":
    """Return a fabric whose automatic values are free beside those of the fabrics above it in the file."""
    addressing = intent.policies.addressing
    changes = {**_carved_pools(intent, fabrics_above), **_carved_numbers(intent, fabrics_above)}
    policies = intent.policies._replace(addressing=Addressing(**{**addressing._asdict(), **changes}))
    return replace(intent, policies=policies)


def _carved_pools(intent: "Intent", fabrics_above: "Sequence[Intent]") -> dict[str, Pool]:
    """Return values for the pools that a fabric does not state.

    A pool for which nothing is free is left out, and refused later (RW127).
    """
    taken_pools = _taken_pools(intent, fabrics_above)
    pools = {}
    for key in _POOLS:
        default: Pool | None = getattr(intent.policies.addressing, key)
        if default is None or _is_stated(intent, key):
            continue
        pool = _first_free((default, *_candidates(key)), taken_pools)
        if pool is not None:
            pools[key] = pool
            taken_pools.append(pool)
    return pools


def _taken_pools(intent: "Intent", fabrics_above: "Sequence[Intent]") -> list[Pool]:
    """Return the pools of the fabrics above, and those that the fabric itself states."""
    pools_above = [pool for fabric in fabrics_above for pool in fabric.pools.values()]
    stated_pools = [pool for key, pool in intent.pools.items() if _is_stated(intent, key)]
    return pools_above + stated_pools


def _carved_numbers(intent: "Intent", fabrics_above: "Sequence[Intent]") -> dict[str, int]:
    """Return other first AS numbers for the tiers whose default a fabric above has, unless the fabric states them."""
    changes = {}
    for key, numbers in _NUMBERS.items():
        default = numbers[0]
        numbers_above = {number for fabric in fabrics_above for number in _first_numbers(fabric, key)}
        if default in numbers_above and not _is_stated(intent, f"asn.{key.removesuffix('_asn')}"):
            changes[key] = _free_number(key, numbers, fabrics_above) or default
    return changes


def _is_stated(intent: "Intent", key: str) -> bool:
    return f"addressing.{key}" in intent.places


def _candidates(key: str) -> Iterator[Pool]:
    return map(parse_pool, _POOLS[key])


def _first_free(pools: Iterable[Pool], taken_pools: Iterable[Pool]) -> Pool | None:
    """Return the first of ``pools`` that overlaps none of ``taken_pools``; None if there is none."""
    for pool in pools:
        if not any(pool.meets(taken) for taken in taken_pools):
            return pool
    return None


def _free_number(key: str, numbers: Iterable[int], others: "Iterable[Intent]") -> int | None:
    """Return the first of ``numbers`` that is far enough from those of other fabrics; None if there is none.

    Far enough is the distance of two numbers in the list of the tier, so that each fabric can count up from its own.
    """
    used_numbers = [number for other_fabric in others for number in _first_numbers(other_fabric, key)]
    distance = _NUMBERS[key].step
    for number in numbers:
        if all(abs(number - used) >= distance for used in used_numbers):
            return number
    return None


def _first_numbers(intent: "Intent", key: str) -> Iterator[int]:
    """Yield the first AS number of a tier; nothing if the keys of the fabric show that it does not have the tier.

    ``key`` is that of ``Addressing``, such as ``leaf_asn``.
    """
    topology = intent.topology
    has_tier = {
        "leaf_asn": True,
        "spine_asn": "topology.spine" in intent.places or (topology.tiers or 0) > 1,
        "super_spine_asn": topology.asks_for_pods,
    }
    if has_tier[key]:
        yield getattr(intent.policies.addressing, key)
