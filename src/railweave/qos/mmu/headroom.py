"""Headroom: the buffer for packets that still arrive after a lossless class has asked its peer to pause.

There is no single formula. A vendor's published value for a chip, speed and cable length comes before any computation;
NVIDIA publishes the computation itself, in the scripts of SONiC's dynamic buffer model for Spectrum chips. For any
other chip, speed or length there is no value here: a wrong guess would show as loss under load, months later.

    f      = cell / 64 rounded up (96-byte cells: 2 cell / (1 + cell))    most buffer that a packet can waste
    occ    = (100 - p + p f) / 100, p = 6400 / (64 s + (100 - s) m) * 100   s percent of 64-byte packets, rest m bytes
    cable  = 2 length speed / (8 v), v = 198 m/us                         both ways
    prop   = port MTU + cable + MAC and PHY + peer's response + tile      what arrives after the pause is sent
    xoff   = m + prop occ, in whole KiB                                   m: the lossless MTU
    xon    = pipeline (twice for 8 lanes)                                 what a port holds without any pause

Releases differ (``SCRIPTS``): 202305 and 202311 do not round ``f``, take s for the share of bytes, KB on the cable for
1024 bytes, no tile, and 1 KiB less for 8 lanes; 202605 adds 2 KiB where that still is below the worst case. s is 100 up
to 202405, 50 from 202411 (``RELEASES``).

Sources: sonic-net/sonic-swss cfgmgr/buffer_headroom_mellanox.lua, by branch; sonic-net/sonic-buildimage
platform/mellanox/asic_table.j2, files/build_templates/buffers_config.j2 (s, m); peer response in pause quanta of 512
bits by speed, IEEE 802.3 clause 31B.3.7.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from railweave.fabric.buffers import Buffers, HeadroomChip, PgProfile
from railweave.fabric.policy import BufferModel, SonicPolicy
from railweave.fabric.releases import RELEASES, nearest
from railweave.units import format_speed

LOSSLESS_MTU_BYTES = 1024
"""LOSSLESS_TRAFFIC_PATTERN.mtu of buffers_config.j2: the packets that a lossless class is taken to carry."""

# The speed of signals in a cable in buffer_headroom_mellanox.lua, two thirds of that of light.
_METERS_PER_SECOND = 198_000_000
# 512 bits (IEEE 802.3, 31B.2).
_QUANTUM_BYTES = 64
_WIDE_LANES = 8
_KIB = 1024
_MAC_PHY_BYTES = 819.2
"""Delay of MAC and PHY in SONiC's table of NVIDIA's chips (asic_table.j2: 0.8 KiB)."""
_COMPENSATION_BYTES = 2048

# Pause quanta of the peer's response by speed in Gb/s (IEEE 802.3, 31B.3.7).
_PEER_QUANTA = {1: 2, 10: 67, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905, 800: 905}


class PortMedium(NamedTuple):
    """The port properties that headroom depends on: speed in Gb/s, cable in meters, IP MTU in bytes, lanes."""

    speed_gbps: int
    length_m: int
    mtu_bytes: int
    lanes: int


class Variant(NamedTuple):
    """A variant of the computation."""

    name: str
    # Percentage of 64-byte packets (s).
    small_packet_percent: int = 50
    # Whether f is rounded up.
    rounds_factor: bool = True
    # MTU for every port; None: that of the port.
    mtu_bytes: int | None = None
    # None: by speed, from IEEE 802.3.
    peer_response_bytes: float | None = None
    # Whether 2 KiB are added for mixed packets.
    compensates: bool = False
    # The scripts of 202305 and 202311: no tile, cable in units of 1024 bytes, s of the bytes.
    is_first: bool = False


_FIRST = Variant("SONiC's dynamic buffer model before 202405", rounds_factor=False, is_first=True)
_MIDDLE = Variant("SONiC's dynamic buffer model from 202405 to 202511")
_LATEST = Variant("SONiC's dynamic buffer model from 202605", compensates=True)
# In the order of RELEASES: 202305, 202311, 202405 to 202511, 202605.
_VARIANTS = (_FIRST, _FIRST, _MIDDLE, _MIDDLE, _MIDDLE, _MIDDLE, _LATEST)
SCRIPTS = {
    name: variant._replace(small_packet_percent=release.small_packet_percent)
    for (name, release), variant in zip(RELEASES.items(), _VARIANTS, strict=True)
}
"""The computation that a switch does itself (buffer_headroom_mellanox.lua), by SONiC's release."""


class Headroom(NamedTuple):
    """Headroom of one priority group."""

    # Reserved for the group itself.
    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    xon_offset_bytes: int | None
    # Exponent of alpha, as in BUFFER_PROFILE.dynamic_th.
    dynamic_th: int
    # The cable length of the published row, None for a computed value.
    row_m: int | None
    # Shows the numbers and names the source.
    formula: str


