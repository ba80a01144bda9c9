"""Headroom: the buffer that takes what is still on its way once a lossless class has asked its peer to pause.

There is no one formula. What a vendor publishes for a chip, speed and cable length counts before any computation;
NVIDIA publishes the computation itself, in the scripts by which SONiC's dynamic buffer model works on Spectrum chips.
For any other chip, speed or length there is no number here: a guess would show as loss under load, months later.

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

_METRES_PER_SECOND = 198_000_000
_QUANTUM_BYTES = 64
_WIDE_LANES = 8
_KIB = 1024
_MAC_PHY_BYTES = 819.2
"""Delay of MAC and PHY, as SONiC's table of NVIDIA's chips has it (asic_table.j2: 0.8 KiB)."""
_COMPENSATION_BYTES = 2048

_PEER_QUANTA = {1: 2, 10: 67, 25: 80, 40: 118, 50: 147, 100: 394, 200: 453, 400: 905, 800: 905}


class PortMedium(NamedTuple):
    """What headroom depends on: speed in Gb/s, cable in metres, IP MTU in bytes, lanes of the port."""

    speed_gbps: int
    length_m: int
    mtu_bytes: int
    lanes: int


class Variant(NamedTuple):
    """A variant of the computation: share of 64-byte packets, whether ``f`` is rounded up, a fixed port MTU and peer
    response (None: the port's own and the standard's), whether 2 KiB are added for mixed packets, and ``is_first``
    for what the first scripts did otherwise."""

    name: str
    small_packet_percent: int = 50
    rounds_factor: bool = True
    mtu_bytes: int | None = None
    peer_response_bytes: float | None = None
    compensates: bool = False
    is_first: bool = False


_FIRST = Variant("SONiC's dynamic buffer model before 202405", rounds_factor=False, is_first=True)
_MIDDLE = Variant("SONiC's dynamic buffer model from 202405 to 202511")
_LATEST = Variant("SONiC's dynamic buffer model from 202605", compensates=True)
_OF_RELEASE = zip(RELEASES.items(), (_FIRST, _FIRST, _MIDDLE, _MIDDLE, _MIDDLE, _MIDDLE, _LATEST), strict=True)
SCRIPTS = {
    name: script._replace(small_packet_percent=release.small_packet_percent) for (name, release), script in _OF_RELEASE
}
"""What a switch computes for itself (buffer_headroom_mellanox.lua), by SONiC's release."""


class Headroom(NamedTuple):
    """Headroom of one priority group in bytes. ``size_bytes`` is reserved for the group itself; ``row_m`` is the cable
    length of the published row, None where it was computed; ``formula`` shows the numbers and names the source."""

    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    xon_offset_bytes: int | None
    dynamic_th: int
    row_m: int | None
    formula: str


class NoHeadroom(NamedTuple):
    """Why no headroom is known for a port, and the fix."""

    reason: str
    fix: str


def buffer_model(buffers: Buffers, sonic: SonicPolicy) -> BufferModel:
    """Return the buffer model of a HWSKU: the intent's, else the one that it ships with."""
    return sonic.buffer_model or buffers.model


def headroom(buffers: Buffers, sonic: SonicPolicy, port: PortMedium) -> Headroom | NoHeadroom:
    """Return the headroom of a lossless group on ``port`` under a release and buffer model, or why it is unknown."""
    if buffer_model(buffers, sonic) is BufferModel.DYNAMIC:
        if buffers.chip is None:
            return NoHeadroom(
                f"SONiC has no dynamic buffer model for {buffers.hwsku}",
                "leave out sonic.buffer_model: every platform then has the model that it ships with",
            )
        return spectrum_headroom(buffers.chip, port, SCRIPTS[nearest(sonic.release)])
    return published_headroom(buffers, port)


def published_headroom(buffers: Buffers, port: PortMedium) -> Headroom | NoHeadroom:
    """Return the published row for the port's speed and length, else that of the next longer cable."""
    rows = sorted(
        (one for one in buffers.pg_profiles if one.speed_gbps == port.speed_gbps), key=lambda one: one.cable_m
    )
    for row in rows:
        if row.cable_m >= port.length_m:
            return _of_row(row, buffers.source, port.length_m)
    return _unknown(buffers, port, rows)


def _of_row(row: PgProfile, source: str, length_m: int) -> Headroom:
    speed = format_speed(row.speed_gbps)
    longer = "" if row.cable_m == length_m else f", the next length to {length_m} m"
    return Headroom(
        row.size_bytes,
        row.xon_bytes,
        row.xoff_bytes,
        row.xon_offset_bytes,
        row.dynamic_th,
        row.cable_m,
        f"xoff {row.xoff_bytes} bytes as published for {speed} and {row.cable_m} m{longer} ({source},"
        f" pg_profile_lookup.ini); {round_trip_bytes(row.speed_gbps, row.cable_m):.0f} of them are on the cable, both"
        f" ways: 2 x {row.cable_m} m x {speed} / (8 x 198 m/us); the group itself keeps {row.size_bytes} bytes",
    )


