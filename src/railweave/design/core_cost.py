"""The cost of pods: how many spines and super-spines three tiers need, by the size of their pods.

Uplinks are divided evenly and all pods have the same number of spines. So a last pod that is not full, or a number of
leaves that does not divide, leaves ports of spines and super-spines unused.
"""

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from railweave.design.layout import Layout
from railweave.design.spines import fitting_counts
from railweave.diagnostics import Diagnostic, info
from railweave.intent.model import Intent
from railweave.wording import counted


class Core(NamedTuple):
    """The spines and super-spines of one plane with pods of ``size`` stripes."""

    size: int
    pods: int
    spines: int
    super_spines: int

    @property
    def switches(self) -> int:
        """Return the number of its switches."""
        return self.spines + self.super_spines


def core_diagnostics(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an info if the design has more spines and super-spines than its cables need.

    Its fix names the size of pods that needs the fewest. There is none if the intent states their number.
    """
    if layout.super_spines is None or _states_core(intent):
        return []
    designed = Core(
        size=layout.pod, pods=len(layout.pods), spines=layout.spines.count, super_spines=layout.super_spines.count
    )
    lower_bound = _lower_bound(layout)
    if designed.switches <= lower_bound.switches:
        return []
    planes = layout.planes
    # The largest of the sizes that cost the same: more nodes reach each other without super-spines.
    cheapest = min(_cores(layout), key=lambda core: (core.switches, -core.size))
    message = f"{_switches(designed, planes)} are built, and cables take the ports of {_switches(lower_bound, planes)}"
    if cheapest.switches < designed.switches:
        fix = f"in a fabric that is not built yet, use topology.pod: {cheapest.size}: {_switches(cheapest, planes)} in"
        fix += f" {counted(cheapest.pods, 'pod')}; pods of a running one keep their size"
    else:
        fix = "no other size of pods costs less: uplinks are divided evenly, and every pod has as many spines"
    return [info("RW218", message, intent.where("topology.pod"), fix=fix)]


def _states_core(intent: Intent) -> bool:
    """Tell whether the intent states the number of spines or super-spines, or one that they follow from."""
    topology = intent.topology
    if topology.super_spine and topology.super_spine.count:
        return True
    return bool(topology.spine.count or topology.links_per_pair or topology.reserve.pods)


def _lower_bound(layout: Layout) -> Core:
    """Return the fewest switches with ports for the cables of today if pods and even division are ignored."""
    spine_tier = layout.spines
    spines = ceil(layout.leaf_spine_links / spine_tier.ports.down)
    super_spines = ceil(spines * spine_tier.uplinks / _top_ports(layout))
    return Core(size=0, pods=0, spines=spines, super_spines=super_spines)


def _top_ports(layout: Layout) -> int:
    """Return the ports of a super-spine, all of which go down."""
    assert layout.super_spines is not None  # noqa: S101  a core of three tiers has them
    return layout.super_spines.ports.total


def _cores(layout: Layout) -> Iterator[Core]:
    """Yield the core with the fewest switches for each size of pods that the spines have ports for.

    Sizes for which spines or super-spines cannot be shared out evenly are left out.
    """
    lowest = layout.lowest
    spine_ports = layout.spines.ports.down
    for size in range(1, spine_ports // layout.stripe_leaves + 1):
        pods = {stripe // size for stripe in layout.stripes}
        spine_counts = fitting_counts(lowest.uplinks, layout.shared_uplinks, size * layout.stripe_leaves, spine_ports)
        # Super-spines have ports for the pods in between that have no switches, too.
        members = _fewest_members(layout, max(pods) + 1)
        if spine_counts and members:
            pod_spines = spine_counts[0]
            # There is a group of super-spines for each spine of a pod.
            yield Core(size=size, pods=len(pods), spines=len(pods) * pod_spines, super_spines=pod_spines * members)


def _fewest_members(layout: Layout, pods: int) -> int | None:
    """Return how many super-spines a group needs at least, None if no number is possible.

    They share the uplinks of a spine evenly and have ports for ``pods``.
    """
    uplinks = layout.spines.uplinks
    for count in range(1, uplinks + 1):
        if uplinks % count == 0 and pods * (uplinks // count) <= _top_ports(layout):
            return count
    return None


def _switches(core: Core, planes: int) -> str:
    spines = counted(core.spines * planes, "spine")
    return f"{spines} and {counted(core.super_spines * planes, 'super-spine')}"
