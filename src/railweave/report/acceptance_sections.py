"""Sections of an acceptance report by draft-calabria-bmwg-ai-fabric: what was tested, how, and how repeatable it is.

The draft says that its numbers are no criteria of acceptance, so that none is judged here; `acceptance.variation` is
the coefficient of variation that it recommends.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import mean, stdev

from railweave.acceptance.judge.verdict import AcceptanceVerdict
from railweave.acceptance.model import AcceptancePlan
from railweave.report.layout import cell, markdown_table
from railweave.wording import counted, listed


def setup_sections(judged: AcceptanceVerdict) -> Iterator[str]:
    """Yield the device under test, the topology, the configuration of switches, and that of nodes as Markdown."""
    plan = judged.plan
    tiers = Counter(f"tier {device.tier}" for device in plan.devices)
    kinds = Counter(cell(node.kind) for node in plan.nodes)
    yield "### Device under test\n"
    yield (
        f"Fabric {cell(plan.fabric)}, switches: {_numbers(tiers)}; "
        f"intent {plan.intent_sha256[:12]}, seed {plan.seed}.\n"
    )
    yield "### Topology\n"
    yield markdown_table(("links", "speed", "plane", "number"), _link_rows(plan))
    yield "### Configuration of switches\n"
    yield markdown_table(("class", "priority", "queue", "lossless", "ECN", "DSCP"), _class_rows(plan))
    yield "### Configuration of nodes\n"
    queue_pair_counts = sorted({test.queue_pairs for test in plan.tests})
    queue_pairs = listed([str(count) for count in queue_pair_counts])
    tools = "not stated beside the results"
    if judged.tools:
        tools = cell(listed(list(judged.tools)))
    yield f"Nodes: {_numbers(kinds)}. Queue pairs of a test: {queue_pairs}. Programs: {tools}.\n"


def _numbers(counts: Counter[str]) -> str:
    return listed([f"{count:,} of {name}" for name, count in counts.items()])


def _link_rows(plan: AcceptancePlan) -> Iterator[tuple[str, ...]]:
    links = Counter((link.kind.replace("_", "–"), f"{link.speed_gbps}G", str(link.plane)) for link in plan.links)
    for key, count in sorted(links.items()):
        yield *key, f"{count:,}"


def _class_rows(plan: AcceptancePlan) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each traffic class: priority, queue, whether lossless and ECN-capable, and DSCP."""
    for traffic_class in plan.classes:
        dscp = ", ".join(map(str, traffic_class.dscp)) or "all others"
        yield (
            cell(traffic_class.name),
            str(traffic_class.priority),
            str(traffic_class.queue),
            _yes(traffic_class.lossless),
            _yes(traffic_class.ecn),
            dscp,
        )


def _yes(is_so: bool) -> str:
    if is_so:
        return "yes"
    return "no"


def repeatability_section(judged: AcceptanceVerdict) -> str:
    """Return the Markdown table of how much each metric varies over the tests of a kind.

    The values of different tests are compared as fractions of what each of them expects.
    """
    fractions: dict[tuple[str, str], list[float]] = defaultdict(list)
    for test in judged.plan.tests:
        for measure in judged.outcomes[test.id].measures:
            limit = measure.limit
            # A fraction of an expected zero says nothing.
            if limit.expect:
                fractions[test.kind.value, limit.metric.value].append(measure.value / limit.expect)
    rows = [(kind, metric, f"{len(values):,}", *_scatter(values)) for (kind, metric), values in fractions.items()]
    recommended = judged.plan.settings.variation
    table = markdown_table(("tests", "metric", "values", "mean of expected", "CV"), rows)
    text = f"CV is the coefficient of variation; {recommended:.0%} is recommended for repeated measurements"
    return f"### Repeatability\n\n{table}\n{text} ({counted(len(rows), 'metric')}).\n"


def _scatter(values: Sequence[float]) -> tuple[str, str]:
    """Return the mean and the coefficient of variation in percent. The latter is ``–`` for one value or a mean of 0."""
    average = mean(values)
    variation = "–"
    if len(values) > 1 and average:
        variation = f"{stdev(values) / average:.1%}"
    return f"{average:.1%}", variation
