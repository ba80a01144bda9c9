"""Two designs of one fabric compared: identities that would change, and cables that would move.

Devices are the same when they have the same place (role and number), whatever their name.

A link is the same when its port nearer to the GPUs is. If its /31 changes, that port is renumbered, also if the cable
moves to another upper port; the upper port is renumbered only if the cable still ends there. A port without a link in
one of the designs is not renumbered.
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
    """An identity of an existing device that would change.

    An address family that only one of the designs has changes no identity.
    """

    # Its name in the old design.
    device: str
    # Name, AS number, loopback, host block, IPv6 host block, block of NICs, or a port's address.
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
    """A cable of both designs that ends at another port, at one end or at both."""

    before: CableEnds
    after: CableEnds

    def __str__(self) -> str:
        """Return the move in a phrase."""
        return f"{self.before} → {self.after}"


def renumbered(old: Fabric, new: Fabric) -> tuple[Renumbered, ...]:
    """Return every identity of a device of ``old`` that differs in ``new``; those of removed devices are left out."""
    return (*_renamed_in_pods(old, new), *_renumbered_devices(old, new), *_renumbered_links(old, new))


def change_of_addresses(old: Fabric, new: Fabric) -> str:
    """Return the change of addresses that rules out a fabric between ``old`` and ``new``, as a clause; empty if none
    does."""
    if renumbered(old, new):
        return "renumbers devices"
    # A fabric in between cannot have both numbered and unnumbered links.
    if old.policies.addressing.unnumbered != new.policies.addressing.unnumbered:
        return "replaces the underlay"
    return ""


def _renamed_in_pods(old: Fabric, new: Fabric) -> Iterator[Renumbered]:
    """Yield the spines whose place in their pod has another name in ``new``.

    Numbers of spines follow from the uplink ports of a leaf, and a larger stripe leaves fewer of these.
    """
    if not (old.has_pods and new.has_pods):
        return
    new_spines = {(spine.plane, spine.pod, spine.group): spine for spine in new.tier_switches[1]}
    for spine in old.tier_switches[1]:
        new_spine = new_spines.get((spine.plane, spine.pod, spine.group))
        if new_spine is not None and new_spine.name != spine.name:
            yield Renumbered(spine.name, "name", spine.name, new_spine.name)


def _renumbered_devices(old: Fabric, new: Fabric) -> Iterator[Renumbered]:
    """Yield each identity of a switch that ``new`` has another one of at the same tier and number.

    The addresses of ports are left out.
    """
    new_switches = {(switch.tier, switch.number): switch for switch in new.switches}
    for switch in old.switches:
        new_switch = new_switches.get((switch.tier, switch.number))
        if new_switch is None:
            continue
        new_identities = _identities(new, new_switch)
        for what, before in _identities(old, switch).items():
            after = new_identities.get(what, before)
            if before != after:
                yield Renumbered(switch.name, what, before, after)


def _identities(fabric: Fabric, switch: Switch) -> dict[str, str]:
    """Return the identities of a switch as text, by their kind; blocks of addresses that it does not have are left
    out."""
    identities = {"name": switch.name, "AS number": str(switch.asn), "loopback": ipv4_text(switch.loopback)}
    host_block = fabric.host_blocks.get(switch.name)
    if host_block is not None:
        network, length = host_block
        identities["host block"] = f"{ipv4_text(network)}/{length}"
    ipv6_network = fabric.ipv6_blocks.get(switch.name)
    if ipv6_network is not None:
        identities["IPv6 host block"] = f"{ipv6_text(ipv6_network)}/{IPV6_BLOCK_LENGTH}"
    nic_block = fabric.nic_blocks.get(switch.name)
    if nic_block is not None:
        identities["block of NICs"] = str(nic_block)
    return identities


def _renumbered_links(old: Fabric, new: Fabric) -> Iterator[Renumbered]:
    """Yield the ports of ``old`` whose link has another /31 in ``new``, the lower port of a link first.

    Links are the same if their lower port is. Links without addresses in one of the designs are left out.
    """
    new_links = {_lower_end(new, link): link for link in new.links}
    for old_link in old.links:
        new_link = new_links.get(_lower_end(old, old_link))
        if new_link is None or new_link.network == old_link.network:
            continue
        # An address family that only one of the designs has changes no identity.
        if not (old.is_numbered(old_link) and new.is_numbered(new_link)):
            continue
        yield _new_address(old, old_link, new_link, old_link.lower, new_link.lower)
        # The address of an upper port that has lost the cable is that of another link, if it has any.
        if _upper_end(new, new_link) == _upper_end(old, old_link):
            yield _new_address(old, old_link, new_link, old_link.upper, new_link.upper)


def _new_address(old: Fabric, old_link: Link, new_link: Link, device: str, new_name: str) -> Renumbered:
    """Return the change of the address of one end of a link; ``new_name`` is the device's name in the new design."""
    port = old.ports_of[device][old_link.port_of(device)].name
    before = ipv4_text(old_link.address_of(device))
    after = ipv4_text(new_link.address_of(new_name))
    return Renumbered(device, f"address of {port}", before, after)


def moved_cables(old: Fabric, new: Fabric) -> tuple[MovedCable, ...]:
    """Return the cables of ``old`` that have another end in ``new``, in the order of ``old`` (`fabric.moves`).

    Cables that are added or removed with the device at their lower end are not moves.
    """
    old_links = _links_of_common_devices(old, new)
    new_links = _links_of_common_devices(new, old)
    moved = []
    for old_ends, new_ends in moves(old_links, new_links).items():
        moved.append(MovedCable(_ends(old, old_links[old_ends]), _ends(new, new_links[new_ends])))
    return tuple(moved)


def _links_of_common_devices(fabric: Fabric, compared: Fabric) -> dict[Ends, Link]:
    """Return the links of ``fabric`` by their ends, if the device at the lower end is in ``compared`` too."""
    devices = {_device(compared, name) for name in (*compared.switch_of, *compared.host_of)}
    links = {}
    for link in fabric.links:
        if _device(fabric, link.lower) in devices:
            links[Ends(_lower_end(fabric, link), _upper_end(fabric, link))] = link
    return links


def _place(fabric: Fabric, device: str, index: int) -> Hashable:
    """Return what identifies a port: its place on the panel of a switch, the number of a port of a node."""
    switch = fabric.switch_of.get(device)
    if switch is None:
        return index
    return switch.panel.place_of(index)


def _device(fabric: Fabric, name: str) -> tuple[str, str | int]:
    """Return what identifies a device in both designs: a switch's role and number, or "host" and a node's name."""
    switch = fabric.switch_of.get(name)
    if switch is None:
        return "host", name
    return switch.tier.name, switch.number


def _lower_end(fabric: Fabric, link: Link) -> End:
    return End(_device(fabric, link.lower), _place(fabric, link.lower, link.lower_port))


def _upper_end(fabric: Fabric, link: Link) -> End:
    return End(_device(fabric, link.upper), _place(fabric, link.upper, link.upper_port))


def _ends(fabric: Fabric, link: Link) -> CableEnds:
    lower = fabric.ports_of[link.lower][link.lower_port]
    upper = fabric.ports_of[link.upper][link.upper_port]
    return CableEnds(link.lower, lower.name, link.upper, upper.name)
