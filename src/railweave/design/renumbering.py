"""Two designs of one fabric compared: identities that would change, and cables that would move.

Devices are the same when they have the same place (role and number), whatever their name. A cable is both its ports,
and one that moves, at either end or at both, is a move, not a renumbering; a port that keeps its cable keeps its
address.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import IPV6_BLOCK_LENGTH, Fabric
from railweave.fabric.moves import End, Ends, moves
from railweave.units import ipv4_text, ipv6_text


@dataclass(frozen=True, slots=True)
class Renumbered:
    """An identity of an existing device that would differ. ``what`` is name, AS number, loopback, host block, block
    of NICs or a port's address; ``device`` has its old name. A family that comes or goes takes no address from anyone
    who keeps one."""

    device: str
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        """Return it as a clause."""
        return f"{self.device}: {self.what} {self.before} would become {self.after}"


@dataclass(frozen=True, slots=True)
class CableEnds:
    """A cable by its two ends; ports by their names on the device."""

    lower: str
    lower_port: str
    upper: str
    upper_port: str

    def __str__(self) -> str:
        """Return both ends in a phrase."""
        return f"{self.lower}:{self.lower_port} – {self.upper}:{self.upper_port}"


@dataclass(frozen=True, slots=True)
class MovedCable:
    """A cable that exists in both designs with another end."""

    before: CableEnds
    after: CableEnds

    def __str__(self) -> str:
        """Return the move in a phrase."""
        return f"{self.before} → {self.after}"


def renumbered(old: Fabric, new: Fabric) -> tuple[Renumbered, ...]:
    """Return every identity of a device of ``old`` that differs in ``new``; removed devices are none of them."""
    return (*_renamed_in_pods(old, new), *_renumbered_devices(old, new), *_renumbered_links(old, new))


def change_of_addresses(old: Fabric, new: Fabric) -> str:
    """Return in words what leads from ``old`` to ``new`` in one step only, because links get other addresses."""
    if renumbered(old, new):
        return "renumbers devices"
    # A fabric in between cannot have links with addresses beside links without.
    if old.policies.addressing.unnumbered != new.policies.addressing.unnumbered:
        return "replaces the underlay"
    return ""


def _renamed_in_pods(old: Fabric, new: Fabric) -> Iterator[Renumbered]:
    """Yield spines with the place of another name in their pod: their numbers follow from the uplink ports of a leaf,
    which a stripe of more ports leaves fewer of."""
    if not (old.has_pods and new.has_pods):
        return
    now = {(spine.plane, spine.pod, spine.group): spine for spine in new.tier_switches[1]}
    for spine in old.tier_switches[1]:
        other = now.get((spine.plane, spine.pod, spine.group))
        if other is not None and other.name != spine.name:
            yield Renumbered(spine.name, "name", spine.name, other.name)


def _renumbered_devices(old: Fabric, new: Fabric) -> Iterator[Renumbered]:
    existing = {(switch.tier, switch.number): switch for switch in new.switches}
    for switch in old.switches:
        now = existing.get((switch.tier, switch.number))
        if now is None:
            continue
        after = _identities(new, now)
        for what, before in _identities(old, switch).items():
            if what in after and before != after[what]:
                yield Renumbered(switch.name, what, before, after[what])


def _identities(fabric: Fabric, switch: Switch) -> dict[str, str]:
    """Return the identities of a switch by what they are, without a family that it has no block of."""
    identities = {"name": switch.name, "AS number": str(switch.asn), "loopback": ipv4_text(switch.loopback)}
    block = fabric.host_blocks.get(switch.name)
    if block is not None:
        identities["host block"] = f"{ipv4_text(block[0])}/{block[1]}"
    first = fabric.ipv6_blocks.get(switch.name)
    if first is not None:
        identities["IPv6 host block"] = f"{ipv6_text(first)}/{IPV6_BLOCK_LENGTH}"
    nics = fabric.nic_blocks.get(switch.name)
    if nics is not None:
        identities["block of NICs"] = str(nics)
    return identities


def _renumbered_links(old: Fabric, new: Fabric) -> Iterator[Renumbered]:
    now = {_lower_end(new, link): link for link in new.links}
    for link in old.links:
        other = now.get(_lower_end(old, link))
        if other is None or other.network == link.network:
            continue
        if not (old.is_numbered(link) and new.is_numbered(other)):
            continue
        ends = _ends(old, link)
        before = link.network
        after = other.network
        yield Renumbered(ends.lower, f"address of {ends.lower_port}", ipv4_text(before + 1), ipv4_text(after + 1))
        if _upper_end(new, other) == _upper_end(old, link):
            yield Renumbered(ends.upper, f"address of {ends.upper_port}", ipv4_text(before), ipv4_text(after))


def moved_cables(old: Fabric, new: Fabric) -> tuple[MovedCable, ...]:
    """Return the cables of ``old`` that have another end in ``new``, in the order of ``old`` (`fabric.moves`).

    Cables that only come or go, with their devices, are not moves.
    """
    before = _cables_between(old, new)
    after = _cables_between(new, old)
    return tuple(
        MovedCable(_ends(old, before[ends]), _ends(new, after[now])) for ends, now in moves(before, after).items()
    )


def _cables_between(fabric: Fabric, other: Fabric) -> dict[Ends, Link]:
    """Return the cables of ``fabric`` whose lower devices ``other`` has too."""
    kept = {_device(other, name) for name in (*other.switch_of, *other.host_of)}
    links = {}
    for link in fabric.links:
        device = _device(fabric, link.lower)
        if device in kept:
            upper = End(_device(fabric, link.upper), _place(fabric, link.upper, link.upper_port))
            links[Ends(End(device, _place(fabric, link.lower, link.lower_port)), upper)] = link
    return links


def _place(fabric: Fabric, device: str, index: int) -> Hashable:
    """Return what identifies a port: its place on the panel of a switch, the number of a port of a node."""
    switch = fabric.switch_of.get(device)
    if switch is None:
        return index
    return switch.panel.place_of(index)


def _device(fabric: Fabric, name: str) -> tuple[str, str | int]:
    """Return what makes a device the same in two designs: its role with its number, or a GPU node's name."""
    switch = fabric.switch_of.get(name)
    if switch is None:
        return "host", name
    return switch.tier.name, switch.number


def _lower_end(fabric: Fabric, link: Link) -> tuple[object, Hashable]:
    return _device(fabric, link.lower), _place(fabric, link.lower, link.lower_port)


def _upper_end(fabric: Fabric, link: Link) -> tuple[object, Hashable]:
    return _device(fabric, link.upper), _place(fabric, link.upper, link.upper_port)


def _ends(fabric: Fabric, link: Link) -> CableEnds:
    lower = fabric.ports_of[link.lower][link.lower_port]
    upper = fabric.ports_of[link.upper][link.upper_port]
    return CableEnds(link.lower, lower.name, link.upper, upper.name)
