"""Hardware: switch models as SONiC knows them, NICs of GPU nodes with their vendors' tools, cable media.

A model id names hardware. SONiC runs the same hardware under several HWSKUs, which differ in their native port speed
and in the buffer settings that they ship.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from railweave.diagnostics import Blocker
from railweave.fabric.buffers import BufferPool, Buffers, HeadroomChip, PgProfile
from railweave.units import format_speed
from railweave.wording import either


class Asic(NamedTuple):
    """The switching chip. ``buffer_bytes`` is its packet buffer, ``ecmp_limit`` the most next hops of a route,
    ``logical_ports`` the most fabric ports, however its lanes are split, ``lossless_classes`` the most priorities that
    it keeps headroom for; None where no source states it. ``headroom`` is what its vendor computes headroom from,
    ``hash_fields`` tells that SONiC sets the fields of its ECMP hash (Broadcom's SAI has hashes by IP version alone,
    which orchagent does not set: sonic-swss issue 3986)."""

    vendor: str
    family: str
    buffer_bytes: int | None
    ecmp_limit: int | None
    logical_ports: int | None
    source: str
    lossless_classes: int | None = None
    headroom: HeadroomChip | None = None
    hash_fields: bool = False

    def __str__(self) -> str:
        """Return vendor and family in one phrase: ``NVIDIA Spectrum-4``."""
        return f"{self.vendor} {self.family}"


class CageType(NamedTuple):
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


class BreakoutMode(NamedTuple):
    """A breakout mode of ``platform.json``; ``text`` is its key, byte for byte, the value of BREAKOUT_CFG.brkout_mode.

    ``aliases`` has one pattern a child, ``{cage}`` for the cage's number, ``{index}`` for its PORT.index and ``{port}``
    for the child's own number.
    ``not_on`` are the numbers of cages whose entry lacks the mode.
    """

    text: str
    parts: tuple[BreakoutPart, ...]
    aliases: tuple[str, ...]
    not_on: frozenset[int]


class Hwsku(NamedTuple):
    """A HWSKU: native speed and ports of a cage (None where its cages boot in different modes), and what it ships.

    ``mode`` is its breakout mode, None on a platform without modes, where ``aliases`` has the patterns instead.
    ``buffer_pools`` is by the role whose template they come from (``t0`` leaf, ``t1`` spine, ``def`` without a role).
    ``buffers`` is all that it ships of buffers, None where that is not enough to configure them.
    """

    name: str
    source: str
    speed_gbps: int | None
    ports_per_cage: int | None
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


class Pmd(NamedTuple):
    """One speed of a medium as a product: its usual name, the lane rates on both sides, and its reach in metres."""

    name: str
    speed_gbps: int
    host_lane_gbps: int
    wire_lane_gbps: int
    reach_m: int


class Medium(NamedTuple):
    """A kind of cable. ``cost_rank`` orders media from the cheapest; ``is_copper`` asks for autonegotiation and link
    training; ``form_factors`` are the cages that it has plugs for."""

    id: str
    title: str
    source: str
    cost_rank: int
    is_copper: bool
    form_factors: tuple[str, ...]
    pmds: tuple[Pmd, ...]


class NicPorts(NamedTuple):
    """A way to use a NIC: ``ports`` Ethernet ports of ``speed_gbps``, at one of ``lane_gbps`` per lane.

    ``shared_gbps`` is what all its ports together can carry.
    """

    ports: int
    speed_gbps: int
    lane_gbps: tuple[int, ...]
    shared_gbps: int


class NotSupported(NamedTuple):
    """A combination of ports and speed that people expect and the NIC refuses, with the reason and the fix."""

    ports: int
    speed_gbps: int
    reason: str
    fix: str


class NicModel(NamedTuple):
    """A NIC model. ``form_factors`` are the cages that its cards come with, ``pcie`` the slots it was made for;
    ``reorders`` tells that it takes the packets of a flow in any order, as spraying over several paths brings them;
    ``not_public`` what its vendor has not published of its ports, empty where all is known."""

    id: str
    title: str
    source: str
    form_factors: tuple[str, ...]
    pcie: tuple[str, ...]
    combinations: tuple[NicPorts, ...]
    not_supported: tuple[NotSupported, ...]
    notes: str
    reorders: bool = False
    not_public: str = ""

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
    read on the node. ``sent_bytes`` reads what a NIC has sent in a priority, empty where it does not count that.
    ``facts`` tells which read of the steps gives a fact of ``check --facts``, and what its values
    mean there. ``lossless_priorities`` is how many priorities its tools give PFC and congestion control.
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
    sent_bytes: Mapping[str, Any] = MappingProxyType({})


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
