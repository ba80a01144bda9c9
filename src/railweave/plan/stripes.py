"""Entries of nodes that an automatic ``first_stripe`` moves to other leaves, because entries before them have grown.

The leaves that run are no longer in the intent then, and others are provisioned in their place.
"""

import re
from collections.abc import Iterable, Iterator

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.plan.model import MovedStripes, Plan
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.subject import SubjectKind


def find_moved_stripes(fabric: Fabric, plan: Plan) -> tuple[MovedStripes, ...]:
    """Return the entries of nodes that ``plan`` moves to leaves which do not run yet, from others that do."""
    if not fabric.automatic_stripes:
        return ()
    runs = _runs(_stripes_of(fabric, _removed_switches(plan)))
    return tuple(
        MovedStripes(kind, before, after) for (kind, after), before in zip(_new_kinds(fabric, plan), runs, strict=False)
    )


def moved_between(base: Fabric, head: Fabric) -> Iterator[MovedStripes]:
    """Yield the entries of nodes that an automatic first stripe moves from one design to the next."""
    before = _first_stripes(base)
    for kind, after in _first_stripes(head).items():
        if kind in head.automatic_stripes and before.get(kind, after) != after:
            yield MovedStripes(kind, before[kind], after)


def _first_stripes(fabric: Fabric) -> dict[str, int]:
    # From the last node to the first, so that the first one's stripe is kept.
    return {host.kind: host.stripe for host in reversed(fabric.hosts) if host.stripe is not None}


def moved_stripe_diagnostics(moved_stripes: Iterable[MovedStripes]) -> Iterator[Diagnostic]:
    """Yield an error for each entry of nodes that an automatic first stripe moves to other leaves."""
    for moved in moved_stripes:
        yield error(
            "RW506",
            f"the leaves of {moved.kind!r} run from stripe {moved.before} on; first_stripe: auto is {moved.after} now,"
            " which replaces them by other switches",
            fix=f"state first_stripe: {moved.before} for {moved.kind!r}, which keeps what runs",
        )


def _removed_switches(plan: Plan) -> Iterator[str]:
    """Yield the neighbors that running switches lose and the intent does not have."""
    for name, delta in plan.deltas.items():
        # The sample configuration of a factory has neighbors that never existed.
        if plan.devices[name].difference.unprovisioned:
            continue
        for change in delta.about(SubjectKind.NEIGHBOR):
            if change.op is Op.REMOVE and change.subject.name not in plan.devices:
                yield change.subject.name


def _stripes_of(fabric: Fabric, names: Iterable[str]) -> set[int]:
    """Return the stripes of leaves by their names, whose numbers follow from their places."""
    leaf = re.compile(re.escape(f"{fabric.name}-{fabric.lowest.name}") + r"(\d+)")
    of_stripe = sum(switch.stripe == fabric.tier_switches[0][0].stripe for switch in fabric.tier_switches[0])
    numbers = (int(match[1]) - 1 for match in map(leaf.fullmatch, names) if match)
    return {number // of_stripe for number in numbers}


def _runs(stripes: Iterable[int]) -> Iterator[int]:
    """Yield the first of each run of adjacent stripes."""
    end = None
    for stripe in sorted(stripes):
        if stripe != end:
            yield stripe
        end = stripe + 1


def _new_kinds(fabric: Fabric, plan: Plan) -> Iterator[tuple[str, int]]:
    """Yield the entries with an automatic first stripe of whose leaves none runs, each with that stripe."""
    for kind in fabric.automatic_stripes:
        stripes = {host.stripe for host in fabric.hosts if host.kind == kind and host.stripe is not None}
        leaves = [leaf.name for leaf in fabric.tier_switches[0] if leaf.stripe in stripes]
        if plan.unprovisioned.issuperset(leaves):
            yield kind, min(stripes)
