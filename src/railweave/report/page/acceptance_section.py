"""The section about an acceptance: verdict, findings, matrices of pairs, loads of links, limits and coverage."""

from bisect import bisect_right
from collections.abc import Iterator

from railweave.acceptance.judge.outcomes import Measure, MeasuredTest, OutcomeStatus
from railweave.acceptance.judge.verdict import AcceptanceVerdict, VerdictKind
from railweave.acceptance.loads import LinkLoads
from railweave.acceptance.model import AcceptancePlan, Metric, MetricLimit, PlannedTest, RoundKind
from railweave.diagnostics import Severity
from railweave.drawing.layout import lay_out
from railweave.drawing.marks import NO_MARKS, Mark, MarkKind, Marks
from railweave.drawing.svg import svg_element
from railweave.drawing.views import FABRIC, scene_of
from railweave.fabric.model import Fabric
from railweave.report.acceptance import LIMIT_COLUMNS, by_kind, elements_text, gaps, limit_rows, verdict_sentence
from railweave.report.page.acceptance_drawings import PairValue, RoundValues, pair_matrices, round_strips
from railweave.report.page.change_sections import MarkedSection, clipped
from railweave.report.page.content import Cell, Drawing, Facts, Grid, Part, Section, Sentences, Tone, Words, linked
from railweave.wording import first_few, natural_key, percent_text

_HEAT = (0.05, 0.25, 0.5, 0.75)
"""Shares of the line rate at which the color of a link changes; below the first a link is not covered."""
_HEAT_WORDS = "green from 75 %, blue from 50 %, gray from 25 %, orange from 5 %; dashed red was not covered"
_TONES = {VerdictKind.PASSED: Tone.GOOD, VerdictKind.FAILED: Tone.BAD, VerdictKind.INCOMPLETE: Tone.WARNING}
_GRADES = {OutcomeStatus.PASSED: "good", OutcomeStatus.FAILED: "bad", OutcomeStatus.NOT_RUN: "missing"}


def acceptance_section(
    fabric: Fabric, judged: AcceptanceVerdict, loads: LinkLoads, since: tuple[str, ...] = ()
) -> MarkedSection:
    """Return the section about a verdict and everything that it rests on, with marks on the devices of its findings.

    ``since`` are sentences about when it was judged and what has changed since.
    """
    plan = judged.plan
    sentences = [Words(verdict_sentence(judged), _TONES[judged.verdict])]
    sentences += [Words(sentence, Tone.DIM) for sentence in since]
    sentences += [Words(sentence, Tone.WARNING) for sentence in gaps(judged)]
    parts: list[Part] = [Sentences(tuple(sentences)), _facts(judged)]
    if judged.findings:
        parts.append(_findings(judged))
    parts += [_kinds(judged), _rules(judged), *_matrices(judged)]
    rounds = list(_round_values(judged))
    if rounds:
        caption = "Bandwidth by round, as a share of what the NIC ports of a test carry"
        parts.append(Drawing(caption, round_strips(rounds)))
    parts += [_heat(fabric, plan, loads), *_uncovered(plan, loads), *_not_run(judged)]
    parts.append(clipped("Limits", LIMIT_COLUMNS, [*limit_rows(plan)], numeric=frozenset({2, 3, 4, 5})))
    return MarkedSection(Section("acceptance", "Acceptance", tuple(parts)), _marks(fabric, judged))


def _facts(judged: AcceptanceVerdict) -> Facts:
    """Return the key figures of a verdict."""
    plan = judged.plan
    return Facts(
        (
            ("verdict", Words(judged.verdict.value, _TONES[judged.verdict])),
            ("level", plan.level.value),
            ("pairs measured", f"{judged.pairs.done:,} of {judged.pairs.planned:,}"),
            ("links loaded", f"{judged.links.done:,} of {judged.links.planned:,}"),
            ("rounds", f"{len(plan.rounds):,}"),
            ("seed", str(plan.seed)),
        )
    )


def _findings(judged: AcceptanceVerdict) -> Grid:
    """Return a table of the findings with the elements to blame."""
    rows: list[tuple[Cell, ...]] = []
    for finding in judged.findings:
        tone = Tone.WARNING
        if finding.severity is Severity.ERROR:
            tone = Tone.BAD
        rows.append((Words(finding.code, tone), elements_text(finding), finding.message, finding.fix))
    return clipped("Findings", ("finding", "to blame", "what", "fix"), rows)


