"""Cables in each other's place, found from what LLDP saw where the cabling plan has something else.

Two cables are swapped where an end sees the far end of the other and the other way round; both ends of the cables tell
of the same swap, which is reported once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railweave.fabric.model import Fabric
from railweave.names import natural_key
from railweave.plan.outcome import CheckKind, VerifyCheck

End = str
"""``device port`` as LLDP checks write it."""


@dataclass(frozen=True, slots=True)
class SwappedCables:
    """Two cables of the plan, each as its two ends, that are plugged into each other's place."""

    one: tuple[End, End]
    other: tuple[End, End]

    def __str__(self) -> str:
        """Return which cables, and how to put it right."""
        shared = {end.partition(" ")[0] for end in self.one} & {end.partition(" ")[0] for end in self.other}
        where = f"exchange the plugs of {self.one[0]} and {self.other[0]}"
        if shared:
            device = min(shared, key=natural_key)
            where = f"at {device}, exchange the plugs of {_port(self.one, device)} and {_port(self.other, device)}"
        return f"the cables {' - '.join(self.one)} and {' - '.join(self.other)} are swapped: {where}"


def _port(cable: tuple[End, End], device: str) -> str:
    return next(end.partition(" ")[2] for end in cable if end.partition(" ")[0] == device)


def swapped_cables(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[SwappedCables, ...]:
    """Return the swaps that failed LLDP checks show, in natural order."""
    wrong = [check for check in checks if check.kind is CheckKind.LLDP and not check.ok]
    names = _port_names(fabric, {check.actual.partition(" ")[0] for check in wrong})
    planned = {f"{check.device} {check.subject}": check.expected for check in wrong}
    seen = {f"{check.device} {check.subject}": names.get(check.actual, check.actual) for check in wrong}
    owner = {far: end for end, far in planned.items()}
    found: dict[frozenset[tuple[End, End]], SwappedCables] = {}
    for end, actual in seen.items():
        other = owner.get(actual)
        if other is not None and seen[other] == planned[end]:
            cables = sorted((_cable(end, planned[end]), _cable(other, planned[other])), key=lambda one: _order(one[0]))
            found.setdefault(frozenset(cables), SwappedCables(cables[0], cables[1]))
    return tuple(sorted(found.values(), key=lambda swap: _order(swap.one[0])))


def _cable(a: End, b: End) -> tuple[End, End]:
    first, second = sorted((a, b), key=_order)
    return first, second


def _order(end: End) -> tuple[tuple[int, int, str], ...]:
    return natural_key(end)


def _port_names(fabric: Fabric, devices: set[str]) -> Mapping[str, str]:
    """Return the ends of these switches by alias: SONiC's LLDP sends the alias of a port, the plan has its name."""
    return {
        f"{name} {port.alias}": f"{name} {port.name}"
        for name in devices
        if name in fabric.switch_of
        for port in fabric.switch_of[name].panel.ports
    }
