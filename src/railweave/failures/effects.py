"""What failures take out of service, told apart only as far as it matters to their cost.

The line cards of leaves tell spines apart that are alike in everything else, so that a fabric of chassis has thousands
of classes of pairs with one cost.
"""

from collections.abc import Iterable

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.components import Component


class Effects:
    """The effects of failures in one fabric."""

    def __init__(self, fabric: Fabric) -> None:
        # In two tiers every spine of a network has the same links to each leaf, so one stands in for another.
        self._network_of: dict[str, object] = {}
        if len(fabric.tiers) == 2:
            self._network_of = {switch.name: fabric.network_of(switch) for switch in fabric.tier_switches[-1]}

    def of(self, failed: Iterable[Component]) -> tuple[object, ...]:
        """Return the effect of components that fail together; two failures with one effect cost the same."""
        out: set[str] = set()
        links: dict[tuple[str, int], Link] = {}
        for component in failed:
            out.update(component.out)
            # Two line cards may share a link.
            links.update({(link.lower, link.lower_port): link for link in component.down})
        lost: dict[str, list[tuple[str, int, int]]] = {}
        for link in links.values():
            # Of links to a spine only their number counts.
            port = link.lower_port if link.is_access else 0
            lost.setdefault(link.upper, []).append((link.lower, link.speed_gbps, port))
        parts = []
        for name in {*out, *lost}:
            # A name and a network never compare: the text of either is enough.
            place = str(self._network_of.get(name, name))
            parts.append((place, name in out, tuple(sorted(lost.get(name, ())))))
        return tuple(sorted(parts))
