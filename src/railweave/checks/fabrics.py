"""The fabrics of one intent apart from each other (RW127): their pools, AS numbers, names and rack units.

They share nodes, and a node has one routing table: an address that two fabrics give would not say which of them is
meant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Pool
from railweave.fabric.racks import RackPlace
from railweave.intent.carving import free_values
from railweave.intent.model import Intent, pool_path
from railweave.wording import compact, counted

_CODE = "RW127"


def fabrics_apart(intent: Intent) -> Iterator[Diagnostic]:
    """Yield the conflicts of a fabric with the other fabrics of its file."""
    for breach in _met(intent):
        yield breach.diagnostic(_CODE, intent.where(breach.path))


def _met(intent: Intent) -> Iterator[Breach]:
    if not intent.others:
        return
    fabric = design(intent, load_catalog()).fabric
    for other in intent.others:
        if intent.fabric == other.fabric:
            message = f"two fabrics are named {intent.fabric}: their switches would have the same names"
            yield Breach("fabric", message, "give one of them another name with `fabric`")
        beside = tuple(third for third in (intent, *intent.others) if third.fabric != other.fabric)
        others_fabric = design(replace(other, others=beside), load_catalog()).fabric
        ways = _Ways(intent, other)
        yield from _pools_met(intent, _pools(intent, fabric), other, _pools(other, others_fabric), ways)
        if fabric is not None and others_fabric is not None:
            yield from _numbers_met(
                intent.fabric, _numbers(intent, fabric), other, _numbers(other, others_fabric), ways
            )
            yield from _places_met(fabric, others_fabric)


class _Ways:
    """How two fabrics that meet come apart: the later one in the file takes what is free beside all others."""

    def __init__(self, intent: Intent, other: Intent) -> None:
        every = (intent, *intent.others)
        self._later = max((intent, other), key=lambda fabric: fabric.part.number if fabric.part else 0)
        # A free number is only a fix if none of the fabric's other numbers meets one of another fabric.
        beside = [fabric for fabric in every if fabric.fabric != self._later.fabric]
        self._values = free_values(self._later, beside)

    def fix(self, path: str) -> str:
        value = self._values.get(path)
        if value is None:
            return f"state another `{path}` for one of the fabrics"
        return f"state `{path}: {value}` for {self._later.fabric}"


def _pools(intent: Intent, fabric: Fabric | None) -> dict[str, Pool]:
    """Return the pools that a fabric uses, also that of a third tier which follows from its size."""
    pools = dict(intent.pools)
    addressing = intent.policies.addressing
    if fabric is not None and fabric.sizing.super_spines and not addressing.unnumbered:
        pools["core"] = addressing.core
    return pools


def _pools_met(
    intent: Intent, pools: Mapping[str, Pool], other: Intent, their_pools: Mapping[str, Pool], ways: _Ways
) -> Iterator[Breach]:
    for key, pool in pools.items():
        for theirs, their_pool in their_pools.items():
            if pool.meets(their_pool):
                message = (
                    f"the pool of {key} ({pool}) of {intent.fabric} overlaps"
                    f" that of {theirs} ({their_pool}) of {other.fabric}"
                )
                yield Breach(pool_path(key), message, ways.fix(pool_path(key)))


def _numbers_met(
    own_name: str, own: Mapping[str, range], other: Intent, theirs: Mapping[str, range], ways: _Ways
) -> Iterator[Breach]:
    """Yield the ranges of AS numbers, in use or reserved for leaves, that overlap one of another fabric."""
    for their_tier, their_numbers in theirs.items():
        for tier, numbers in own.items():
            if numbers[0] <= their_numbers[-1] and their_numbers[0] <= numbers[-1]:
                message = (
                    f"the AS numbers of the {tier} tier of {own_name}, {_text(numbers)}, meet"
                    f" those of the {their_tier} tier of {other.fabric}, {_text(their_numbers)}"
                )
                key = f"addressing.asn.{tier.replace('-', '_')}"
                yield Breach(key, message, ways.fix(key))


def _places_met(own: Fabric, other: Fabric) -> Iterator[Breach]:
    """Yield the nodes to which two fabrics give two places, and the rack units that they give to different devices."""
    if own.racks is None or other.racks is None:
        return
    places = own.racks.places
    apart = [name for name, place in other.racks.places.items() if places.get(name, place)[:2] != place[:2]]
    if apart:
        message = f"{own.name} and {other.name} have {compact(apart)} in different places"
        fix = "state `racks` once, beside `fabrics`, with an entry for these nodes alone"
        yield Breach("racks.devices", message, fix, devices=tuple(apart))
    clashes = list(_units_met(places, other.racks.places))
    if clashes:
        (rack, unit), name, their_name = clashes[0]
        message = f"{name} and {their_name} of {other.name} are both in unit {unit} of rack {rack}"
        if len(clashes) > 1:
            message += f"; so are {counted(len(clashes) - 1, 'other device')} with one of {other.name}"
        devices = tuple(name for _, name, _ in clashes)
        yield Breach("racks.devices", message, "state other units with `unit`, or other racks", devices=devices)


def _units_met(
    own: Mapping[str, RackPlace], others: Mapping[str, RackPlace]
) -> Iterator[tuple[tuple[str, int], str, str]]:
    """Yield the first rack unit of each device that another one has as well, with the names of both."""
    theirs = {unit: name for name, place in others.items() for unit in _units(place)}
    for name, place in own.items():
        taken = next((unit for unit in _units(place) if theirs.get(unit, name) != name), None)
        if taken is not None:
            yield taken, name, theirs[taken]


def _units(place: RackPlace) -> list[tuple[str, int]]:
    return [(place.rack, unit) for unit in range(place.unit, place.unit + place.height)]


def _numbers(intent: Intent, fabric: Fabric) -> dict[str, range]:
    """Return the AS numbers of each tier from the first to the last."""
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