class NoHeadroom(NamedTuple):
    """Why no headroom is known for a port, and the fix."""

    reason: str
    fix: str


def buffer_model(buffers: Buffers, sonic: SonicPolicy) -> BufferModel:
    """Return the buffer model of a HWSKU: the intent's, otherwise the one that it ships with."""
    return sonic.buffer_model or buffers.model


def headroom(buffers: Buffers, sonic: SonicPolicy, port: PortMedium) -> Headroom | NoHeadroom:
    """Return the headroom of a lossless group on ``port``, or why it is unknown.

    It depends on the release and the buffer model of ``sonic``.
    """
    if buffer_model(buffers, sonic) is BufferModel.DYNAMIC:
        if buffers.chip is None:
            return NoHeadroom(
                f"SONiC has no dynamic buffer model for {buffers.hwsku}",
                "leave out sonic.buffer_model: every platform then has the model that it ships with",
            )
        return spectrum_headroom(buffers.chip, port, SCRIPTS[nearest(sonic.release)])
    return published_headroom(buffers, port)


def published_headroom(buffers: Buffers, port: PortMedium) -> Headroom | NoHeadroom:
    """Return the headroom that the vendor publishes for the port's speed and cable, or why it is unknown.

    If no row has the length of the cable, that of the next longer one counts.
    """
    rows = [row for row in buffers.pg_profiles if row.speed_gbps == port.speed_gbps]
    rows.sort(key=lambda row: row.cable_m)
    for row in rows:
        if row.cable_m >= port.length_m:
            return _headroom_of_row(row, buffers.source, port.length_m)
    return _not_published(buffers, port, rows)


def _headroom_of_row(row: PgProfile, source: str, length_m: int) -> Headroom:
    """Return the headroom of a published row for a cable of ``length_m``, which may be shorter than that of the row."""
    speed = format_speed(row.speed_gbps)
    length_note = ""
    if row.cable_m != length_m:
        length_note = f", the next length to {length_m} m"
    return Headroom(
        size_bytes=row.size_bytes,
        xon_bytes=row.xon_bytes,
        xoff_bytes=row.xoff_bytes,
        xon_offset_bytes=row.xon_offset_bytes,
        dynamic_th=row.dynamic_th,
        row_m=row.cable_m,
        formula=(
            f"xoff {row.xoff_bytes} bytes as published for {speed} and {row.cable_m} m{length_note} ({source},"
            f" pg_profile_lookup.ini); {round_trip_bytes(row.speed_gbps, row.cable_m):.0f} of them are on the cable,"
            f" both ways: 2 x {row.cable_m} m x {speed} / (8 x 198 m/us); the group itself keeps {row.size_bytes} bytes"
        ),
    )


def _not_published(buffers: Buffers, port: PortMedium, rows: Sequence[PgProfile]) -> NoHeadroom:
    """Return why no headroom is published for a port; ``rows`` are those of its speed, by cable length."""
    speed = format_speed(port.speed_gbps)
    if rows:
        lengths = ", ".join(f"{row.cable_m} m" for row in rows)
        return NoHeadroom(
            f"{buffers.hwsku} has no headroom for {speed} over {port.length_m} m: its longest cable is"
            f" {rows[-1].cable_m} m",
            f"use cables of at most {rows[-1].cable_m} m (published: {lengths})",
        )
    speeds = ", ".join(format_speed(gbps) for gbps in sorted({row.speed_gbps for row in buffers.pg_profiles}))
    return NoHeadroom(
        f"{buffers.hwsku} has no headroom for ports of {speed}: its vendor publishes it for {speeds}",
        f"use ports of {speeds}, or another model, or make no class lossless",
    )


