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
    """Return the fabrics of a file with the pools and AS numbers that they do not state."""
    result: dict[str, Intent] = {}
    for name, intent in intents.items():
        result[name] = _beside(intent, list(result.values()))
    return result


def free_values(intent: "Intent", others: "Sequence[Intent]") -> dict[str, str]:
    """Return, by intent path, the pools and AS numbers with which a fabric is apart from ``others``: its own where
    they are free. A path without a free value is left out."""
    addressing = intent.policies.addressing
    taken = [pool for other in others for pool in other.pools.values()]
    values = {}
    for key in [key for key in _POOLS if key in intent.pools]:
        pool = _first_free((intent.pools[key], *_candidates(key)), taken)
        if pool is not None:
            values[f"addressing.{key}"] = str(pool)
            taken.append(pool)
    for key, numbers in _NUMBERS.items():
        number = _free_number(key, [getattr(addressing, key), *numbers], others)
        if number is not None:
            values[f"addressing.asn.{key.removesuffix('_asn')}"] = str(number)
    return values


def _beside(intent: "Intent", above: "Sequence[Intent]") -> "Intent":
    """Return a fabric beside those above it in the file."""
    addressing = intent.policies.addressing
    changes = {**_pools_beside(intent, above), **_numbers_beside(intent, above)}
    policies = intent.policies._replace(addressing=Addressing(**{**addressing._asdict(), **changes}))
    return replace(intent, policies=policies)


def _pools_beside(intent: "Intent", above: "Sequence[Intent]") -> dict[str, Pool]:
    """Return the pools that a fabric does not state; one for which nothing is free is refused later (RW127)."""
    taken = _taken(intent, above)
    pools = {}
    for key in _POOLS:
        default: Pool | None = getattr(intent.policies.addressing, key)
        if default is None or _is_stated(intent, key):
            continue
        pool = _first_free((default, *_candidates(key)), taken)
        if pool is not None:
            pools[key] = pool
            taken.append(pool)
    return pools


def _taken(intent: "Intent", above: "Sequence[Intent]") -> list[Pool]:
    """Return the pools of the fabrics above, and those that a fabric states itself: its defaults may meet them."""
    taken = [pool for other in above for pool in other.pools.values()]
    return taken + [pool for key, pool in intent.pools.items() if _is_stated(intent, key)]


def _numbers_beside(intent: "Intent", above: "Sequence[Intent]") -> dict[str, int]:
    """Return the first AS numbers that a fabric does not state where a fabric above has the defaults."""
    changes = {}
    for key, numbers in _NUMBERS.items():
        is_taken = numbers[0] in {number for other in above for number in _numbers(other, key)}
        if is_taken and not _is_stated(intent, f"asn.{key.removesuffix('_asn')}"):
            changes[key] = _free_number(key, numbers, above) or numbers[0]
    return changes


def _is_stated(intent: "Intent", key: str) -> bool:
    return f"addressing.{key}" in intent.places


def _candidates(key: str) -> Iterator[Pool]:
    return map(parse_pool, _POOLS[key])


def _first_free(pools: Iterable[Pool], taken: Iterable[Pool]) -> Pool | None:
    return next((pool for pool in pools if not any(pool.meets(other) for other in taken)), None)


def _free_number(key: str, numbers: Iterable[int], others: "Iterable[Intent]") -> int | None:
    """Return the first of ``numbers`` that is as far from those of other fabrics as two fabrics of the list."""
    used = [number for other in others for number in _numbers(other, key)]
    apart = _NUMBERS[key].step
    return next((number for number in numbers if all(abs(number - other) >= apart for other in used)), None)


def _numbers(intent: "Intent", key: str) -> Iterator[int]:
    """Yield the first AS number of a tier that a fabric has as far as its keys say: a count may add a tier later."""
    topology = intent.topology
    has_tier = {
        "leaf_asn": True,
        "spine_asn": "topology.spine" in intent.places or (topology.tiers or 0) > 1,
        "super_spine_asn": topology.asks_for_pods,
    }
    if has_tier[key]:
        yield getattr(intent.policies.addressing, key)
