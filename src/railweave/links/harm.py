"""What the loss of each cable costs, by the failure analysis; equal cables are computed once."""

from collections.abc import Mapping, Sequence

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.components import components, without_cards
from railweave.failures.cost import Cost, Costs
from railweave.failures.symmetry import Symmetry

CableLinks = Mapping[str, Sequence[Link]]
"""The links of each cable by its name."""


def links_of_cables(fabric: Fabric, names: Sequence[str]) -> dict[str, list[Link]]:
    """Return the links of each cable; ``names`` are the cables of the fabric's links, in their order."""
    cables: dict[str, list[Link]] = {}
    for link, name in zip(fabric.links, names, strict=True):
        cables.setdefault(name, []).append(link)
    return cables


def costs_of_cables(fabric: Fabric, cables: CableLinks) -> dict[str, Cost]:
    """Return what the loss of each of ``cables`` costs, by name."""
    # Line cards tell links apart whose loss costs the same.
    all_components = without_cards(components(fabric))
    symmetry = Symmetry(all_components)
    costs = Costs(fabric, symmetry)
    # By the lower end of a link.
    color_of = {}
    component_of = {}
    for color, component in zip(symmetry.colors, all_components, strict=True):
        # The failure of a link alone, without a switch.
        if component.down and not component.out:
            (link,) = component.down
            color_of[link.lower, link.lower_port] = color
            component_of[link.lower, link.lower_port] = component
    cost_of_kind: dict[tuple[int, ...], Cost] = {}
    cost_of_cable = {}
    for name, links in cables.items():
        ends = [(link.lower, link.lower_port) for link in links]
        # Links of one cable share a device, so cables whose links have the same colors cost the same.
        kind = tuple(sorted(color_of[end] for end in ends))
        if kind not in cost_of_kind:
            cost_of_kind[kind] = costs.of([component_of[end] for end in ends])
        cost_of_cable[name] = cost_of_kind[kind]
    return cost_of_cable
