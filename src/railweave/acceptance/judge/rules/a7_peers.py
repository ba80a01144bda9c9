"""A-7: no rail, plane or stripe is slower than its peers."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

from railweave.acceptance.judge.blame import culprit_of, one_element
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.elements import Symptom, setting_element
from railweave.acceptance.judge.registry import judge_rule
from railweave.acceptance.model import Metric, NicPort, RoundKind
from railweave.diagnostics import Severity

KINDS = frozenset({RoundKind.ISOLATED})
# Of two senders the median is the slower one's as much as the other's.
_LEAST_SENDERS = 3


@judge_rule("A-7", "No rail, plane or stripe is slower than its peers", kinds=KINDS)
def peers(case: Case) -> Iterator[Symptom]:
    """Yield the parts of the design whose median bandwidth is below that of their peers."""
    medians: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    senders: dict[str, set[NicPort]] = defaultdict(set)
    for test, measure in case.measures(Metric.BANDWIDTH, *KINDS):
        link = case.index.host_link[test.sender]
        stripe = case.index.nodes[test.sender.node].stripe
        for kind, number in (("rail", link.rail), ("plane", link.plane), ("stripe", stripe)):
            name = f"{kind} {number}"
            medians[kind][name].append(measure.value / measure.limit.expect)
            senders[name].add(test.sender)
    for groups in medians.values():
        reached = {name: median(values) for name, values in groups.items() if len(senders[name]) >= _LEAST_SENDERS}
        for name, value in reached.items():
            others = [other for peer, other in reached.items() if peer != name]
            if others and value < case.index.plan.settings.peer_share * median(others):
                message = f"{name} reaches {value:.1%} of what is expected, its peers {median(others):.1%}"
                culprit = culprit_of(case, one_element(setting_element(name)), "is slower than its peers")
                yield Symptom("A-7", Severity.ERROR, message, culprit.fix, culprit)
