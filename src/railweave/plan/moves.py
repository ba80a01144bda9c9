"""What a plan moves: cables, which a technician has to move, and identities of devices that run.

A provisioned device keeps its AS number, loopback and link addresses for life (design rule: no identity depends on a
count). A change of one of them means that the intent renumbers the fabric, which needs an explicit word. A port whose
cable moves to another neighbor may get the address of its new link: that is growth, not renumbering.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from railweave.design.renumbering import Renumbered
from railweave.fabric.moves import Ends
from railweave.plan.cables import CableChange, changed_cables
from railweave.plan.model import Plan
from railweave.sonic.delta.change import Change, Delta, Op
from railweave.sonic.delta.subject import SubjectKind
from railweave.sonic.render.ports import LOOPBACK


@dataclass(frozen=True, slots=True)
class CableToMove:
    """A cable that goes to another place, named by its end nearer to the GPUs, ``device`` and ``port``."""

    device: str
    port: str
    # The far ends, ``device:port``.
    before: str
    after: str
    # Where the near end goes; empty if it stays.
    end_after: str = ""

    def __str__(self) -> str:
        """Return the move in a phrase."""
        if not self.end_after:
            return f"{self.device}:{self.port} from {self.before} to {self.after}"
        return f"{self.device}:{self.port} – {self.before} to {self.end_after} – {self.after}"


def moved_cables(plan: Plan) -> tuple[CableToMove, ...]:
    """Return the cables that move, in the order of their lower ends. Added and removed cables do not count."""
    # A switch that takes or loses its name comes or goes with all its cables, like one that is provisioned.
    new_switches = plan.unprovisioned | _renamed_switches(plan)
    # Most plans only add cables, and matching the ends of all cables takes long in a large fabric.
    if all(_only_adds_links(delta) for name, delta in plan.deltas.items() if name not in new_switches):
        return ()
    moved = []
    for cable in changed_cables(plan):
        if cable.moves is None:
            continue
        before, after = cable.moves
        if before.lower.device not in new_switches and after.lower.device not in new_switches:
            moved.append(_cable_to_move(cable, before, after))
    return tuple(moved)


def _renamed_switches(plan: Plan) -> set[str]:
    renamed = set()
    for name, delta in plan.deltas.items():
        if any(change.field == "hostname" for change in delta.about(SubjectKind.DEVICE)):
            renamed.add(name)
    return renamed


def _only_adds_links(delta: Delta) -> bool:
    return all(change.op is Op.ADD for change in delta.about(SubjectKind.LINK))


def _cable_to_move(cable: CableChange, before: Ends, after: Ends) -> CableToMove:
    near = before.lower
    end_after = ""
    if after.lower != near:
        end_after = f"{after.lower.device}:{after.lower.port}"
    return CableToMove(str(near.device), str(near.port), cable.before, cable.after, end_after)


def find_renumbering(plan: Plan) -> tuple[Renumbered, ...]:
    """Return every identity that ``plan`` would change on a provisioned device."""
    renumbered: list[Renumbered] = []
    for name, delta in plan.deltas.items():
        if not plan.devices[name].difference.unprovisioned:
            renumbered += _renumbered_on(name, delta)
    return tuple(renumbered)


def _renumbered_on(device: str, delta: Delta) -> Iterable[Renumbered]:
    """Yield the identities of one device that ``delta`` changes: its AS number, then its loopback, then its ports."""
    for change in delta.about(SubjectKind.DEVICE):
        if change.field == "bgp_asn" and change.op is Op.UPDATE:
            yield Renumbered(device, "AS number", str(change.before), str(change.after))
    ports_with_moved_cables = {change.subject.port for change in delta.about(SubjectKind.LINK)}
    readdressed = _readdressed_ports(device, delta.about(SubjectKind.ADDRESS))
    # The loopback is the switch's identity, so it is reported before any port.
    for renumbered in sorted(readdressed, key=lambda renumbered: not renumbered.what.startswith(LOOPBACK)):
        if renumbered.what not in ports_with_moved_cables:
            yield renumbered


def _readdressed_ports(device: str, changes: Iterable[Change]) -> list[Renumbered]:
    """Return the interfaces of a device that lose one address and get another."""
    removed: dict[str, str] = {}
    added: dict[str, str] = {}
    for change in changes:
        # An address is a row of its own; a field of such a row is a setting of the address.
        if change.field is not None:
            continue
        if change.op is Op.REMOVE:
            removed[change.subject.port] = change.subject.name
        elif change.op is Op.ADD:
            added[change.subject.port] = change.subject.name
    return [Renumbered(device, port, before, added[port]) for port, before in removed.items() if port in added]
