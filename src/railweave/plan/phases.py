"""A change that would hurt in one step, as a sequence of whole fabrics, each carried out by the ordinary deployment.

Three changes hurt in one step. Spines that are added where all uplinks are in use take cables from the others: these
are moved a few at a time (``restriping``). Fabric links with another speed are down until both ends have it: one spine
goes after the other (``speed_change``). A lossless class that gets another code point or priority loses packets
wherever a GPU node and a switch disagree: the switches first accept both, then the nodes change, then the switches drop
the old (``class_change``; fabric-facts section 10). Everything else is one phase: the head itself.

In a phase that moves cables the configuration goes first, then people move the cables. ``Phase.pending`` names the
links that are in their hands meanwhile, of which a deployment must expect nothing yet (``railweave.plan.pending``).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from railweave.design.renumbering import renumbered
from railweave.fabric.model import Fabric, Link
from railweave.plan.class_change import accept_both, moved_markings
from railweave.plan.restriping import restriping_steps
from railweave.plan.rewiring import Move, rewired, with_switches
from railweave.plan.speed_change import speed_steps


class PhaseKind(StrEnum):
    """What a phase does: new switches, configuration alone, GPU nodes, cables after configuration, or the rest."""

    PROVISION = "provision"
    SWITCHES = "switches"
    HOSTS = "hosts"
    CABLES = "cables"
    CLEANUP = "cleanup"


@dataclass(frozen=True, slots=True)
class CableEnd:
    """An end of a cable as SONiC and as the rack call it: ``panel`` is the number at the front, ``subport`` the part of
    a broken-out cage from 1, 0 for a whole one."""

    device: str
    port: str
    alias: str
    panel: int
    subport: int

    def __str__(self) -> str:
        """Return ``device:port``."""
        return f"{self.device}:{self.port}"


@dataclass(frozen=True, slots=True)
class CableMove:
    """A cable whose ``stays`` end keeps its port while the other goes from ``before`` to ``after``; None for ``after``
    where it is taken out."""

    stays: CableEnd
    before: CableEnd
    after: CableEnd | None
    speed_gbps: int
    length_m: int
    media: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of a change, ``number`` from 1.

    ``fabric`` is the whole intermediate fabric that the switches are to be, ``nodes`` the one that the files of the GPU
    nodes are made from. ``why`` says in a sentence what the phase is for. ``pending`` are the links of ``fabric`` whose
    cables are moved by hand after the configuration.
    """

    number: int
    title: str
    kind: PhaseKind
    why: str
    fabric: Fabric
    nodes: Fabric
    cables: tuple[CableMove, ...] = ()
    pending: tuple[Link, ...] = ()

    @property
    def is_of_nodes(self) -> bool:
        """Tell whether the GPU nodes change in this phase, and no switch."""
        return self.kind is PhaseKind.HOSTS


def phases(base: Fabric, head: Fabric) -> tuple[Phase, ...]:
    """Return the phases that lead from ``base``, which runs, to ``head``; the last one's fabric is ``head``.

    One phase where one step suffices, and where devices would be renumbered: that has no gentle way. Raises
    RefusedError where a change is asked for that has no way without hurting, with the way out.
    """
    if renumbered(base, head):
        return _numbered([_whole(head)])
    speeds = tuple(_speeds(base, head))
    start = speeds[-1].fabric if speeds else base
    rest = [*_cables(start, head), *_markings(start, head)]
    if speeds and not rest:
        rest = [Phase(0, "the rest of the change", PhaseKind.CLEANUP, "what no link waits for", head, head)]
    return _numbered([*speeds, *rest] or [_whole(head)])


def _numbered(found: list[Phase]) -> tuple[Phase, ...]:
    return tuple(replace(phase, number=number) for number, phase in enumerate(found, start=1))


def _whole(head: Fabric) -> Phase:
    return Phase(0, "the whole change", PhaseKind.SWITCHES, "one step suffices", head, head)


def _speeds(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield a phase for each spine whose links get another speed; none where ports come or go with it."""
    for step in speed_steps(base, head):
        title = f"{step.speed_gbps}G on the links of {step.spine}"
        why = "both ends of its links change together; a leaf keeps the links to all other spines"
        yield Phase(0, title, PhaseKind.SWITCHES, why, step.fabric, base)


def _cables(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield the phases that lead all cables that move to where they belong; none where none moves."""
    steps = restriping_steps(base, head)
    if not steps:
        return
    added = tuple(one for one in head.switches if not one.tier.attaches_nodes and one.name not in base.switch_of)
    fabric = with_switches(base, added)
    if added:
        title = f"provision {added[0].tier.counted(len(added))}"
        why = "new switches come up without a link, so that nothing depends on them yet"
        yield Phase(0, title, PhaseKind.PROVISION, why, fabric, base)
    why = "configure both ends, then move the cables: no leaf-spine pair loses more than one link at a time"
    for number, step in enumerate(steps, start=1):
        fabric = rewired(fabric, step)
        title = f"move {_counted(len(step), 'cable')}, step {number} of {len(steps)}"
        cables = tuple(_cable(fabric, move) for move in step)
        pending = tuple(move.after for move in step if move.after is not None)
        yield Phase(0, title, PhaseKind.CABLES, why, fabric, base, cables, pending)
    if accept_both(base.policies.classes, head.policies.classes) is None:
        yield Phase(0, "the rest of the change", PhaseKind.CLEANUP, "what had to wait for the cables", head, head)


def _markings(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield the phases that lead to other lossless classes; none where nodes of ``base`` are served by the head."""
    both = accept_both(base.policies.classes, head.policies.classes)
    if both is None:
        return
    through = replace(head, policies=replace(head.policies, classes=both))
    moved = moved_markings(base.policies.classes, head.policies.classes)
    words = "; ".join(map(str, moved)) or "congestion notifications get another code point"
    why = f"{words}: until all nodes have changed, the switches serve both"
    yield Phase(0, "switches accept both markings", PhaseKind.SWITCHES, why, through, base)
    why = "the nodes send the new marking, which every switch knows by now"
    yield Phase(0, "GPU nodes change their marking", PhaseKind.HOSTS, why, through, head)
    why = "no node sends the old marking any more"
    yield Phase(0, "switches drop the old marking", PhaseKind.CLEANUP, why, head, head)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _cable(fabric: Fabric, move: Move) -> CableMove:
    link = move.after or move.before
    return CableMove(
        stays=_end(fabric, link.lower, link.lower_port),
        before=_end(fabric, move.before.upper, move.before.upper_port),
        after=None if move.after is None else _end(fabric, move.after.upper, move.after.upper_port),
        speed_gbps=link.speed_gbps,
        length_m=link.length_m,
        media=link.media,
    )


def _end(fabric: Fabric, device: str, index: int) -> CableEnd:
    port = fabric.switch_of[device].panel.ports[index]
    return CableEnd(device, port.name, port.alias, port.panel, port.subport)
