"""The sizes of a fabric, with every number explained."""

from dataclasses import dataclass

from railweave.diagnostics import Diagnostic
from railweave.fabric.buffers import SwitchBuffers


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the design: what was computed, by which formula, with which result."""

    name: str
    formula: str
    result: str


@dataclass(frozen=True, slots=True)
class LeafSplit:
    """Logical ports of a leaf in use downwards and connected upwards, and their bandwidth in Gb/s."""

    down: int
    up: int
    down_gbps: int
    up_gbps: int


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Links by kind, totals over planes; ``per_leaf_spine_pair`` is of one pair."""

    host_leaf: int
    leaf_spine: int
    spine_super_spine: int
    per_leaf_spine_pair: int


@dataclass(frozen=True, slots=True)
class Oversubscription:
    """Ratios as numbers, 1.0 = 1:1: what was asked, what a leaf has, what is left with one spine lost."""

    target: float
    leaf: float
    after_spine_loss: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Most GPU nodes without moving a cable, and the resource that ends first: spine_ports, leaf_uplinks, reserve,
    address_pool or asn."""

    nodes: int
    first: str


@dataclass(frozen=True, slots=True)
class RoomLeft:
    """What fits without moving a cable, and the sentence that names the next step."""

    leaves: int
    spines: int
    next_step: str


@dataclass(frozen=True, slots=True)
class Sizing:
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