def _unknown(buffers: Buffers, port: PortMedium, rows: Sequence[PgProfile]) -> NoHeadroom:
    speed = format_speed(port.speed_gbps)
    if rows:
        lengths = ", ".join(f"{row.cable_m} m" for row in rows)
        return NoHeadroom(
            f"{buffers.hwsku} has no headroom for {speed} over {port.length_m} m: its longest cable is"
            f" {rows[-1].cable_m} m",
            f"use cables of at most {rows[-1].cable_m} m (published: {lengths})",
        )
    speeds = ", ".join(format_speed(one) for one in sorted({one.speed_gbps for one in buffers.pg_profiles}))
    return NoHeadroom(
        f"{buffers.hwsku} has no headroom for ports of {speed}: its vendor publishes it for {speeds}",
        f"use ports of {speeds}, or another model, or make no class lossless",
    )


def spectrum_headroom(chip: HeadroomChip, port: PortMedium, variant: Variant) -> Headroom:
    """Return the headroom that NVIDIA's computation gives."""
    worst = worst_factor(chip.cell_bytes, rounds=variant.rounds_factor)
    occupancy = occupancy_factor(worst, variant.small_packet_percent, LOSSLESS_MTU_BYTES, by_bytes=variant.is_first)
    mtu_bytes = variant.mtu_bytes or port.mtu_bytes
    cable_bytes = round_trip_bytes(port.speed_gbps, port.length_m) * (1000 / _KIB if variant.is_first else 1)
    peer_bytes = variant.peer_response_bytes or peer_response_bytes(port.speed_gbps)
    tile_bytes = 0.0 if variant.is_first else chip.tile_bytes_per_gbps * port.speed_gbps
    arriving = mtu_bytes + cable_bytes + chip.mac_phy_bytes + peer_bytes + tile_bytes
    xoff = _whole_kib(LOSSLESS_MTU_BYTES + arriving * occupancy)
    compensation = 0
    if variant.compensates and xoff + _COMPENSATION_BYTES < _whole_kib(LOSSLESS_MTU_BYTES + arriving * worst):
        compensation = _COMPENSATION_BYTES
    xoff += compensation
    wide = port.lanes == _WIDE_LANES
    xon = _KIB * (2 * chip.pipeline_kib - variant.is_first if wide else chip.pipeline_kib)
    size = _whole_kib(xoff + xon + (mtu_bytes if wide else 0))
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
            f" whole KiB{f' + {compensation}' if compensation else ''}, for {format_speed(port.speed_gbps)} and"
            f" {port.length_m} m; the group keeps {size} bytes, with xon {xon} = {chip.pipeline_kib} KiB"
            f"{(' x 2 - 1' if variant.is_first else ' x 2') + ' for 8 lanes' if wide else ''} ({variant.name}:"
            " sonic-net/sonic-swss, buffer_headroom_mellanox.lua)"
        ),
    )


def nic_headroom_bytes(speed_gbps: int, length_m: int, mtu_bytes: int) -> int:
    """Return what a NIC still receives after it has decided to pause its switch: the pause frame waits for a frame of
    the NIC's own, then a frame that has begun, the cable both ways and the switch's response arrive (IEEE 802.1Q annex
    on the headroom of PFC). Frames take as many bytes of a NIC's buffer as they have."""
    cable_bytes, peer_bytes = round_trip_bytes(speed_gbps, length_m), peer_response_bytes(speed_gbps)
    return math.ceil(2 * mtu_bytes + cable_bytes + _MAC_PHY_BYTES + peer_bytes)


def worst_factor(cell_bytes: int, *, rounds: bool) -> float:
    """Return the most buffer in relation to its bytes that a packet can take: one byte more than whole cells."""
    factor = cell_bytes / 64 if cell_bytes > 128 else 2 * cell_bytes / (1 + cell_bytes)
    return math.ceil(factor) if rounds else factor


def occupancy_factor(
    worst: float, small_packet_percent: int, lossless_mtu_bytes: int, *, by_bytes: bool = False
) -> float:
    """Return the buffer that mixed traffic takes in relation to its bytes; the percentage is of the packets, or of the
    bytes."""
    small = small_packet_percent * 64
    share = (
        small_packet_percent
        if by_bytes
        else 100 * 64 / ((small + (100 - small_packet_percent) * lossless_mtu_bytes) / 100)
    )
    return (100 - share + share * worst) / 100


def round_trip_bytes(speed_gbps: int, length_m: int) -> float:
    """Return the bytes on a cable, both ways."""
    return 2 * length_m * speed_gbps * 1e9 / (8 * _METRES_PER_SECOND)


def peer_response_bytes(speed_gbps: int) -> int:
    """Return what a peer may still send before it obeys a pause frame (IEEE 802.3, 31B.3.7); speeds that the table
    lacks are taken as the next faster one."""
    fitting = [speed for speed in _PEER_QUANTA if speed >= speed_gbps] or [max(_PEER_QUANTA)]
    return _PEER_QUANTA[min(fitting)] * _QUANTUM_BYTES


def _whole_kib(number: float) -> int:
    return math.ceil(number / _KIB) * _KIB
