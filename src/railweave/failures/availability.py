"""What failures cost over a year, from the rates that the user states.

Components fail independently of each other, each with its own part of the time out of service. The expected bandwidth
of the node ports and the time in which a node has no link take all simultaneous failures into account. The hours of a
single failure or of a pair are those in which its components are out of service, whether others are or not.
"""

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from railweave.fabric.devices import Host
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.analysis import FailureClass, Failures
from railweave.failures.components import components
from railweave.failures.rates import HOURS_A_YEAR, Rates


class KindOutage(NamedTuple):
    """The components of a kind with a rate."""

    kind: str
    components: int
    # How many of them fail in a year.
    failures_per_year: float
    # How many of them are out of service on average.
    mean_down: float


class ClassOutage(NamedTuple):
    """A class of failures with the hours that its failures last in a year, summed over them."""

    failure: FailureClass
    hours_per_year: float


class Availability(NamedTuple):
    """A fabric over a year."""

    # The expected part of the bandwidth of all node ports that is in service.
    ports_percent: float
    # The expected hours in which nodes have no link, summed over the nodes.
    node_hours_out: float
    # Kinds of components with a rate.
    kinds: tuple[KindOutage, ...]
    # Kinds without a rate, which never fail here.
    unrated: tuple[str, ...]
    # The longest outages first.
    singles: tuple[ClassOutage, ...]
    pairs: tuple[ClassOutage, ...]


def availability(fabric: Fabric, analysis: Failures, rates: Rates) -> Availability:
    """Return what the failures of ``analysis`` cost over a year by these rates."""
    counts = Counter(component.kind for component in components(fabric))
    down = {kind: rates.rate(kind).unavailability for kind in counts}
    kinds = tuple(
        KindOutage(kind, count, count * rates.rate(kind).failures_per_year, count * down[kind])
        for kind, count in counts.items()
        if down[kind]
    )
    return Availability(
        ports_percent=_ports_percent(fabric, down),
        node_hours_out=HOURS_A_YEAR * sum(_cut_off(fabric, host, down) for host in fabric.hosts),
        kinds=kinds,
        unrated=tuple(kind for kind in counts if not down[kind]),
        singles=_outages(analysis.of_order(1), down),
        pairs=_outages(analysis.of_order(2), down),
    )


def _outages(classes: tuple[FailureClass, ...], down: Mapping[str, float]) -> tuple[ClassOutage, ...]:
    """Return the classes of failures that occur, the longest outage first."""
    outages = []
    for failure in classes:
        # Components fail independently of each other, so the parts of the time multiply.
        all_down = prod(down[component.kind] for component in failure.example)
        hours = HOURS_A_YEAR * failure.count * all_down
        if hours:
            outages.append(ClassOutage(failure, hours))
    return tuple(sorted(outages, key=lambda outage: outage.hours_per_year, reverse=True))


def _shared(fabric: Fabric, link: Link, down: Mapping[str, float]) -> tuple[float, float]:
    """Return how much of the time the plane and the pod of a link are out of service."""
    plane = down.get("plane", 0)
    if fabric.switch_of[link.upper].pod is None:
        return plane, 0
    return plane, down.get("pod", 0)


def _ports_percent(fabric: Fabric, down: Mapping[str, float]) -> float:
    """Return the expected percent of the bandwidth of all node ports that is in service."""
    total_gbps = 0.0
    in_service_gbps = 0.0
    for link in fabric.links:
        if link.is_access:
            plane_down, pod_down = _shared(fabric, link, down)
            switch_down = down[fabric.switch_of[link.upper].tier.name]
            up = (1 - down[link.kind]) * (1 - switch_down) * (1 - plane_down) * (1 - pod_down)
            total_gbps += link.speed_gbps
            in_service_gbps += link.speed_gbps * up
    if not total_gbps:
        return 100
    return 100 * in_service_gbps / total_gbps


def _cut_off(fabric: Fabric, host: Host, down: Mapping[str, float]) -> float:
    """Return the part of the time in which a node has no link in service.

    A link is out of service with its switch, its plane and its pod. All links of a node are in one pod.
    """
    # By plane, then by switch.
    links_of: dict[int, dict[str, list[Link]]] = {}
    for link in fabric.uplinks_of[host.name]:
        links_of.setdefault(link.plane, {}).setdefault(link.upper, []).append(link)
    if not links_of:
        return 0
    plane_down = 0.0
    pod_down = 0.0
    all_planes_out = 1.0
    for switches in links_of.values():
        all_switches_out = 1.0
        for upper, links in switches.items():
            plane_down, pod_down = _shared(fabric, links[0], down)
            switch_down = down[fabric.switch_of[upper].tier.name]
            all_links_out = prod(down[link.kind] for link in links)
            all_switches_out *= switch_down + (1 - switch_down) * all_links_out
        all_planes_out *= plane_down + (1 - plane_down) * all_switches_out
    return pod_down + (1 - pod_down) * all_planes_out
