"""A copper or active optical cable has its ends in one cage each, or one end that fans out to several. Where cages at
both ends share links crosswise, no such cable is made; fibers are sold as shuffles."""

from collections import Counter
from typing import NamedTuple

from railweave.cabling.assemblies import joined
from railweave.cabling.ends import DeviceCage, shared_ports
from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.links import LINK_KINDS
from railweave.fabric.model import Fabric
from railweave.wording import counted

RULE = rule(
    "RW305",
    "cables with fixed ends join cages that no other cable shares",
    __doc__,
    "{topology: {wiring: ports, leaf: {model: nokia-ixr7220-h5-64d, uplink_speed: 400G, downlink_speed: 400G},"
    " spine: {model: nokia-ixr7220-h5-64d}}, cabling: {leaf_spine: {media: aoc}}}",
)

_LAYERS = ("host", "leaf_spine", "spine_super_spine")
"""The keys of `cabling` by the level of a link's upper end."""


@RULE.on_fabric
def fixed_ends(fabric: Fabric) -> Breaches:
    """Yield a warning for each kind of link and medium with fixed ends whose cages share links crosswise."""
    for (level, medium), groups in _crosswise_groups(fabric).items():
        kind = LINK_KINDS[level].replace("_", "-")
        message = (
            f"{counted(groups, 'group')} of {kind} links by {medium} share cages at both ends in different ways:"
            " no cable with fixed ends joins these"
        )
        path = f"cabling.{_LAYERS[level]}.media"
        yield Breach(path, message, f"write {path}: auto, which chooses fibers for them", Severity.WARNING)


def _crosswise_groups(fabric: Fabric) -> Counter[tuple[int, str]]:
    """Return how many groups of links with fixed ends share cages crosswise, by (level, medium)."""
    links = _links_of_shared_cages(fabric)
    groups: Counter[tuple[int, str]] = Counter()
    for numbers in joined([(link.lower_cage, link.upper_cage) for link in links]):
        lower_cages = {links[number].lower_cage for number in numbers}
        upper_cages = {links[number].upper_cage for number in numbers}
        if len(lower_cages) > 1 and len(upper_cages) > 1:
            first = links[numbers[0]]
            groups[first.level, first.medium] += 1
    return groups


class _SharingLink(NamedTuple):
    """A link whose cages have further ports at both ends."""

    lower_cage: DeviceCage
    upper_cage: DeviceCage
    level: int
    medium: str


def _links_of_shared_cages(fabric: Fabric) -> list[_SharingLink]:
    """Return the links with fixed ends that end in cages of several ports at both ends."""
    catalog = load_catalog()
    fixed = {medium.id for medium in catalog.media() if not medium.fiber}
    links: list[_SharingLink] = []
    if fixed.isdisjoint(link.media for link in fabric.links):
        return links
    ports = shared_ports(fabric, catalog)
    for link in fabric.links:
        if link.media not in fixed:
            continue
        lower = ports[link.lower][link.lower_port]
        upper = ports[link.upper][link.upper_port]
        # A cage of one port is shared by nobody.
        if lower.ports > 1 and upper.ports > 1:
            lower_cage = DeviceCage(link.lower, lower.cage.name)
            upper_cage = DeviceCage(link.upper, upper.cage.name)
            links.append(_SharingLink(lower_cage, upper_cage, link.level, link.media))
    return links