def _kinds(judged: AcceptanceVerdict) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for kind, passed, failed, not_run in by_kind(judged):
        failed_tone = Tone.BAD if failed else Tone.DIM
        rows.append((kind, f"{passed:,}", Words(f"{failed:,}", failed_tone), Words(f"{not_run:,}", Tone.DIM)))
    return Grid("Tests by kind", ("kind", "passed", "failed", "not run"), tuple(rows), numeric=frozenset({1, 2, 3}))


def _rules(judged: AcceptanceVerdict) -> Grid:
    codes = [finding.code for finding in judged.findings]
    rows = tuple(
        (status.code, f"{codes.count(status.code):,}", status.state.value, status.reason) for status in judged.rules
    )
    return Grid("Rules", ("rule", "findings", "state", "reason"), rows, numeric=frozenset({1}))


def _matrices(judged: AcceptanceVerdict) -> Iterator[Drawing]:
    """Yield one drawing with a matrix of pairs for each rail and one for pairs between rails; nothing without pairs."""
    pairs_by_title: dict[str, list[PairValue]] = {}
    rail_of = {link.nic_port: link.rail for link in judged.plan.links if link.nic_port is not None}
    for test in judged.plan.tests:
        # Tests of groups and of latency have no bandwidth of a pair.
        if test.receiver is None or test.kind is RoundKind.LATENCY:
            continue
        title = _matrix_title(rail_of.get(test.sender), rail_of.get(test.receiver))
        pair = _pair(test, test.receiver.node, judged.outcomes[test.id])
        pairs_by_title.setdefault(title, []).append(pair)
    if not pairs_by_title:
        return
    # "between rails" comes last, and rail 10 behind rail 9.
    titles = sorted(pairs_by_title, key=lambda title: (not title.startswith("rail"), natural_key(title)))
    nodes = [node.name for node in judged.plan.nodes]
    drawing = pair_matrices(nodes, {title: pairs_by_title[title] for title in titles})
    yield Drawing("Pairs: senders down, receivers across; gray was not measured, empty is not in the plan", drawing)


def _matrix_title(sending: int | None, receiving: int | None) -> str:
    if sending != receiving:
        return "between rails"
    if sending is None:
        return "all NICs"
    return f"rail {sending}"


def _pair(test: PlannedTest, receiver: str, outcome: MeasuredTest) -> PairValue:
    """Return a pair of NICs for a matrix: its share of the expected bandwidth, its grade, and a description."""
    grade = _GRADES[outcome.status]
    value = outcome.remark or "not measured"
    measure = outcome.measure(Metric.BANDWIDTH)
    if measure is not None:
        value = f"{measure.value:,.1f} {measure.limit.unit}, expected {measure.limit.expect:,.1f}"
        if grade == "good" and measure.warned:
            grade = "warning"
    words = f"{test.sender.node} to {receiver}, NIC {test.sender.nic}, {test.kind} ({test.id}): {value}"
    return PairValue(sender=test.sender.node, receiver=receiver, share=_share(measure), grade=grade, words=words)


def _share(measure: Measure | None) -> float | None:
    """Return a bandwidth as a share of what is expected, None if none was measured or expected."""
    if measure is None or measure.limit.expect <= 0:
        return None
    return measure.value / measure.limit.expect


def _round_values(judged: AcceptanceVerdict) -> Iterator[RoundValues]:
    """Yield the bandwidths of each round in which some were measured."""
    for planned_round in judged.plan.rounds:
        shares = []
        limits = []
        for name in planned_round.tests:
            measure = judged.outcomes[name].measure(Metric.BANDWIDTH)
            if measure is not None and measure.limit.expect > 0:
                carried = _carried_alone(measure.limit)
                shares.append(measure.value / carried)
                limits.append((measure.limit.fail / carried, measure.limit.warn / carried))
        if shares:
            # Pairs that cross different tiers have different limits: the lowest hold for all of the round.
            fail, warn = min(limits)
            yield RoundValues(f"{planned_round.id} {planned_round.kind}", tuple(shares), fail=fail, warn=warn)


