"""What a finding blames: cables, NICs, ports, nodes, devices and settings, with their names."""

from enum import StrEnum
from typing import NamedTuple

from railweave.acceptance.model import CoveredLink, PortEnd, RoundKind
from railweave.diagnostics import Severity


class ElementKind(StrEnum):
    """What can be at fault."""

    CABLE = "cable"
    NIC = "nic"
    PORT = "port"
    NODE = "node"
    DEVICE = "device"
    # A configured value, or a part of the design such as a rail or a plane.
    SETTING = "setting"


class Element(NamedTuple):
    """A part of the fabric: ``gpu3 rail0`` (NIC or cable), ``pod1-leaf1 Ethernet0``, ``DSCP of gpu3``, ``rail 2``."""

    kind: ElementKind
    name: str


CONGESTED = frozenset({RoundKind.LOADED, RoundKind.INCAST, RoundKind.COLLECTIVE, RoundKind.SOAK})
"""Rounds in which queues fill, so that PFC, ECN and buffers matter."""


class Culprit(NamedTuple):
    """What is to blame: elements that no evidence tells apart, and where they are."""

    elements: tuple[Element, ...]
    # What they do, as the end of a sentence: "loses packets".
    fault: str
    fix: str
    nodes: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    cables: tuple[str, ...] = ()
    # In which rounds it makes tests slow: a small buffer harms no test that is alone, a wrong counter none at all.
    slows: frozenset[RoundKind] = frozenset(RoundKind)


class RoundBound(NamedTuple):
    """What chance explains in the rest of a round, once culprits have their tests."""

    # The mean share of what is expected that the rest must reach; 0 where only the number of tests counts.
    share: float
    # How many tests may be slow; 0 where only the mean counts.
    tests: float


class Symptom(NamedTuple):
    """A breach of a rule, before it is known what is to blame.

    ``culprit`` is given where counters or a comparison locate the fault. Otherwise ``tests`` are those that show it,
    and blame is found by the ends of these tests.
    """

    code: str
    severity: Severity
    message: str
    fix: str
    culprit: Culprit | None = None
    tests: frozenset[str] = frozenset()
    # Named as suspects if nothing explains the symptom.
    suspects: tuple[Element, ...] = ()
    # Of a symptom that only all tests of a round have together.
    bound: RoundBound | None = None


def cable_element(link: CoveredLink) -> Element:
    """Return the cable of a link."""
    return Element(ElementKind.CABLE, link.cable)


def port_element(end: PortEnd) -> Element:
    """Return a port of a switch or of a NIC."""
    return Element(ElementKind.PORT, end_text(end))


def setting_element(name: str) -> Element:
    """Return a setting by its name."""
    return Element(ElementKind.SETTING, name)


def end_text(end: PortEnd) -> str:
    """Return a port as people write it."""
    return f"{end.device} {end.port}"
