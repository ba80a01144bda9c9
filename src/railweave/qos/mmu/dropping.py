"""When the queue of lossy RDMA drops, and whether ECN has marked before.

Without PFC a packet that finds no room is lost, and its NIC sends it again. A packet counts for its queue at egress and
for the group of all lossy classes at ingress; each may hold alpha times what is free of its pool, so that n full ones
settle at alpha B / (1 + alpha n) (Choudhury and Hahne, dynamic queue length thresholds). ECN must mark at a smaller
queue, or losses slow the senders.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railweave.fabric.buffers import BufferPool, BufferProfile, Buffers, BufferSlices
from railweave.qos.mmu.pools import INGRESS_LOSSLESS


class Room(NamedTuple):
    """What users of one profile may hold of a pool."""

    profile: BufferProfile
    # The pool's size on the chip.
    pool_bytes: int
    slices: BufferSlices

    def with_full(self, users: int, rival_alpha: float = 0) -> int:
        """Return the bytes that each of ``users`` users holds if all of them are full and in one slice.

        ``rival_alpha`` is the sum of the alphas of other full users of the pool.
        """
        share_bytes = self.slices.share(self.pool_bytes)
        if not self.profile.is_dynamic:
            return min(self.profile.threshold, share_bytes // users)
        alpha = 2.0**self.profile.threshold
        return int(alpha * share_bytes / (1 + alpha * users + rival_alpha))

    def __str__(self) -> str:
        """Return the pool and its rule in words."""
        rule = f"at most {self.profile.threshold} bytes"
        if self.profile.is_dynamic:
            rule = f"alpha {2.0**self.profile.threshold:g}"
        return f"{rule} of {self.profile.pool}, {self.pool_bytes} bytes{self.slices}"


class DropLimits(NamedTuple):
    """The depths at which a queue of lossy RDMA drops."""

    queue: Room
    # Of all lossy classes that arrive on a port.
    group: Room
    # Ports of the switch.
    ports: int
    # Classes of lossy RDMA.
    classes: int
    # Other classes without PFC, whose queues share the pool.
    others: int
    # The sum of the alphas of the lossless groups of all ports in the pool of lossy groups; 0 where they have another.
    lossless_alpha: float = 0

    @property
    def alone_bytes(self) -> int:
        """Return the depth at which a queue drops that is the only full one."""
        return min(self.queue.with_full(1), self.group.with_full(1))

    @property
    def beside_bytes(self) -> int:
        """Return the depth at which a queue drops while those of the other lossy classes on its port are full too."""
        return self._depth(1 + self.others)

    @property
    def all_bytes(self) -> int:
        """Return the depth at which a queue drops in the worst case.

        Then every queue of lossy RDMA, and every lossless group, of all ports is full.
        """
        queue_bytes = self._depth(self.queue.slices.feeding(self.ports) * self.classes)
        return min(queue_bytes, self.group.with_full(1, self.lossless_alpha))

    def _depth(self, queues: int) -> int:
        """Return the depth at which a queue drops while so many queues are full, itself included."""
        return min(self.alone_bytes, self.queue.with_full(queues))


class Rivals(NamedTuple):
    """What else fills the buffer beside lossy RDMA.

    ``lossy_classes`` are other lossy classes, and ``lossless_alpha`` is the sum of the alphas of the lossless groups of
    all ports.
    """

    lossy_classes: int
    lossless_alpha: float


def drop_limits(
    buffers: Buffers, pools: Iterable[BufferPool], *, ports: int, classes: int, rivals: Rivals
) -> DropLimits | None:
    """Return the depths at which queues of lossy RDMA drop with ``pools``; None if a pool that they use has no size.

    ``ports`` is the number of ports of the switch, ``classes`` that of classes of lossy RDMA.
    """
    sizes = {pool.name: pool.size_bytes for pool in pools}
    queue = _room(buffers, buffers.lossy_queue, sizes)
    group = _room(buffers, buffers.lossy_group, sizes)
    if queue is None or group is None:
        return None
    # Lossless groups compete with lossy ones only in a pool that both use.
    lossless_alpha = rivals.lossless_alpha if group.profile.pool == INGRESS_LOSSLESS else 0
    return DropLimits(
        queue=queue,
        group=group,
        ports=ports,
        classes=classes,
        others=rivals.lossy_classes,
        lossless_alpha=lossless_alpha,
    )


def _room(buffers: Buffers, name: str, sizes: Mapping[str, int | None]) -> Room | None:
    """Return what the users of a profile may hold of its pool; None if that has no size. ``sizes`` are by pool."""
    profile = next(profile for profile in buffers.profiles if profile.name == name)
    pool_bytes = sizes.get(profile.pool)
    if not pool_bytes:
        return None
    return Room(profile, pool_bytes, buffers.slices)
