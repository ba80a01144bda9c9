"""The fabrics of one intent apart from each other (RW127): their pools, AS numbers, names and rack units.

They share nodes, and a node has one routing table: an address that two fabrics give would not say which of them is
meant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

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
    """Yield an error for each conflict of a fabric with another fabric of its file."""
    for breach in _conflicts(intent):
        yield breach.diagnostic(_CODE, intent.where(breach.path))


def _conflicts(intent: Intent) -> Iterator[Breach]:
    """Yield the conflicts with each other fabric: names, pools, AS numbers and racks."""
    if not intent.others:
        return
    fabric = design(intent, load_catalog()).fabric
    for other in intent.others:
        if intent.fabric == other.fabric:
            message = f"two fabrics are named {intent.fabric}: their switches would have the same names"
            yield Breach("fabric", message, "give one of them another name with `fabric`")
        # As if the other fabric were the one that is checked.
        beside_other = tuple(beside for beside in (intent, *intent.others) if beside.fabric != other.fabric)
        other_fabric = design(replace(other, others=beside_other), load_catalog()).fabric
        fixes = _Fixes(intent, other)
        pools = _pools_in_use(intent, fabric)
        other_pools = _pools_in_use(other, other_fabric)
        yield from _pool_conflicts(intent, pools, other, other_pools, fixes)
        # An intent that cannot be designed has errors of its own.
        if fabric is not None and other_fabric is not None:
            asn_ranges = _asn_ranges(intent, fabric)
            other_asn_ranges = _asn_ranges(other, other_fabric)
            yield from _asn_conflicts(intent.fabric, asn_ranges, other, other_asn_ranges, fixes)
            yield from _rack_conflicts(fabric, other_fabric)


class _Fixes:
    """Fixes for conflicts of two fabrics: values for the later one in the file that no other fabric uses."""

    def __init__(self, intent: Intent, other: Intent) -> None:
        self._later = max((intent, other), key=_part_number)
        # A free number is only a fix if none of the fabric's other numbers meets one of another fabric.
        rest = [fabric for fabric in (intent, *intent.others) if fabric.fabric != self._later.fabric]
        self._values = free_values(self._later, rest)

    def fix(self, path: str) -> str:
        """Return the fix for a conflict at an intent path."""
        value = self._values.get(path)
        if value is None:
            return f"state another `{path}` for one of the fabrics"
        return f"state `{path}: {value}` for {self._later.fabric}"


def _part_number(intent: Intent) -> int:
    """Return the number of a fabric in its file, 0 if the file has one fabric."""
    if intent.part is None:
        return 0
    return intent.part.number


def _pools_in_use(intent: Intent, fabric: Fabric | None) -> dict[str, Pool]:
    """Return the pools that a fabric uses, by their keys; with a third tier also the pool of its links."""
    pools = dict(intent.pools)
    addressing = intent.policies.addressing
    if fabric is not None and fabric.sizing.super_spines and not addressing.unnumbered:
        pools["core"] = addressing.core
    return pools


def _pool_conflicts(
    intent: Intent, pools: Mapping[str, Pool], other: Intent, other_pools: Mapping[str, Pool], fixes: _Fixes
) -> Iterator[Breach]:
    """Yield a breach for each pair of pools of two fabrics that overlap."""
    for key, pool in pools.items():
        for other_key, other_pool in other_pools.items():
            if pool.meets(other_pool):
                message = (
                    f"the pool of {key} ({pool}) of {intent.fabric} overlaps"
                    f" that of {other_key} ({other_pool}) of {other.fabric}"
                )
                yield Breach(pool_path(key), message, fixes.fix(pool_path(key)))


def _asn_conflicts(
    own_name: str, own_ranges: Mapping[str, range], other: Intent, other_ranges: Mapping[str, range], fixes: _Fixes
) -> Iterator[Breach]:
    """Yield a breach for each pair of tiers of two fabrics whose ranges of AS numbers overlap."""
    for other_tier, other_numbers in other_ranges.items():
        for tier, numbers in own_ranges.items():
            if numbers[0] <= other_numbers[-1] and other_numbers[0] <= numbers[-1]:
                message = (
                    f"the AS numbers of the {tier} tier of {own_name}, {_range_text(numbers)}, meet"
                    f" those of the {other_tier} tier of {other.fabric}, {_range_text(other_numbers)}"
                )
                key = f"addressing.asn.{tier.replace('-', '_')}"
                yield Breach(key, message, fixes.fix(key))


def _rack_conflicts(own: Fabric, other: Fabric) -> Iterator[Breach]:
    """Yield a breach if two fabrics place devices of one name differently, and one if they share a rack unit.

    Each names all devices concerned.
    """
    if own.racks is None or other.racks is None:
        return
    own_places = own.racks.places
    moved = _moved_devices(own_places, other.racks.places)
    if moved:
        message = f"{own.name} and {other.name} have {compact(moved)} in different places"
        fix = "state `racks` once, beside `fabrics`, with an entry for these nodes alone"
        yield Breach("racks.devices", message, fix, devices=tuple(moved))
    clashes = list(_unit_clashes(own_places, other.racks.places))
    if clashes:
        first = clashes[0]
        message = (
            f"{first.name} and {first.other_name} of {other.name} are both in unit {first.unit.number} of rack"
            f" {first.unit.rack}"
        )
        if len(clashes) > 1:
            message += f"; so are {counted(len(clashes) - 1, 'other device')} with one of {other.name}"
        devices = tuple(clash.name for clash in clashes)
        yield Breach("racks.devices", message, "state other units with `unit`, or other racks", devices=devices)


def _moved_devices(own_places: Mapping[str, RackPlace], other_places: Mapping[str, RackPlace]) -> list[str]:
    """Return the names that two fabrics have in different places."""
    moved: list[str] = []
    for name, other_place in other_places.items():
        place = own_places.get(name)
        if place is not None and (place.rack, place.unit) != (other_place.rack, other_place.unit):
            moved.append(name)
    return moved


class _RackUnit(NamedTuple):
    rack: str
    number: int


class _UnitClash(NamedTuple):
    """A rack unit that a device of each of two fabrics has."""

    unit: _RackUnit
    name: str
    other_name: str


def _unit_clashes(own_places: Mapping[str, RackPlace], other_places: Mapping[str, RackPlace]) -> Iterator[_UnitClash]:
    """Yield the first rack unit of each device that a device of another name has as well."""
    other_names = {unit: name for name, place in other_places.items() for unit in _rack_units(place)}
    for name, place in own_places.items():
        unit = next((unit for unit in _rack_units(place) if other_names.get(unit, name) != name), None)
        if unit is not None:
            yield _UnitClash(unit, name, other_names[unit])


def _rack_units(place: RackPlace) -> list[_RackUnit]:
    return [_RackUnit(place.rack, number) for number in range(place.unit, place.unit + place.height)]


def _asn_ranges(intent: Intent, fabric: Fabric) -> dict[str, range]:
    """Return the range of AS numbers of each tier by its name, for leaves with those of the reserve."""
    reserved = (intent.topology.reserve.leaves or 0) * intent.topology.planes
    lowest = intent.policies.addressing.leaf_asn
    ranges: dict[str, range] = {}
    for tier, numbers in _used_asns(fabric).items():
        first = min(numbers)
        end = max(numbers) + 1
        if first == lowest:
            # Numbers are handed out from the lowest, and the reserve keeps some for leaves that are not there yet.
            end = max(end, lowest + reserved)
        ranges[tier] = range(first, end)
    return ranges


def _used_asns(fabric: Fabric) -> dict[str, set[int]]:
    """Return the AS numbers of the switches of each tier."""
    numbers: dict[str, set[int]] = {}
    for switch in fabric.switches:
        numbers.setdefault(switch.tier.name, set()).add(switch.asn)
    return numbers


def _range_text(numbers: range) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"{numbers[0]} to {numbers[-1]}"
