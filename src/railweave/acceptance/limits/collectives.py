"""Bus bandwidth of collectives by algorithm and size, from the rate of NICs (beta) and the time of a step (alpha)."""

from collections.abc import Sequence
from enum import StrEnum

from railweave.acceptance.limits.basis import LimitShares
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import MetricLimit, NicPort


class Collective(StrEnum):
    """An operation of nccl-tests, by the start of its program's name (``all_reduce_perf``)."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "alltoall"
    SEND_RECV = "sendrecv"


class Algorithm(StrEnum):
    """What carries out a collective (NCCL_ALGO)."""

    RING = "Ring"
    TREE = "Tree"


def collective_limit(
    paths: FabricPaths,
    collective: Collective,
    algorithm: Algorithm,
    group: Sequence[NicPort],
    gpus_of_node: int,
    message_bytes: int,
    shares: LimitShares,
) -> MetricLimit:
    """Return the bus bandwidth in GB/s of a collective among all GPUs of the nodes of ``group``, over its NIC ports."""
    raise NotImplementedError
