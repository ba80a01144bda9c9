"""Switch models as SONiC describes them.

The fields of these values are the fields of the catalog's files (``data/README.md``): a value is an object there, or,
within a list, a row in the order of the fields.

A model id names hardware. SONiC runs the same hardware under several HWSKUs, which differ in their native port speed
and in the buffer settings that they ship.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from railweave.fabric.buffers import BufferPool, BufferSlices, HeadroomChip, PgProfile, ShippedBuffers

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class TrimmingSupport(NamedTuple):
    """Packet trimming of a chip: the first SONiC release whose orchagent and SAI have it, by ``source``."""

    release: str
    source: str


class Asic(NamedTuple):
    """The switching chip. A limit is None if no source states it."""

    vendor: str
    family: str
    # The whole packet buffer.
    buffer_bytes: int | None
    # The most next hops of a route.
    ecmp_limit: int | None
    # The most fabric ports, however the lanes are split.
    logical_ports: int | None
    source: str
    # The most priorities that it keeps headroom for.
    lossless_classes: int | None = None
    # What its vendor computes headroom from.
    headroom: HeadroomChip | None = None
    # How the buffer is divided.
    slices: BufferSlices | None = None
    # Whether SONiC sets the fields of its ECMP hash. Broadcom's SAI has hashes by IP version alone, which orchagent
    # does not set (sonic-swss issue 3986).
    hash_fields: bool = False
    # None where no release of the community trims on it.
    trimming: TrimmingSupport | None = None
    # The rules that an ingress ACL table of its own holds in SONiC.
    acl_rules: int | None = None

    @property
    def trims_from(self) -> str:
        """Return the first SONiC release that trims packets on it; empty if none does."""
        if self.trimming is None:
            return ""
        return self.trimming.release

    def __str__(self) -> str:
        """Return vendor and family in one phrase: ``NVIDIA Spectrum-4``."""
        return f"{self.vendor} {self.family}"


class CageType(NamedTuple):
    """The front-panel cages of a model, all of one type; ``source`` states the form factor.

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
        """Return the parts of the mode; raises ValueError if the text is not a mode."""
        return parse_breakout_mode(self.text)


# SONiC's breakout modes, such as 4x100G[50G,25G], 1x100G(4), 2x25G(2)+1x50G(2): ports and speed, in brackets the other
# speeds that the mode allows, in parentheses the lanes that it uses (portconfig.py of SONiC), in either order.
_PART = re.compile(
    r"(?P<count>[1-9][0-9]*)x(?P<speed>[1-9][0-9]*)G"
    r"(?:\[(?P<before>[0-9G, ]+)\])?(?:\((?P<lanes>[1-9][0-9]*)\))?(?:\[(?P<after>[0-9G, ]+)\])?"
)


@lru_cache(maxsize=1024)
def parse_breakout_mode(text: str) -> tuple[BreakoutPart, ...]:
    """Parse a breakout mode; raises ValueError."""
    return tuple(_parse_part(part, text) for part in text.split("+"))


def _parse_part(part: str, whole: str) -> BreakoutPart:
    """Return a part of the breakout mode ``whole``; raises ValueError if it is not one."""
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{whole!r} is not a breakout mode; write it like 2x400G[200G]")
    alternatives = match["before"] or match["after"] or ""
    lanes = match["lanes"]
    return BreakoutPart(
        count=int(match["count"]),
        speed_gbps=int(match["speed"]),
        alternatives=tuple(int(speed.strip().removesuffix("G")) for speed in alternatives.split(",") if speed),
        lanes=int(lanes) if lanes else None,
    )


class BufferSet(NamedTuple):
    """A folder of a HWSKU with buffer settings of its own, such as ``BALANCED``.

    SONiC copies its files over those of the HWSKU only where a minigraph names it (SonicQosProfile; minigraph.py,
    select_mmu_profiles). ``lossless_roles`` are the roles whose template there has profiles for lossless queues.
    """

    name: str
    lossless_roles: tuple[str, ...]


