"""The defaults of an earlier version that running switches are cabled by.

Where a new version splits or wires leaves differently by default, an intent that states neither means other cables than
those that are in place. The cables that run tell which of the earlier defaults they follow: those that a plan changes,
or those of the revision that a change begins with.
"""

from collections.abc import Container, Iterable
from typing import Generic, NamedTuple, TypeVar

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
    """The defaults of an earlier version, as the fabric that an intent without these keys meant then."""

    # Lines of the intent's topology that state the earlier defaults.
    lines: tuple[str, ...]
    # Lines that state the defaults of this version.
    today: tuple[str, ...]
    fabric: Fabric

    def is_stated(self, paths: Container[str]) -> bool:
        """Tell whether an intent states all keys of the lines; ``paths`` are those that it states."""
        return all(f"topology.{line.partition(':')[0]}" in paths for line in self.lines)


class _DefaultPlaces(NamedTuple, Generic[_Place]):
    """An earlier default with the cables of its fabric, or with their lower ends."""

    default: EarlierDefault
    places: set[_Place]


def follows_earlier_default(
    plan: Plan, fabric: Fabric, earlier: Iterable[EarlierDefault], where: Where, instead: str = TO_DEPLOY
) -> tuple[Diagnostic, ...]:
    """Return an error if ``plan`` changes cables that follow an earlier default; its fix has the lines that keep them.

    ``fabric`` is that of the plan, ``where`` its topology in the intent, and ``instead`` the second way to continue
    that the fix offers. Returns nothing if the plan changes no cable between switches, or if no earlier default
    explains most of the changed cables.
    """
    changed, new = fabric_cables(plan)
    if not changed:
        return ()
    intended = _cables(fabric)
    return _check_changed(changed, intended - new, intended, earlier, where, instead)


def ran_by_earlier_default(
    base: Fabric, head: Fabric, earlier: Iterable[EarlierDefault], where: Where, instead: str
) -> tuple[Diagnostic, ...]:
    """Return the error of ``follows_earlier_default`` for the change from the running fabric ``base`` to ``head``.

    ``where`` is the topology of ``head`` in the intent.
    """
    # No running link moves or goes.
    if set(base.fabric_links) <= set(head.fabric_links):
        return ()
    running = _cables(base)
    intended = _cables(head)
    changed = running - intended
    if not changed:
        return ()
    return _check_changed(changed, running & intended, intended, earlier, where, instead)


def _check_changed(
    changed: set[Ends],
    unchanged: set[Ends],
    intended: set[Ends],
    earlier: Iterable[EarlierDefault],
    where: Where,
    instead: str,
) -> tuple[Diagnostic, ...]:
    """Return an error if one of the earlier defaults explains most of the running cables that are ``changed``.

    ``unchanged`` are the other running cables, ``intended`` all cables of the intent.
    """
    candidates = [_DefaultPlaces(default, _cables(default.fabric)) for default in earlier]
    # Of two defaults with the same ports on the leaves, take the one that keeps more cables: the sort is stable.
    candidates.sort(key=lambda candidate: len(changed - candidate.places))
    kept = "the cables"
    nearest = _nearest_default(changed, unchanged, candidates)
    if nearest is None:
        # Growth to more spines moves upper ends by every default: the ports of the leaves tell which one runs.
        kept = "their ports on the leaves"
        ports = [_DefaultPlaces(candidate.default, _lower_ends(candidate.places)) for candidate in candidates]
        changed_ports = _lower_ends(changed) - _lower_ends(intended)
        nearest = _nearest_default(changed_ports, _lower_ends(unchanged), ports)
    if nearest is None:
        return ()
    return (_refusal(changed, nearest, kept, where, instead),)


def _nearest_default(
    changed: set[_Place], unchanged: set[_Place], candidates: Iterable[_DefaultPlaces[_Place]]
) -> EarlierDefault | None:
    """Return the earlier default that would change the fewest running places; a place is a cable or its lower end.

    ``changed`` are the running places that today's defaults change, ``unchanged`` those that they keep. Returns None if
    no earlier default keeps more than half of ``changed`` and changes fewer places than today's defaults.
    """
    nearest: EarlierDefault | None = None
    # What today's defaults change.
    fewest_changes = len(changed)
    for candidate in candidates:
        still_changed = changed - candidate.places
        newly_changed = unchanged - candidate.places
        changes = len(still_changed) + len(newly_changed)
        keeps_most = 2 * len(still_changed) < len(changed)
        if keeps_most and changes < fewest_changes:
            nearest = candidate.default
            fewest_changes = changes
    return nearest


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


def _refusal(changed: set[Ends], default: EarlierDefault, kept: str, where: Where, instead: str) -> Diagnostic:
    """Return the error for ``changed`` cables; ``kept`` is what the lines of ``default`` keep, as a phrase."""
    devices = sorted({str(ends.lower.device) for ends in changed})
    verb = "keeps" if len(default.lines) == 1 else "keep"
    return error(
        "RW544",
        f"{counted(len(changed), 'cable')} between running switches follow a default of an earlier version, and would"
        " move or go",
        where,
        devices=tuple(devices),
        fix=f"write {quoted(default.lines)} under `{where.path}` in {where.file}, which {verb} {kept};"
        f" {instead.format(today=quoted(default.today))}",
    )


def quoted(lines: Iterable[str]) -> str:
    """Return lines of an intent as a text."""
    return listed([f"`{line}`" for line in lines])
