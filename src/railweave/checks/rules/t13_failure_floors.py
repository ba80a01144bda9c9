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
    "what the intent wants left is left, whatever fails",
    __doc__,
    "failures: {single: {uplinks: 90}}",
)

_NOTHING = FailureFloor()


class _Kept(NamedTuple):
    """One kind of floor: its key, its words, what of it a design lacks, and how a design gets more of it."""

    key: str
    words: str
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
    """Look for failures that leave less than a floor; only an intent with floors pays for it."""
    single, pair = fabric.policies.floors
    if single == pair == _NOTHING:
        return
    from railweave.failures.analysis import failures, single_failures

    if pair != _NOTHING:
        found = failures(fabric)
        yield from _below("failures.pair", pair, found.of_order(2))
        yield from _below("failures.single", single, found.of_order(1))
    else:
        yield from _below("failures.single", single, single_failures(fabric))


def _below(path: str, floor: FailureFloor, classes: "Iterable[FailureClass]") -> Iterator[Breach]:
    every = list(classes)
    asked = {
        "ports": floor.ports_percent,
        "rail": floor.rail_percent,
        "uplinks": floor.uplinks_percent,
        "two_leaves": floor.two_leaves_percent,
        "two_nodes": floor.two_nodes_percent,
    }
    for key, least in asked.items():
        under = [] if least is None else [(left, one) for one in every if (left := _left(one, key)) < least]
        if under:
            worst_left, worst = min(under, key=lambda one: one[0])
            kept = _PERCENTS[key]
            message = (
                f"without {_named(worst)} {percent_text(worst_left)} {kept.words} is left,"
                f" {path}.{key} asks for {least} %{_others(under)}"
            )
            fix = f"{kept.fix}, or set {path}.{key} to {int(worst_left)} at most"
            yield Breach(f"{path}.{key}", message, fix, Severity.ERROR, worst.example[0].out)
    if floor.nodes_out is not None:
        cut = [(one.cost.nodes_cut_off, one) for one in every if one.cost.nodes_cut_off > floor.nodes_out]
        if cut:
            most, worst = max(cut, key=lambda one: one[0])
            message = (
                f"without {_named(worst)} {counted(most, 'node')} have no link left,"
                f" {path}.nodes_out allows {floor.nodes_out}{_others(cut)}"
            )
            fix = f"give the nodes NICs on several rails or planes, or set {path}.nodes_out to {most}"
            yield Breach(f"{path}.nodes_out", message, fix, Severity.ERROR, worst.example[0].out)


def _left(one: "FailureClass", key: str) -> float:
    cost = one.cost
    spread = 100.0 if cost.spread_percent is None else cost.spread_percent
    nodes = 100.0 if cost.node_pair_percent is None else cost.node_pair_percent
    return {
        "ports": cost.injection_percent,
        "rail": cost.rail_percent,
        "uplinks": cost.uplink_percent,
        "two_leaves": spread,
        "two_nodes": nodes,
    }[key]


def _named(one: "FailureClass") -> str:
    return " and ".join(each.name for each in one.example)


def _others(under: "list[tuple[float, FailureClass]] | list[tuple[int, FailureClass]]") -> str:
    """Return how many failures there are beside the one that is named."""
    count = sum(one.count for _, one in under) - 1
    return f"; {counted(count, 'failure')} more leave too little" if count else ""
