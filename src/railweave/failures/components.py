"""What can fail in a fabric: links, line cards, switches, and whole planes and pods where there are several."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.links import LINK_KINDS, Link
from railweave.fabric.model import Fabric


class SharedPart(NamedTuple):
    """Something that components have in common: ``kind`` is a word for people, ``key`` tells parts of a kind apart."""

    kind: str
    key: tuple[str | int | None, ...]


NO_COUNTS: Mapping[SharedPart, int] = MappingProxyType({})
"""The counts of a component that belongs to each of its blocks once."""


class Component(NamedTuple):
    """What fails as a whole."""

    kind: str
    # A link has the name of its lower end.
    name: str
    # A link has the names of both ends.
    title: str
    # The device to look at: the lower end of a link, the switch of a line card, empty for a plane or a pod.
    device: str
    # The switches that it takes out of service.
    out: tuple[str, ...]
    # The link, or the links of a line card.
    down: tuple[Link, ...]
    # What it belongs to: the devices that it touches, their rail, stripe, pod, group and plane.
    blocks: frozenset[SharedPart]
    # By how many of its links a line card belongs to each block.
    counts: Mapping[SharedPart, int] = NO_COUNTS

    @property
    def speed_gbps(self) -> int:
        """Return the bandwidth of its own links, 0 for a switch, a plane or a pod."""
        return sum(link.speed_gbps for link in self.down)


NODE = "node"
DEVICE = "switch"
BUNDLE = "two switches"
CARD = "line card"
"""Also the kind of a component that is a line card."""
STRIPE = "stripe"
POD = "pod"
GROUP = "group"
RAIL = "rail"
PLANE = "plane"


def components(fabric: Fabric) -> tuple[Component, ...]:
    """Return all components: links, line cards and switches, tier by tier; planes and pods where there are several."""
    return (*_links(fabric), *_cards(fabric), *_switches(fabric), *_parts(fabric, PLANE), *_parts(fabric, POD))


def without_cards(parts: Iterable[Component]) -> tuple[Component, ...]:
    """Return the components other than line cards, as if no switch had cards."""
    return tuple(_without_card(component) for component in parts if component.kind != CARD)


def _without_card(component: Component) -> Component:
    blocks = frozenset(block for block in component.blocks if block.kind != CARD)
    return component._replace(blocks=blocks)


def _links(fabric: Fabric) -> Iterator[Component]:
    places = _places_by_switch(fabric)
    for link in fabric.links:
        name = _port(fabric, link.lower, link.lower_port)
        title = f"{name} — {_port(fabric, link.upper, link.upper_port)}"
        blocks = frozenset(_blocks_of_link(fabric, link, places))
        yield Component(
            kind=LINK_KINDS[link.level], name=name, title=title, device=link.lower, out=(), down=(link,), blocks=blocks
        )


def _blocks_of_link(fabric: Fabric, link: Link, places: Mapping[str, list[SharedPart]]) -> list[SharedPart]:
    """Return what a link belongs to: its ends, their line cards, and the parts of the fabric that they are in."""
    blocks = [SharedPart(DEVICE, (link.upper,)), *places[link.upper]]
    if link.is_access:
        blocks += [SharedPart(NODE, (link.lower,)), SharedPart(RAIL, (link.rail,))]
    else:
        blocks += [SharedPart(DEVICE, (link.lower,)), SharedPart(BUNDLE, (link.lower, link.upper)), *places[link.lower]]
    # Only a chassis has line cards, and a fabric has a quarter of a million links.
    if any(fabric.switch_of[name].panel.card_cages for name in (link.lower, link.upper) if name in fabric.switch_of):
        blocks += [SharedPart(CARD, card) for card in cards_of(fabric, link)]
    return blocks


def cards_of(fabric: Fabric, link: Link) -> Iterator[tuple[str, int]]:
    """Yield the line cards that a link ends on: the switch and the number of the card from 1."""
    for device, index in ((link.lower, link.lower_port), (link.upper, link.upper_port)):
        switch = fabric.switch_of.get(device)
        # A node has none.
        if switch is None:
            continue
        card = switch.panel.card_of(switch.panel.ports[index])
        if card is not None:
            yield device, card


def _cards(fabric: Fabric) -> Iterator[Component]:
    """Yield the line cards with a link. Each belongs to the blocks of its links, once for each link."""
    if not any(switch.panel.card_cages for switch in fabric.switches):
        return
    places = _places_by_switch(fabric)
    links_of: dict[tuple[str, int], list[Link]] = {}
    for link in fabric.links:
        for card in cards_of(fabric, link):
            links_of.setdefault(card, []).append(link)
    for (switch, number), links in links_of.items():
        counts: Counter[SharedPart] = Counter()
        for link in links:
            counts.update(set(_blocks_of_link(fabric, link, places)))
        title = f"{switch} line card {number}"
        yield Component(
            kind=CARD,
            name=title,
            title=title,
            device=switch,
            out=(),
            down=tuple(links),
            blocks=frozenset(counts),
            counts=counts,
        )


def _port(fabric: Fabric, device: str, index: int) -> str:
    return f"{device}:{fabric.ports_of[device][index].name}"


def _switches(fabric: Fabric) -> Iterator[Component]:
    for switch in fabric.switches:
        nodes = (SharedPart(NODE, (name,)) for name in fabric.nodes_on(switch.name))
        blocks = frozenset((SharedPart(DEVICE, (switch.name,)), *_places(switch), *nodes))
        yield Component(
            kind=switch.tier.name,
            name=switch.name,
            title=switch.name,
            device=switch.name,
            out=(switch.name,),
            down=(),
            blocks=blocks,
        )


def _places_by_switch(fabric: Fabric) -> Mapping[str, list[SharedPart]]:
    return {switch.name: _places(switch) for switch in fabric.switches}


def _places(switch: Switch) -> list[SharedPart]:
    """Return the parts of a fabric that a switch belongs to."""
    plane = switch.plane
    blocks = [SharedPart(PLANE, (plane,))]
    if switch.stripe is not None:
        blocks.append(SharedPart(STRIPE, (switch.stripe,)))
    if switch.rail is not None:
        blocks.append(SharedPart(RAIL, (switch.rail,)))
    if switch.pod is not None:
        blocks.append(SharedPart(POD, (switch.pod,)))
    if switch.group is not None:
        blocks.append(SharedPart(GROUP, (plane, switch.group)))
    return blocks


def _parts(fabric: Fabric, kind: str) -> Iterator[Component]:
    """Yield the planes or the pods, each with all of its switches; nothing where the fabric has a single one."""
    members: dict[int, list[str]] = {}
    for switch in fabric.switches:
        number = switch.plane if kind == PLANE else switch.pod
        if number is not None:
            members.setdefault(number, []).append(switch.name)
    if len(members) < 2:
        return
    for number, names in sorted(members.items()):
        name = f"{kind} {number}"
        yield Component(
            kind=kind,
            name=name,
            title=name,
            device="",
            out=tuple(names),
            down=(),
            blocks=frozenset({SharedPart(kind, (number,))}),
        )
