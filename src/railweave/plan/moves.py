"""What a plan moves: cables, which a technician has to move, and identities of devices that run.

A provisioned device keeps its AS number, loopback and link addresses for life (design rule: no identity depends on a
count). A change of one of them means that the intent renumbers the fabric, which needs an explicit word. A port whose
cable moves to another neighbor may get the address of its new link: that is growth, not renumbering.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railweave.design.renumbering import Renumbered
from railweave.fabric.model import TIER_NAMES
from railweave.plan.model import Plan
from railweave.sonic.delta.change import Change, Delta, Op
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.render.ports import LOOPBACK

_LEVELS = {name: level for level, name in enumerate(TIER_NAMES)}


@dataclass(frozen=True, slots=True)
class MovedCable:
    """A port whose cable goes to another place: ``before`` and ``after`` are ``device:port``."""

    device: str
    port: str
    before: str
    after: str

    def __str__(self) -> str:
        """Return the move in a phrase."""
        return f"{self.device}:{self.port} from {self.before} to {self.after}"


def moved_cables(plan: Plan) -> tuple[MovedCable, ...]:
    """Return the cables that move, by their lower ends; cables that only come or go are none of them."""
    moved: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    # A switch that takes or loses its name comes or goes with all its cables.
    renamed = {
        name
        for name, delta in plan.deltas.items()
        if any(change.field == "hostname" for change in delta.about(SubjectKind.DEVICE))
    }
    for name, delta in plan.deltas.items():
        if plan.devices[name].unprovisioned or name in renamed:
            continue
        for change in delta.about(SubjectKind.LINK):
            if change.op is Op.UPDATE and change.field is not None:
                fields = moved.setdefault((name, change.subject.port), {})
                fields[change.field] = (str(change.before), str(change.after))
    return tuple(
        MovedCable(device, port, _end(fields, 0), _end(fields, 1))
        for (device, port), fields in moved.items()
        if _is_lower_end(plan, device, fields)
    )


def _is_lower_end(plan: Plan, device: str, fields: Mapping[str, tuple[str, str]]) -> bool:
    """Tell whether a cable leads up from a device, so that it is counted there and not at its upper end."""
    level = _LEVELS.get(plan.devices[device].role)
    far = [plan.devices[name].role for name in fields.get("name", ()) if name in plan.devices]
    return level == 0 or (level is not None and any(_LEVELS.get(role, 0) > level for role in far))


def _end(fields: dict[str, tuple[str, str]], side: int) -> str:
    name = fields.get("name", ("the same device",) * 2)[side]
    port = fields.get("port", ("the same port",) * 2)[side]
    return f"{name}:{port}"


def find_renumbering(plan: Plan) -> tuple[Renumbered, ...]:
    """Return every identity that ``plan`` would change on a provisioned device."""
    found: list[Renumbered] = []
    for name, delta in plan.deltas.items():
        if not plan.devices[name].unprovisioned:
            found += _of_device(name, delta)
    return tuple(found)


def _of_device(device: str, delta: Delta) -> Iterable[Renumbered]:
    for change in delta.about(SubjectKind.DEVICE):
        if change.field == "bgp_asn" and change.op is Op.UPDATE:
            yield Renumbered(device, "AS number", str(change.before), str(change.after))
    moved = {change.subject.port for change in delta.about(SubjectKind.LINK)}
    readdressed = _readdressed(delta.about(SubjectKind.ADDRESS))
    # The switch's own address is more than one of its ports.
    for port, before, after in sorted(readdressed, key=lambda one: not one[0].startswith(LOOPBACK)):
        if port not in moved:
            yield Renumbered(device, port, before, after)


def _readdressed(told: Iterable[Change]) -> Iterable[tuple[str, str, str]]:
    """Yield (port, address before, address after) of ports that lose one address and get another."""
    lost: dict[str, str] = {}
    got: dict[str, str] = {}
    for change in told:
        if change.field is None:
            subject = change.subject
            if change.op is Op.REMOVE:
                lost[subject.port] = subject.name
            elif change.op is Op.ADD:
                got[subject.port] = subject.name
    return [(port, before, got[port]) for port, before in lost.items() if port in got]
