"""The bills of the phases in which a fabric grows."""

from typing import NamedTuple

from railweave.bom.bill import Bill


class BomPhase(NamedTuple):
    """A phase of growth to ``nodes`` of the kind that grows and ``gpus`` in total.

    ``bill`` holds what it needs beyond all phases before it, spares included.
    """

    title: str
    nodes: int
    gpus: int
    bill: Bill
