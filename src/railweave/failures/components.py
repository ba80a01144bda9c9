"""What can fail in a fabric: links, switches, and whole planes and pods where there are several."""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.fabric.model import LINK_KINDS, Fabric, Link, Switch


class Block(NamedTuple):
    """Something that components have in common: ``kind`` is a word for people, ``key`` tells it from its like."""

    kind: str
    key: tuple[str | int | None, ...]


class Component(NamedTuple):
    """What fails as a whole; the ``name`` of a link is its lower end, its ``title`` both ends.

    ``out`` are the switches that it takes out of service, ``link`` is the link, or None.

    ``blocks`` are what it belongs to: the devices that it touches, their rail, stripe, pod, group and plane.
    """

    kind: str
    name: str
    title: str
    out: tuple[str, ...]
    link: Link | None
    blocks: frozenset[Block]

    @property
    def down(self) -> tuple[Link, ...]:
        """Return its link as a tuple, empty where a switch, a pod or a plane fails."""
        return () if self.link is None else (self.link,)


NODE, DEVICE, BUNDLE, STRIPE, POD, GROUP, RAIL, PLANE = (
    *("node", "switch", "two switches", "stripe", "pod", "group", "rail", "plane"),
)
"""Kinds of blocks, the closest first."""


def components(fabric: Fabric) -> tuple[Component, ...]:
    """Return all components: links and switches, tier by tier; planes and pods where the fabric has several."""
    return (*_links(fabric), *_switches(fabric), *_parts(fabric, PLANE), *_parts(fabric, POD))


def _links(fabric: Fabric) -> Iterator[Component]:
    places = {one.name: _places(one) for one in fabric.switches}
    for link in fabric.links:
        upper = link.upper
        own = [Block(DEVICE, (upper,)), *places[upper]]
        if link.is_access:
            own += [Block(NODE, (link.lower,)), Block(RAIL, (link.rail,))]
        else:
            own += [Block(DEVICE, (link.lower,)), Block(BUNDLE, (link.lower, upper)), *places[link.lower]]
        name = _port(fabric, link.lower, link.lower_port)
        title = f"{name} — {_port(fabric, upper, link.upper_port)}"
        yield Component(LINK_KINDS[link.level], name, title, (), link, frozenset(own))


def _port(fabric: Fabric, device: str, index: int) -> str:
    return f"{device}:{fabric.ports_of[device][index].name}"


def _switches(fabric: Fabric) -> Iterator[Component]:
    for switch in fabric.switches:
        nodes = (Block(NODE, (name,)) for name in fabric.nodes_on(switch.name))
        blocks = frozenset((Block(DEVICE, (switch.name,)), *_places(switch), *nodes))
        yield Component(switch.tier.name, switch.name, switch.name, (switch.name,), None, blocks)


def _places(switch: Switch) -> list[Block]:
    """Return the parts of a fabric that a switch belongs to."""
    plane = switch.plane
    found = [Block(PLANE, (plane,))]
    if switch.stripe is not None:
        found.append(Block(STRIPE, (switch.stripe,)))
    if switch.rail is not None:
        found.append(Block(RAIL, (switch.rail,)))
    if switch.pod is not None:
        found.append(Block(POD, (switch.pod,)))
    if switch.group is not None:
        found.append(Block(GROUP, (plane, switch.group)))
    return found


def _parts(fabric: Fabric, kind: str) -> Iterator[Component]:
    """Yield the planes or the pods, each with all of its switches; a fabric that has one of a kind has none to lose."""
    members: dict[int, list[str]] = {}
    for switch in fabric.switches:
        number = switch.plane if kind == PLANE else switch.pod
        if number is not None:
            members.setdefault(number, []).append(switch.name)
    if len(members) < 2:
        return
    for number, names in sorted(members.items()):
        name = f"{kind} {number + 1}"
        yield Component(kind, name, name, tuple(names), None, frozenset({Block(kind, (number,))}))
