"""The price of pods: how many switches a core of three tiers takes by the size of its pods.

Uplinks are divided evenly and every pod has as many spines, so a last pod that is not full, and a number of leaves that
does not divide, buy ports that no cable uses.
"""

from collections.abc import Iterator
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
    """Return a core that costs more than the ports that its cables take, with the pods that cost less."""
    topology = intent.topology
    top = topology.super_spine
    stated = (topology.spine.count, topology.links_per_pair, topology.reserve.pods, top and top.count)
    if layout.super_spines is None or any(stated):
        return []
    today = Core(layout.pod, len(layout.pods), layout.spines.count, layout.super_spines.count)
    least = _least(layout)
    if today.switches <= least.switches:
        return []
    planes = layout.planes
    # Of sizes that cost the same the largest: more nodes reach each other below the super-spines.
    best = min(_cores(layout), key=lambda core: (core.switches, -core.size))
    message = f"{_switches(today, planes)} are built, and cables take the ports of {_switches(least, planes)}"
    if best.switches < today.switches:
        fix = f"in a fabric that is not built yet, use topology.pod: {best.size}: {_switches(best, planes)} in"
        fix += f" {counted(best.pods, 'pod')}; pods of a running one keep their size"
    else:
        fix = "no other size of pods costs less: uplinks are divided evenly, and every pod has as many spines"
    return [info("RW218", message, intent.where("topology.pod"), fix=fix)]


def _least(layout: Layout) -> Core:
    """Return the switches whose ports the cables of the leaves fill, however they are shared out."""
    above = layout.spines
    spines = -(-layout.leaf_spine_links // above.ports.down)
    return Core(0, 0, spines, -(-spines * above.uplinks // _top_ports(layout)))


def _top_ports(layout: Layout) -> int:
    """Return the ports of a super-spine, all of which go down."""
    assert layout.super_spines is not None  # noqa: S101  a core of three tiers has them
    return layout.super_spines.ports.total


def _cores(layout: Layout) -> Iterator[Core]:
    """Yield the core with pods of each size that the spines have ports for."""
    low = layout.lowest
    above = layout.spines
    for size in range(1, above.ports.down // layout.stripe_leaves + 1):
        pods = {stripe // size for stripe in layout.stripes}
        spines = fitting_counts(low.uplinks, layout.shared_uplinks, size * layout.stripe_leaves, above.ports.down)
        # Pods left out cost ports of super-spines too.
        members = _fewest_members(layout, max(pods) + 1)
        if spines and members:
            yield Core(size, len(pods), len(pods) * spines[0], spines[0] * members)


def _fewest_members(layout: Layout, pods: int) -> int | None:
    """Return the fewest super-spines that share the uplinks of a spine evenly and have ports for ``pods``."""
    uplinks = layout.spines.uplinks
    for count in range(1, uplinks + 1):
        if uplinks % count == 0 and pods * (uplinks // count) <= _top_ports(layout):
            return count
    return None


def _switches(core: Core, planes: int) -> str:
    spines = counted(core.spines * planes, "spine")
    return f"{spines} and {counted(core.super_spines * planes, 'super-spine')}"
