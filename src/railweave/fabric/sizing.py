"""The sizes of a fabric, with every number explained."""

from typing import NamedTuple

from railweave.diagnostics import Diagnostic
from railweave.fabric.buffers import SwitchBuffers


class Step(NamedTuple):
    """One step of the design: what was computed, by which formula, with which result."""

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
    """Ratios as numbers, 1.0 = 1:1: what was asked, what a leaf has, what is left with one spine lost."""

    target: float
    leaf: float
    after_spine_loss: float


class Limits(NamedTuple):
    """Most GPU nodes without moving a cable, and the resource that ends first: leaf_ports, spine_ports,
    leaf_uplinks, reserve, address_pool or asn."""

    nodes: int
    first: str


class RoomLeft(NamedTuple):
    """What fits without moving a cable, and the sentence that names the next step."""

    leaves: int
    spines: int
    next_step: str


class Sizing(NamedTuple):
    """Sizes of a fabric. Devices and links are totals over planes; ``buffers`` is empty where no class is lossless."""

    fabric: str
    tiers: int
    planes: int
    rails: int
    stripes: int
    nodes: int
    gpus: int
    leaves: int
    spines: int
    super_spines: int
    leaf: LeafSplit
    links: LinkCounts
    oversubscription: Oversubscription
    limits: Limits
    room: RoomLeft
    steps: tuple[Step, ...]
    diagnostics: tuple[Diagnostic, ...]
    buffers: tuple[SwitchBuffers, ...] = ()