def _carried_alone(limit: MetricLimit) -> float:
    """Return what the NIC ports of a test carry where nothing collides with it, in Gb/s."""
    # Of pairs that share links in a loaded round the limit expects a share.
    return limit.expect / float(limit.inputs.get("share") or 1)


def _heat(fabric: Fabric, plan: AcceptancePlan, loads: LinkLoads) -> Drawing:
    """Return the topology, where the cable with the least load gives a bundle its color."""
    # Ids of pictures within the page are made from their keys.
    scene = scene_of(fabric, FABRIC)._replace(key="loads")
    block_of = {name: block.key for block in scene.blocks for name in block.devices}
    least_shares: dict[tuple[str, str], float] = {}
    for link in plan.links:
        share = loads.get(link.lower)
        if share is None:
            continue
        # A plan may be of an earlier intent, with devices that the fabric no longer has.
        bundle = block_of.get(link.upper.device, ""), block_of.get(link.lower.device, "")
        least_shares[bundle] = min(share, least_shares.get(bundle, share))
    # heat-0 is below the first bound, heat-4 at or above the last.
    classes = {bundle: f"heat-{bisect_right(_HEAT, share)}" for bundle, share in least_shares.items()}
    caption = f"Load of links, of each bundle the cable that carried least in its best round: {_HEAT_WORDS}"
    return Drawing(caption, svg_element(lay_out(scene), NO_MARKS, classes))


def _uncovered(plan: AcceptancePlan, loads: LinkLoads) -> Iterator[Grid]:
    """Yield a table of the links that no round loaded enough, or that have no counters; nothing without any."""
    rows: list[tuple[Cell, ...]] = []
    for link in plan.links:
        share = loads.get(link.lower)
        is_covered = share is not None and share >= plan.settings.covered_share
        if is_covered:
            continue
        text = "no counters"
        if share is not None:
            text = percent_text(100 * share)
        ends = (linked(link.lower.device), link.lower.port, linked(link.upper.device), link.upper.port)
        rows.append((link.cable, *ends, Words(text, Tone.WARNING)))
    if rows:
        columns = ("cable", "device", "port", "device", "port", "largest load")
        yield clipped("Links that no round loaded", columns, rows)


def _not_run(judged: AcceptanceVerdict) -> Iterator[Grid]:
    """Yield a table of the tests that did not run, by kind, sender and reason; nothing without any."""
    tests_by_reason: dict[tuple[str, str, str], list[str]] = {}
    for test in judged.plan.tests:
        outcome = judged.outcomes[test.id]
        if outcome.status is OutcomeStatus.NOT_RUN:
            reason_of_node = (test.kind, test.sender.node, outcome.remark)
            tests_by_reason.setdefault(reason_of_node, []).append(test.id)
    rows: list[tuple[Cell, ...]] = []
    for (kind, node, reason), tests in tests_by_reason.items():
        rows.append((kind, linked(node), f"{len(tests):,}", first_few(tests, 3), reason))
    if rows:
        columns = ("kind", "sender", "tests", "names", "reason")
        yield clipped("Tests that did not run or were not judged", columns, rows, numeric=frozenset({2}))


def _marks(fabric: Fabric, judged: AcceptanceVerdict) -> Marks:
    """Return marks on the devices, nodes and cables of findings."""
    devices: dict[str, tuple[Mark, ...]] = {}
    cables: dict[tuple[str, str], tuple[Mark, ...]] = {}
    ends_of_cable = {link.cable: (link.upper.device, link.lower.device) for link in judged.plan.links}
    for finding in judged.findings:
        kind = MarkKind.CHANGED
        if finding.severity is Severity.ERROR:
            kind = MarkKind.FAILED
        mark = Mark(kind, f"{finding.code} {elements_text(finding)}")
        # In the order of the finding, as equal inputs have to give equal pages. A device may be named twice.
        for name in dict.fromkeys((*finding.devices, *finding.nodes)):
            if name in fabric.ports_of:
                devices[name] = (*devices.get(name, ()), mark)
        for cable in dict.fromkeys(finding.cables):
            if cable in ends_of_cable:
                ends = ends_of_cable[cable]
                cables[ends] = (*cables.get(ends, ()), mark)
    return Marks(devices, cables)
