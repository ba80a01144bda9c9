"""The intent says what has to be left whatever fails (`failures.single`, `failures.pair`), and the design leaves it.
The numbers are those of `railweave failures`."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.fabric.policy import FailureFloor
from railweave.wording import counted, percent_text

if TYPE_CHECKING:
    from railweave.failures.analysis import FailureClass

RULE = rule(
    "T-13",
    "the capacity that the intent requires remains after any failure",
    __doc__,
    "failures: {single: {uplinks: 90}}",
)

_NOTHING = FailureFloor()


class _PercentFloor(NamedTuple):
    """A floor in percent: what it is a percentage of, and how a design keeps more of that."""

    subject: str
    fix: str


_PERCENT_FLOORS = {
    "ports": _PercentFloor("of all node ports", "spread the nodes over more leaves (a smaller topology.stripe)"),
    "rail": _PercentFloor("of the worst rail", "spread each rail over more leaves (a smaller topology.stripe)"),
    "uplinks": _PercentFloor("of the uplinks of the worst switch", "use more spines (topology.spine.count)"),
    "two_leaves": _PercentFloor(
        "of the bandwidth between the worst two leaves", "use more spines (topology.spine.count)"
    ),
    "two_nodes": _PercentFloor(
        "of the bandwidth between the worst two nodes",
        "give the nodes NICs on more rails or planes, or use more spines (topology.spine.count)",
    ),
}


@RULE.on_fabric
def check_floors(fabric: Fabric) -> Breaches:
    """Yield a breach for each floor that some failures go below."""
    single, pair = fabric.policies.floors
    # Trying all failures takes long, so only an intent with floors pays for it.
    if single == pair == _NOTHING:
        return
    from railweave.failures.analysis import failures, single_failures

    if pair != _NOTHING:
        analysis = failures(fabric)
        yield from _floor_breaches("failures.pair", pair, analysis.of_order(2))
        yield from _floor_breaches("failures.single", single, analysis.of_order(1))
    else:
        yield from _floor_breaches("failures.single", single, single_failures(fabric))


def _floor_breaches(path: str, floor: FailureFloor, classes: "Iterable[FailureClass]") -> Iterator[Breach]:
    """Yield a breach for each floor at an intent path that some failures of ``classes`` go below."""
    failures = list(classes)
    percents = {
        "ports": floor.ports_percent,
        "rail": floor.rail_percent,
        "uplinks": floor.uplinks_percent,
        "two_leaves": floor.two_leaves_percent,
        "two_nodes": floor.two_nodes_percent,
    }
    for key, least_percent in percents.items():
        if least_percent is not None:
            yield from _percent_breaches(path, key, least_percent, failures)
    if floor.nodes_out is not None:
        yield from _nodes_out_breaches(path, floor.nodes_out, failures)


def _percent_breaches(path: str, key: str, least_percent: float, classes: "list[FailureClass]") -> Iterator[Breach]:
    """Yield one breach for all failures that leave less than a floor, with the numbers of the worst."""
    failures = [failure for failure in classes if _left_percent(failure, key) < least_percent]
    if not failures:
        return
    worst = min(failures, key=lambda failure: _left_percent(failure, key))
    left_percent = _left_percent(worst, key)
    floor = _PERCENT_FLOORS[key]
    message = (
        f"without {_example_text(worst)} {percent_text(left_percent)} {floor.subject} is left,"
        f" {path}.{key} asks for {least_percent} %{_others_text(failures)}"
    )
    fix = f"{floor.fix}, or set {path}.{key} to {int(left_percent)} at most"
    yield Breach(f"{path}.{key}", message, fix, Severity.ERROR, worst.example[0].out)


def _nodes_out_breaches(path: str, most_allowed: int, classes: "list[FailureClass]") -> Iterator[Breach]:
    """Yield one breach for all failures that cut off more nodes than allowed, with the number of the worst."""
    failures = [failure for failure in classes if failure.cost.nodes_cut_off > most_allowed]
    if not failures:
        return
    worst = max(failures, key=lambda failure: failure.cost.nodes_cut_off)
    cut_off = worst.cost.nodes_cut_off
    message = (
        f"without {_example_text(worst)} {counted(cut_off, 'node')} have no link left,"
        f" {path}.nodes_out allows {most_allowed}{_others_text(failures)}"
    )
    fix = f"give the nodes NICs on several rails or planes, or set {path}.nodes_out to {cut_off}"
    yield Breach(f"{path}.nodes_out", message, fix, Severity.ERROR, worst.example[0].out)


def _left_percent(failure: "FailureClass", key: str) -> float:
    """Return the percentage that a failure leaves; 100 if there are no two leaves or nodes to compare."""
    cost = failure.cost
    percent = {
        "ports": cost.injection_percent,
        "rail": cost.rail_percent,
        "uplinks": cost.uplink_percent,
        "two_leaves": cost.spread_percent,
        "two_nodes": cost.node_pair_percent,
    }[key]
    return 100.0 if percent is None else percent


def _example_text(failure: "FailureClass") -> str:
    return " and ".join(component.name for component in failure.example)


def _others_text(failures: "list[FailureClass]") -> str:
    """Return words about how many failures there are beside the one that a message describes, empty for none."""
    count = sum(failure.count for failure in failures) - 1
    if not count:
        return ""
    return f"; {counted(count, 'failure')} more leave too little"
