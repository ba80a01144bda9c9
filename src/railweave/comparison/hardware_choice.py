"""Switch models as a search for designs sees them: models with the same ports give the same counts."""

from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import cage_use, cages_with, speeds
from railweave.checks.capability import carries_lossless
from railweave.fabric.policy import Policies

_VIRTUAL = frozenset({"sonic-vs"})
"""Models that nobody can buy."""


class PortClass(NamedTuple):
    """Models of the catalog with the same cages and breakouts at the speeds in question."""

    # In the order in which they are tried.
    models: tuple[str, ...]
    # Ports of a switch whose cages all run at a speed, by that speed in Gb/s, the slowest first.
    ports: tuple[tuple[int, int], ...]

    def ports_at(self, speed_gbps: int) -> int:
        """Return the ports of a switch at a speed, 0 if it does not run it."""
        return dict(self.ports).get(speed_gbps, 0)


Weights = Mapping[str, Fraction]
"""What one switch of a model adds to the value that designs are sorted by."""


def port_classes(
    catalog: Catalog, policies: Policies, at_least_gbps: Collection[int], weights: Weights, preferred: Collection[str]
) -> tuple[PortClass, ...]:
    """Return the models that have a weight and run the speeds of the nodes, ``at_least_gbps``, without loss where a
    class asks for it; each class lists the lightest models first, then those that the intent has (``preferred``)."""
    lossless = any(traffic_class.lossless for traffic_class in policies.classes)

    def carries(model: SwitchModel, speed_gbps: int) -> bool:
        return not lossless or carries_lossless(model, speed_gbps, policies)

    classes: dict[tuple[object, ...], PortClass] = {}
    for model_id in sorted(weights, key=lambda model_id: (weights[model_id], model_id not in preferred, model_id)):
        model = catalog.switch(model_id)
        # A chassis is sized, not configured (RW126).
        if model_id in _VIRTUAL or (model.chassis is not None and model_id not in preferred):
            continue
        ports = tuple(_ports(model, at_least_gbps, carries))
        if {speed_gbps for speed_gbps, _ in ports} >= set(at_least_gbps):
            kind = _kind(model, ports)
            others: tuple[str, ...] = ()
            if kind in classes:
                others = classes[kind].models
            classes[kind] = PortClass((*others, model_id), ports)
    return tuple(classes.values())


def _ports(
    model: SwitchModel, at_least_gbps: Collection[int], carries: Callable[[SwitchModel, int], bool]
) -> Iterator[tuple[int, int]]:
    """Yield the speeds of nodes and uplinks that a model runs, with its ports at each."""
    for speed_gbps in sorted(speeds(model)):
        use = cage_use(model, speed_gbps)
        if use is None or speed_gbps < min(at_least_gbps) or not carries(model, speed_gbps):
            continue
        ports = len(cages_with(model, use)) * use.ports
        # The chip may drive fewer ports than the cages can be broken out into.
        yield speed_gbps, min(ports, model.asic.logical_ports or ports)


def _kind(model: SwitchModel, ports: tuple[tuple[int, int], ...]) -> tuple[object, ...]:
    """Return what two models need in common to give the same counts with the same media."""
    breakouts = []
    for speed_gbps, _ in ports:
        use = cage_use(model, speed_gbps)
        if use is not None:
            breakouts.append((use.ports, use.lane_gbps))
    return len(model.cages), model.cage_type.form_factor, bool(model.breakout_modes), ports, tuple(breakouts)


def cage_gbps(catalog: Catalog) -> Mapping[str, int]:
    """Return the bandwidth of all cages of every switch model."""
    result = {}
    for model_id in catalog.switch_ids():
        model = catalog.switch(model_id)
        result[model_id] = len(model.cages) * model.cage_type.lanes * model.cage_type.lane_gbps
    return result


def most_down_ports(leaf: PortClass, down_gbps: int, up_gbps: int, ratio: Fraction) -> int:
    """Return the most ports of a leaf towards nodes that leave enough uplinks for ``ratio``, an upper bound: a port
    down takes its share of the cages and, divided by the ratio, that of its bandwidth upwards."""
    down_ports = leaf.ports_at(down_gbps)
    up_ports = leaf.ports_at(up_gbps)
    if not down_ports or not up_ports:
        return 0
    share = Fraction(1, down_ports) + Fraction(down_gbps) / (ratio * up_gbps * up_ports)
    return int(1 / share)
