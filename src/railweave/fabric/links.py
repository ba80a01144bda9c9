"""The cables of a fabric: between two tiers of switches, or between a node and a switch."""

from collections.abc import Mapping
from typing import NamedTuple

LINK_KINDS = ("host_leaf", "leaf_spine", "spine_super_spine")
"""Which tiers a link joins, by the level of its upper end: the words of ``fabric.json`` and ``cables.csv``."""


class Link(NamedTuple):
    """A cable.

    A named tuple, because a fabric has up to a quarter of a million links, and a tuple is created twice as fast as a
    frozen dataclass.
    """

    # The level of the tier of `upper`.
    level: int
    plane: int
    # None between switches.
    rail: int | None
    # The end nearer to the GPUs, a node or a switch, and the index of its port.
    lower: str
    lower_port: int
    # The other end, a switch.
    upper: str
    upper_port: int
    # The even address of the link's /31, which the upper end has; the lower end has the next one (RFC 3021). 0 for a
    # link without a /31 (`Fabric.is_numbered`): to nodes with IPv6 alone, between switches of an unnumbered underlay.
    network: int
    speed_gbps: int
    length_m: int
    # The id of the medium.
    media: str

    @property
    def is_access(self) -> bool:
        """Tell whether it attaches a GPU node; all others are fabric links, between two switches."""
        return self.level == 0

    @property
    def kind(self) -> str:
        """Return the tiers that it joins, as a word for people and files."""
        return LINK_KINDS[self.level]

    def far(self, device: str) -> str:
        """Return the device at the other end."""
        return self.upper if device == self.lower else self.lower

    def port_of(self, device: str) -> int:
        """Return the index of the port at ``device``'s end."""
        return self.lower_port if device == self.lower else self.upper_port

    def address_of(self, device: str) -> int:
        """Return the address of ``device``'s end of the /31."""
        return self.network + 1 if device == self.lower else self.network


Links = Mapping[str, tuple[Link, ...]]
"""The links of every device of a fabric by name, in the order of the device's ports."""
