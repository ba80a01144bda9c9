"""What a plan moves: cables, which a technician has to move, and identities of devices that run.

A provisioned device keeps its AS number, loopback and link addresses for life (design rule: no identity depends on a
count). A change of one of them means that the intent renumbers the fabric, which needs an explicit word. A port whose
cable moves to another neighbor may get the address of its new link: that is growth, not renumbering.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from railweave.design.renumbering import Renumbered
from railweave.fabric.moves import Ends
from railweave.plan.cables import CableChange, changed_cables
from railweave.plan.model import Plan
from railweave.sonic.delta.change import Change, Delta, Op
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.render.ports import LOOPBACK


@dataclass(frozen=True, slots=True)
class MovedCable:
    """A cable that goes to another place, by its end nearer to the GPUs, ``device`` and ``port``: ``before`` and
    ``after`` are the far ends, ``device:port``; ``end_after`` is where the near end goes, empty where it stays."""

    device: str
    port: str
    before: str
    after: str
    end_after: str = ""

    def __str__(self) -> str:
        """Return the move in a phrase."""
        if not self.end_after:
            return f"{self.device}:{self.port} from {self.before} to {self.after}"
        return f"{self.device}:{self.port} – {self.before} to {self.end_after} – {self.after}"


def moved_cables(plan: Plan) -> tuple[MovedCable, ...]:
    """Return the cables that move, by their lower ends; cables that only come or go are none of them."""
    # A switch that takes or loses its name comes or goes with all its cables, as one that is provisioned does.
    new = plan.unprovisioned | {
        name
        for name, delta in plan.deltas.items()
        if any(change.field == "hostname" for change in delta.about(SubjectKind.DEVICE))
    }
    running = [delta for name, delta in plan.deltas.items() if name not in new]
    if all(change.op is Op.ADD for delta in running for change in delta.about(SubjectKind.LINK)):
        return ()
    return tuple(_moved(one, one.moves) for one in changed_cables(plan) if one.moves and not _is_of(new, one.moves))


def _is_of(new: Collection[str], ends: tuple[Ends, Ends]) -> bool:
    return any(each.lower.device in new for each in ends)


def _moved(cable: CableChange, ends: tuple[Ends, Ends]) -> MovedCable:
    before, after = ends
    lower, then = before.lower, after.lower
    return MovedCable(
        str(lower.device),
        str(lower.port),
        cable.before,
        cable.after,
        f"{then.device}:{then.port}" if then != lower else "",
    )


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
