"""The sizes of a fabric, with every number explained."""

from typing import NamedTuple

from railweave.diagnostics import Diagnostic
from railweave.fabric.buffers import SwitchBuffers


class SizingStep(NamedTuple):
    """One step of the design: the name of a number, its formula and the result."""

    name: str
    formula: str
    result: str


class LeafSplit(NamedTuple):
    """Logical ports of a leaf in use downwards and connected upwards, and their bandwidth in Gb/s."""

    down: int
    up: int
    down_gbps: int
    up_gbps: int


class LinkCounts(NamedTuple):
    """Links by kind, totals over planes; ``per_leaf_spine_pair`` is of one pair."""

    host_leaf: int
    leaf_spine: int
    spine_super_spine: int
    per_leaf_spine_pair: int


class Oversubscription(NamedTuple):
    """Ratios as numbers, 1.0 = 1:1: the target, that of a leaf, and that after the loss of one spine."""

    target: float
    leaf: float
    after_spine_loss: float


class Limits(NamedTuple):
    """The most GPU nodes without moving a cable, and the resource that is exhausted first: leaf_ports, spine_ports,
    leaf_uplinks, reserve, address_pool or asn."""

    nodes: int
    first: str


class RoomLeft(NamedTuple):
    """The leaves and spines that fit without moving a cable, and a sentence about the next step."""

    leaves: int
    spines: int
    next_step: str


CONNECTED_RATIO = "oversubscription of connected ports"
"""The step that states the ratio of the ports that nodes are connected to, where it is not that of the split."""


RAILS = "rails"
"""The step that states the rails where they are not the NICs of a node: ``NO_RAILS`` where leaves belong to racks."""

NO_RAILS = "none"
"""The result of the step of rails in a fabric without any."""


class Sizing(NamedTuple):
    """Sizes of a fabric."""

    # The name of the fabric.
    fabric: str
    # Tiers of switches, 1 to 3.
    tiers: int
    planes: int
    # The NICs of a node where leaves belong to racks: there are no rails.
    rails: int
    # Groups of nodes that share leaves.
    stripes: int
    # Numbers of devices are totals over planes, those of links, too.
    nodes: int
    gpus: int
    leaves: int
    spines: int
    super_spines: int
    # The ports of a leaf.
    leaf: LeafSplit
    links: LinkCounts
    oversubscription: Oversubscription
    limits: Limits
    room: RoomLeft
    # How each number was computed, in order.
    steps: tuple[SizingStep, ...]
    diagnostics: tuple[Diagnostic, ...]
    # Empty if no class is lossless.
    buffers: tuple[SwitchBuffers, ...] = ()
