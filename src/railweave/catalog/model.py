"""Hardware: switch models as SONiC knows them, NICs of GPU nodes with their vendors' tools, cable media.

The fields of these values are the fields of the catalog's files (``data/README.md``): a value of named fields is an
object there, the values of a list are rows in the order of the fields.

A model id names hardware. SONiC runs the same hardware under several HWSKUs, which differ in their native port speed
and in the buffer settings that they ship.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from railweave.diagnostics import Blocker
from railweave.fabric.buffers import BufferPool, BufferSlices, HeadroomChip, PgProfile, ShippedBuffers
from railweave.units import format_speed
from railweave.wording import either

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class Asic(NamedTuple):
    """The switching chip. ``buffer_bytes`` is its packet buffer, ``ecmp_limit`` the most next hops of a route,
    ``logical_ports`` the most fabric ports, however its lanes are split, ``lossless_classes`` the most priorities that
    it keeps headroom for, ``slices`` how its buffer is divided; None where no source states it. ``headroom`` is what
    its vendor computes headroom from, ``hash_fields`` tells that SONiC sets the fields of its ECMP hash (Broadcom's SAI
    has hashes by IP version alone, which orchagent does not set: sonic-swss issue 3986)."""

    vendor: str
    family: str
    buffer_bytes: int | None
    ecmp_limit: int | None
    logical_ports: int | None
    source: str
    lossless_classes: int | None = None
    headroom: HeadroomChip | None = None
    slices: BufferSlices | None = None
    hash_fields: bool = False

    def __str__(self) -> str:
        """Return vendor and family in one phrase: ``NVIDIA Spectrum-4``."""
        return f"{self.vendor} {self.family}"


class CageType(NamedTuple):
    """The front-panel cages of a model, all of one type; ``source`` is where the form factor is stated.

    ``lanes`` and ``lane_gbps`` are of the chip, which SONiC's PORT.lanes counts; ``module_lanes`` and
    ``module_lane_gbps`` are what a plugged module sees where a gearbox stands between, else 0.
    """

    form_factor: str
    lanes: int
    lane_gbps: int
    source: str = ""
    module_lanes: int = 0
    module_lane_gbps: int = 0

    @property
    def module(self) -> tuple[int, int]:
        """Return how many lanes a plugged module sees, and their rate in Gb/s."""
        return self.module_lanes or self.lanes, self.module_lane_gbps or self.lane_gbps


class Lanes(tuple[int, ...]):
    """Lanes of the chip, in a file as text: ``1,2,3,4``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the lanes of a text."""
        return cls(map(int, text.split(",")))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> "CoreSchema":
        """Return the form of lanes in a file."""
        from pydantic_core import core_schema

        text = core_schema.str_schema(pattern=r"^[0-9]{1,5}(,[0-9]{1,5})*$")
        return core_schema.no_info_after_validator_function(cls.parse, text)


class Cage(NamedTuple):
    """One cage: its number on the front panel from 1, PORT.index, the parent port's name, and the chip's lanes in the
    order in which breakout slices them."""

    number: int
    port_index: int
    name: str
    lanes: Lanes


@dataclass(frozen=True, slots=True)
class BreakoutPart:
    """One part of a breakout mode: ``count`` ports of ``speed_gbps`` (or one of ``alternatives``) on ``lanes`` lanes;
    None is all lanes of the parent."""

    count: int
    speed_gbps: int
    alternatives: tuple[int, ...]
    lanes: int | None


class BreakoutMode(NamedTuple):
    """A breakout mode of ``platform.json``; ``text`` is its key, byte for byte, the value of BREAKOUT_CFG.brkout_mode.

    ``aliases`` has one pattern a child, ``{cage}`` for the cage's number, ``{index}`` for its PORT.index and ``{port}``
    for the child's own number.
    ``not_on`` are the numbers of cages whose entry lacks the mode.
    """

    text: str
    aliases: tuple[str, ...]
    not_on: frozenset[int]

    @property
    def parts(self) -> tuple[BreakoutPart, ...]:
        """Return the parts of the mode; raises ValueError where its text is none."""
        return parse_breakout_mode(self.text)


# SONiC's breakout modes, such as 4x100G[50G,25G], 1x100G(4), 2x25G(2)+1x50G(2): ports and speed, in brackets the other
# speeds that the mode allows, in parentheses the lanes that it uses (sonic-facts section 1.3), in either order.
_PART = re.compile(
    r"(?P<count>[1-9][0-9]*)x(?P<speed>[1-9][0-9]*)G"
    r"(?:\[(?P<before>[0-9G, ]+)\])?(?:\((?P<lanes>[1-9][0-9]*)\))?(?:\[(?P<after>[0-9G, ]+)\])?"
)


@lru_cache(maxsize=1024)
def parse_breakout_mode(text: str) -> tuple[BreakoutPart, ...]:
    """Return the parts of a breakout mode; ValueError when it is none."""
    return tuple(_parse_part(part, text) for part in text.split("+"))


def _parse_part(part: str, whole: str) -> BreakoutPart:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{whole!r} is not a breakout mode; write it like 2x400G[200G]")
    alternatives = match["before"] or match["after"] or ""
    return BreakoutPart(
        count=int(match["count"]),
        speed_gbps=int(match["speed"]),
        alternatives=tuple(int(speed.strip().removesuffix("G")) for speed in alternatives.split(",") if speed),
        lanes=int(match["lanes"]) if match["lanes"] else None,
    )


class Hwsku(NamedTuple):
    """A HWSKU: native speed and ports of a cage (None where its cages boot in different modes), and what it ships.

    ``mode`` is its breakout mode, None on a platform without modes, where ``aliases`` has the patterns instead.
    ``buffer_pools`` is by the role whose template they come from (``t0`` leaf, ``t1`` spine, ``def`` without a role).
    ``buffers`` is what else it ships of buffers, None where all of it is not enough to configure them;
    ``lossless_sets`` are then the files of its folder that hold profiles for lossless queues all the same, for one role
    or for a set that SONiC does not load by itself.
    """

    name: str
    source: str
    speed_gbps: int | None
    ports_per_cage: int | None
    mode: str | None
    has_qos_template: bool
    notes: str
    buffer_pools: Mapping[str, tuple[BufferPool, ...]]
    pg_profiles: tuple[PgProfile, ...]
    aliases: tuple[str, ...] = ()
    buffers: ShippedBuffers | None = None
    lossless_sets: tuple[str, ...] = ()


class ServicePort(NamedTuple):
    """A port beside the fabric panel (10G or 25G, for management or servers); left out of the fabric."""

    name: str
    port_index: int
    alias: str
    lanes: Lanes
    speed_gbps: int
    mode: str | None


class Housing(NamedTuple):
    """The box of a switch: ``rack_units`` that it takes, and ``max_power_w``, a bound of what it draws: of its data
    sheet, else what one power supply gives, on which it has to run alone; None where no source states it."""

    rack_units: int | None
    max_power_w: int | None
    source: str


class Chassis(NamedTuple):
    """A switch of ``line_cards`` that are alike, each a ``card`` of its vendor; ``source`` tells how many it takes.

    Every card runs a SONiC of its own beside those of the supervisors (SONiC's VoQ chassis), so that such a switch is
    sized and counted, and not configured."""

    line_cards: int
    card: str
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class SwitchModel:
    """A switch model. Models are compared by identity: the catalog holds each once.

    ``hwskus[0]`` is the base HWSKU. With ``duplicate_lanes`` SONiC's own port table lists a lane twice, so that its
    generic updater refuses every patch (sonic-facts section 5): such a device is never patched. The file of a
    ``chassis`` lists the cages of one line card; ``cages`` are those of all, card by card, their ports named on.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    id: str
    title: str
    source: str
    license: str
    platform: str
    asic: Asic
    cage_type: CageType
    cages: tuple[Cage, ...]
    breakout_modes: tuple[BreakoutMode, ...]
    hwskus: tuple[Hwsku, ...]
    service_ports: tuple[ServicePort, ...]
    duplicate_lanes: bool
    housing: Housing | None = None
    chassis: Chassis | None = None

    def __post_init__(self) -> None:
        """Repeat the cages of a line card for every card of a chassis."""
        if self.chassis is not None:
            object.__setattr__(self, "cages", tuple(_cages_of_cards(self.cages, self.chassis.line_cards)))

    @property
    def card_cages(self) -> int:
        """Return the cages of one line card, 0 of a switch without."""
        return 0 if self.chassis is None else len(self.cages) // self.chassis.line_cards

    def hwsku(self, name: str) -> Hwsku | None:
        """Return the HWSKU of that name."""
        return next((one for one in self.hwskus if one.name == name), None)


def _cages_of_cards(cages: Sequence[Cage], line_cards: int) -> Iterator[Cage]:
    """Yield the cages of all cards: numbers and names go on from card to card, lanes are those of each card's chips."""
    span = max(int(cage.name.removeprefix("Ethernet")) + len(cage.lanes) for cage in cages)
    for card in range(line_cards):
        for cage in cages:
            number = card * len(cages) + cage.number
            name = f"Ethernet{card * span + int(cage.name.removeprefix('Ethernet'))}"
            yield Cage(number, number, name, cage.lanes)


class Pmd(NamedTuple):
    """One speed of a medium as a product: its usual name, the lane rates on both sides, and its reach in metres."""

    name: str
    speed_gbps: int
    host_lane_gbps: int
    wire_lane_gbps: int
    reach_m: int


class Medium(NamedTuple):
    """A kind of cable. ``cost_rank`` orders media from the cheapest; ``form_factors`` are the cages that it has plugs
    for. ``fiber`` is the glass between two modules, empty where the ends are fixed to the cable; ``duplex`` tells that
    all lanes share one fiber each way, by wavelengths.
    ``lengths_m`` are the lengths that are sold, ascending, by ``lengths_source``; beyond them there are multiples of
    ``length_step_m``, none where that is 0. ``id`` is its name in the file."""

    title: str
    source: str
    cost_rank: int
    form_factors: tuple[str, ...]
    pmds: tuple[Pmd, ...]
    fiber: str = ""
    duplex: bool = False
    lengths_m: tuple[int, ...] = ()
    length_step_m: int = 0
    lengths_source: str = ""
    id: str = ""

    def sold_m(self, length_mm: int, sold: Sequence[int] = ()) -> int | None:
        """Return the shortest length in meters that is sold and not below ``length_mm``, None where there is none.

        ``sold`` are the only lengths there are, where a user states them."""
        for length_m in sorted(sold) or self.lengths_m:
            if length_m * 1000 >= length_mm:
                return length_m
        if sold or not self.length_step_m:
            return None
        return ceil(length_mm / (self.length_step_m * 1000)) * self.length_step_m


class NicPorts(NamedTuple):
    """A way to use a NIC: ``ports`` Ethernet ports of ``speed_gbps``, at one of ``lane_gbps`` per lane."""

    ports: int
    speed_gbps: int
    lane_gbps: tuple[int, ...]


class NotSupported(NamedTuple):
    """A combination of ports and speed that people expect and the NIC refuses, with the reason and the fix."""

    ports: int
    speed_gbps: int
    reason: str
    fix: str


class NicModel(NamedTuple):
    """A NIC model. ``form_factors`` are the cages that its cards come with, ``pcie`` the slots it was made for;
    ``reorders`` tells that it takes the packets of a flow in any order, as spraying over several paths brings them;
    ``not_public`` what its vendor has not published of its ports, empty where all is known; ``shared_gbps`` what all
    ports together carry, 0 where that is their sum. ``id`` is its name in the file."""

    title: str
    source: str
    form_factors: tuple[str, ...]
    pcie: tuple[str, ...]
    combinations: tuple[NicPorts, ...]
    notes: str
    not_supported: tuple[NotSupported, ...] = ()
    shared_gbps: int = 0
    reorders: bool = False
    not_public: str = ""
    id: str = ""

    def total_gbps(self, ports: int, speed_gbps: int) -> int:
        """Return what ports of a speed carry together."""
        return self.shared_gbps or ports * speed_gbps

    def find(self, ports: int, speed_gbps: int) -> NicPorts | None:
        """Return the use as ``ports`` ports of a speed, None where the NIC cannot do it."""
        return next((one for one in self.combinations if (one.ports, one.speed_gbps) == (ports, speed_gbps)), None)

    def refusal_of(self, ports: int, speed_gbps: int) -> NotSupported | None:
        """Return why a combination is refused where the source says so, None where it is only not listed."""
        return next((one for one in self.not_supported if (one.ports, one.speed_gbps) == (ports, speed_gbps)), None)

    def refusal(self, ports: int, speed_gbps: int) -> Blocker:
        """Return why the NIC is refused as ``ports`` ports of a speed, and what it can be instead."""
        asked, known = f"{ports}x{format_speed(speed_gbps)}", self.refusal_of(ports, speed_gbps)
        known_uses = [f"{one.ports}x{format_speed(one.speed_gbps)}" for one in self.combinations]
        can_be = f"it can be {either(known_uses)}" if known_uses else "use another NIC"
        if known is not None:
            return Blocker(f"{self.title} cannot have {asked} ports: {known.reason}", f"{known.fix}; {can_be}")
        if self.not_public:
            fix = f"{can_be}; or state its ports in catalog/nics.json of the project"
            return Blocker(f"{asked} ports are not known of {self.title}: {self.not_public}", fix)
        return Blocker(f"{self.title} cannot have {asked} ports", can_be)


Step = Mapping[str, Any]
"""What a vendor's tools read and set of one NIC; see ``data/README.md``."""


class VendorPack(NamedTuple):
    """The tools of one NIC vendor, as ``data/nic_vendors/ID.json`` describes them.

    ``nics`` are ids of NIC models. ``rdma_prefix`` begins the kernel's names of RDMA devices. ``firmware`` are settings
    that survive a reboot and need a reset, which are reported and never changed; ``firmware_query`` shows them,
    ``firmware_set`` begins the command by which a person sets them. ``names`` are further names for the steps, each
    read on the node. ``sent_bytes`` reads what a NIC has sent in a priority, None where it does not count that.
    ``facts`` tells which read of the steps gives a fact of ``check --facts``, and what its values
    mean there; ``effects`` says by the start of a read's name what it means for the fabric if that is set otherwise.
    ``lossless_priorities`` is how many priorities its tools give PFC and congestion control.
    """

    id: str
    title: str
    source: str
    lossless_priorities: int
    nics: tuple[str, ...]
    rdma_prefix: str
    firmware: tuple[str, ...]
    firmware_query: tuple[str, ...]
    firmware_set: str
    steps: tuple[Step, ...]
    names: Mapping[str, Mapping[str, Any]]
    facts: Mapping[str, Mapping[str, Any]]
    sent_bytes: Mapping[str, Any] | None = None
    effects: Mapping[str, str] = {}


class PcieSlot(NamedTuple):
    """A slot: ``raw_gbps`` is the link after its line coding, the bound for pass or fail.

    ``payload_gbps`` is the lower and upper estimate of what is left for data with payloads of 256 and 512 bytes.
    ``slots`` is 2 where one NIC uses two slots (socket direct).
    """

    id: str
    generation: int
    lanes: int
    slots: int
    raw_gbps: float
    payload_gbps: tuple[float, float]
