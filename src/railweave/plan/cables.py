"""The cables that a plan adds, moves and removes, by the labels of the ports that a technician reads.

Taken from the rows themselves, so that a plan read from switches and one of two intents agree: a port's description
names its far port, DEVICE_NEIGHBOR that port's label.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from railweave.fabric.devices import TIER_NAMES
from railweave.fabric.moves import End, Ends, moves
from railweave.plan.model import DevicePlan, Plan
from railweave.sonic.delta.change import Change, Delta, Op
from railweave.sonic.delta.subject import SubjectKind, is_port
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.sonic.rows import Fields, Value
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
    """The cables and labels of ports in the changed rows of a plan. A far port without a name has its label instead."""

    # Own end of a cable → far end.
    before: dict[End, End] = field(default_factory=dict)
    after: dict[End, End] = field(default_factory=dict)
    labels: dict[End, str] = field(default_factory=dict)
    # GPU nodes, which have no rows of their own in a plan.
    nodes: set[str] = field(default_factory=set)


def changed_cables(plan: Plan) -> tuple[CableChange, ...]:
    """Return the cables that ``plan`` changes: moved ones first, then removed and added ones, by their lower ends."""
    ports = _read_ports(plan)
    before = _by_lower_end(plan, ports.before, ports.nodes)
    after = _by_lower_end(plan, ports.after, ports.nodes)
    # A switch that is added or removed takes all its cables with it; no row shows whether a node stays.
    leaving_switches = _levels_of_neighbors(plan).keys() - plan.devices.keys()
    moved = moves(
        (ends for ends in before if ends.lower.device not in leaving_switches),
        (ends for ends in after if ends.lower.device not in plan.unprovisioned),
    )
    removed_or_moved = before.keys() - after.keys()
    added = after.keys() - before.keys() - set(moved.values())
    changes = []
    for ends in sorted(removed_or_moved | added, key=_sort_key):
        if ends in added:
            changes.append(_added_cable(ports.labels, ends))
        elif ends in moved:
            changes.append(_moved_cable(ports.labels, ends, moved[ends]))
        else:
            changes.append(_removed_cable(ports.labels, ends))
    # Sorting is stable, so cables of one kind stay in the order of their lower ends.
    return tuple(sorted(changes, key=lambda cable: _ORDER.index(cable.op)))


def fabric_cables(plan: Plan) -> tuple[set[Ends], set[Ends]]:
    """Return the cables between switches that ``plan`` changes, as they are and as they will be, by SONiC's names."""
    ports = _read_ports(plan)
    before = _by_lower_end(plan, ports.before, ports.nodes)
    after = _by_lower_end(plan, ports.after, ports.nodes)
    return _between_switches(before, ports.nodes), _between_switches(after, ports.nodes)


def node_cables(plan: Plan) -> tuple[set[Ends], set[Ends]]:
    """Return the cables to nodes that ``plan`` changes, as they are and as they will be, by SONiC's names."""
    ports = _read_ports(plan)
    before = set(_by_lower_end(plan, ports.before, ports.nodes))
    after = set(_by_lower_end(plan, ports.after, ports.nodes))
    return before - _between_switches(before, ports.nodes), after - _between_switches(after, ports.nodes)


def _between_switches(cables: Collection[Ends], nodes: Collection[str]) -> set[Ends]:
    return {ends for ends in cables if ends.lower.device not in nodes}


def _sort_key(ends: Ends) -> tuple[object, object]:
    return natural_key(str(ends.lower.device)), natural_key(str(ends.lower.port))


def _read_ports(plan: Plan) -> _Ports:
    """Return the cables and labels that the changed rows of ``plan`` name."""
    ports = _Ports()
    for name, delta in plan.deltas.items():
        if delta.about(SubjectKind.LINK):
            _add_device(ports, name, plan.devices[name], delta)
    return ports


def _add_device(ports: _Ports, name: str, device: DevicePlan, delta: Delta) -> None:
    """Add the cables that the rows of one switch name, and the labels of its ports."""
    for port, label in (device.labels or {}).items():
        ports.labels[End(name, port)] = label
    for port_state, label in _field_values(delta, SubjectKind.PORT, "alias").items():
        ports.labels[End(name, port_state.port)] = label
    far_devices = _field_values(delta, SubjectKind.LINK, "name")
    far_labels = _field_values(delta, SubjectKind.LINK, "port")
    descriptions = _field_values(delta, SubjectKind.PORT, "description")
    for port_state in _recabled(far_devices, far_labels, descriptions):
        # Before its first configuration a switch has a factory's sample neighbors: no real cables.
        if not port_state.is_after and device.difference.unprovisioned:
            continue
        far_label = far_labels.get(port_state)
        far = _far_end(ports, far_devices.get(port_state), far_label, descriptions.get(port_state, ""))
        cables = ports.after if port_state.is_after else ports.before
        cables[End(name, port_state.port)] = far
        if far_label is not None:
            ports.labels[far] = far_label


class _PortBeforeOrAfter(NamedTuple):
    """A port of one switch, either before or after the changes of a plan."""

    port: str
    is_after: bool


_FieldValues = Mapping[_PortBeforeOrAfter, str]
"""The values of one field in the rows of ports."""


def _recabled(
    far_devices: _FieldValues, far_labels: _FieldValues, descriptions: _FieldValues
) -> list[_PortBeforeOrAfter]:
    """Return the ports whose cables change, each before and after the change if it has a cable then."""
    # A cable whose far port only gets another label stays where it is.
    recabled_ports = {port_state.port for port_state in (*far_devices, *descriptions)}
    candidates = dict.fromkeys((*far_devices, *far_labels))
    return [port_state for port_state in candidates if port_state.port in recabled_ports]


