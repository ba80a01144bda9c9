"""Every single failure and every pair of them, and what each costs."""

from collections.abc import Sequence
from dataclasses import dataclass

from railweave.fabric.model import Fabric
from railweave.failures.components import CARD, Component, components, without_cards
from railweave.failures.cost import Cost, Costs
from railweave.failures.effects import Effects
from railweave.failures.symmetry import Symmetry


@dataclass(frozen=True, slots=True)
class FailureClass:
    """Failures that the symmetry of the fabric makes equal."""

    count: int
    # One of them: the components that fail together.
    example: tuple[Component, ...]
    # The kinds of what its components share, such as a leaf.
    shared: tuple[str, ...]
    # What each of the failures costs.
    cost: Cost


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of a fabric."""

    fabric: str
    # The numbers of single failures and of pairs.
    singles: int
    pairs: int
    # Single failures, then pairs, the worst of each first.
    classes: tuple[FailureClass, ...]
    # The names of the traffic classes that PFC protects.
    lossless: tuple[str, ...]

    def of_order(self, order: int) -> tuple[FailureClass, ...]:
        """Return the classes of one component (1) or of two (2)."""
        return tuple(failure for failure in self.classes if len(failure.example) == order)


def failures(fabric: Fabric) -> Failures:
    """Return what each single failure and each pair of failures costs.

    The components are counted one by one, the cost of a class is that of its first member.
    """
    parts = components(fabric)
    symmetry = Symmetry(parts)
    wiring = _wiring(parts, symmetry)
    costs = Costs(fabric, wiring)
    singles = _singles(symmetry, costs)
    pair_costs = _PairCosts(fabric, costs, wiring)
    pairs = [
        FailureClass(pair.count, pair.example, pair.shared, pair_costs.of(pair.example)) for pair in symmetry.pairs()
    ]
    count = len(parts)
    return Failures(
        fabric=fabric.name,
        singles=count,
        pairs=count * (count - 1) // 2,
        classes=(*singles, *sorted(pairs, key=_order)),
        lossless=lossless_classes(fabric),
    )


def _wiring(parts: Sequence[Component], symmetry: Symmetry) -> Symmetry:
    """Return the symmetry of the fabric as if no switch had line cards.

    Line cards tell nearly all leaves apart, by the cards that their links end on, and with them nearly all pairs. What
    a failure costs depends only on the links that it takes.
    """
    if any(component.kind == CARD for component in parts):
        return Symmetry(without_cards(parts))
    return symmetry


class _PairCosts:
    """Costs of pairs. Pairs that only the line cards of their links tell apart cost the same and are computed once."""

    def __init__(self, fabric: Fabric, costs: Costs, wiring: Symmetry) -> None:
        self._costs = costs
        self._wiring = wiring
        self._effects = Effects(fabric)
        self._cost_of_kind: dict[tuple[object, ...], Cost] = {}

    def of(self, pair: tuple[Component, Component]) -> Cost:
        kind = self._kind(pair)
        if kind not in self._cost_of_kind:
            self._cost_of_kind[kind] = self._costs.of(pair)
        return self._cost_of_kind[kind]

    def _kind(self, pair: tuple[Component, Component]) -> tuple[object, ...]:
        if any(component.kind == CARD for component in pair):
            return self._effects.of(pair)
        return self._wiring.pair_kind(*pair)


def lossless_classes(fabric: Fabric) -> tuple[str, ...]:
    """Return the names of the traffic classes that PFC protects."""
    return tuple(traffic_class.name for traffic_class in fabric.policies.classes if traffic_class.lossless)


def single_failures(fabric: Fabric) -> tuple[FailureClass, ...]:
    """Return the classes of single failures, the worst first, without the pairs, which take much longer."""
    parts = components(fabric)
    symmetry = Symmetry(parts)
    return _singles(symmetry, Costs(fabric, _wiring(parts, symmetry)))


def _singles(symmetry: Symmetry, costs: Costs) -> tuple[FailureClass, ...]:
    """Return the classes of single failures, the worst first."""
    classes = []
    for single in symmetry.singles():
        failed = (single.example,)
        classes.append(FailureClass(single.count, failed, (), costs.of(failed)))
    return tuple(sorted(classes, key=_order))


def _order(failure: FailureClass) -> tuple[float, ...]:
    return failure.cost.severity
