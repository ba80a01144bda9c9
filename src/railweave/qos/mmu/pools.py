"""Pools on the chip: what the ports in use reserve, and what is left to share.

In the dynamic model the switch sizes every pool that CONFIG_DB leaves without a size, from what the ports in use take:

    reserved = lossless groups + lossy groups + management groups + egress profiles + egress mirror + management pool
    pool     = (egress_lossless_pool - reserved) / 2, rounded up; not halved where one ingress pool has no size

A lossy or management group implicitly takes the chip's pipeline, on 8 lanes twice that less 1 KiB. In the traditional
model pools have the sizes of the HWSKU's template. Broadcom's templates put the headroom of all groups into the pool
(``BUFFER_POOL.xoff``), where ports share it; NVIDIA's have headroom beside the pools, so both must fit the chip.

Sources: sonic-net/sonic-swss cfgmgr/buffer_pool_mellanox.lua, whose sums are the same from 202305 to 202605;
sonic-net/sonic-buildimage device/*/*/*/buffers_defaults_t0.j2 and _t1.j2.
"""

from collections.abc import Iterable
from typing import NamedTuple

from railweave.fabric.buffers import BufferPool, Buffers, Division, HeadroomChip
from railweave.fabric.policy import BufferModel
from railweave.qos.mmu.headroom import Headroom, NoHeadroom

INGRESS_LOSSLESS = "ingress_lossless_pool"
"""The pool that buffermgrd takes lossless priority groups from; it knows no other name."""
EGRESS_LOSSLESS = "egress_lossless_pool"
POOL_EXHAUSTED = 4
"""Headroom of all groups in relation to a pool that they share. From here an incast from one tier, which pauses a
quarter of the groups (half of the ports in one of two classes), exhausts it: a lossless class loses packets."""

_KIB = 1024
_MANAGEMENT_BYTES = 256 * _KIB
_MIRROR_BYTES = 10 * _KIB
_WIDE_LANES = 8


class PortUse(NamedTuple):
    """What a number of equal ports in use take: lanes of each, the headroom of a lossless group, and how many groups
    have it; None: one for each lossless class."""

    ports: int
    lanes: int
    room: Headroom | NoHeadroom
    groups: int | None = None


class Queues(NamedTuple):
    """How many queues of a port, and lossless priority groups, are lossless and lossy; lossy classes share group 0."""

    lossless: int
    lossy: int


def divide(
    buffers: Buffers, model: BufferModel, pools: Iterable[BufferPool], queues: Queues, uses: Iterable[PortUse]
) -> Division:
    """Return how the switch divides its buffer between ``pools`` with the ports in use."""
    stated, uses = tuple(pools), tuple(uses)
    by_name = {pool.name: pool for pool in stated}
    ingress, whole = by_name[INGRESS_LOSSLESS], by_name[EGRESS_LOSSLESS].size_bytes or 0
    size = ingress.size_bytes or 0
    rooms = [
        (one.ports * (queues.lossless if one.groups is None else one.groups), one.room)
        for one in uses
        if isinstance(one.room, Headroom)
    ]
    if ingress.xoff_bytes is not None:
        taken = sum(groups * room.xoff_bytes for groups, room in rooms)
        shared = f"{INGRESS_LOSSLESS} {size} less its headroom pool {ingress.xoff_bytes}"
        return Division(stated, {}, taken, ingress.xoff_bytes, True, size - ingress.xoff_bytes, shared)
    taken = sum(groups * room.size_bytes for groups, room in rooms)
    if buffers.chip is None:
        shared = f"{INGRESS_LOSSLESS} {size} less headroom {taken}"
        return Division(stated, {}, taken, size, False, max(0, size - taken), shared)
    reserved = _reserved(buffers, buffers.chip, queues, uses)
    beside = sum(reserved.values())
    if model is BufferModel.TRADITIONAL:
        budget = max(0, whole - sum(pool.size_bytes or 0 for pool in stated if pool.type == "ingress"))
        return Division(stated, reserved, taken, budget, False, size, f"{INGRESS_LOSSLESS} {size}", whole)
    # CONFIG_DB leaves out the size of every pool but the one that is the whole buffer (buffers_config.j2).
    parts = 1 if sum(pool.type == "ingress" for pool in stated) == 1 else 2
    each = max(0, -(-(whole - taken - beside) // parts))
    sized = tuple(one if one.name == EGRESS_LOSSLESS else one._replace(size_bytes=each) for one in stated)
    less = " and ".join(f"{what} {count}" for what, count in {"headroom": taken, "reserved": beside}.items())
    shared = f"{EGRESS_LOSSLESS} {whole} less {less}{', one half of it' if parts == 2 else ''}"
    return Division(sized, reserved, taken, max(0, whole - beside), False, each, shared, whole)


def _reserved(buffers: Buffers, chip: HeadroomChip, queues: Queues, uses: Iterable[PortUse]) -> dict[str, int]:
    """Return what the chip sets aside beside pools and lossless groups."""
    size = {one.name: one.size_bytes for one in buffers.profiles}
    egress = buffers.port_lists[1] if len(buffers.port_lists) > 1 else ()
    of_queues = queues.lossless * size[buffers.lossless_queue] + queues.lossy * size[buffers.lossy_queue]
    of_port = of_queues + sum(size[name] for name in egress)
    ports = pipeline = 0
    for one in uses:
        ports += one.ports
        pipeline += one.ports * _KIB * (2 * chip.pipeline_kib - 1 if one.lanes == _WIDE_LANES else chip.pipeline_kib)
    return {
        "lossy groups": pipeline + ports * size[buffers.lossy_group],
        "management groups": pipeline,
        "egress profiles": ports * of_port,
        "egress mirror": ports * _MIRROR_BYTES,
        "management pool": _MANAGEMENT_BYTES,
    }
