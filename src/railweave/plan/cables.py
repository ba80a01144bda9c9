"""The cables that a plan adds, moves and removes, by the labels of the ports that a technician reads.

Told from the rows themselves, so that a plan read from switches and one of two intents say the same: a port's
description names its far port, DEVICE_NEIGHBOR the label of that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from railweave.fabric.model import TIER_NAMES
from railweave.plan.model import Plan
from railweave.sonic.delta.change import Delta, Op
from railweave.sonic.delta.subject import SubjectKind, is_port
from railweave.wording import natural_key

_LEVELS = {name: level for level, name in enumerate(TIER_NAMES)}
_ORDER = (Op.UPDATE, Op.REMOVE, Op.ADD)
_FAR = "to "
"""What the description of a cabled port begins with."""


class CableEnd(NamedTuple):
    """A port by its name in SONiC, of a node by that of the NIC."""

    device: str
    port: str


@dataclass(frozen=True, slots=True)
class CableChange:
    """A cable by its end nearer to the GPUs and its other end before and after: without the one it is added, without
    the other removed, with both moved. Ends are texts ``device:port``, all with labels or all with SONiC's names."""

    lower: str
    before: str
    after: str

    @property
    def op(self) -> Op:
        """Return what becomes of the cable; a moved one is updated."""
        return Op.UPDATE if self.before and self.after else Op.REMOVE if self.before else Op.ADD


@dataclass(slots=True)
class _Ports:
    """What the rows of a plan say of ports: where their cables lead before and after, and what their labels are.

    A far port that only has a label is known by it."""

    before: dict[CableEnd, CableEnd]
    after: dict[CableEnd, CableEnd]
    labels: dict[CableEnd, str]
    nodes: set[str]


def changed_cables(plan: Plan) -> tuple[CableChange, ...]:
    """Return the cables that ``plan`` changes: moved ones first, then removed and added ones, by their lower ends."""
    ports = _ports(plan)
    before, after = (_by_lower_end(plan, side, ports.nodes) for side in (ports.before, ports.after))
    found = [
        _change(ports.labels, lower, before.get(lower), after.get(lower))
        for lower in sorted({*before, *after}, key=lambda end: (natural_key(end.device), natural_key(end.port)))
        if before.get(lower) != after.get(lower)
    ]
    return tuple(sorted(found, key=lambda one: _ORDER.index(one.op)))


def _ports(plan: Plan) -> _Ports:
    ports = _Ports({}, {}, {}, set())
    for name, delta in plan.deltas.items():
        labels = {CableEnd(name, key): label for (key, _), label in _told(delta, SubjectKind.PORT, "alias").items()}
        ports.labels.update({CableEnd(name, key): label for key, label in (plan.devices[name].labels or {}).items()})
        ports.labels.update(labels)
        names, labels_there = (_told(delta, SubjectKind.LINK, field) for field in ("name", "port"))
        described = _told(delta, SubjectKind.PORT, "description")
        for key, is_after in dict.fromkeys((*names, *labels_there)):
            # What a switch has before its first configuration is the sample of a factory: nobody's cables.
            if not is_after and plan.devices[name].unprovisioned:
                continue
            place = key, is_after
            far = _described(described.get(place, ""))
            there = names.get(place, far.device if far else "the same device")
            if far is None or far.device != there:
                far = CableEnd(there, labels_there.get(place, "the same port"))
            elif not is_port(far.port):
                ports.nodes.add(there)
            (ports.after if is_after else ports.before)[CableEnd(name, key)] = far
            if place in labels_there:
                ports.labels[far] = labels_there[place]
    return ports


def _told(delta: Delta, kind: SubjectKind, field: str) -> dict[tuple[str, bool], str]:
    """Return what a field of the rows of a kind is before (False) and after (True) by their keys, where it changes."""
    found = {}
    for change in delta.about(kind):
        for is_after, held in ((False, change.before), (True, change.after)):
            value = held if change.field == field else None
            if change.field is None and isinstance(held, Mapping):
                value = held.get(field)
            if isinstance(value, str):
                found[change.key, is_after] = value
    return found


def _described(description: str) -> CableEnd | None:
    """Return the far port that the description of a port names."""
    device, _, port = description.removeprefix(_FAR).rpartition(":")
    return CableEnd(device, port) if device and description.startswith(_FAR) else None


def _by_lower_end(plan: Plan, cables: dict[CableEnd, CableEnd], nodes: set[str]) -> dict[CableEnd, CableEnd]:
    """Return the upper end of each cable by its lower one, whichever of its ends were told."""
    levels = {name: _LEVELS.get(device.role, 0) for name, device in plan.devices.items()}
    found = {}
    for own, far in cables.items():
        level = levels[own.device]
        # What is no switch of the plan is a node, or a switch that leaves the fabric.
        far_level = levels.get(far.device, -1 if level or far.device in nodes else len(_LEVELS))
        lower, upper = sorted(((level, own), (far_level, far)))
        found[lower[1]] = upper[1]
    return found


def _change(
    labels: dict[CableEnd, str], lower: CableEnd, before: CableEnd | None, after: CableEnd | None
) -> CableChange:
    ends = [lower, *(end for end in (before, after) if end is not None)]
    labeled = all(end in labels for end in ends)
    shown = {end: f"{end.device}:{labels[end] if labeled else end.port}" for end in ends}
    return CableChange(shown[lower], shown[before] if before else "", shown[after] if after else "")
