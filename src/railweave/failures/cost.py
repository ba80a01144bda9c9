"""What the failure of some components costs: the numbers of one set of components that are out of service together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from math import inf
from operator import itemgetter
from typing import NamedTuple

from railweave.fabric.model import Fabric
from railweave.failures.components import Component
from railweave.failures.node_pairs import NodePairs
from railweave.failures.pairs import LeafPairs
from railweave.failures.symmetry import Symmetry
from railweave.plan.capacity import Service, UplinksLeft, lost_ports, rails_without


class Cost(NamedTuple):
    """What remains after a failure; percentages are of the intact fabric."""

    # Bandwidth of all ports of GPU nodes with a link in service.
    injection_percent: float
    # The same for the ports of the worst rail.
    rail_percent: float
    # GPU nodes without any link in service.
    nodes_cut_off: int
    # The most rails that a node lacks.
    rails_out: int
    # The uplinks of the switch in service that has the least of its own left. A spine that has lost all uplinks counts
    # as out of service here and below, as no traffic between pods crosses it; not where one pod alone has leaves left.
    uplink_percent: float
    # The worst ratio of a switch's bandwidth towards the nodes to that of the uplinks that it has left. Infinite where
    # it has none left, None where no switch in service has uplinks by design.
    oversubscription: float | None
    # The bandwidth that the links between the worst two leaves in service could carry; None without two leaves.
    pair_percent: float | None
    # The part of it that equal-cost routing reaches.
    spread_percent: float | None
    # The bandwidth between the worst two GPU nodes with a link in service, rail by rail, as equal-cost routing spreads
    # it while all nodes of their leaves send; None where no two have a path.
    node_pair_percent: float | None

    @property
    def severity(self) -> tuple[float, ...]:
        """Return what costs are sorted by, the worst first: nodes cut off, then the lowest of the percentages."""
        percents = [self.rail_percent, self.uplink_percent, self.injection_percent]
        # A fabric without pairs loses nothing between them.
        percents.append(100 if self.spread_percent is None else self.spread_percent)
        percents.append(100 if self.node_pair_percent is None else self.node_pair_percent)
        return (-self.nodes_cut_off, *sorted(percents), -self.rails_out)


class Costs:
    """Costs of failures in one fabric."""

    def __init__(self, fabric: Fabric, symmetry: Symmetry) -> None:
        self._fabric = fabric
        self._service = Service(fabric)
        self._pairs = LeafPairs(fabric, symmetry.color_of_switch)
        self._nodes = NodePairs(fabric, self._pairs)
        self._rail_gbps: Counter[int | None] = Counter()
        for link in fabric.links:
            if link.is_access:
                self._rail_gbps[link.rail] += link.speed_gbps
        self._ports = {host.name: len(fabric.uplinks_of[host.name]) for host in fabric.hosts}
        below_top = [switch.name for switches in fabric.tier_switches[:-1] for switch in switches]
        ratios = {name: _ratio(fabric, name) for name in below_top}
        self._ratios = dict(sorted(ratios.items(), key=itemgetter(1), reverse=True))
        """Ratios of the switches below the top tier, the worst first."""

    def of(self, failed: Sequence[Component]) -> Cost:
        """Return the cost of components that fail together; linear in what they touch."""
        # Two failed components may share a switch or a link, which counts once.
        out = dict.fromkeys(chain.from_iterable(component.out for component in failed))
        down = dict.fromkeys(chain.from_iterable(component.down for component in failed))
        rails: Counter[int | None] = Counter()
        nodes: Counter[str] = Counter()
        lost = lost_ports(self._fabric, out, down)
        for link in lost:
            rails[link.rail] += link.speed_gbps
            nodes[link.lower] += 1
        total = sum(self._rail_gbps.values())
        pairs_left = self._pairs.after(out, [link for link in down if not link.is_access])
        worst_pair = pairs_left.worst()
        uplinks = self._service.uplinks_left(out, down)
        return Cost(
            injection_percent=_percent(total - sum(rails.values()), total),
            rail_percent=self._worst_rail(rails),
            nodes_cut_off=sum(ports == self._ports[host] for host, ports in nodes.items()),
            rails_out=rails_without(self._fabric, lost),
            uplink_percent=min(uplinks.percents.values(), default=100),
            oversubscription=self._oversubscription(uplinks),
            pair_percent=worst_pair and worst_pair.flow_percent,
            spread_percent=worst_pair and worst_pair.spread_percent,
            node_pair_percent=self._nodes.worst(pairs_left, lost),
        )

    def _worst_rail(self, lost_gbps: Mapping[int | None, int]) -> float:
        """Return the percent of the ports of a rail that the worst rail has left."""
        percents = (_percent(whole - lost_gbps[rail], whole) for rail, whole in self._rail_gbps.items())
        return min(percents, default=100)

    def _oversubscription(self, uplinks: UplinksLeft) -> float | None:
        """Return the worst ratio of a switch in service, by the part of its uplinks that it has left."""
        ratios = [_scaled(self._ratios[name], percent) for name, percent in uplinks.percents.items()]
        # The ratios are sorted, so the first switch that the failure does not touch is the worst of these.
        for name, ratio in self._ratios.items():
            if name not in uplinks.percents and name not in uplinks.out:
                ratios.append(ratio)
                break
        return max(ratios, default=None)


def _ratio(fabric: Fabric, switch: str) -> float:
    """Return a switch's bandwidth towards the nodes over that of its uplinks."""
    down_gbps = sum(link.speed_gbps for link in fabric.downlinks_of[switch])
    up_gbps = sum(link.speed_gbps for link in fabric.uplinks_of[switch])
    return down_gbps / up_gbps


def _scaled(ratio: float, percent_left: float) -> float:
    if not percent_left:
        return inf
    return ratio * 100 / percent_left


def _percent(part: int, whole: int) -> float:
    if not whole:
        return 100
    return 100 * part / whole