class Hwsku(NamedTuple):
    """A HWSKU: the native ports of a cage, and the settings that SONiC ships for it."""

    name: str
    # The folder or file in SONiC's repository.
    source: str
    # None if its cages boot in different modes, as is the number of ports.
    speed_gbps: int | None
    ports_per_cage: int | None
    # A key of platform.json; None on a platform without breakout modes.
    mode: str | None
    # Whether it ships qos.json.j2.
    has_qos_template: bool
    # Remarks for a person.
    notes: str
    # By the role of the template they come from: t0 is a leaf, t1 a spine, def without a role.
    buffer_pools: Mapping[str, tuple[BufferPool, ...]]
    # Rows of pg_profile_lookup.ini.
    pg_profiles: tuple[PgProfile, ...]
    # Patterns of aliases on a platform without breakout modes, as those of `BreakoutMode`.
    aliases: tuple[str, ...] = ()
    # The other buffer settings; None if they do not suffice to configure buffers.
    buffers: ShippedBuffers | None = None
    # Files with profiles for lossless queues although `buffers` is None: for one role, or for a set that SONiC does not
    # load by itself.
    lossless_sets: tuple[str, ...] = ()
    # The most members of an ECMP group, by its sai.profile (SAI_NUM_ECMP_MEMBERS); None if that does not say.
    ecmp_members: int | None = None
    # The folders with further sets of buffer settings.
    buffer_sets: tuple[BufferSet, ...] = ()
    # The set that pools, profiles and headroom here are from; empty: the one that SONiC loads by itself.
    buffer_set: str = ""

    @property
    def buffer_folder(self) -> str:
        """Return the folder of its pools, profiles and headroom in SONiC's repository."""
        if not self.buffer_set:
            return self.source
        return f"{self.source}/{self.buffer_set}"


class ServicePort(NamedTuple):
    """A port outside the fabric panel (10G or 25G, for management or servers); the fabric does not use it."""

    name: str
    port_index: int
    alias: str
    lanes: Lanes
    speed_gbps: int
    mode: str | None


class Housing(NamedTuple):
    """The box of a switch: its height in ``rack_units``, and ``max_power_w``, an upper bound of the power it draws.

    The bound is from the data sheet, else what one power supply gives, on which the switch has to run alone. None if no
    source states it.
    """

    rack_units: int | None
    max_power_w: int | None
    source: str


class Chassis(NamedTuple):
    """A switch of identical line cards; ``card`` is the vendor's name of one, ``source`` states how many fit.

    Every card runs a SONiC of its own beside those of the supervisors (SONiC's VoQ chassis), so such a switch is sized
    and counted, but not configured.
    """

    line_cards: int
    card: str
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class SwitchModel:
    """A switch model. Models are compared by identity: the catalog holds each once."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    # The name of its file.
    id: str
    # The name for people, with the vendor.
    title: str
    # REPOSITORY:PATH@COMMIT of its SONiC platform.
    source: str
    # The license of that source.
    license: str
    # SONiC's name of the platform, such as x86_64-nvidia_sn5600-r0.
    platform: str
    asic: Asic
    # All cages are of one type.
    cage_type: CageType
    # Front to back. The file of a chassis lists those of one line card; here are those of all cards, card by card.
    cages: tuple[Cage, ...]
    # In the order of platform.json; empty if it lists none.
    breakout_modes: tuple[BreakoutMode, ...]
    # The first is the base HWSKU.
    hwskus: tuple[Hwsku, ...]
    service_ports: tuple[ServicePort, ...]
    # SONiC's own port table lists a lane twice, so its generic updater refuses every patch;
    # such a switch is never patched.
    duplicate_lanes: bool
    # None if no source states it.
    housing: Housing | None = None
    # None if it has no line cards.
    chassis: Chassis | None = None

    def __post_init__(self) -> None:
        """Give a chassis the cages of all its line cards; its file lists those of one card."""
        if self.chassis is not None:
            object.__setattr__(self, "cages", tuple(_cages_of_cards(self.cages, self.chassis.line_cards)))

    @property
    def card_cages(self) -> int:
        """Return the number of cages of one line card; 0 for a switch without."""
        if self.chassis is None:
            return 0
        return len(self.cages) // self.chassis.line_cards

    def hwsku(self, name: str) -> Hwsku | None:
        """Return the HWSKU of that name, None for an unknown name."""
        return next((hwsku for hwsku in self.hwskus if hwsku.name == name), None)


def _cages_of_cards(cages: Sequence[Cage], line_cards: int) -> Iterator[Cage]:
    """Yield the cages of all cards. Numbers and names continue from card to card, lanes are those of a card's chips."""
    port_numbers = [int(cage.name.removeprefix("Ethernet")) for cage in cages]
    numbers_of_a_card = max(number + len(cage.lanes) for number, cage in zip(port_numbers, cages, strict=True))
    for card in range(line_cards):
        for cage, port_number in zip(cages, port_numbers, strict=True):
            cage_number = card * len(cages) + cage.number
            name = f"Ethernet{card * numbers_of_a_card + port_number}"
            yield Cage(number=cage_number, port_index=cage_number, name=name, lanes=cage.lanes)


Step = Mapping[str, Any]
"""What a vendor's tools read and set of one NIC; see ``data/README.md``."""
