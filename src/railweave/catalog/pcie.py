"""PCIe slots: what a NIC's host side carries, per direction (fabric-facts section 3.1)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PcieSlot:
    """A slot: ``raw_gbps`` is the link after its line coding, the bound for pass or fail.

    ``payload_gbps`` is the lower and upper estimate of what is left for data with payloads of 256 and 512 bytes.
    ``slots`` is 2 where one NIC uses two slots (socket direct).
    """

    id: str
    generation: int
    lanes: int
    slots: int
    raw_gbps: float
    payload_gbps: tuple[float, float]
