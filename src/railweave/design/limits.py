"""Limits: how far the fabric grows without moving a cable, and what ends first."""

from dataclasses import dataclass

from railweave.design.layout import Layout
from railweave.design.reserve import asn_leaves, pool_needs
from railweave.fabric.policy import Addressing
from railweave.fabric.sizing import Limits

ENDS = {
    "spine_ports": "spine ports end",
    "leaf_uplinks": "leaf uplinks end",
    "reserve": "the reserve ends",
    "address_pool": "an address pool ends",
    "asn": "the AS numbers end",
}
"""What ends growth, as a clause; in the order in which a tie is decided."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The largest growth without moving a cable: ``stripes`` indexes, with ``nodes`` and ``gpus`` when all are full.

    ``first`` is the resource that ends there.
    """

    stripes: int
    nodes: int
    gpus: int
    first: str

    @property
    def limits(self) -> Limits:
        """Return the limits as the sizing states them."""
        return Limits(self.nodes, self.first)


def find_growth(layout: Layout, addressing: Addressing) -> Growth:
    """Return the largest growth by new stripes; on a tie the resource named first ends it.

    Leaf uplinks end nothing here: they are laid out before the first node and new leaves bring their own.
    """
    leaf_indexes = {
        "spine_ports": layout.top.ports.total // layout.lowest.links_per_pair,
        "reserve": layout.lowest.reserve,
        "address_pool": min(need.leaves for need in pool_needs(layout, addressing)),
        "asn": asn_leaves(layout, addressing),
    }
    stripes = {name: count // layout.stripe_leaves for name, count in leaf_indexes.items()}
    first = min(stripes, key=lambda name: stripes[name])
    owners = [layout.owner(stripe) for stripe in range(stripes[first])]
    return Growth(
        stripes=stripes[first],
        nodes=sum(group.stripe_nodes for group in owners),
        gpus=sum(group.stripe_nodes * group.entry.gpus for group in owners),
        first=first,
    )
