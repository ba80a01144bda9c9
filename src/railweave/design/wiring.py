"""Which leaf port meets which spine port (design rules "Ports").

With ``links_per_pair`` given, each spine has its own run of leaf ports and each leaf its own run of spine ports: new
leaves and new spines move no cable. Else uplinks are dealt to the spines in turn, and each layer of a spine's ports
has room for as many leaves as the spine can take: new leaves move no cable, and doubling the spines keeps half of them
where the layers' width doubles.
"""

from dataclasses import dataclass

from railweave.design.layout import Layout


@dataclass(frozen=True, slots=True)
class Uplink:
    """An uplink of every leaf: its leaf port, its spine, and the spine port as ``base`` + ``step`` × leaf index."""

    leaf_port: int
    spine: int
    base: int
    step: int

    def spine_port(self, leaf: int) -> int:
        """Return the port of the spine that this uplink of the leaf with index ``leaf`` meets."""
        return self.base + self.step * leaf


def uplinks(layout: Layout) -> tuple[Uplink, ...]:
    """Return the uplinks of a leaf in the order of its ports."""
    block, count, spines = layout.leaf_ports.block, layout.links_per_pair, layout.spines
    if layout.fixed_pair:
        return tuple(
            Uplink(block + spine * count + link, spine, link, count) for spine in range(spines) for link in range(count)
        )
    width = layout.spine_ports // count
    return tuple(Uplink(block + port, port % spines, port // spines * width, 1) for port in range(count * spines))


def count_moves(old: Layout, new: Layout) -> int:
    """Return how many leaf-spine cables of ``old`` end on another spine port in ``new``, over all planes."""
    ends = {uplink.leaf_port: uplink for uplink in uplinks(new)}
    moved = 0
    for before in uplinks(old):
        after = ends.get(before.leaf_port)
        if after is None or after.spine != before.spine:
            moved += old.leaves
            continue
        if (after.base, after.step) == (before.base, before.step):
            continue
        moved += sum(before.spine_port(leaf) != after.spine_port(leaf) for leaf in leaf_places(old))
    return moved * old.planes


def leaf_places(layout: Layout) -> list[int]:
    """Return the indexes of the leaves of one plane."""
    return [stripe * layout.stripe_leaves + rail for stripe in layout.stripes for rail in range(layout.stripe_leaves)]
