"""The cables that a plan adds, moves and removes, by the labels of the ports that a technician reads.

Taken from the rows themselves, so that a plan read from switches and one of two intents agree: a port's description
names its far port, DEVICE_NEIGHBOR that port's label.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from railweave.fabric.devices import TIER_NAMES
from railweave.fabric.moves import End, Ends, moves
from railweave.plan.model import DevicePlan, Plan
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
    """A cable that is added, removed or moved.

    Ends are texts ``device:port``, all with labels or all with SONiC's names. ``lower`` is the end nearer to the GPUs;
    ``before`` and ``after`` are its other end before and after the change, empty for an added and a removed cable.
    ``lower_after`` is where the lower end goes, empty if it stays. ``moves`` are the ends by SONiC's names if the cable
    moves.
    """

    lower: str
    before: str
    after: str
    lower_after: str = ""
    moves: tuple[Ends, Ends] | None = None

    @property
    def op(self) -> Op:
        """Return whether the cable is added, removed or moved (an update)."""
        if not self.before:
            return Op.ADD
        if not self.after:
            return Op.REMOVE
        return Op.UPDATE

    @property
    def lower_shown(self) -> str:
        """Return its end nearer to the GPUs, and where that moves to."""
        if self.lower_after:
            return f"{self.lower} → {self.lower_after}"
        return self.lower

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
    """What the changed rows of a plan say about ports. A far port without a name is identified by its label."""

    # Own end of a cable → far end.
    before: dict[End, End] = field(default_factory=dict)
    after: dict[End, End] = field(default_factory=dict)
    labels: dict[End, str] = field(default_factory=dict)
    # GPU nodes, which have no rows of their own in a plan.
    nodes: set[str] = field(default_factory=set)


def changed_cables(plan: Plan) -> tuple[CableChange, ...]:
    """Return the cables that ``plan`` changes: moved ones first, then removed and added ones, by their lower ends."""
    ports = _ports(plan)
    before = _by_lower_end(plan, ports.before, ports.nodes)
    after = _by_lower_end(plan, ports.after, ports.nodes)
    leaving = _levels_of_neighbors(plan).keys() - plan.devices.keys()
    # A switch that comes or goes does so with its cables; no row shows whether a node stays.
    moved = moves(
        (ends for ends in before if ends.lower.device not in leaving),
        (ends for ends in after if ends.lower.device not in plan.unprovisioned),
    )
    pairs: dict[Ends, tuple[Ends | None, Ends | None]] = {}
    for ends in before.keys() - after.keys():
        pairs[ends] = ends, moved.get(ends)
    for ends in after.keys() - before.keys() - set(moved.values()):
        pairs[ends] = None, ends
    changes = [_change(ports.labels, *pairs[ends]) for ends in sorted(pairs, key=_place)]
    # Sorting is stable, so cables of one kind stay in the order of their lower ends.
    return tuple(sorted(changes, key=lambda cable: _ORDER.index(cable.op)))


def fabric_cables(plan: Plan) -> tuple[set[Ends], set[Ends]]:
    """Return the cables between switches that ``plan`` changes, as they are and as they will be, by SONiC's names."""
    ports = _ports(plan)
    before = _by_lower_end(plan, ports.before, ports.nodes)
    after = _by_lower_end(plan, ports.after, ports.nodes)
    return _between_switches(before, ports.nodes), _between_switches(after, ports.nodes)


def node_cables(plan: Plan) -> tuple[set[Ends], set[Ends]]:
    """Return the cables to nodes that ``plan`` changes, as `fabric_cables` does."""
    ports = _ports(plan)
    before = {*_by_lower_end(plan, ports.before, ports.nodes)}
    after = {*_by_lower_end(plan, ports.after, ports.nodes)}
    return before - _between_switches(before, ports.nodes), after - _between_switches(after, ports.nodes)


def _between_switches(cables: Collection[Ends], nodes: Collection[str]) -> set[Ends]:
    return {ends for ends in cables if ends.lower.device not in nodes}


def _place(ends: Ends) -> tuple[object, object]:
    return natural_key(str(ends.lower.device)), natural_key(str(ends.lower.port))


def _ports(plan: Plan) -> _Ports:
    ports = _Ports()
    for name, delta in plan.deltas.items():
        if delta.about(SubjectKind.LINK):
            _add_device(ports, name, plan.devices[name], delta)
    return ports


