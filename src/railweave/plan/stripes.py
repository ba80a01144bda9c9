"""Entries of nodes that an automatic ``first_stripe`` moves to other leaves, because entries before them have grown.

The leaves that run are no longer in the intent then, and others are provisioned in their place.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.plan.model import MovedStripes, Plan
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.subject import SubjectKind


def find_moved_stripes(fabric: Fabric, plan: Plan) -> tuple[MovedStripes, ...]:
    """Return the entries of nodes that ``plan`` moves to new leaves, while it removes the leaves that they run on."""
    if not fabric.automatic_stripes:
        return ()
    stripes_before = _first_of_runs(_stripes_of(fabric, _removed_switches(plan)))
    # No row names an entry, so the runs of removed stripes are matched with the entries in their order.
    moved_entries = zip(_entries_on_new_leaves(fabric, plan), stripes_before, strict=False)
    return tuple(MovedStripes(entry.kind, before, entry.first_stripe) for entry, before in moved_entries)


def moved_between(base: Fabric, head: Fabric) -> Iterator[MovedStripes]:
    """Yield the entries of nodes that an automatic first stripe moves from ``base`` to ``head``."""
    stripes_before = _first_stripes(base)
    for kind, after in _first_stripes(head).items():
        # An entry that is new does not move.
        before = stripes_before.get(kind, after)
        if kind in head.automatic_stripes and before != after:
            yield MovedStripes(kind, before, after)


def _first_stripes(fabric: Fabric) -> dict[str, int]:
    """Return the stripe of the first node of each entry."""
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
    """Yield the neighbors that running switches lose and that the intent does not have."""
    for name, delta in plan.deltas.items():
        # The sample configuration of a factory has neighbors that never existed.
        if plan.devices[name].difference.unprovisioned:
            continue
        for change in delta.about(SubjectKind.NEIGHBOR):
            if change.op is Op.REMOVE and change.subject.name not in plan.devices:
                yield change.subject.name


def _stripes_of(fabric: Fabric, names: Iterable[str]) -> set[int]:
    """Return the stripes of the leaves among ``names``. Leaves are numbered stripe by stripe, from 1."""
    leaf_name = re.compile(re.escape(f"{fabric.name}-{fabric.lowest.name}") + r"(\d+)")
    leaves = fabric.tier_switches[0]
    leaves_per_stripe = sum(leaf.stripe == leaves[0].stripe for leaf in leaves)
    stripes = set()
    for name in names:
        match = leaf_name.fullmatch(name)
        if match:
            index = int(match[1]) - 1
            stripes.add(index // leaves_per_stripe)
    return stripes


def _first_of_runs(stripes: Iterable[int]) -> Iterator[int]:
    """Yield the first of each run of adjacent stripes, in ascending order."""
    next_of_run = None
    for stripe in sorted(stripes):
        if stripe != next_of_run:
            yield stripe
        next_of_run = stripe + 1


class _NodeEntry(NamedTuple):
    """An entry of nodes of the intent."""

    kind: str
    first_stripe: int


def _entries_on_new_leaves(fabric: Fabric, plan: Plan) -> Iterator[_NodeEntry]:
    """Yield the entries with an automatic first stripe whose leaves are all provisioned by the plan."""
    for kind in fabric.automatic_stripes:
        stripes = {host.stripe for host in fabric.hosts if host.kind == kind and host.stripe is not None}
        leaves = [leaf.name for leaf in fabric.tier_switches[0] if leaf.stripe in stripes]
        if plan.unprovisioned.issuperset(leaves):
            yield _NodeEntry(kind, min(stripes))
