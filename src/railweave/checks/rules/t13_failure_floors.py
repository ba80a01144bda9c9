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


class _Kept(NamedTuple):
    """One kind of floor."""

    key: str
    # What must be left, in words.
    words: str
    # How a design gets more of it.
    fix: str


_PERCENTS = {
    "ports": _Kept("ports", "of all node ports", "spread the nodes over more leaves (a smaller topology.stripe)"),
    "rail": _Kept("rail", "of the worst rail", "spread each rail over more leaves (a smaller topology.stripe)"),
    "uplinks": _Kept("uplinks", "of the uplinks of the worst switch", "use more spines (topology.spine.count)"),
    "two_leaves": _Kept(
        "two_leaves", "of the bandwidth between the worst two leaves", "use more spines (topology.spine.count)"
    ),
    "two_nodes": _Kept(
        "two_nodes",
        "of the bandwidth between the worst two nodes",
        "give the nodes NICs on more rails or planes, or use more spines (topology.spine.count)",
    ),
}


@RULE.on_fabric
def floors_kept(fabric: Fabric) -> Breaches:
    """Look for failures that leave less than a floor."""
    single, pair = fabric.policies.floors
    # Trying all failures takes long, so only an intent with floors pays for it.
    if single == pair == _NOTHING:
        return
    from railweave.failures.analysis import failures, single_failures

    if pair != _NOTHING:
        analysis = failures(fabric)
        yield from _below("failures.pair", pair, analysis.of_order(2))
        yield from _below("failures.single", single, analysis.of_order(1))
    else:
        yield from _below("failures.single", single, single_failures(fabric))


def _below(path: str, floor: FailureFloor, classes: "Iterable[FailureClass]") -> Iterator[Breach]:
    every = list(classes)
    least_of = {
        "ports": floor.ports_percent,
        "rail": floor.rail_percent,
        "uplinks": floor.uplinks_percent,
        "two_leaves": floor.two_leaves_percent,
        "two_nodes": floor.two_nodes_percent,
    }
    for key, least in least_of.items():
        if least is not None:
            yield from _below_percent(path, key, least, every)
    if floor.nodes_out is not None:
        yield from _above_nodes_out(path, floor.nodes_out, every)


def _below_percent(path: str, key: str, least: float, classes: "list[FailureClass]") -> Iterator[Breach]:
    under = [failure for failure in classes if _left(failure, key) < least]
    if not under:
        return
    worst = min(under, key=lambda failure: _left(failure, key))
    worst_left = _left(worst, key)
    kept = _PERCENTS[key]
    message = (
        f"without {_named(worst)} {percent_text(worst_left)} {kept.words} is left,"
        f" {path}.{key} asks for {least} %{_others(under)}"
    )
    fix = f"{kept.fix}, or set {path}.{key} to {int(worst_left)} at most"
    yield Breach(f"{path}.{key}", message, fix, Severity.ERROR, worst.example[0].out)


def _above_nodes_out(path: str, most_allowed: int, classes: "list[FailureClass]") -> Iterator[Breach]:
    over = [failure for failure in classes if failure.cost.nodes_cut_off > most_allowed]
    if not over:
        return
    worst = max(over, key=lambda failure: failure.cost.nodes_cut_off)
    most = worst.cost.nodes_cut_off
    message = (
        f"without {_named(worst)} {counted(most, 'node')} have no link left,"
        f" {path}.nodes_out allows {most_allowed}{_others(over)}"
    )
    fix = f"give the nodes NICs on several rails or planes, or set {path}.nodes_out to {most}"
    yield Breach(f"{path}.nodes_out", message, fix, Severity.ERROR, worst.example[0].out)


def _left(failure: "FailureClass", key: str) -> float:
    """Return the percentage that a failure leaves; 100 if there are no two leaves or nodes to compare."""
    cost = failure.cost
    left = {
        "ports": cost.injection_percent,
        "rail": cost.rail_percent,
        "uplinks": cost.uplink_percent,
        "two_leaves": cost.spread_percent,
        "two_nodes": cost.node_pair_percent,
    }[key]
    return 100.0 if left is None else left


def _named(failure: "FailureClass") -> str:
    return " and ".join(component.name for component in failure.example)


def _others(failures: "list[FailureClass]") -> str:
    """Return in words the number of further failures."""
    count = sum(failure.count for failure in failures) - 1
    if not count:
        return ""
    return f"; {counted(count, 'failure')} more leave too little"