def _far_end(ports: _Ports, device: str | None, label: str | None, description: str) -> End:
    """Return the far end of a cable: as the port's description has it if that fits DEVICE_NEIGHBOR, else by the label.

    ``device`` and ``label`` are those of DEVICE_NEIGHBOR, None if no change has them. A far end that is a GPU node is
    added to ``ports.nodes``.
    """
    described = _described_end(description)
    if device is None:
        # Fields that do not change are in no row of the plan: here only the label of the far port changes.
        device = str(described.device) if described else "the same device"
    if described is None or described.device != device:
        return End(device, "the same port" if label is None else label)
    if not is_port(str(described.port)):
        ports.nodes.add(device)
    return described


def _field_values(delta: Delta, kind: SubjectKind, field: str) -> dict[_PortBeforeOrAfter, str]:
    """Return the texts of ``field`` in the changed rows of a kind, before and after; rows without it are left out."""
    values = {}
    for change in delta.about(kind):
        before = _field_value(change, change.before, field)
        if before is not None:
            values[_PortBeforeOrAfter(change.key, is_after=False)] = before
        after = _field_value(change, change.after, field)
        if after is not None:
            values[_PortBeforeOrAfter(change.key, is_after=True)] = after
    return values


def _field_value(change: Change, content: Value | Fields | None, field: str) -> str | None:
    """Return the text of ``field`` in ``content``, which is a whole row or the one field that changes.

    Returns None if ``content`` does not have the field.
    """
    value = content
    if change.field is None:
        value = content.get(field) if isinstance(content, Mapping) else None
    elif change.field != field:
        return None
    if isinstance(value, str):
        return value
    return None


def _described_end(description: str) -> End | None:
    """Return the far port that the description of a port names; None if it names none."""
    device, _, port = description.removeprefix(_FAR).rpartition(":")
    if not device or not description.startswith(_FAR):
        return None
    return End(device, port)


def _by_lower_end(plan: Plan, cables: dict[End, End], nodes: set[str]) -> dict[Ends, None]:
    """Return the cables, lower end first, as an ordered set. A cable that both of its ends name is in it once.

    ``cables`` maps the end at which a row names the cable to the far end. ``nodes`` are the GPU nodes among these.
    """
    levels = _levels_of_neighbors(plan)
    for name, device in plan.devices.items():
        levels[name] = _LEVELS.get(device.role, 0)
    upper_of_lower: dict[End, End] = {}
    for own, far in cables.items():
        own_level = levels[str(own.device)]
        far_level = levels.get(str(far.device))
        if far_level is None:
            far_level = _level_of_unknown(far, own_level, nodes)
        # Two switches of one tier are ordered by name, so that both ends give the same order.
        if (own_level, own) <= (far_level, far):
            upper_of_lower[own] = far
        else:
            upper_of_lower[far] = own
    return {Ends(lower, upper): None for lower, upper in upper_of_lower.items()}


def _level_of_unknown(far: End, own_level: int, nodes: set[str]) -> int:
    """Return the level of a far end that is neither a switch of the plan nor a neighbor with a type.

    ``own_level`` is that of the switch at the near end.
    """
    attaches_nodes = own_level == 0
    if attaches_nodes and far.device not in nodes:
        # A switch that leaves the fabric: above every tier.
        return len(_LEVELS)
    # A GPU node: below every leaf.
    return -1


def _levels_of_neighbors(plan: Plan) -> dict[str, int]:
    """Return the tier levels of the switches that are added or removed as neighbors of others."""
    levels = {}
    for delta in plan.deltas.values():
        for change in delta.about(SubjectKind.NEIGHBOR):
            row = change.before if change.after is None else change.after
            neighbor_type = row.get("type") if isinstance(row, Mapping) else None
            if neighbor_type in _LEVEL_OF_TYPE:
                levels[change.key] = _LEVEL_OF_TYPE[neighbor_type]
    return levels


def _added_cable(labels: Mapping[End, str], ends: Ends) -> CableChange:
    shown = _shown_ends(labels, ends)
    return CableChange(lower=shown[ends.lower], before="", after=shown[ends.upper])


def _removed_cable(labels: Mapping[End, str], ends: Ends) -> CableChange:
    shown = _shown_ends(labels, ends)
    return CableChange(lower=shown[ends.lower], before=shown[ends.upper], after="")


def _moved_cable(labels: Mapping[End, str], before: Ends, after: Ends) -> CableChange:
    """Return the change of a cable from the ends ``before`` to the ends ``after``."""
    shown = _shown_ends(labels, (*before, *after))
    lower_after = ""
    if after.lower != before.lower:
        lower_after = shown[after.lower]
    return CableChange(
        lower=shown[before.lower],
        before=shown[before.upper],
        after=shown[after.upper],
        lower_after=lower_after,
        moves=(before, after),
    )


def _shown_ends(labels: Mapping[End, str], ends: Collection[End]) -> dict[End, str]:
    """Return the ends of a cable as texts ``device:port``.

    Ports are named by their labels if all have one, else all by SONiC's names: a technician reads one way of naming.
    """
    if all(end in labels for end in ends):
        return {end: f"{end.device}:{labels[end]}" for end in ends}
    return {end: f"{end.device}:{end.port}" for end in ends}
