"""What failures take out of service, as far as their cost depends on it.

Line cards of leaves tell spines apart that are alike in everything else, so a fabric of chassis has thousands of
classes of pairs with the same cost. The cost of all pairs with one effect is computed once.
"""

from collections.abc import Iterable

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.components import Component


class Effects:
    """The effects of failures in one fabric."""

    def __init__(self, fabric: Fabric) -> None:
        # In two tiers every spine of a network has the same links to each leaf, so its network says enough of it.
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
        lost_links_of: dict[str, list[tuple[str, int, int]]] = {}
        for link in links.values():
            port = 0
            if link.is_access:
                # The ports of a node differ by rail. Links between two switches do not differ.
                port = link.lower_port
            lost_links_of.setdefault(link.upper, []).append((link.lower, link.speed_gbps, port))
        effects = []
        for name in {*out, *lost_links_of}:
            # As text, because the name of a switch and its network have no order.
            place = str(self._network_of.get(name, name))
            lost_links = tuple(sorted(lost_links_of.get(name, ())))
            effects.append((place, name in out, lost_links))
        return tuple(sorted(effects))
