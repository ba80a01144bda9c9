"""How a fabric is accepted: the ``acceptance:`` of an intent, with defaults and their sources."""

from enum import StrEnum
from typing import NamedTuple


class CollectiveTool(StrEnum):
    """The library whose collectives are tested."""

    NCCL = "nccl"
    RCCL = "rccl"
    NONE = "none"


class AcceptancePolicy(NamedTuple):
    """The keys of ``acceptance:``; each is described in docs/reference/intent.md."""

    queue_pairs: int = 4
    seconds: int = 10
    message_bytes: int = 65536
    latency_bytes: int = 64
    latency_iterations: int = 10_000
    gid_index: int | None = None
    collectives: CollectiveTool = CollectiveTool.NCCL
    collective_bytes: int = 8 << 30
    fail: float = 0.90
    warn: float = 0.96
    confidence: float = 0.999
    covered_share: float = 0.05
    disturbed_share: float = 0.02
    peer_share: float = 0.95
    variation: float = 0.05
    isolated_rounds: int = 48
    loaded_rounds: int = 8
    soak_hours: int = 24
