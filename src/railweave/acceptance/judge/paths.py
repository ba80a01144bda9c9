"""Where the tests of a plan can go: indexes of its links and devices. The path of a flow is never known, only possible.

A switch chooses the link of a flow by a hash that no plan knows, so that a test crosses its two host links with
certainty and a link between switches perhaps.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from railweave.acceptance.judge.elements import Element, ElementKind, end_text
from railweave.acceptance.model import (
    AcceptancePlan,
    AcceptanceRound,
    CoveredLink,
    NicPort,
    PlannedDevice,
    PlannedNode,
    PlannedTest,
    PortEnd,
)


def ends_of(test: PlannedTest) -> tuple[NicPort, ...]:
    """Return the NIC ports that take part in a test."""
    if test.receiver is None:
        return test.group
    return test.sender, test.receiver


@dataclass(frozen=True)
class PlanIndex:
    """A plan, indexed by the ends of its links."""

    plan: AcceptancePlan
    # The place of each end in the columns of counters, filled when these are tallied.
    places: dict[PortEnd, int] = field(default_factory=dict)

    @cached_property
    def link_at(self) -> Mapping[PortEnd, CoveredLink]:
        """Return the link of each end."""
        links: dict[PortEnd, CoveredLink] = {}
        for link in self.plan.links:
            links[link.lower] = link
            links[link.upper] = link
        return links

    @cached_property
    def index_of_link(self) -> Mapping[PortEnd, int]:
        """Return the index of each link among those of the plan, by its lower end."""
        return {link.lower: index for index, link in enumerate(self.plan.links)}

    @cached_property
    def lower_places(self) -> list[int]:
        """Return the places of the lower ends, in the order of the links of the plan."""
        return [self.places[link.lower] for link in self.plan.links]

    @cached_property
    def upper_places(self) -> list[int]:
        """Return the places of the upper ends, in the order of the links of the plan."""
        return [self.places[link.upper] for link in self.plan.links]

    @cached_property
    def host_places(self) -> tuple[list[int], list[int]]:
        """Return the places of the lower and of the upper ends of `host_link`, in its order."""
        links = self.host_link.values()
        return [self.places[link.lower] for link in links], [self.places[link.upper] for link in links]

    @cached_property
    def places_of(self) -> Mapping[str, list[int]]:
        """Return the places of the ports of each switch, in the order of its links."""
        return {device: [self.places[link.end_at(device)] for link in links] for device, links in self.links_of.items()}

    @cached_property
    def host_link(self) -> Mapping[NicPort, CoveredLink]:
        """Return the link of each NIC port."""
        return {link.nic_port: link for link in self.plan.links if link.nic_port is not None}

    @cached_property
    def nics(self) -> Mapping[tuple[str, int], Element]:
        """Return the NICs by node and number, each under the name of its first port."""
        nics: dict[tuple[str, int], Element] = {}
        for port, link in sorted(self.host_link.items()):
            nics.setdefault(port[:2], Element(ElementKind.NIC, end_text(link.lower)))
        return nics

    def nic(self, port: NicPort) -> Element:
        """Return the NIC of a port."""
        return self.nics.get(port[:2], Element(ElementKind.NIC, f"{port.node} nic{port.nic}"))

    @cached_property
    def links_of(self) -> Mapping[str, list[CoveredLink]]:
        """Return the links of each switch."""
        links: dict[str, list[CoveredLink]] = defaultdict(list)
        for link in self.plan.links:
            links[link.upper.device].append(link)
            if link.nic_port is None:
                links[link.lower.device].append(link)
        return links

    @cached_property
    def devices(self) -> Mapping[str, PlannedDevice]:
        """Return the switches by name."""
        return {device.name: device for device in self.plan.devices}

    @cached_property
    def nodes(self) -> Mapping[str, PlannedNode]:
        """Return the nodes by name."""
        return {node.name: node for node in self.plan.nodes}

    @cached_property
    def tests(self) -> Mapping[str, PlannedTest]:
        """Return the tests by id."""
        return {test.id: test for test in self.plan.tests}

    @cached_property
    def rounds(self) -> Mapping[str, AcceptanceRound]:
        """Return the rounds by id."""
        return {planned.id: planned for planned in self.plan.rounds}

    @cached_property
    def links_of_cable(self) -> Mapping[str, list[CoveredLink]]:
        """Return the links of each cable."""
        links: dict[str, list[CoveredLink]] = defaultdict(list)
        for link in self.plan.links:
            links[link.cable].append(link)
        return links

    @cached_property
    def senders_to(self) -> Mapping[tuple[str, NicPort], frozenset[str]]:
        """Return the nodes that send to a NIC port, by round and port."""
        senders: dict[tuple[str, NicPort], frozenset[str]] = defaultdict(frozenset)
        for test in self.plan.tests:
            if test.receiver is not None:
                senders[test.round, test.receiver] |= {test.sender.node}
        return senders

    @cached_property
    def tests_of(self) -> Mapping[str, list[PlannedTest]]:
        """Return the tests of each round."""
        tests: dict[str, list[PlannedTest]] = defaultdict(list)
        for test in self.plan.tests:
            tests[test.round].append(test)
        return tests

    @cached_property
    def access_switches(self) -> Mapping[str, tuple[PlannedDevice, ...]]:
        """Return the leaves of the ends of each test, by its id; ends without a planned link or leaf are left out."""
        access: dict[str, tuple[PlannedDevice, ...]] = {}
        for test in self.plan.tests:
            leaves = map(self._leaf_of, ends_of(test))
            access[test.id] = tuple(leaf for leaf in leaves if leaf is not None)
        return access

    def _leaf_of(self, port: NicPort) -> PlannedDevice | None:
        link = self.host_link.get(port)
        if link is None:
            return None
        return self.devices.get(link.upper.device)

    def is_between_pods(self, link: CoveredLink) -> bool:
        """Tell whether only flows between pods use a link: its lower end attaches no node."""
        return link.nic_port is None and link.lower.device not in self.node_switches

    @cached_property
    def node_switches(self) -> frozenset[str]:
        """Return the switches that attach nodes."""
        return frozenset(link.upper.device for link in self.host_link.values())

    def may_cross(self, test: PlannedTest, link: CoveredLink) -> bool:
        """Tell whether flows of a test may use a link."""
        if link.nic_port is not None:
            return link.nic_port in ends_of(test)
        leaves = set(self.access_switches[test.id])
        lower = self.devices.get(link.lower.device)
        stays_on_leaf = len(leaves) < 2
        if lower is None or stays_on_leaf:
            return False
        if lower in leaves:
            return True
        # A link between a spine and a super-spine carries only flows that leave the spine's pod.
        pods = {leaf.pod for leaf in leaves if leaf.plane == lower.plane}
        return lower.pod in pods and len(pods) > 1
