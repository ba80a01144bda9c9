"""What the rules look at: the cabled ports of a fabric with their limits, growth of counters, and checks of state."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.health.reading import CountedSwitch
from railweave.plan.outcome import VerifyCheck
from railweave.telemetry.thresholds import QueueLimits, Thresholds


class WatchedPort(NamedTuple):
    """A cabled port of a switch, and what its far end is."""

    device: str
    port: str
    cable: str
    peer: str
    # At the other end is a node.
    to_node: bool
    # Towards the tier above.
    is_uplink: bool
    speed_gbps: int
    plane: int
    # None between switches.
    rail: int | None
    # Of queues that mark, by number.
    queues: Mapping[int, QueueLimits]

    @property
    def name(self) -> str:
        """Return ``DEVICE PORT``."""
        return f"{self.device} {self.port}"

    @property
    def text(self) -> str:
        """Return the port with its cable and far end, as messages have it."""
        return f"{self.name} (cable {self.cable}, to {self.peer})"

    @property
    def bytes_per_s(self) -> float:
        """Return the line rate in bytes a second."""
        return self.speed_gbps * 1e9 / 8


def watched_ports(thresholds: Thresholds) -> dict[str, tuple[WatchedPort, ...]]:
    """Return the cabled ports of every switch by its name, in the order of its ports."""
    fabric = thresholds.fabric
    watched = {}
    for entry in thresholds.switches:
        name = entry.switch.name
        ports = []
        # Both are in the order of the switch's ports.
        for port, link in zip(entry.ports, fabric.links_of[name], strict=True):
            watched_port = WatchedPort(
                device=name,
                port=port.port,
                cable=port.cable,
                peer=port.peer,
                to_node=link.is_access,
                is_uplink=port.direction == "up",
                speed_gbps=link.speed_gbps,
                plane=link.plane,
                rail=link.rail,
                queues={queue.queue: queue for queue in port.thresholds.queues},
            )
            ports.append(watched_port)
        watched[name] = tuple(ports)
    return watched


@dataclass(frozen=True)
class HealthCase:
    """A fabric as the rules see it; switches that could not be read are missing from ``switches``."""

    fabric: Fabric
    # By switch.
    ports: Mapping[str, tuple[WatchedPort, ...]]
    switches: Mapping[str, CountedSwitch]
    # Of a verification between the readings.
    checks: tuple[VerifyCheck, ...] = ()

    def counted(self) -> Iterator[tuple[WatchedPort, CountedSwitch]]:
        """Yield each port of the switches that were read, with the counters of its switch."""
        for name, switch in self.switches.items():
            for port in self.ports[name]:
                yield port, switch

    def designed(self, name: str) -> Switch:
        """Return a switch of the design."""
        return self.fabric.switch_of[name]

    @cached_property
    def port_of(self) -> Mapping[tuple[str, str], WatchedPort]:
        """Return the ports by switch and name."""
        return {(port.device, port.port): port for ports in self.ports.values() for port in ports}

    @property
    def classes(self) -> tuple[TrafficClass, ...]:
        """Return the traffic classes of the intent."""
        return self.fabric.policies.classes

    @cached_property
    def lossless(self) -> frozenset[int]:
        """Return the priorities of lossless classes, which are their queues and groups as well."""
        return frozenset(traffic_class.priority for traffic_class in self.classes if traffic_class.lossless)

    @cached_property
    def rdma(self) -> frozenset[int]:
        """Return the priorities of RDMA classes."""
        return frozenset(
            traffic_class.priority for traffic_class in self.classes if traffic_class.role is ClassRole.RDMA
        )
