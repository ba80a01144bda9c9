"""The defaults of an earlier version that running switches are cabled by.

Where a new version splits or wires leaves differently by default, an intent that states neither means other cables than
those that are in place. The cables that run tell which of the earlier defaults they follow: those that a plan changes,
or those of the revision that a change begins with.
"""

from collections.abc import Container, Iterable
from typing import NamedTuple, TypeVar

from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.model import Fabric
from railweave.fabric.moves import End, Ends
from railweave.plan.cables import fabric_cables
from railweave.plan.model import Plan
from railweave.wording import counted, listed

_Place = TypeVar("_Place", End, Ends)

TO_DEPLOY = "or deploy with --renumber, which has them moved"
"""How a deployment moves the cables all the same."""
TO_COMPARE = "or say --renumber, which has them moved"
"""How a comparison of two revisions shows the cables that move."""
TO_STATE = "or state {today}, which has them moved"
"""How an intent moves the cables in phases; ``today`` are the lines of today's defaults."""


class EarlierDefault(NamedTuple):
    """The fabric of an intent with ``lines`` of topology that state the defaults of an earlier version; ``today`` are
    those that state the defaults of this one."""

    lines: tuple[str, ...]
    today: tuple[str, ...]
    fabric: Fabric

    def is_stated(self, paths: Container[str]) -> bool:
        """Tell whether an intent states all keys of the lines; ``paths`` are those that it states."""
        return all(f"topology.{line.partition(':')[0]}" in paths for line in self.lines)


def follows_earlier_default(
    plan: Plan, fabric: Fabric, earlier: Iterable[EarlierDefault], where: Where, instead: str = TO_DEPLOY
) -> tuple[Diagnostic, ...]:
    """Return that the cables which ``plan`` changes are those of an earlier default, with the lines that keep them.

    ``fabric`` is that of the plan, ``where`` its topology in the intent, ``instead`` what else can be done. Nothing is
    returned where the plan changes no cable between switches, or where none of the defaults explains most of these.
    """
    before, after = fabric_cables(plan)
    if not before:
        return ()
    intended = _cables(fabric)
    return _explained(before, intended - after, intended, earlier, where, instead)


def ran_by_earlier_default(
    base: Fabric, head: Fabric, earlier: Iterable[EarlierDefault], where: Where, instead: str
) -> tuple[Diagnostic, ...]:
    """Return the same for the change from the fabric ``base``, which runs, to ``head``, the one of ``where``."""
    if set(base.fabric_links) <= set(head.fabric_links):
        return ()
    running, intended = _cables(base), _cables(head)
    before = running - intended
    if not before:
        return ()
    return _explained(before, running & intended, intended, earlier, where, instead)


def _explained(
    before: set[Ends],
    stay: set[Ends],
    intended: set[Ends],
    earlier: Iterable[EarlierDefault],
    where: Where,
    instead: str,
) -> tuple[Diagnostic, ...]:
    """Return the default that explains most of the cables ``before``, which move or go while others ``stay``."""
    cables = [(default, _cables(default.fabric)) for default in earlier]
    # Of two that keep the same ports, the one that keeps more cables.
    cables.sort(key=lambda pair: len(before - pair[1]))
    kept = "the cables"
    best = _nearest(before, stay, cables)
    if best is None:
        # Growth to more spines moves upper ends by every default: the ports of the leaves tell which one runs.
        kept = "their ports on the leaves"
        ports = [(default, _lower_ends(of_default)) for default, of_default in cables]
        best = _nearest(_lower_ends(before) - _lower_ends(intended), _lower_ends(stay), ports)
    if best is None:
        return ()
    return (_refusal(before, best, kept, where, instead),)


def _nearest(
    before: set[_Place], stay: set[_Place], earlier: Iterable[tuple[EarlierDefault, set[_Place]]]
) -> EarlierDefault | None:
    """Return the default that changes least, and less than half, of what is ``before`` and would change."""
    best: EarlierDefault | None = None
    fewest = len(before)
    for default, places in earlier:
        others = len(before - places)
        changed = others + len(stay - places)
        if changed < fewest and 2 * others < len(before):
            best, fewest = default, changed
    return best


def _lower_ends(cables: Iterable[Ends]) -> set[End]:
    return {ends.lower for ends in cables}


def _cables(fabric: Fabric) -> set[Ends]:
    """Return the cables between the switches of a fabric by SONiC's names of their ports."""
    ports = fabric.ports_of
    cables = set()
    for link in fabric.fabric_links:
        lower = End(link.lower, ports[link.lower][link.lower_port].name)
        cables.add(Ends(lower, End(link.upper, ports[link.upper][link.upper_port].name)))
    return cables


def _refusal(before: set[Ends], default: EarlierDefault, kept: str, where: Where, instead: str) -> Diagnostic:
    devices = sorted({str(ends.lower.device) for ends in before})
    verb = "keeps" if len(default.lines) == 1 else "keep"
    return error(
        "RW544",
        f"{counted(len(before), 'cable')} between running switches follow a default of an earlier version, and would"
        " move or go",
        where,
        devices=tuple(devices),
        fix=f"write {quoted(default.lines)} under `{where.path}` in {where.file}, which {verb} {kept};"
        f" {instead.format(today=quoted(default.today))}",
    )


def quoted(lines: Iterable[str]) -> str:
    """Return lines of an intent as a text."""
    return listed([f"`{line}`" for line in lines])
