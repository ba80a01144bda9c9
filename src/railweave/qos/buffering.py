"""The buffer of one switch, divided: pools, headroom of every lossless group, and what is left to share.

How much headroom all groups may take together depends on the chip. Broadcom's templates keep a pool for it
(``BUFFER_POOL.xoff``), in which all ports seldom need their part at once; on the others every group owns its own.
Everything follows from the panel and the cable lengths of its tier, never from the ports in use, so that growth
changes no threshold.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from railweave.fabric.buffers import BufferPool, Buffers
from railweave.fabric.model import Panel, SwitchPort, Tier
from railweave.fabric.policy import BufferModel, Policies
from railweave.qos.headroom import Headroom, NoHeadroom, PortMedium, headroom
from railweave.qos.pause import PauseLimits

INGRESS_LOSSLESS = "ingress_lossless_pool"
"""The pool that buffermgrd takes lossless priority groups from; it knows no other name."""
EGRESS_LOSSLESS = "egress_lossless_pool"

_KIB = 1024
_MANAGEMENT_BYTES = 256 * _KIB
_PORT_SLACK_BYTES = 4 * _KIB
_PORT_MIRROR_BYTES = 20 * _KIB
_WIDE_LANES = 8
_QUEUES_IN_USE = 7
"""Queues 0 to 6 have profiles in every template; 7 where a class uses it."""


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """The buffer of the switches of one panel and tier.

    ``headroom`` is by (speed in Gb/s, cable in metres). ``groups`` are the lossless priority groups, neighbors joined
    (``3-4``), ``lossy_queues`` the other queues likewise. ``headroom_bytes`` is what the lossless groups of all ports
    take with the longest cables of the tier, ``budget_bytes`` what there is for them; ``is_pooled`` where ports share
    it.
    """

    buffers: Buffers
    model: BufferModel
    pools: tuple[BufferPool, ...]
    headroom: Mapping[tuple[int, int], Headroom | NoHeadroom]
    groups: tuple[str, ...]
    lossy_queues: tuple[str, ...]
    headroom_bytes: int
    budget_bytes: int
    is_pooled: bool
    limits: PauseLimits


def buffer_model(buffers: Buffers, policies: Policies) -> BufferModel:
    """Return the buffer model of a HWSKU: the intent's, else the one that it ships with."""
    return policies.sonic.buffer_model or buffers.model


def plan_buffers(panel: Panel, tier: Tier, policies: Policies, lengths_m: Collection[int]) -> BufferPlan | None:
    """Return how the switches of a panel and tier divide their buffer; ``lengths_m`` are the tier's cable lengths.

    None where no class is lossless, or the HWSKU ships no buffers to start from.
    """
    lossless = sorted({one.priority for one in policies.classes if one.lossless})
    if panel.buffers is None or not lossless:
        return None
    buffers = panel.buffers
    model = buffer_model(buffers, policies)
    media = _media(panel, policies.mtu.fabric_bytes, sorted(set(lengths_m)))
    rooms = {key: headroom(buffers, model, medium) for key, medium in media.items()}
    # SONiC's template of a tier (buffers_config.j2: ToRRouter and LeafRouter).
    pools = buffers.pools["t0" if tier.attaches_nodes else "t1"]
    longest = max(lengths_m, default=0)
    each = [rooms[port.speed_gbps, longest] for port in panel.ports] if longest else []
    known = [one for one in each if isinstance(one, Headroom)]
    division = _divide(panel, pools, model, known, len(lossless))
    used = max(_QUEUES_IN_USE, 1 + max(one.priority for one in policies.classes))
    return BufferPlan(
        buffers=buffers,
        model=model,
        pools=pools,
        headroom=rooms,
        groups=ranges(lossless),
        lossy_queues=ranges(set(range(used)) - set(lossless)),
        headroom_bytes=division.headroom_bytes,
        budget_bytes=division.budget_bytes,
        is_pooled=division.is_pooled,
        limits=PauseLimits(
            shared_bytes=division.shared_bytes,
            dynamic_th=min((one.dynamic_th for one in known), default=0),
            ports=len(panel.ports),
            lossless_classes=len(lossless),
            queue_bytes=_queue_limit(buffers, pools),
            shared=division.shared,
        ),
    )


def _media(panel: Panel, mtu_bytes: int, lengths_m: Iterable[int]) -> dict[tuple[int, int], PortMedium]:
    lanes = {port.speed_gbps: lane_count(port) for port in panel.ports}
    return {
        (speed, length): PortMedium(speed, length, mtu_bytes, lanes[speed])
        for speed in sorted(lanes)
        for length in lengths_m
    }


def lane_count(port: SwitchPort) -> int:
    """Return the lanes of a port."""
    return port.lanes.count(",") + 1


def ranges(numbers: Iterable[int]) -> tuple[str, ...]:
    """Return numbers as SONiC writes ranges of groups and queues: ``3-4`` for neighbors, else ``3``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return tuple(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


@dataclass(frozen=True, slots=True)
class _Division:
    headroom_bytes: int
    budget_bytes: int
    is_pooled: bool
    shared_bytes: int
    shared: str


def _divide(
    panel: Panel, pools: Iterable[BufferPool], model: BufferModel, rooms: Iterable[Headroom], classes: int
) -> _Division:
    by_name = {pool.name: pool for pool in pools}
    ingress, egress = by_name[INGRESS_LOSSLESS], by_name[EGRESS_LOSSLESS]
    size, whole = ingress.size_bytes or 0, egress.size_bytes or 0
    if ingress.xoff_bytes is not None:
        taken = classes * sum(one.xoff_bytes for one in rooms)
        shared = f"{INGRESS_LOSSLESS} {size} less its headroom pool {ingress.xoff_bytes}"
        return _Division(taken, ingress.xoff_bytes, True, size - ingress.xoff_bytes, shared)
    taken = classes * sum(one.size_bytes for one in rooms)
    if model is BufferModel.DYNAMIC:
        reserved = _reserved(panel)
        shared = f"{EGRESS_LOSSLESS} {whole} less headroom {taken} and reserved {reserved}"
        return _Division(taken, whole - reserved, False, max(0, whole - reserved - taken), shared)
    if whole > size:
        return _Division(taken, whole - size, False, size, f"{INGRESS_LOSSLESS} {size}")
    return _Division(taken, size, False, max(0, size - taken), f"{INGRESS_LOSSLESS} {size} less headroom {taken}")


def _reserved(panel: Panel) -> int:
    """Return what the dynamic model sets aside: slack, lossy pipeline and mirror of each port, and the management pool
    (sonic-net/sonic-swss, buffer_pool_mellanox.lua and buffer_check_headroom_mellanox.lua)."""
    pipeline_kib = panel.buffers.chip.pipeline_kib if panel.buffers and panel.buffers.chip else 0
    ports = sum(
        _PORT_SLACK_BYTES + _PORT_MIRROR_BYTES + pipeline_kib * _KIB * (2 if lane_count(port) == _WIDE_LANES else 1)
        for port in panel.ports
    )
    return ports + _MANAGEMENT_BYTES


def _queue_limit(buffers: Buffers, pools: Iterable[BufferPool]) -> int | None:
    """Return the most bytes that one lossless egress queue may hold."""
    profile = next(one for one in buffers.profiles if one.name == buffers.lossless_queue)
    if not profile.is_dynamic:
        return profile.threshold
    size = next((pool.size_bytes for pool in pools if pool.name == profile.pool), None)
    if size is None:
        return None
    alpha = 2.0**profile.threshold
    return int(alpha * size / (1 + alpha))