def _add_device(ports: _Ports, name: str, device: DevicePlan, delta: Delta) -> None:
    """Add the cables that the rows of one switch name, and the labels of its ports."""
    for key, label in (device.labels or {}).items():
        ports.labels[End(name, key)] = label
    for (key, _), label in _field_values(delta, SubjectKind.PORT, "alias").items():
        ports.labels[End(name, key)] = label
    far_devices = _field_values(delta, SubjectKind.LINK, "name")
    far_labels = _field_values(delta, SubjectKind.LINK, "port")
    descriptions = _field_values(delta, SubjectKind.PORT, "description")
    for place in _recabled(far_devices, far_labels, descriptions):
        key, is_after = place
        # Before its first configuration a switch has a factory's sample neighbors: no real cables.
        if not is_after and device.difference.unprovisioned:
            continue
        far = _far_end(ports, far_devices.get(place), far_labels.get(place), descriptions.get(place, ""))
        cables = ports.after if is_after else ports.before
        cables[End(name, key)] = far
        if place in far_labels:
            ports.labels[far] = far_labels[place]


_Values = Mapping[tuple[str, bool], str]
"""A field's values by the keys of rows, before (False) and after (True)."""


def _recabled(far_devices: _Values, far_labels: _Values, descriptions: _Values) -> list[tuple[str, bool]]:
    """Return the ports, before and after, whose cables change."""
    # A cable whose far port only gets another label stays where it is.
    keys = {key for key, _ in (*far_devices, *descriptions)}
    return [place for place in dict.fromkeys((*far_devices, *far_labels)) if place[0] in keys]


def _far_end(ports: _Ports, device: str | None, label: str | None, description: str) -> End:
    """Return the far end of a cable: by the port's description if that fits DEVICE_NEIGHBOR, else by the label."""
    described = _described(description)
    if device is None:
        # A field that stays is in no change: only the label of the far port changes.
        device = str(described.device) if described else "the same device"
    if described is None or described.device != device:
        return End(device, "the same port" if label is None else label)
    if not is_port(str(described.port)):
        ports.nodes.add(device)
    return described


def _field_values(delta: Delta, kind: SubjectKind, field: str) -> dict[tuple[str, bool], str]:
    """Return what a field of the rows of a kind is before (False) and after (True) by their keys, where it changes."""
    values = {}
    for change in delta.about(kind):
        for is_after, side in ((False, change.before), (True, change.after)):
            value = side
            if change.field is None:
                value = side.get(field) if isinstance(side, Mapping) else None
            elif change.field != field:
                continue
            if isinstance(value, str):
                values[change.key, is_after] = value
    return values


def _described(description: str) -> End | None:
    """Return the far port that the description of a port names."""
    device, _, port = description.removeprefix(_FAR).rpartition(":")
    if not device or not description.startswith(_FAR):
        return None
    return End(device, port)


def _by_lower_end(plan: Plan, cables: dict[End, End], nodes: set[str]) -> dict[Ends, None]:
    """Return the cables with their lower end first; both ends may name a cable, which then counts once."""
    levels = _levels_of_neighbors(plan) | {name: _LEVELS.get(device.role, 0) for name, device in plan.devices.items()}
    upper_of: dict[End, End] = {}
    for own, far in cables.items():
        level = levels[str(own.device)]
        far_level = levels.get(str(far.device))
        if far_level is None and (level or far.device in nodes):
            # Neither a switch of the plan nor a neighbor with a type: a GPU node, below every leaf.
            far_level = -1
        elif far_level is None:
            # Unknown to a leaf's plan, so a switch that leaves the fabric, above every tier of it.
            far_level = len(_LEVELS)
        (_, lower), (_, upper) = sorted(((level, own), (far_level, far)))
        upper_of[lower] = upper
    return {Ends(lower, upper): None for lower, upper in upper_of.items()}


def _levels_of_neighbors(plan: Plan) -> dict[str, int]:
    """Return the levels of the switches that come or go as somebody's neighbors."""
    levels = {}
    for delta in plan.deltas.values():
        for change in delta.about(SubjectKind.NEIGHBOR):
            row = change.before if change.after is None else change.after
            kind = row.get("type") if isinstance(row, Mapping) else None
            if kind in _LEVEL_OF_TYPE:
                levels[change.key] = _LEVEL_OF_TYPE[kind]
    return levels


def _change(labels: dict[End, str], before: Ends | None, after: Ends | None) -> CableChange:
    shown = _texts(labels, (*(before or ()), *(after or ())))
    if before is None:
        if after is None:
            raise ValueError("a cable change has an end before or after")
        return CableChange(shown[after.lower], "", shown[after.upper])
    if after is None:
        return CableChange(shown[before.lower], shown[before.upper], "")
    lower_after = ""
    if after.lower != before.lower:
        lower_after = shown[after.lower]
    return CableChange(shown[before.lower], shown[before.upper], shown[after.upper], lower_after, (before, after))


def _texts(labels: Mapping[End, str], ends: Collection[End]) -> dict[End, str]:
    """Return the ends of a cable as texts: by labels if all have one, since a technician reads one way of naming."""
    if all(end in labels for end in ends):
        return {end: f"{end.device}:{labels[end]}" for end in ends}
    return {end: f"{end.device}:{end.port}" for end in ends}
