"""Address pools and AS number bases (RFC 1918, RFC 6890, RFC 6996, RFC 7300; fabric-facts section 1.1)."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from itertools import combinations

from railweave.diagnostics import Diagnostic, error, warning
from railweave.fabric.policy import Pool
from railweave.intent.model import Intent
from railweave.units import ipv4_text
from railweave.wording import either

_PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
_UNUSABLE = (
    (IPv4Network("0.0.0.0/8"), "this network"),
    (IPv4Network("127.0.0.0/8"), "loopback of the host itself"),
    (IPv4Network("169.254.0.0/16"), "link-local"),
    (IPv4Network("224.0.0.0/4"), "multicast"),
    (IPv4Network("240.0.0.0/4"), "reserved"),
)
_PRIVATE_ASNS = (range(64_512, 65_535), range(4_200_000_000, 4_294_967_295))
_RESERVED_ASNS = {0: "reserved", 23_456: "AS_TRANS", 65_535: "reserved", 4_294_967_295: "reserved"}
_SPINE_STEP = 1000
"""AS numbers between the spines of two planes (design.md section 3)."""


def address_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield what is wrong with pools and AS numbers, whatever the size of the fabric."""
    pools = _pools_in_use(intent)
    for name, pool in pools.items():
        yield from _pool(intent, name, pool)
    for (one, first), (other, second) in combinations(pools.items(), 2):
        if _network(first).overlaps(_network(second)):
            yield error(
                "B-3",
                f"the pools of {one} ({_text(first)}) and {other} ({_text(second)}) overlap",
                intent.where(_stated(intent, other, one)),
                fix="choose pools apart from each other; an address would be given twice",
            )
    yield from _as_numbers(intent)


def _pools_in_use(intent: Intent) -> dict[str, Pool]:
    addressing = intent.policies.addressing
    pools = {"loopbacks": addressing.loopbacks, "links": addressing.links, "hosts": addressing.hosts}
    if addressing.unnumbered:
        del pools["links"]
    return pools


def _pool(intent: Intent, name: str, pool: Pool) -> Iterator[Diagnostic]:
    where = intent.where(f"addressing.{name}")
    network = _network(pool)
    unusable = [f"{block} ({what})" for block, what in _UNUSABLE if network.overlaps(block)]
    if unusable:
        yield error(
            "RW109",
            f"the pool of {name} {_text(pool)} holds addresses that cannot be used: {', '.join(unusable)}",
            where,
            fix="choose a private pool, like 10.0.0.0/8 or a part of it",
        )
    elif not any(network.subnet_of(private) for private in _PRIVATE):
        yield warning(
            "RW115",
            f"the pool of {name} {_text(pool)} is not private",
            where,
            fix="choose a pool of RFC 1918 or RFC 6598, or be sure that these addresses are yours",
        )


def _stated(intent: Intent, *names: str) -> str:
    """Return the path of the first pool that stands in the file; the others are defaults."""
    paths = [f"addressing.{name}" for name in names]
    return next((path for path in paths if path in intent.places), paths[0])


def _as_numbers(intent: Intent) -> Iterator[Diagnostic]:
    """B-1, as far as it holds for the smallest fabric that the intent can mean."""
    ranges = _asn_ranges(intent)
    sound = {}
    for name, numbers in ranges.items():
        if any(numbers[0] in private and numbers[-1] in private for private in _PRIVATE_ASNS):
            sound[name] = numbers
            continue
        why = _RESERVED_ASNS.get(numbers[0])
        reached = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        yield error(
            "B-1",
            f"the AS numbers of the {name.replace('_', '-')} tier, {reached}, are {why or 'not all private'}",
            intent.where(f"addressing.asn.{name}"),
            fix="use 4200000000 to 4294967294, or 64512 to 65534 for a small fabric (RFC 6996)",
        )
    for (one, first), (other, second) in combinations(sound.items(), 2):
        shared = sorted(set(second) & set(first)) if len(second) < len(first) else [n for n in first if n in second]
        if shared:
            paths = [f"addressing.asn.{name}" for name in (one, other)]
            stated = [path for path in paths if path in intent.places] or paths
            yield error(
                "B-1",
                f"AS number {shared[0]} would belong to {one.replace('_', '-')} and {other.replace('_', '-')} switches",
                intent.where(stated[-1]),
                fix=f"move {either([f'`{path}`' for path in stated])} away from the other range",
            )


def _asn_ranges(intent: Intent) -> dict[str, range]:
    topology, addressing = intent.topology, intent.policies.addressing
    planes = topology.planes
    leaves = max(topology.leaf.count or 1, topology.reserve.leaves or 1) * planes
    spine = addressing.spine_asn
    ranges = {
        "leaf": range(addressing.leaf_asn, addressing.leaf_asn + leaves),
        "spine": range(spine, spine + (planes - 1) * _SPINE_STEP + 1, _SPINE_STEP),
    }
    if topology.super_spine is not None:
        ranges["super_spine"] = range(addressing.super_spine_asn, addressing.super_spine_asn + planes)
    return ranges


def _network(pool: Pool) -> IPv4Network:
    return IPv4Network((pool.first, pool.length))


def _text(pool: Pool) -> str:
    return f"{ipv4_text(pool.first)}/{pool.length}"
