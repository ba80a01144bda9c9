"""The buffer of the switches of one panel and tier: headroom by cable, and how it is divided.

Thresholds follow from the panel and the longest cable that a switch meets, never from how many of its ports are in use
or from the cables of others, so that growth beside it changes none. What the pools come to on a switch depends on its
ports in use: ``BufferPlan.divided``.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from railweave.fabric.buffers import BufferPool, BufferProfile, Buffers, Division
from railweave.fabric.model import Panel, SwitchPort, Tier
from railweave.fabric.policy import BufferModel, Policies
from railweave.qos.mmu.headroom import Headroom, NoHeadroom, PortMedium, buffer_model, headroom
from railweave.qos.mmu.pause import PauseLimits
from railweave.qos.mmu.pools import EGRESS_LOSSLESS, INGRESS_LOSSLESS, PortUse, Queues, divide

_QUEUES_IN_USE = 7
"""Queues 0 to 6 have profiles in every template; 7 where a class uses it."""


class BufferPlan(NamedTuple):
    """The buffer of the switches of one panel and tier whose longest cables are alike.

    ``headroom`` is by (speed in Gb/s, cable in meters), ``lanes`` by speed. ``groups`` are the lossless priority
    groups, ``lossy_queues`` the queues that no lossless class uses. ``full`` is the division with all ports in use over
    cables as long as the longest (``uses``), from which the ``limits`` follow.
    """

    buffers: Buffers
    model: BufferModel
    pools: tuple[BufferPool, ...]
    headroom: Mapping[tuple[int, int], Headroom | NoHeadroom]
    lanes: Mapping[int, int]
    groups: tuple[int, ...]
    lossy_queues: tuple[int, ...]
    queues: Queues
    uses: tuple[PortUse, ...]
    full: Division
    limits: PauseLimits

    def divided(self, cables: Mapping[tuple[int, int], int]) -> Division:
        """Return the division with the given number of ports in use by (speed in Gb/s, cable in meters)."""
        uses = (PortUse(ports, self.lanes[key[0]], self.headroom[key]) for key, ports in cables.items())
        return divide(self.buffers, self.model, self.pools, self.queues, uses)

    def limits_with(
        self, pools: Mapping[str, BufferPool], model: BufferModel, dynamic_th: int, queue: BufferProfile | None
    ) -> PauseLimits | None:
        """Return the limits of a switch that was found with these pools, buffer model, alpha of the lossless groups and
        profile of the lossless queues; None where the pools are not those that SONiC needs."""
        if not {INGRESS_LOSSLESS, EGRESS_LOSSLESS} <= pools.keys():
            return None
        size = pools[INGRESS_LOSSLESS].size_bytes
        if (model is BufferModel.DYNAMIC and self.buffers.chip is None) or (
            model is BufferModel.TRADITIONAL and size is None
        ):
            return None
        full = divide(self.buffers, model, tuple(pools.values()), self.queues, self.uses)
        # A pool with a size keeps it in the dynamic model too (buffer_pool_mellanox.lua).
        shared = full.shared_bytes if size is None or model is BufferModel.TRADITIONAL else size
        return self.limits._replace(
            shared_bytes=max(0, shared),
            dynamic_th=dynamic_th,
            queue_bytes=_alone(self.buffers, queue, pools.values()) if queue else None,
            lossy_bytes=_lossy_bytes(self.buffers, full),
            shared=full.shared,
        )


def plan_buffers(panel: Panel, tier: Tier, policies: Policies, lengths_m: Collection[int]) -> BufferPlan | None:
    """Return how the switches of a panel and tier with cables of ``lengths_m`` divide their buffer.

    None where no class is lossless, or the HWSKU ships no buffers to start from.
    """
    lossless = sorted({one.priority for one in policies.classes if one.lossless})
    if panel.buffers is None or not lossless:
        return None
    buffers, model = panel.buffers, buffer_model(panel.buffers, policies.sonic)
    lanes = {speed: lane_count(port) for speed, port in {port.speed_gbps: port for port in panel.ports}.items()}
    rooms = {
        (speed, length): headroom(
            buffers, policies.sonic, PortMedium(speed, length, policies.mtu.fabric_bytes, lanes[speed])
        )
        for speed in sorted(lanes)
        for length in sorted(set(lengths_m))
    }
    # SONiC's template of a tier (buffers_config.j2: ToRRouter and LeafRouter).
    pools = buffers.pools["t0" if tier.attaches_nodes else "t1"]
    used = max(_QUEUES_IN_USE, 1 + max(one.priority for one in policies.classes))
    queues = Queues(len(lossless), used - len(lossless))
    longest = max(lengths_m, default=0)
    speeds = Counter(port.speed_gbps for port in panel.ports if longest)
    each = tuple(PortUse(ports, lanes[speed], rooms[speed, longest]) for speed, ports in speeds.items())
    full = divide(buffers, model, pools, queues, each)
    return BufferPlan(
        buffers=buffers,
        model=model,
        pools=pools,
        headroom=rooms,
        lanes=lanes,
        groups=tuple(lossless),
        lossy_queues=tuple(queue for queue in range(used) if queue not in lossless),
        queues=queues,
        uses=each,
        full=full,
        limits=PauseLimits(
            shared_bytes=full.shared_bytes,
            dynamic_th=min((one.room.dynamic_th for one in each if isinstance(one.room, Headroom)), default=0),
            ports=len(panel.ports),
            lossless_classes=len(lossless),
            queue_bytes=_alone(buffers, _profile(buffers, buffers.lossless_queue), pools),
            lossy_bytes=_lossy_bytes(buffers, full),
            shared=full.shared,
            slices=buffers.slices,
        ),
    )


def _alone(buffers: Buffers, profile: BufferProfile, pools: Iterable[BufferPool]) -> int | None:
    """Return the most bytes that one user of a profile may hold in a slice; None where its pool's size is not known."""
    size = next((pool.size_bytes for pool in pools if pool.name == profile.pool), None)
    return profile.limit_bytes(None if size is None else buffers.slices.share(size))


def _lossy_bytes(buffers: Buffers, full: Division) -> int:
    """Return what one full lossy queue takes of the buffer that lossless groups share, in one slice; 0 where it has its
    own pool."""
    group = _profile(buffers, buffers.lossy_group)
    if group.pool != INGRESS_LOSSLESS:
        return 0
    shared = buffers.slices.share(full.shared_bytes)
    held = [shared, group.limit_bytes(shared), _alone(buffers, _profile(buffers, buffers.lossy_queue), full.pools)]
    return min(one for one in held if one is not None)


def _profile(buffers: Buffers, name: str) -> BufferProfile:
    return next(one for one in buffers.profiles if one.name == name)


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
