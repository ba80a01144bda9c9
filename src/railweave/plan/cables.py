"""The cables that a plan adds, moves and removes, by the labels of the ports that a technician reads.

Told from the rows themselves, so that a plan read from switches and one of two intents say the same: a port's
description names its far port, DEVICE_NEIGHBOR the label of that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.fabric.model import TIER_NAMES
from railweave.fabric.moves import End, Ends, moves
from railweave.plan.model import Plan
from railweave.sonic.delta.change import Delta, Op
from railweave.sonic.delta.subject import SubjectKind, is_port
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.wording import natural_key

_LEVELS = {name: level for level, name in enumerate(TIER_NAMES)}
_LEVEL_OF_TYPE = {SONIC_TYPE[name]: level for name, level in _LEVELS.items()}
_ORDER = (Op.UPDATE, Op.REMOVE, Op.ADD)
_FAR = "to "
"""What the description of a cabled port begins with."""


@dataclass(frozen=True, slots=True)
class CableChange:
    """A cable by its end nearer to the GPUs and its other end before and after: without the one it is added, without
    the other removed, with both moved. Ends are texts ``device:port``, all with labels or all with SONiC's names;
    ``lower_after`` is the end nearer to the GPUs afterwards where that moves, else empty. ``moves`` are the ends by
    SONiC's names where the cable moves."""

    lower: str
    before: str
    after: str
    lower_after: str = ""
    moves: tuple[Ends, Ends] | None = None

    @property
    def op(self) -> Op:
        """Return what becomes of the cable; a moved one is updated."""
        return Op.UPDATE if self.before and self.after else Op.REMOVE if self.before else Op.ADD

    @property
    def lower_shown(self) -> str:
        """Return its end nearer to the GPUs, and where that moves to."""
        return f"{self.lower} → {self.lower_after}" if self.lower_after else self.lower

    @property
    def move(self) -> str:
        """Return in a phrase where a moved cable goes."""
        if not self.lower_after:
            return f"{self.lower} from {self.before} to {self.after}"
        if self.before == self.after:
            return f"{self.after} from {self.lower} to {self.lower_after}"
        return f"{self.lower} – {self.before} to {self.lower_after} – {self.after}"


@dataclass(slots=True)
class _Ports:
    """What the rows of a plan say of ports: where their cables lead before and after, and what their labels are.

    A far port that only has a label is known by it."""

    before: dict[End, End]
    after: dict[End, End]
    labels: dict[End, str]
    nodes: set[str]


def changed_cables(plan: Plan) -> tuple[CableChange, ...]:
    """Return the cables that ``plan`` changes: moved ones first, then removed and added ones, by their lower ends."""
    ports = _ports(plan)
    before, after = (_by_lower_end(plan, side, ports.nodes) for side in (ports.before, ports.after))
    leaving = _levels_of_neighbors(plan).keys() - plan.devices.keys()
    # A switch that comes or goes does so with its cables; of a node no row tells whether it stays.
    moved = moves(
        (ends for ends in before if ends.lower.device not in leaving),
        (ends for ends in after if ends.lower.device not in plan.unprovisioned),
    )
    stay, come = before.keys() & after.keys(), {*after} - set(moved.values())
    gone = {ends: (ends, moved.get(ends)) for ends in before if ends not in stay}
    added = {ends: (None, ends) for ends in after if ends in come and ends not in stay}
    found = [
        _change(ports.labels, *pair) for _, pair in sorted((gone | added).items(), key=lambda item: _place(item[0]))
    ]
    return tuple(sorted(found, key=lambda one: _ORDER.index(one.op)))


def _place(ends: Ends) -> tuple[object, object]:
    return natural_key(str(ends.lower.device)), natural_key(str(ends.lower.port))


def _ports(plan: Plan) -> _Ports:
    ports = _Ports({}, {}, {}, set())
    for name, delta in plan.deltas.items():
        if not delta.about(SubjectKind.LINK):
            continue
        labels = {End(name, key): label for (key, _), label in _told(delta, SubjectKind.PORT, "alias").items()}
        ports.labels.update({End(name, key): label for key, label in (plan.devices[name].labels or {}).items()})
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
                far = End(there, labels_there.get(place, "the same port"))
            elif not is_port(str(far.port)):
                ports.nodes.add(str(there))
            (ports.after if is_after else ports.before)[End(name, key)] = far
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


def _described(description: str) -> End | None:
    """Return the far port that the description of a port names."""
    device, _, port = description.removeprefix(_FAR).rpartition(":")
    return End(device, port) if device and description.startswith(_FAR) else None


def _by_lower_end(plan: Plan, cables: dict[End, End], nodes: set[str]) -> dict[Ends, None]:
    """Return the cables, whichever of their ends were told; one for each lower end."""
    levels = _levels_of_neighbors(plan) | {name: _LEVELS.get(device.role, 0) for name, device in plan.devices.items()}
    found: dict[End, End] = {}
    for own, far in cables.items():
        level = levels[str(own.device)]
        # What is no switch of the plan is a node, or a switch that leaves the fabric.
        far_level = levels.get(str(far.device), -1 if level or far.device in nodes else len(_LEVELS))
        lower, upper = sorted(((level, own), (far_level, far)))
        found[lower[1]] = upper[1]
    return {Ends(lower, upper): None for lower, upper in found.items()}


def _levels_of_neighbors(plan: Plan) -> dict[str, int]:
    """Return the levels of the switches that come or go as somebody's neighbors."""
    found = {}
    for delta in plan.deltas.values():
        for change in delta.about(SubjectKind.NEIGHBOR):
            row = change.before if change.after is None else change.after
            kind = row.get("type") if isinstance(row, Mapping) else None
            if kind in _LEVEL_OF_TYPE:
                found[change.key] = _LEVEL_OF_TYPE[kind]
    return found


def _change(labels: dict[End, str], before: Ends | None, after: Ends | None) -> CableChange:
    ends = [*(before or ()), *(after or ())]
    labeled = all(end in labels for end in ends)
    shown = {end: f"{end.device}:{labels[end] if labeled else end.port}" for end in ends}
    lower, lower_after = (shown[ends.lower] if ends else "" for ends in (before, after))
    return CableChange(
        lower or lower_after,
        shown[before.upper] if before else "",
        shown[after.upper] if after else "",
        lower_after if before and after and lower_after != lower else "",
        (before, after) if before and after else None,
    )
