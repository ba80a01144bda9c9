"""Pools on the chip: the bytes that ports in use reserve, and the rest that they share.

In the dynamic model the switch calculates the size of every pool without one in CONFIG_DB from the ports in use:

    reserved = lossless groups + lossy groups + management groups + egress profiles + egress mirror + management pool
    pool     = (egress_lossless_pool - reserved) / 2, rounded up; not halved where one ingress pool has no size

A lossy or management group implicitly takes the chip's pipeline, on 8 lanes twice that less 1 KiB. In the traditional
model pools have the sizes of the HWSKU's template. Broadcom's templates put the headroom of all groups into the pool
(``BUFFER_POOL.xoff``), where ports share it; NVIDIA's keep headroom outside the pools, so both must fit the chip.

Sources: sonic-net/sonic-swss cfgmgr/buffer_pool_mellanox.lua, whose sums are the same from 202305 to 202605;
sonic-net/sonic-buildimage device/*/*/*/buffers_defaults_t0.j2 and _t1.j2.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import NamedTuple

from railweave.fabric.buffers import BufferPool, Buffers, Division, HeadroomChip
from railweave.fabric.policy import BufferModel
from railweave.qos.mmu.headroom import Headroom, NoHeadroom

INGRESS_LOSSLESS = "ingress_lossless_pool"
"""The pool from which buffermgrd takes lossless priority groups; it accepts no other name."""
EGRESS_LOSSLESS = "egress_lossless_pool"
POOL_EXHAUSTED = 4
"""Headroom of all groups in relation to a pool that they share. From here an incast from one tier, which pauses a
quarter of the groups (half of the ports in one of two classes), exhausts it: a lossless class loses packets."""

_KIB = 1024
_MANAGEMENT_BYTES = 256 * _KIB
_MIRROR_BYTES = 10 * _KIB
_WIDE_LANES = 8


class PortUse(NamedTuple):
    """A number of equal ports in use, with the lanes of each and the headroom of a lossless group.

    ``groups`` is the number of lossless groups of a port, None for one for each lossless class.
    """

    ports: int
    lanes: int
    room: Headroom | NoHeadroom
    groups: int | None = None


class Queues(NamedTuple):
    """The numbers of lossless and lossy queues of a port.

    A port has as many lossless priority groups as lossless queues, and one lossy group.
    """

    lossless: int
    lossy: int


def divide(
    buffers: Buffers, model: BufferModel, pools: Iterable[BufferPool], queues: Queues, uses: Iterable[PortUse]
) -> Division:
    """Return how a switch divides its buffer between ``pools``, with ports in use as ``uses`` states."""
    pools = tuple(pools)
    uses = tuple(uses)
    pool_of = {pool.name: pool for pool in pools}
    ingress = pool_of[INGRESS_LOSSLESS]
    size_bytes = ingress.size_bytes or 0
    # Broadcom's templates put the headroom of all groups into the pool, where ports share it.
    if ingress.xoff_bytes is not None:
        headroom_bytes = sum(groups * room.xoff_bytes for groups, room in _lossless_groups(queues, uses))
        return _divide_with_shared_headroom(pools, headroom_bytes, size_bytes, ingress.xoff_bytes)
    headroom_bytes = sum(groups * room.size_bytes for groups, room in _lossless_groups(queues, uses))
    # Headroom of such a chip is only known from published rows; it counts against the lossless pool.
    if buffers.chip is None:
        return Division(
            pools=pools,
            reserved={},
            headroom_bytes=headroom_bytes,
            budget_bytes=size_bytes,
            is_pooled=False,
            shared_bytes=max(0, size_bytes - headroom_bytes),
            shared=f"{INGRESS_LOSSLESS} {size_bytes} less headroom {headroom_bytes}",
        )
    chip_bytes = pool_of[EGRESS_LOSSLESS].size_bytes or 0
    reserved = _reserved(buffers, buffers.chip, queues, uses)
    if model is not BufferModel.TRADITIONAL:
        return _divide_dynamically(pools, reserved, headroom_bytes, chip_bytes)
    return Division(
        pools=pools,
        reserved=reserved,
        headroom_bytes=headroom_bytes,
        # Headroom is outside the pools: it has what they leave of the buffer.
        budget_bytes=max(0, chip_bytes - _ingress_bytes(pools)),
        is_pooled=False,
        shared_bytes=size_bytes,
        shared=f"{INGRESS_LOSSLESS} {size_bytes}",
        chip_bytes=chip_bytes,
    )


def _divide_with_shared_headroom(
    pools: tuple[BufferPool, ...], headroom_bytes: int, size_bytes: int, xoff_bytes: int
) -> Division:
    """Return the division of Broadcom's chips, where all groups share a part of the lossless pool as headroom.

    ``size_bytes`` is the size of that pool, ``xoff_bytes`` is the part, and ``headroom_bytes`` what the groups need.
    """
    return Division(
        pools=pools,
        reserved={},
        headroom_bytes=headroom_bytes,
        budget_bytes=xoff_bytes,
        is_pooled=True,
        shared_bytes=size_bytes - xoff_bytes,
        shared=f"{INGRESS_LOSSLESS} {size_bytes} less its headroom pool {xoff_bytes}",
    )


def _ingress_bytes(pools: Iterable[BufferPool]) -> int:
    """Return the size of all ingress pools together."""
    return sum(pool.size_bytes or 0 for pool in pools if pool.type == "ingress")


def _divide_dynamically(
    pools: tuple[BufferPool, ...], reserved: Mapping[str, int], headroom_bytes: int, chip_bytes: int
) -> Division:
    """Return the division of the whole buffer, ``chip_bytes``, in the dynamic model."""
    reserved_bytes = sum(reserved.values())
    shared = f"{EGRESS_LOSSLESS} {chip_bytes} less headroom {headroom_bytes} and reserved {reserved_bytes}"
    pool_bytes = chip_bytes - headroom_bytes - reserved_bytes
    has_one_ingress_pool = sum(pool.type == "ingress" for pool in pools) == 1
    if not has_one_ingress_pool:
        pool_bytes = ceil(pool_bytes / 2)
        shared += ", one half of it"
    pool_bytes = max(0, pool_bytes)
    sized = []
    for pool in pools:
        # CONFIG_DB leaves out the size of every pool but the one that is the whole buffer (buffers_config.j2).
        if pool.name == EGRESS_LOSSLESS:
            sized.append(pool)
        else:
            sized.append(pool._replace(size_bytes=pool_bytes))
    return Division(
        pools=tuple(sized),
        reserved=reserved,
        headroom_bytes=headroom_bytes,
        budget_bytes=max(0, chip_bytes - reserved_bytes),
        is_pooled=False,
        shared_bytes=pool_bytes,
        shared=shared,
        chip_bytes=chip_bytes,
    )


def _lossless_groups(queues: Queues, uses: Iterable[PortUse]) -> Iterator[tuple[int, Headroom]]:
    """Yield the number of lossless groups of equal ports, and the headroom of each; only if that is known."""
    for use in uses:
        groups = use.groups
        if groups is None:
            groups = queues.lossless
        if isinstance(use.room, Headroom):
            yield use.ports * groups, use.room


def _reserved(buffers: Buffers, chip: HeadroomChip, queues: Queues, uses: Iterable[PortUse]) -> dict[str, int]:
    """Return the bytes that the chip reserves outside the pools and lossless groups, by purpose."""
    size = {profile.name: profile.size_bytes for profile in buffers.profiles}
    port_bytes = queues.lossless * size[buffers.lossless_queue] + queues.lossy * size[buffers.lossy_queue]
    # The lists of profiles of a port are those for ingress and for egress; not every HWSKU has the second.
    for egress_profiles in buffers.port_lists[1:2]:
        port_bytes += sum(size[name] for name in egress_profiles)
    ports = 0
    pipeline_bytes = 0
    for use in uses:
        pipeline_kib = chip.pipeline_kib
        if use.lanes == _WIDE_LANES:
            pipeline_kib = 2 * pipeline_kib - 1
        ports += use.ports
        pipeline_bytes += use.ports * pipeline_kib * _KIB
    return {
        "lossy groups": pipeline_bytes + ports * size[buffers.lossy_group],
        "management groups": pipeline_bytes,
        "egress profiles": ports * port_bytes,
        "egress mirror": ports * _MIRROR_BYTES,
        "management pool": _MANAGEMENT_BYTES,
    }
