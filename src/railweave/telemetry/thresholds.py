"""The thresholds of a fabric as values: by switch, port and queue, from the functions that render CONFIG_DB.

Switches of one panel, tier and longest cable share a buffer plan (as `sonic.render` does), so that the cost follows the
number of ports and not that of the computations.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from railweave.cabling.cable_names import cable_names
from railweave.catalog.load import Catalog
from railweave.fabric.devices import Switch
from railweave.fabric.fec import NO_FEC
from railweave.fabric.link_limits import LimitsOf
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import SwitchPort
from railweave.fabric.policy import WatchdogPolicy
from railweave.qos.buffering import BufferPlan, plan_own_buffers
from railweave.qos.mapping import map_chain
from railweave.qos.marking import choose_marking
from railweave.qos.mmu.headroom import Headroom
from railweave.qos.scheduling import QueueShare, queue_shares
from railweave.qos.watchdog import watchdog

_CABLE = attrgetter("speed_gbps", "length_m")

DEFAULT_FLOOR_PERCENT = 50
"""Links of a plane or rail that have to be up if the intent states no ``failures.single.uplinks``."""


class QueueLimits(NamedTuple):
    """The thresholds of a queue that marks, in bytes and percent."""

    queue: int
    kmin_bytes: int
    kmax_bytes: int
    pmax_percent: int
    # Bytes of a priority group at which PFC pauses, by the congested groups ("1", "all"); empty for lossy classes.
    pfc_start_bytes: Mapping[str, int]
    # The xoff of the group; None for lossy classes, and where no headroom is known.
    headroom_bytes: int | None


class PortThresholds(NamedTuple):
    """The thresholds of ports of a speed with cables of a length: one value for all that are alike."""

    speed_gbps: int
    fec: str
    # The bit error ratio before correction from which `links` watches the cable; None without FEC.
    watch_ratio: float | None
    queues: tuple[QueueLimits, ...]


class CabledPort(NamedTuple):
    """A port in use: the name of its cable, the far end, and its thresholds."""

    port: str
    cable: str
    peer: str
    peer_port: str
    # ``up`` towards the tier above, ``down`` towards nodes and the tier below.
    direction: str
    thresholds: PortThresholds


class SwitchThresholds(NamedTuple):
    """The thresholds of a switch as a whole, in bytes and seconds."""

    switch: Switch
    pools: Mapping[str, int]
    # What lossless groups take with the ports in use, and what is left to share; None without a lossless class.
    headroom_bytes: int | None
    shared_bytes: int | None
    # None where the watchdog is off or no class is lossless.
    watchdog: WatchdogPolicy | None
    sessions: int
    next_hops: int
    ports: tuple[CabledPort, ...]


class Thresholds:
    """Computes the thresholds of the switches of a fabric one by one."""

    def __init__(self, fabric: Fabric, catalog: Catalog) -> None:
        """Start with nothing computed."""
        self.fabric = fabric
        self._catalog = catalog
        # Keyed by identity, because hashing a panel would read all of its ports.
        self._plans: dict[tuple[int, int, str, int], BufferPlan | None] = {}
        self._ports: dict[tuple[int, int, int, int], PortThresholds] = {}
        self._limits = LimitsOf(fabric)

    @cached_property
    def shares(self) -> tuple[QueueShare, ...]:
        """Return the egress queues with their weights and limits, which all switches share."""
        return queue_shares(self.fabric.policies.classes)

    @property
    def hold_s(self) -> int:
        """Return the hold time of BGP sessions in seconds."""
        return self.fabric.policies.bgp.hold_s

    @property
    def floor_percent(self) -> int:
        """Return the percentage of links that a plane or rail needs."""
        return self.fabric.policies.floors.single.uplinks_percent or DEFAULT_FLOOR_PERCENT

    @cached_property
    def switches(self) -> tuple[SwitchThresholds, ...]:
        """Return the thresholds of all switches in the order of the fabric."""
        return tuple(self._switch(switch) for switch in self.fabric.switches)

    @cached_property
    def _cable_of(self) -> Mapping[int, str]:
        """Return the name of the cable of each link by the link's identity."""
        return dict(zip(map(id, self.fabric.links), cable_names(self.fabric, self._catalog), strict=True))

    def _switch(self, switch: Switch) -> SwitchThresholds:
        """Return the thresholds of a switch and its cabled ports; without a buffer plan it has no pools."""
        fabric = self.fabric
        plan = self._plan(switch)
        pools: dict[str, int] = {}
        headroom_bytes = None
        shared_bytes = None
        if plan is not None:
            cables = Counter(map(_CABLE, fabric.links_of[switch.name]))
            division = plan.divided(cables)
            pools = {pool.name: pool.size_bytes for pool in division.pools if pool.size_bytes is not None}
            if plan.groups:
                headroom_bytes = division.headroom_bytes
                shared_bytes = division.shared_bytes
        return SwitchThresholds(
            switch=switch,
            pools=pools,
            headroom_bytes=headroom_bytes,
            shared_bytes=shared_bytes,
            watchdog=self._watchdog(switch),
            sessions=len(fabric.fabric_links_of(switch.name)),
            next_hops=len(fabric.uplinks_of[switch.name]),
            ports=tuple(self._cabled_ports(switch, plan)),
        )

    def _plan(self, switch: Switch) -> BufferPlan | None:
        """Return the buffer plan of a switch, the same object for switches with equal plans."""
        tier = switch.tier
        longest_m = max(self.fabric.lengths_m_of(switch.name), default=0)
        key = (id(switch.panel), tier.level, tier.entry, longest_m)
        if key not in self._plans:
            lengths_m = [length_m for length_m in self.fabric.cable_lengths_m[tier.level] if length_m <= longest_m]
            self._plans[key] = plan_own_buffers(switch.panel, tier, self.fabric.policies, lengths_m)
        return self._plans[key]

    def _watchdog(self, switch: Switch) -> WatchdogPolicy | None:
        """Return the times of the PFC watchdog of a switch, None if it is off or no class is lossless."""
        policies = self.fabric.policies
        if not policies.watchdog.enabled or not map_chain(policies.classes).lossless:
            return None
        return watchdog(len(switch.panel.ports), policies.watchdog)

    def _cabled_ports(self, switch: Switch, plan: BufferPlan | None) -> Iterator[CabledPort]:
        """Yield the ports of a switch with a cable, those towards the tier below first."""
        fabric = self.fabric
        cable_of = self._cable_of
        name = switch.name
        ports_of = fabric.ports_of
        kinds = self._kinds_of[name]
        ports = switch.panel.ports
        for link in fabric.downlinks_of[name]:
            port = ports[link.upper_port]
            peer_port = ports_of[link.lower][link.lower_port].name
            thresholds = self._port(plan, kinds[link.upper_port], port, link)
            yield CabledPort(
                port=port.name,
                cable=cable_of[id(link)],
                peer=link.lower,
                peer_port=peer_port,
                direction="down",
                thresholds=thresholds,
            )
        for link in fabric.uplinks_of[name]:
            port = ports[link.lower_port]
            peer_port = ports_of[link.upper][link.upper_port].name
            thresholds = self._port(plan, kinds[link.lower_port], port, link)
            yield CabledPort(
                port=port.name,
                cable=cable_of[id(link)],
                peer=link.upper,
                peer_port=peer_port,
                direction="up",
                thresholds=thresholds,
            )

    @cached_property
    def _kinds_of(self) -> Mapping[str, Sequence[int]]:
        """Return the number of each port's kind by switch: ports of a kind have the same speed, FEC and lanes."""
        number_of_kind: dict[tuple[int, str, int], int] = {}
        kinds_of_panel: dict[int, list[int]] = {}
        kinds_of: dict[str, Sequence[int]] = {}
        for switch in self.fabric.switches:
            panel = switch.panel
            if id(panel) not in kinds_of_panel:
                kinds = [(port.speed_gbps, port.fec, port.lanes.count(",")) for port in panel.ports]
                # A kind gets the next number when it occurs for the first time.
                kinds_of_panel[id(panel)] = [number_of_kind.setdefault(kind, len(number_of_kind)) for kind in kinds]
            kinds_of[switch.name] = kinds_of_panel[id(panel)]
        return kinds_of

    def _port(self, plan: BufferPlan | None, kind: int, port: SwitchPort, link: Link) -> PortThresholds:
        """Return the thresholds of a port of a kind; equal ports, half a million of them, share one object."""
        key = (id(plan), kind, self._kinds_of[link.upper][link.upper_port], link.length_m)
        thresholds = self._ports.get(key)
        if thresholds is None:
            limits = self._limits.of(link)
            watch_ratio: float | None = limits.watch
            if limits.fec is NO_FEC:
                watch_ratio = None
            queues = tuple(self._queues(plan, port.speed_gbps, link.length_m))
            thresholds = PortThresholds(port.speed_gbps, port.fec, watch_ratio, queues)
            self._ports[key] = thresholds
        return thresholds

    def _queues(self, plan: BufferPlan | None, speed_gbps: int, length_m: int) -> Iterator[QueueLimits]:
        """Yield the thresholds of the queues that mark, in the order of their numbers."""
        policies = self.fabric.policies
        for traffic_class in sorted(policies.classes, key=lambda traffic_class: traffic_class.priority):
            if not traffic_class.marks:
                continue
            marking = choose_marking(traffic_class, speed_gbps, policies.marking, plan).thresholds
            pfc_start_bytes: dict[str, int] = {}
            headroom_bytes = None
            if traffic_class.lossless and plan is not None:
                pfc_start_bytes = {"1": plan.limits.single_bytes, "all": plan.limits.all_bytes}
                headroom = plan.headroom.get((speed_gbps, length_m))
                if isinstance(headroom, Headroom):
                    headroom_bytes = headroom.xoff_bytes
            yield QueueLimits(
                # A class has its queue and its priority group at the number of its priority.
                queue=traffic_class.priority,
                kmin_bytes=marking.minimum_bytes,
                kmax_bytes=marking.maximum_bytes,
                pmax_percent=marking.probability_percent or 0,
                pfc_start_bytes=pfc_start_bytes,
                headroom_bytes=headroom_bytes,
            )