def spectrum_headroom(chip: HeadroomChip, port: PortMedium, variant: Variant) -> Headroom:
    """Return the headroom by NVIDIA's computation (the module's docstring has the formulas)."""
    worst = worst_factor(chip.cell_bytes, rounds=variant.rounds_factor)
    occupancy = occupancy_factor(worst, variant.small_packet_percent, LOSSLESS_MTU_BYTES, by_bytes=variant.is_first)
    mtu_bytes = variant.mtu_bytes or port.mtu_bytes
    cable_bytes = round_trip_bytes(port.speed_gbps, port.length_m)
    tile_bytes = chip.tile_bytes_per_gbps * port.speed_gbps
    if variant.is_first:
        # These scripts take the kilobytes of a cable for 1024 bytes each, and have no tile.
        cable_bytes *= 1000 / _KIB
        tile_bytes = 0.0
    peer_bytes = variant.peer_response_bytes or peer_response_bytes(port.speed_gbps)
    arriving = mtu_bytes + cable_bytes + chip.mac_phy_bytes + peer_bytes + tile_bytes
    xoff = _whole_kib(LOSSLESS_MTU_BYTES + arriving * occupancy)
    compensation = ""
    worst_xoff = _whole_kib(LOSSLESS_MTU_BYTES + arriving * worst)
    if variant.compensates and xoff + _COMPENSATION_BYTES < worst_xoff:
        xoff += _COMPENSATION_BYTES
        compensation = f" + {_COMPENSATION_BYTES}"
    xon, xon_formula = _xon(chip, port, variant)
    size = xoff + xon
    if port.lanes == _WIDE_LANES:
        # The script's speed_overhead; ports of fewer lanes have none.
        size += mtu_bytes
    size = _whole_kib(size)
    return Headroom(
        size_bytes=size,
        xon_bytes=xon,
        xoff_bytes=xoff,
        xon_offset_bytes=None,
        dynamic_th=0,
        row_m=None,
        formula=(
            f"xoff {xoff} bytes = {LOSSLESS_MTU_BYTES} + (MTU {mtu_bytes} + cable {cable_bytes:.0f} + MAC and PHY"
            f" {chip.mac_phy_bytes:.0f} + peer response {peer_bytes:.0f} + tile {tile_bytes:.0f}) x {occupancy:.4f} in"
            f" whole KiB{compensation}, for {format_speed(port.speed_gbps)} and {port.length_m} m; the group keeps"
            f" {size} bytes, with xon {xon} = {xon_formula} ({variant.name}: sonic-net/sonic-swss,"
            " buffer_headroom_mellanox.lua)"
        ),
    )


def _xon(chip: HeadroomChip, port: PortMedium, variant: Variant) -> tuple[int, str]:
    """Return the xon of a port in bytes, and its formula in words."""
    if port.lanes != _WIDE_LANES:
        return _KIB * chip.pipeline_kib, f"{chip.pipeline_kib} KiB"
    if variant.is_first:
        return _KIB * (2 * chip.pipeline_kib - 1), f"{chip.pipeline_kib} KiB x 2 - 1 for 8 lanes"
    return _KIB * 2 * chip.pipeline_kib, f"{chip.pipeline_kib} KiB x 2 for 8 lanes"


def nic_headroom_bytes(speed_gbps: int, length_m: int, mtu_bytes: int) -> int:
    """Return the bytes that a NIC still receives after it has decided to pause its switch.

    The sum is that of IEEE 802.1Q's annex on the headroom of PFC. A NIC's buffer stores frames without padding.
    """
    # The pause frame waits for one frame of the NIC, and the switch completes the frame that it has begun.
    frames_bytes = 2 * mtu_bytes
    cable_bytes = round_trip_bytes(speed_gbps, length_m)
    return math.ceil(frames_bytes + cable_bytes + _MAC_PHY_BYTES + peer_response_bytes(speed_gbps))


def worst_factor(cell_bytes: int, *, rounds: bool) -> float:
    """Return the greatest ratio of buffer to bytes of a packet (f); ``rounds`` tells to round it up."""
    if cell_bytes > 128:
        # A packet of 64 bytes, the smallest, takes a whole cell.
        factor = cell_bytes / 64
    else:
        # A packet that is one byte longer than a cell takes two.
        factor = 2 * cell_bytes / (1 + cell_bytes)
    if rounds:
        return math.ceil(factor)
    return factor


def occupancy_factor(
    worst: float, small_packet_percent: int, lossless_mtu_bytes: int, *, by_bytes: bool = False
) -> float:
    """Return the ratio of buffer to bytes for mixed traffic (occ).

    ``worst`` is the ratio of the worst packet (f). ``small_packet_percent`` is the percentage of packets with 64 bytes,
    or with ``by_bytes`` the percentage of bytes in them.
    """
    share: float = small_packet_percent
    if not by_bytes:
        mean_bytes = (small_packet_percent * 64 + (100 - small_packet_percent) * lossless_mtu_bytes) / 100
        share = 100 * 64 / mean_bytes
    return (100 - share + share * worst) / 100


def round_trip_bytes(speed_gbps: int, length_m: int) -> float:
    """Return the bytes on a cable, both ways."""
    return 2 * length_m * speed_gbps * 1e9 / (8 * _METERS_PER_SECOND)


def peer_response_bytes(speed_gbps: int) -> int:
    """Return the bytes that a peer may still send before it obeys a pause frame (IEEE 802.3, 31B.3.7).

    A speed that is not in the table counts as the next faster one, and above the table as the fastest.
    """
    speeds = [speed for speed in _PEER_QUANTA if speed >= speed_gbps] or [max(_PEER_QUANTA)]
    return _PEER_QUANTA[min(speeds)] * _QUANTUM_BYTES


def _whole_kib(number: float) -> int:
    return math.ceil(number / _KIB) * _KIB
