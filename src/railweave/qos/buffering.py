"""The buffer of the switches of one panel and tier: headroom by cable, and how it is divided.

Thresholds follow from the panel and the longest cable that a switch meets, never from how many of its ports are in use
or from the cables of others, so that growth beside it changes none. What the pools come to on a switch depends on its
ports in use: ``BufferPlan.divided``.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from railweave.fabric.buffers import BufferPool, BufferProfile, Buffers, Division, buffers_of_role
from railweave.fabric.devices import Tier
from railweave.fabric.panel import Panel, SwitchPort
from railweave.fabric.policy import BufferModel, ClassRole, Policies, TrafficClass
from railweave.qos.mmu.dropping import DropLimits, Rivals, drop_limits
from railweave.qos.mmu.headroom import Headroom, NoHeadroom, PortMedium, buffer_model, headroom
from railweave.qos.mmu.pause import PauseLimits
from railweave.qos.mmu.pools import EGRESS_LOSSLESS, INGRESS_LOSSLESS, PortUse, Queues, divide

_QUEUES_IN_USE = 7
"""Queues 0 to 6 have profiles in every template; 7 where a class uses it."""


class BufferPlan(NamedTuple):
    """The buffer of the switches with one panel, tier and length of the longest cable."""

    buffers: Buffers
    model: BufferModel
    pools: tuple[BufferPool, ...]
    # By (speed in Gb/s, cable in meters).
    headroom: Mapping[tuple[int, int], Headroom | NoHeadroom]
    # Lanes of a port by its speed in Gb/s.
    lanes: Mapping[int, int]
    # Lossless priority groups.
    groups: tuple[int, ...]
    # Queues that no lossless class uses.
    lossy_queues: tuple[int, ...]
    queues: Queues
    # All ports, each with a cable of the greatest length.
    uses: tuple[PortUse, ...]
    # The buffer divided for `uses`.
    full: Division
    # Derived from `full`.
    limits: PauseLimits
    # Of lossy RDMA; None without such a class, or where a pool has no size.
    drops: DropLimits | None = None

    def divided(self, cables: Mapping[tuple[int, int], int]) -> Division:
        """Return the division of the buffer on a switch; ``cables`` are its ports in use.

        They are numbers of ports by speed in Gb/s and cable in meters.
        """
        uses = []
        for (speed_gbps, length_m), ports in cables.items():
            uses.append(PortUse(ports, self.lanes[speed_gbps], self.headroom[speed_gbps, length_m]))
        return divide(self.buffers, self.model, self.pools, self.queues, uses)

    def limits_with(
        self, pools: Mapping[str, BufferPool], model: BufferModel, dynamic_th: int, queue: BufferProfile | None
    ) -> PauseLimits | None:
        """Return the limits of a switch by its own configuration, which may differ from the plan.

        ``dynamic_th`` is the exponent of the lossless groups' alpha, and ``queue`` the profile of the lossless queues.
        None if the switch lacks a pool or a size that SONiC needs.
        """
        if not {INGRESS_LOSSLESS, EGRESS_LOSSLESS} <= pools.keys():
            return None
        if model is BufferModel.DYNAMIC and self.buffers.chip is None:
            return None
        ingress_bytes = pools[INGRESS_LOSSLESS].size_bytes
        if model is BufferModel.TRADITIONAL and ingress_bytes is None:
            return None
        full = divide(self.buffers, model, tuple(pools.values()), self.queues, self.uses)
        shared_bytes = full.shared_bytes
        if model is BufferModel.DYNAMIC and ingress_bytes is not None:
            # A pool with a size keeps it in the dynamic model too (buffer_pool_mellanox.lua).
            shared_bytes = ingress_bytes
        queue_bytes = None
        if queue:
            queue_bytes = _single_user_bytes(self.buffers, queue, pools.values())
        return self.limits._replace(
            shared_bytes=max(0, shared_bytes),
            dynamic_th=dynamic_th,
            queue_bytes=queue_bytes,
            lossy_bytes=_lossy_bytes(self.buffers, full),
            shared=full.shared,
        )


def plan_buffers(panel: Panel, tier: Tier, policies: Policies, lengths_m: Collection[int]) -> BufferPlan | None:
    """Return the buffer of the switches of a panel and tier with cables of ``lengths_m``.

    None if no class is lossless, or if the HWSKU ships no buffers to start from.
    """
    if not _lossless_priorities(policies):
        return None
    return plan_own_buffers(panel, tier, policies, lengths_m)


def plan_own_buffers(panel: Panel, tier: Tier, policies: Policies, lengths_m: Collection[int]) -> BufferPlan | None:
    """Return the buffer as it is configured: for lossless classes, and for lossy RDMA alone.

    Without a lossless class its limits of pauses mean nothing. None if the fabric has neither, or if the HWSKU ships no
    buffers to start from.
    """
    lossless = _lossless_priorities(policies)
    if panel.buffers is None or not any(traffic_class.marks for traffic_class in policies.classes):
        return None
    # SONiC's template of a tier (buffers_config.j2: ToRRouter and LeafRouter).
    template = "t0" if tier.attaches_nodes else "t1"
    buffers = buffers_of_role(panel.buffers, template)
    model = buffer_model(buffers, policies.sonic)
    lanes = {port.speed_gbps: lane_count(port) for port in panel.ports}
    headrooms = _headroom_by_cable(buffers, policies, lanes, lengths_m)
    pools = buffers.pools[template]
    queue_count = max(_QUEUES_IN_USE, 1 + max(traffic_class.priority for traffic_class in policies.classes))
    queues = Queues(len(lossless), queue_count - len(lossless))
    uses = _used_ports(panel, lanes, headrooms, max(lengths_m, default=0))
    full = divide(buffers, model, pools, queues, uses)
    return BufferPlan(
        buffers=buffers,
        model=model,
        pools=pools,
        headroom=headrooms,
        lanes=lanes,
        groups=tuple(lossless),
        lossy_queues=tuple(queue for queue in range(queue_count) if queue not in lossless),
        queues=queues,
        uses=uses,
        full=full,
        limits=_limits(buffers, full, uses, ports=len(panel.ports), lossless_classes=len(lossless)),
        drops=_drop_limits_of(buffers, full, policies, uses, len(panel.ports)),
    )


def _drop_limits_of(
    buffers: Buffers, full: Division, policies: Policies, uses: Iterable[PortUse], ports: int
) -> DropLimits | None:
    """Return the depths at which queues of lossy RDMA drop while the buffer is divided as ``full``.

    ``uses`` are the ports in use, and ``ports`` is the number of ports. None without a class of lossy RDMA, or if a
    pool has no size.
    """
    lossy_classes = sum(traffic_class.is_lossy_rdma for traffic_class in policies.classes)
    if not lossy_classes:
        return None
    other_classes = sum(_fills_queues(traffic_class) for traffic_class in policies.classes)
    lossless_groups = buffers.slices.feeding(ports) * len(_lossless_priorities(policies))
    rivals = Rivals(other_classes, lossless_groups * 2.0 ** _smallest_exponent(uses))
    pools = [_without_headroom(pool, full.shared_bytes) for pool in full.pools]
    return drop_limits(buffers, pools, ports=ports, classes=lossy_classes, rivals=rivals)


def _without_headroom(pool: BufferPool, shared_bytes: int) -> BufferPool:
    """Return a pool; that of lossless groups with ``shared_bytes``, which is what their headroom leaves of it."""
    if pool.name != INGRESS_LOSSLESS:
        return pool
    return pool._replace(size_bytes=shared_bytes)


def _fills_queues(traffic_class: TrafficClass) -> bool:
    """Tell whether a class fills lossy queues beside RDMA: notifications and control traffic are too little."""
    light = traffic_class.role in (ClassRole.CNP, ClassRole.CONTROL)
    return not (traffic_class.lossless or traffic_class.is_lossy_rdma or light)


def _lossless_priorities(policies: Policies) -> list[int]:
    return sorted({traffic_class.priority for traffic_class in policies.classes if traffic_class.lossless})


def _limits(
    buffers: Buffers, full: Division, uses: Iterable[PortUse], *, ports: int, lossless_classes: int
) -> PauseLimits:
    """Return the limits at which groups pause while the buffer is divided as ``full``."""
    return PauseLimits(
        shared_bytes=full.shared_bytes,
        dynamic_th=_smallest_exponent(uses),
        ports=ports,
        lossless_classes=lossless_classes,
        queue_bytes=_single_user_bytes(buffers, _profile_named(buffers, buffers.lossless_queue), full.pools),
        lossy_bytes=_lossy_bytes(buffers, full),
        shared=full.shared,
        slices=buffers.slices,
    )


def _smallest_exponent(uses: Iterable[PortUse]) -> int:
    """Return the smallest exponent of alpha of all speeds, because these groups pause first; 0 without headroom."""
    return min((use.room.dynamic_th for use in uses if isinstance(use.room, Headroom)), default=0)


def _used_ports(
    panel: Panel, lanes: Mapping[int, int], headrooms: Mapping[tuple[int, int], Headroom | NoHeadroom], length_m: int
) -> tuple[PortUse, ...]:
    """Return the use of all ports of a panel with cables of one length; none if no cable is planned (0 m)."""
    if not length_m:
        return ()
    ports_by_speed = Counter(port.speed_gbps for port in panel.ports)
    return tuple(PortUse(ports, lanes[speed], headrooms[speed, length_m]) for speed, ports in ports_by_speed.items())


def _headroom_by_cable(
    buffers: Buffers, policies: Policies, lanes: Mapping[int, int], lengths_m: Collection[int]
) -> dict[tuple[int, int], Headroom | NoHeadroom]:
    """Return the headroom by speed in Gb/s and cable length in meters, for every speed that ``lanes`` has."""
    headrooms = {}
    for speed_gbps in sorted(lanes):
        for length_m in sorted(set(lengths_m)):
            medium = PortMedium(speed_gbps, length_m, policies.mtu.fabric_bytes, lanes[speed_gbps])
            headrooms[speed_gbps, length_m] = headroom(buffers, policies.sonic, medium)
    return headrooms


def _single_user_bytes(buffers: Buffers, profile: BufferProfile, pools: Iterable[BufferPool]) -> int | None:
    """Return the bytes that the only user of a profile may hold in a slice; None if they depend on an unknown size."""
    for pool in pools:
        if pool.name == profile.pool and pool.size_bytes is not None:
            return profile.limit_bytes(buffers.slices.share(pool.size_bytes))
    return profile.limit_bytes(None)


def _lossy_bytes(buffers: Buffers, full: Division) -> int:
    """Return the bytes of the lossless groups' shared buffer that one full lossy queue takes in a slice.

    0 if lossy traffic has a pool of its own.
    """
    group = _profile_named(buffers, buffers.lossy_group)
    if group.pool != INGRESS_LOSSLESS:
        return 0
    shared = buffers.slices.share(full.shared_bytes)
    queue_bytes = _single_user_bytes(buffers, _profile_named(buffers, buffers.lossy_queue), full.pools)
    # A packet counts for its group at ingress and for its queue at egress, so the smallest limit counts.
    limits = [shared, group.limit_bytes(shared), queue_bytes]
    return min(limit for limit in limits if limit is not None)


def _profile_named(buffers: Buffers, name: str) -> BufferProfile:
    return next(profile for profile in buffers.profiles if profile.name == name)


def lane_count(port: SwitchPort) -> int:
    """Return the lanes of a port."""
    return port.lanes.count(",") + 1


def ranges(numbers: Iterable[int]) -> tuple[str, ...]:
    """Return numbers in SONiC's notation for groups and queues: ``3-4`` for successive ones, ``3`` for a single one."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return tuple(_range_text(run[0], run[-1]) for run in runs)


def _range_text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}"
