"""Switch models as SONiC knows them: cages, lanes, breakout modes, HWSKUs and their default buffers.

A model id names hardware. SONiC runs the same hardware under several HWSKUs, which differ in their native port speed
and in the buffer settings that they ship.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.fabric.buffers import BufferPool, Buffers, HeadroomChip, PgProfile


@dataclass(frozen=True, slots=True)
class Asic:
    """The switching chip. ``buffer_bytes`` is its packet buffer, ``ecmp_limit`` the most next hops of a route,
    ``logical_ports`` the most fabric ports, however its lanes are split, ``lossless_classes`` the most priorities that
    it keeps headroom for; None where no source states it. ``headroom`` is what its vendor computes headroom from."""

    vendor: str
    family: str
    buffer_bytes: int | None
    ecmp_limit: int | None
    logical_ports: int | None
    source: str
    lossless_classes: int | None = None
    headroom: HeadroomChip | None = None

    def __str__(self) -> str:
        """Return vendor and family in one phrase: ``NVIDIA Spectrum-4``."""
        return f"{self.vendor} {self.family}"


@dataclass(frozen=True, slots=True)
class CageType:
    """The front-panel cages of a model, all of one type.

    ``lanes`` and ``lane_gbps`` are of the chip, which SONiC's PORT.lanes counts; ``module_lanes`` and
    ``module_lane_gbps`` are what a plugged module sees. They differ where a gearbox stands between.
    """

    form_factor: str
    lanes: int
    lane_gbps: int
    module_lanes: int
    module_lane_gbps: int


@dataclass(frozen=True, slots=True)
class Cage:
    """One cage: its number on the front panel from 1, PORT.index, the parent port's name, and the chip's lanes in the
    order in which breakout slices them."""

    number: int
    index: int
    name: str
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BreakoutPart:
    """One part of a breakout mode: ``count`` ports of ``speed_gbps`` (or one of ``alternatives``) on ``lanes`` lanes;
    None is all lanes of the parent."""

    count: int
    speed_gbps: int
    alternatives: tuple[int, ...]
    lanes: int | None


@dataclass(frozen=True, slots=True)
class BreakoutMode:
    """A breakout mode of ``platform.json``; ``text`` is its key, byte for byte, the value of BREAKOUT_CFG.brkout_mode.

    ``aliases`` has one pattern a child, ``{cage}`` for the cage's number and ``{port}`` for the child's own.
    ``not_on`` are the numbers of cages whose entry lacks the mode.
    """

    text: str
    parts: tuple[BreakoutPart, ...]
    aliases: tuple[str, ...]
    not_on: frozenset[int]


@dataclass(frozen=True, slots=True)
class Hwsku:
    """A HWSKU: native speed and ports of a cage, and what it ships.

    ``mode`` is its breakout mode, None on a platform without modes, where ``aliases`` has the patterns instead.
    ``buffer_pools`` is by the role whose template they come from (``t0`` leaf, ``t1`` spine, ``def`` without a role).
    ``buffers`` is all that it ships of buffers, None where that is not enough to configure them.
    """

    name: str
    source: str
    speed_gbps: int
    ports_per_cage: int
    mode: str | None
    aliases: tuple[str, ...]
    has_qos_template: bool
    notes: str
    buffer_pools: Mapping[str, tuple[BufferPool, ...]]
    pg_profiles: tuple[PgProfile, ...]
    buffers: Buffers | None = None


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port beside the fabric panel (10G or 25G, for management or servers); left out of the fabric."""

    name: str
    index: int
    alias: str
    lanes: tuple[int, ...]
    speed_gbps: int
    mode: str | None


@dataclass(frozen=True, slots=True, eq=False)
class SwitchModel:
    """A switch model. Models are compared by identity: the catalog holds each once.

    ``hwskus[0]`` is the base HWSKU. With ``duplicate_lanes`` SONiC's own port table lists a lane twice, so that its
    generic updater refuses every patch (sonic-facts section 5): such a device is never patched.
    """

    id: str
    title: str
    source: str
    license: str
    platform: str
    asic: Asic
    cage_type: CageType
    cages: tuple[Cage, ...]
    modes: tuple[BreakoutMode, ...]
    hwskus: tuple[Hwsku, ...]
    service_ports: tuple[ServicePort, ...]
    duplicate_lanes: bool

    def hwsku(self, name: str) -> Hwsku | None:
        """Return the HWSKU of that name."""
        return next((one for one in self.hwskus if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Pmd:
    """One speed of a medium as a product: its usual name, the lane rates on both sides, and its reach in metres."""

    name: str
    speed_gbps: int
    host_lane_gbps: int
    wire_lane_gbps: int
    reach_m: int


@dataclass(frozen=True, slots=True)
class Medium:
    """A kind of cable. ``cost_rank`` orders media from the cheapest; ``is_copper`` asks for autonegotiation and link
    training; ``form_factors`` are the cages that it has plugs for."""

    id: str
    title: str
    source: str
    cost_rank: int
    is_copper: bool
    form_factors: tuple[str, ...]
    pmds: tuple[Pmd, ...]
