"""The defaults of an earlier version that running switches are cabled by.

Where a new version splits or wires leaves differently by default, an intent that states neither means other cables than
those that are in place. The running cables tell which of the earlier defaults they follow.
"""

from collections.abc import Iterable
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.fabric.moves import End, Ends
from railweave.plan.cables import fabric_cables
from railweave.plan.model import Plan
from railweave.wording import counted


class EarlierDefault(NamedTuple):
    """The fabric of an intent with ``lines`` of topology that state the defaults of an earlier version."""

    lines: tuple[str, ...]
    fabric: Fabric


def follows_earlier_default(
    plan: Plan, fabric: Fabric, earlier: Iterable[EarlierDefault], intent: str
) -> tuple[Diagnostic, ...]:
    """Return that the cables which ``plan`` changes are those of an earlier default, with the lines that keep them.

    ``fabric`` is that of the plan. Nothing is returned where it changes no cable between switches, or where none of the
    defaults explains most of these.
    """
    before, after = fabric_cables(plan)
    if not before:
        return ()
    stay = _cables(fabric) - after
    best: EarlierDefault | None = None
    fewest = len(before)
    for default in earlier:
        cables = _cables(default.fabric)
        others = len(before - cables)
        changed = others + len(stay - cables)
        if changed < fewest and 2 * others < len(before):
            best, fewest = default, changed
    if best is None:
        return ()
    return (_refusal(before, best, intent),)


def _cables(fabric: Fabric) -> set[Ends]:
    """Return the cables between the switches of a fabric by SONiC's names of their ports."""
    ports = fabric.ports_of
    cables = set()
    for link in fabric.fabric_links:
        lower = End(link.lower, ports[link.lower][link.lower_port].name)
        cables.add(Ends(lower, End(link.upper, ports[link.upper][link.upper_port].name)))
    return cables


def _refusal(before: Iterable[Ends], default: EarlierDefault, intent: str) -> Diagnostic:
    cables = tuple(before)
    devices = sorted({str(ends.lower.device) for ends in cables})
    lines = " and ".join(f"`{line}`" for line in default.lines)
    verb = "keeps" if len(default.lines) == 1 else "keep"
    return error(
        "RW544",
        f"{counted(len(cables), 'cable')} between running switches follow a default of an earlier version, and would"
        " move or go",
        devices=tuple(devices),
        fix=f"write {lines} under `topology` in {intent}, which {verb} the cables; or deploy with --renumber, which has"
        " them moved",
    )
