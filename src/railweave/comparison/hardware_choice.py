"""Switch models as a search for designs uses them: models with the same ports give designs of the same size."""

from collections import defaultdict
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
        """Return the ports of a switch at a speed; 0 if it does not have the speed."""
        return dict(self.ports).get(speed_gbps, 0)


Weights = Mapping[str, Fraction]
"""What one switch of a model adds to the value that designs are sorted by."""


def port_classes(
    catalog: Catalog, policies: Policies, at_least_gbps: Collection[int], weights: Weights, preferred: Collection[str]
) -> tuple[PortClass, ...]:
    """Return the models to choose from, in classes of the same ports.

    These are the models with a weight that have all speeds of the nodes, ``at_least_gbps``. If a traffic class is
    lossless, a model has to carry it without loss at these speeds. Each class lists the models with the least weight
    first, and of equal ones those that the intent has (``preferred``).
    """
    lossless = any(traffic_class.lossless for traffic_class in policies.classes)

    def carries(model: SwitchModel, speed_gbps: int) -> bool:
        return not lossless or carries_lossless(model, speed_gbps, policies)

    def rank(model_id: str) -> tuple[Fraction, bool, str]:
        return weights[model_id], model_id not in preferred, model_id

    models_of: defaultdict[_PortKind, list[str]] = defaultdict(list)
    for model_id in sorted(weights, key=rank):
        model = catalog.switch(model_id)
        # A chassis can be sized, but not configured (RW126).
        is_other_chassis = model.chassis is not None and model_id not in preferred
        if model_id in _VIRTUAL or is_other_chassis:
            continue
        ports = tuple(_ports(model, at_least_gbps, carries))
        speeds_gbps = {speed_gbps for speed_gbps, _ in ports}
        if speeds_gbps.issuperset(at_least_gbps):
            models_of[_port_kind(model, ports)].append(model_id)
    return tuple(PortClass(tuple(models), kind.ports) for kind, models in models_of.items())


def _ports(
    model: SwitchModel, at_least_gbps: Collection[int], carries: Callable[[SwitchModel, int], bool]
) -> Iterator[tuple[int, int]]:
    """Yield the speeds that a model has for nodes and uplinks, each with its ports at that speed."""
    for speed_gbps in sorted(speeds(model)):
        use = cage_use(model, speed_gbps)
        if use is None or speed_gbps < min(at_least_gbps):
            continue
        if not carries(model, speed_gbps):
            continue
        ports = len(cages_with(model, use)) * use.ports
        # The chip may drive fewer ports than the cages can be broken out into.
        yield speed_gbps, min(ports, model.asic.logical_ports or ports)


class _PortKind(NamedTuple):
    """What models have in common that give the same designs with the same media."""

    cages: int
    form_factor: str
    has_breakout_modes: bool
    # As in `PortClass.ports`.
    ports: tuple[tuple[int, int], ...]
    # Ports of a cage and speed of a lane in Gb/s, at each speed.
    breakouts: tuple[tuple[int, int], ...]


def _port_kind(model: SwitchModel, ports: tuple[tuple[int, int], ...]) -> _PortKind:
    """Return the kind of a model; ``ports`` are as in ``PortClass``."""
    breakouts = []
    for speed_gbps, _ in ports:
        use = cage_use(model, speed_gbps)
        if use is not None:
            breakouts.append((use.ports, use.lane_gbps))
    return _PortKind(
        cages=len(model.cages),
        form_factor=model.cage_type.form_factor,
        has_breakout_modes=bool(model.breakout_modes),
        ports=ports,
        breakouts=tuple(breakouts),
    )


def cage_gbps(catalog: Catalog) -> Mapping[str, int]:
    """Return the bandwidth of all cages together of every switch model, in Gb/s."""
    bandwidth = {}
    for model_id in catalog.switch_ids():
        model = catalog.switch(model_id)
        bandwidth[model_id] = len(model.cages) * model.cage_type.lanes * model.cage_type.lane_gbps
    return bandwidth


def most_down_ports(leaf: PortClass, down_gbps: int, up_gbps: int, ratio: Fraction) -> int:
    """Return an upper bound of the ports for nodes with which a leaf has enough uplinks for ``ratio``.

    Returns 0 if the leaf does not have one of the speeds.
    """
    down_ports = leaf.ports_at(down_gbps)
    up_ports = leaf.ports_at(up_gbps)
    if not down_ports or not up_ports:
        return 0
    # What a port for nodes takes of all cages: its own part, and that of the uplinks for its bandwidth.
    own_part = Fraction(1, down_ports)
    uplink_part = Fraction(down_gbps) / (ratio * up_gbps * up_ports)
    return int(1 / (own_part + uplink_part))
