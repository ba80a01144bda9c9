"""Cables that are plugged into a wrong port, from failed LLDP checks.

Two cables are swapped if an end of each sees the planned far end of the other. Both ends of the cables show the same
swap, which is reported once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from railweave.fabric.model import Fabric
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.wording import natural_key

End = str
"""``device port`` as LLDP checks write it."""


@dataclass(frozen=True, slots=True)
class SwappedCables:
    """Two cables of the plan, each as its two ends, that are plugged into each other's place."""

    first: tuple[End, End]
    second: tuple[End, End]

    def __str__(self) -> str:
        """Return which cables are swapped, and the fix."""
        shared = {_device_of(end) for end in self.first} & {_device_of(end) for end in self.second}
        fix = f"exchange the plugs of {self.first[0]} and {self.second[0]}"
        if shared:
            # At a common switch one person does it without walking.
            device = min(shared, key=natural_key)
            first_port = _port_at(self.first, device)
            second_port = _port_at(self.second, device)
            fix = f"at {device}, exchange the plugs of {first_port} and {second_port}"
        return f"the cables {' - '.join(self.first)} and {' - '.join(self.second)} are swapped: {fix}"


def _device_of(end: End) -> str:
    return end.partition(" ")[0]


def _port_at(cable: tuple[End, End], device: str) -> str:
    return next(end.partition(" ")[2] for end in cable if _device_of(end) == device)


@dataclass(frozen=True, slots=True)
class MovedPlug:
    """A cable of the plan, seen from ``end``, whose other plug is in ``actual`` instead of ``planned``."""

    end: End
    planned: End
    actual: End

    def __str__(self) -> str:
        """Return which cable, and how to put it right."""
        return (
            f"the cable of {self.end} goes to {self.actual} instead of {self.planned}: plug it back from {self.actual}"
            f" into {self.planned}"
        )


def with_port_names(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[VerifyCheck, ...]:
    """Return the checks with the ports of wrong neighbors by name, as the plan names them.

    LLDP may send the alias of a port instead.
    """
    checks = tuple(checks)
    wrong_neighbors = {_device_of(check.actual) for check in checks if _is_wrong_neighbor(check)}
    names = _names_by_alias(fabric, wrong_neighbors)
    return tuple(replace(check, actual=names.get(check.actual, check.actual)) for check in checks)


def _is_wrong_neighbor(check: VerifyCheck) -> bool:
    return check.kind is CheckKind.LLDP and not check.ok


def misplugged_cables(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[SwappedCables | MovedPlug, ...]:
    """Return the swapped cables that failed LLDP checks show, then the other plugs in wrong ports.

    Both are in natural order. A fault that both ends of a cable show is reported once.
    """
    # The far end of each end with a fault.
    planned: dict[End, End] = {}
    seen: dict[End, End] = {}
    for check in with_port_names(fabric, checks):
        if _is_wrong_neighbor(check):
            end = f"{check.device} {check.subject}"
            planned[end] = check.expected
            seen[end] = check.actual
    swaps = _swaps(planned, seen)
    reported = {end for swap in swaps for end in (*swap.first, *swap.second)}
    switch_ports = _switch_ports(fabric, map(_device_of, seen.values()))
    moved: dict[frozenset[End], MovedPlug] = {}
    for end in sorted(seen.keys() - reported, key=natural_key):
        actual = seen[end]
        # LLDP's text may be no port of the fabric, such as "no neighbor": it does not tell where the plug is.
        if actual in switch_ports:
            moved.setdefault(frozenset((end, actual)), MovedPlug(end, planned[end], actual))
    return (*swaps, *moved.values())


def _switch_ports(fabric: Fabric, names: Iterable[str]) -> set[End]:
    """Return all ports of the switches among the devices ``names``."""
    switches = (fabric.switch_of[name] for name in set(names) & fabric.switch_of.keys())
    return {f"{switch.name} {port.name}" for switch in switches for port in switch.panel.ports}


def _swaps(planned: Mapping[End, End], seen: Mapping[End, End]) -> tuple[SwappedCables, ...]:
    """Return each pair of swapped cables once; ``planned`` and ``seen`` have the far end of each end with a fault."""
    end_of_far = {far: end for end, far in planned.items()}
    swaps: dict[frozenset[tuple[End, End]], SwappedCables] = {}
    for end, actual in seen.items():
        other_end = end_of_far.get(actual)
        if other_end is None or seen[other_end] != planned[end]:
            continue
        cables = (_cable_ends(end, planned[end]), _cable_ends(other_end, planned[other_end]))
        first, second = sorted(cables, key=_sort_key)
        swaps.setdefault(frozenset(cables), SwappedCables(first, second))
    return tuple(sorted(swaps.values(), key=lambda swap: _sort_key(swap.first)))


def _cable_ends(a: End, b: End) -> tuple[End, End]:
    """Return the ends of a cable in natural order, so that a cable seen from either end is the same value."""
    first, second = sorted((a, b), key=natural_key)
    return first, second


def _sort_key(cable: tuple[End, End]) -> tuple[str | int, ...]:
    """Return the sort key of a cable."""
    return natural_key(cable[0])


def _names_by_alias(fabric: Fabric, devices: set[str]) -> Mapping[End, End]:
    """Return the ends by port name of the switches among ``devices``, by their ends by port alias."""
    names: dict[str, str] = {}
    for device in devices & fabric.switch_of.keys():
        for port in fabric.switch_of[device].panel.ports:
            names[f"{device} {port.alias}"] = f"{device} {port.name}"
    return names
