"""Cables that are plugged into a wrong port, from failed LLDP checks.

Two cables are swapped where an end sees the far end of the other and the other way round; both ends of the cables show
the same swap, which is reported once.
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
        """Return which cables, and the fix."""
        shared = {_device(end) for end in self.first} & {_device(end) for end in self.second}
        fix = f"exchange the plugs of {self.first[0]} and {self.second[0]}"
        if shared:
            # At a common switch one person does it without walking.
            device = min(shared, key=natural_key)
            fix = f"at {device}, exchange the plugs of {_port(self.first, device)} and {_port(self.second, device)}"
        return f"the cables {' - '.join(self.first)} and {' - '.join(self.second)} are swapped: {fix}"


def _device(end: End) -> str:
    return end.partition(" ")[0]


def _port(cable: tuple[End, End], device: str) -> str:
    return next(end.partition(" ")[2] for end in cable if _device(end) == device)


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
    """Return the checks with the ports of wrong neighbors by their names, as the plan has them; LLDP sends aliases."""
    checks = tuple(checks)
    names = _port_names(fabric, {_device(check.actual) for check in checks if _is_wrong_neighbor(check)})
    return tuple(replace(check, actual=names.get(check.actual, check.actual)) for check in checks)


def _is_wrong_neighbor(check: VerifyCheck) -> bool:
    return check.kind is CheckKind.LLDP and not check.ok


def misplugged_cables(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[SwappedCables | MovedPlug, ...]:
    """Return the swaps that failed LLDP checks show, then the other cables that lead elsewhere, in natural order.

    Both ends of a cable may show the same, which is reported once.
    """
    planned: dict[End, End] = {}
    seen: dict[End, End] = {}
    for check in with_port_names(fabric, checks):
        if _is_wrong_neighbor(check):
            end = f"{check.device} {check.subject}"
            planned[end] = check.expected
            seen[end] = check.actual
    swaps = _swaps(planned, seen)
    reported = {end for swap in swaps for end in (*swap.first, *swap.second)}
    switch_ports = _switch_ports(fabric, map(_device, seen.values()))
    moved: dict[frozenset[End], MovedPlug] = {}
    for end in sorted(seen.keys() - reported, key=natural_key):
        # A text of LLDP that is no port of the fabric, such as "no neighbor", names no place for a plug.
        if seen[end] in switch_ports:
            moved.setdefault(frozenset((end, seen[end])), MovedPlug(end, planned[end], seen[end]))
    return (*swaps, *moved.values())


def _switch_ports(fabric: Fabric, names: Iterable[str]) -> set[End]:
    """Return all ports of those of the devices that are switches."""
    switches = (fabric.switch_of[name] for name in set(names) & fabric.switch_of.keys())
    return {f"{switch.name} {port.name}" for switch in switches for port in switch.panel.ports}


def _swaps(planned: Mapping[End, End], seen: Mapping[End, End]) -> tuple[SwappedCables, ...]:
    owner = {far: end for end, far in planned.items()}
    swaps: dict[frozenset[tuple[End, End]], SwappedCables] = {}
    for end, actual in seen.items():
        other = owner.get(actual)
        if other is not None and seen[other] == planned[end]:
            cables = (_cable(end, planned[end]), _cable(other, planned[other]))
            first, second = sorted(cables, key=lambda cable: natural_key(cable[0]))
            swaps.setdefault(frozenset(cables), SwappedCables(first, second))
    return tuple(sorted(swaps.values(), key=lambda swap: natural_key(swap.first[0])))


def _cable(a: End, b: End) -> tuple[End, End]:
    first, second = sorted((a, b), key=natural_key)
    return first, second


def _port_names(fabric: Fabric, devices: set[str]) -> Mapping[str, str]:
    """Return the ends of these switches by alias: SONiC's LLDP sends the alias of a port, the plan has its name."""
    names: dict[str, str] = {}
    for device in devices & fabric.switch_of.keys():
        for port in fabric.switch_of[device].panel.ports:
            names[f"{device} {port.alias}"] = f"{device} {port.name}"
    return names
