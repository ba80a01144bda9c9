"""Cables that a plan supposes to be moved: what a technician must do, and when the plan counts on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.fabric.model import TIER_NAMES
from railweave.plan.model import Plan
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.subject import SubjectKind

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
    """Return the cables that move, told by their lower ends; cables that only come or go are none of them."""
    moved: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    # A switch that takes or loses its name comes or goes with all its cables.
    renamed = {name for name, change in plan.changes() if change.field == "hostname"}
    for name, delta in plan.deltas.items():
        if plan.devices[name].unprovisioned or name in renamed:
            continue
        for change in delta:
            if change.subject.kind is SubjectKind.LINK and change.op is Op.UPDATE and change.field is not None:
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
    """Return one side of a move; a part that stays is not in the plan."""
    name = fields.get("name", ("the same device",) * 2)[side]
    port = fields.get("port", ("the same port",) * 2)[side]
    return f"{name}:{port}"
