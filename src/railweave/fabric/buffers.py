"""The packet buffer of a switch as SONiC ships it: pools, profiles, and published headroom.

Facts of the catalog, chosen with the HWSKU of a panel. Sizes are bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil
from typing import ClassVar, Literal, NamedTuple

from railweave.fabric.policy import BufferModel, Marking


class BufferPool(NamedTuple):
    """A default BUFFER_POOL row; None if the HWSKU's template leaves the field out.

    ``xoff_bytes`` is the shared headroom pool within ``size_bytes``."""

    name: str
    size_bytes: int | None
    type: str | None
    mode: str | None
    xoff_bytes: int | None


class BufferSlices(NamedTuple):
    """The division of a chip's buffer into ``total`` slices of one size (Broadcom: ITM, XPE), each with its own pools.

    ``of_port`` of them store what a port receives, depending on the port by which it leaves.
    """

    total: int = 1
    of_port: int = 1

    def share(self, size_bytes: int) -> int:
        """Return the part of one slice in ``size_bytes`` of the chip."""
        return size_bytes // self.total

    def feeding(self, ports: int) -> int:
        """Return how many of ``ports`` ports of the chip can store packets in one slice."""
        return ceil(ports * self.of_port / self.total)

    def __str__(self) -> str:
        """Return the words after a size of the chip in a text: `` in 2 slices``, empty for a buffer in one slice."""
        if self.total == 1:
            return ""
        return f" in {self.total} slices"


class BufferProfile(NamedTuple):
    """A default BUFFER_PROFILE row: ``size_bytes`` is reserved; ``threshold`` is an exponent of two of the pool's free
    part if it is ``dynamic``, else bytes."""

    name: str
    pool: str
    size_bytes: int
    kind: Literal["dynamic", "static"]
    threshold: int

    @property
    def is_dynamic(self) -> bool:
        """Tell whether the threshold depends on the free part of the pool."""
        return self.kind == "dynamic"

    def limit_bytes(self, pool_bytes: int | None) -> int | None:
        """Return the most bytes that its only user may hold of a pool of ``pool_bytes``, None for an unknown size.

        None as the result if it depends on a size that is not known.
        """
        if not self.is_dynamic:
            if pool_bytes is None:
                return self.threshold
            return min(self.threshold, pool_bytes)
        if pool_bytes is None:
            return None
        # It grows until it holds alpha times what is then free: x = alpha * (pool - x).
        alpha = 2.0**self.threshold
        return int(alpha * pool_bytes / (1 + alpha))


class PgProfile(NamedTuple):
    """A row of ``pg_profile_lookup.ini``: the lossless headroom that the vendor gives for a speed and cable length."""

    speed_gbps: int
    cable_m: int
    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    dynamic_th: int
    xon_offset_bytes: int | None


class HeadroomChip(NamedTuple):
    """The values from which the headroom of a chip is computed, if its vendor publishes how (NVIDIA Spectrum).

    Before a pause takes effect there are ``pipeline_kib`` in the pipeline of a port, ``mac_phy_bytes`` in MAC and PHY,
    and ``tile_bytes_per_gbps`` in the tile of the port.
    """

    cell_bytes: int
    pipeline_kib: int
    mac_phy_bytes: float
    tile_bytes_per_gbps: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShippedBuffers:
    """The buffer settings that a HWSKU ships, besides its pools and headroom.

    ``model`` is its default. ``role_profiles`` take the place of profiles of their name on switches of a role.
    ``port_lists`` names the profiles of a whole port, ingress and egress, empty on chips without such; ``marking``
    holds the ECN thresholds of the HWSKU's own template by speed in Gb/s, empty if it uses SONiC's general one.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    model: BufferModel
    profiles: tuple[BufferProfile, ...]
    lossy_group: str
    lossless_queue: str
    lossy_queue: str
    port_lists: tuple[tuple[str, ...], ...]
    marking: Mapping[int, Marking] = field(default_factory=dict)
    role_profiles: Mapping[str, tuple[BufferProfile, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Buffers(ShippedBuffers):
    """The buffer of one HWSKU, compared by identity."""

    hwsku: str
    # REPOSITORY:PATH@COMMIT.
    source: str
    # By the role of the template they come from: t0 is a leaf, t1 a spine. Sizes are of the whole chip.
    pools: Mapping[str, tuple[BufferPool, ...]]
    # Rows of pg_profile_lookup.ini.
    pg_profiles: tuple[PgProfile, ...]
    # None if headroom is only known from `pg_profiles`.
    chip: HeadroomChip | None
    # The most that the chip carries; None if no source states it.
    lossless_classes: int | None
    slices: BufferSlices


@lru_cache(maxsize=64)
def buffers_of_role(buffers: Buffers, role: str) -> Buffers:
    """Return the buffer with the profiles of switches of a role; the same object each time."""
    own = {profile.name: profile for profile in buffers.role_profiles.get(role, ())}
    if not own:
        return buffers
    return replace(buffers, profiles=tuple(own.get(profile.name, profile) for profile in buffers.profiles))


class Division(NamedTuple):
    """The buffer of a switch in bytes, as it is on the chip with given ports in use."""

    # With their sizes.
    pools: tuple[BufferPool, ...]
    # Set aside beside the pools, by what takes it.
    reserved: Mapping[str, int]
    # What the lossless groups take.
    headroom_bytes: int
    # What there is for them.
    budget_bytes: int
    # Ports share the headroom.
    is_pooled: bool
    # Left to share for lossless groups.
    shared_bytes: int
    # What that is made of, in words.
    shared: str
    # The whole buffer; None where pools and headroom are not beside each other.
    chip_bytes: int | None = None

    @property
    def stated_bytes(self) -> int:
        """Return the sum of the ingress pools and of the headroom of lossless groups, as CONFIG_DB states them."""
        return self.headroom_bytes + sum(pool.size_bytes or 0 for pool in self.pools if pool.type == "ingress")


class GroupHeadroom(NamedTuple):
    """The headroom of a lossless group in bytes on ``ports`` ports of a speed in Gb/s with cables of ``length_m``."""

    speed_gbps: int
    length_m: int
    ports: int
    size_bytes: int
    xon_bytes: int
    xoff_bytes: int


class QueueMarking(NamedTuple):
    """ECN marking of a class on ports of a speed in Gb/s; ``at_pause`` is the probability in percent that a packet is
    marked where PFC pauses, by traffic pattern."""

    traffic_class: str
    speed_gbps: int
    minimum_bytes: int
    maximum_bytes: int
    probability_percent: int
    at_pause: Mapping[str, float]


class SwitchBuffers(NamedTuple):
    """The buffer of switches that have the same ports in use: as it is divided now, and with all ports in use over the
    longest cables, from which thresholds follow. ``pause_bytes`` is the depth of a queue at which PFC pauses what feeds
    it, by traffic pattern."""

    devices: tuple[str, ...]
    hwsku: str
    model: BufferModel
    headroom: tuple[GroupHeadroom, ...]
    in_use: Division
    all_ports: Division
    pause_bytes: Mapping[str, int]
    marking: tuple[QueueMarking, ...]
