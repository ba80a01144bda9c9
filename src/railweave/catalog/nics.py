"""NICs of GPU nodes with their vendors' tools, and the slots that hold them.

The fields of these values are the fields of the catalog's files (``data/README.md``).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from railweave.catalog.model import Step
from railweave.diagnostics import Blocker
from railweave.units import format_speed
from railweave.wording import either


class NicPorts(NamedTuple):
    """A way to use a NIC: ``ports`` Ethernet ports of ``speed_gbps``, at one of ``lane_gbps`` per lane."""

    ports: int
    speed_gbps: int
    lane_gbps: tuple[int, ...]


class NotSupported(NamedTuple):
    """A combination of ports and speed that people expect and the NIC does not support, with the reason and a fix."""

    ports: int
    speed_gbps: int
    reason: str
    fix: str


class StatedNumber(NamedTuple):
    """A number with the source that states it, and for what."""

    value: int | float
    source: str


class StatedText(NamedTuple):
    """Words with the source that states them."""

    value: str
    source: str


class StatedList(NamedTuple):
    """Several words with the source that states them."""

    value: tuple[str, ...]
    source: str


class NicFacts(NamedTuple):
    """What buyers of NICs compare. None is unknown: no source that anybody can read states it."""

    # Watts of a card.
    power_w: StatedNumber | None = None
    # Millions of messages a second.
    message_rate_mps: StatedNumber | None = None
    # What becomes of packets of a flow that arrive in another order.
    reordering: StatedText | None = None
    # Of a port, by SR-IOV.
    virtual_functions: StatedNumber | None = None
    # What it encrypts or proves without the CPU.
    security: StatedList | None = None


class NicModel(NamedTuple):
    """A NIC model."""

    title: str
    source: str
    # The cages that its cards come with.
    form_factors: tuple[str, ...]
    # The ids of the PCIe slots it is made for.
    pcie: tuple[str, ...]
    combinations: tuple[NicPorts, ...]
    # Remarks for a person.
    notes: str
    not_supported: tuple[NotSupported, ...] = ()
    # What all ports carry together; 0 if that is their sum.
    shared_gbps: int = 0
    # It accepts the packets of a flow in any order, as spraying over several paths delivers them.
    reorders: bool = False
    # What its vendor has not published about its ports; empty if nothing is missing.
    not_public: str = ""
    facts: NicFacts = NicFacts()
    # Its name in the file.
    id: str = ""

    def total_gbps(self, ports: int, speed_gbps: int) -> int:
        """Return what ports of a speed carry together, in Gb/s."""
        return self.shared_gbps or ports * speed_gbps

    def find(self, ports: int, speed_gbps: int) -> NicPorts | None:
        """Return the combination of ``ports`` ports of a speed, None if the NIC has no such one."""
        for combination in self.combinations:
            if combination.ports == ports and combination.speed_gbps == speed_gbps:
                return combination
        return None

    def refusal_of(self, ports: int, speed_gbps: int) -> NotSupported | None:
        """Return why a combination is not supported, None if the source gives no reason."""
        for refused in self.not_supported:
            if refused.ports == ports and refused.speed_gbps == speed_gbps:
                return refused
        return None

    def refusal(self, ports: int, speed_gbps: int) -> Blocker:
        """Return why the NIC cannot have ``ports`` ports of a speed, and its combinations as the fix."""
        requested = f"{ports}x{format_speed(speed_gbps)}"
        fix = "use another NIC"
        if self.combinations:
            uses = [f"{use.ports}x{format_speed(use.speed_gbps)}" for use in self.combinations]
            fix = f"it can be {either(uses)}"
        refused = self.refusal_of(ports, speed_gbps)
        if refused is not None:
            return Blocker(f"{self.title} cannot have {requested} ports: {refused.reason}", f"{refused.fix}; {fix}")
        if self.not_public:
            return Blocker(
                f"{requested} ports are not known of {self.title}: {self.not_public}",
                f"{fix}; or state its ports in catalog/nics.json of the project",
            )
        return Blocker(f"{self.title} cannot have {requested} ports", fix)


class VendorPack(NamedTuple):
    """The tools of one NIC vendor, as ``data/nic_vendors/ID.json`` describes them."""

    id: str
    title: str
    source: str
    # How many priorities its tools configure for PFC and congestion control.
    lossless_priorities: int
    # The ids of NIC models.
    nics: tuple[str, ...]
    # The start of the kernel's names of its RDMA devices.
    rdma_prefix: str
    # Settings that survive a reboot and need a reset to apply; they are reported and never changed.
    firmware: tuple[str, ...]
    # The command that shows these settings.
    firmware_query: tuple[str, ...]
    # The start of the command that changes such a setting; people run it, railweave never does.
    firmware_set: str
    steps: tuple[Step, ...]
    # Further names for use in the steps, each read on the node.
    names: Mapping[str, Mapping[str, Any]]
    # Which read of the steps gives a fact of `check --facts`, and how its values translate.
    facts: Mapping[str, Mapping[str, Any]]
    # How to read the bytes that a NIC has sent in a priority; None if it does not count them.
    sent_bytes: Mapping[str, Any] | None = None
    # By the name of a metric of nodes: the file below hw_counters of the RDMA device's port.
    counters: Mapping[str, str] = {}
    # By the start of a read's name: what another value of it means for the fabric.
    effects: Mapping[str, str] = {}

    @property
    def sets_lossy_rdma(self) -> bool:
        """Tell whether it sets retransmission and rates of RDMA without PFC."""
        return any(step.get("needs") == "lossy_rdma" for step in self.steps)


class PcieSlot(NamedTuple):
    """A slot: ``raw_gbps`` is the rate after line coding, to which ports are compared.

    ``payload_gbps`` estimates what is left for data, with payloads of 256 and of 512 bytes.
    ``slots`` is 2 if one NIC uses two slots (socket direct).
    """

    id: str
    generation: int
    lanes: int
    slots: int
    raw_gbps: float
    payload_gbps: tuple[float, float]
