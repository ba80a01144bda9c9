"""The verdict of an acceptance for a terminal and as Markdown: findings, tests, limits with formulas, coverage."""

from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from railweave.acceptance.judge.findings import AcceptanceFinding
from railweave.acceptance.judge.outcomes import OutcomeStatus
from railweave.acceptance.judge.verdict import AcceptanceVerdict, VerdictKind
from railweave.acceptance.model import AcceptancePlan, MetricLimit, RoundKind
from railweave.diagnostics import Severity, in_order
from railweave.report.acceptance_sections import repeatability_section, setup_sections
from railweave.report.layout import cell, code, markdown_list, markdown_table, paragraphs, table, verdict
from railweave.wording import compact, counted

_MOST_SHOWN = 40
_FINDING_COLUMNS = ("finding", "to blame", "what", "fix")
_KIND_COLUMNS = ("tests", "passed", "failed", "not run")
LIMIT_COLUMNS = ("limit of", "metric", "expected", "warn", "fail", "tests", "formula and inputs")


def by_kind(judged: AcceptanceVerdict) -> list[tuple[str, int, int, int]]:
    """Return (kind, passed, failed, not run) for each kind of test, with numbers of tests, in the plan's order."""
    counts = Counter((test.kind, judged.outcomes[test.id].status) for test in judged.plan.tests)
    rows = []
    for kind in dict.fromkeys(test.kind for test in judged.plan.tests):
        passed = counts[kind, OutcomeStatus.PASSED]
        failed = counts[kind, OutcomeStatus.FAILED]
        not_run = counts[kind, OutcomeStatus.NOT_RUN]
        rows.append((kind.value, passed, failed, not_run))
    return rows


def limit_rows(plan: AcceptancePlan) -> list[tuple[str, ...]]:
    """Return a row of ``LIMIT_COLUMNS`` for each different limit of a plan, which counts its tests and rounds."""
    # A limit has a mapping and cannot be a key: limits are the same if their texts are.
    counts = Counter((kind, _limit_cells(limit), formula_text(limit)) for kind, limit in _limits(plan))
    return [(kind, *cells, f"{count:,}", formula) for (kind, cells, formula), count in counts.items()]


def _limits(plan: AcceptancePlan) -> Iterator[tuple[RoundKind, MetricLimit]]:
    for planned_round in plan.rounds:
        yield from ((planned_round.kind, limit) for limit in planned_round.limits)
    for test in plan.tests:
        yield from ((test.kind, limit) for limit in test.limits)


def _limit_cells(limit: MetricLimit) -> tuple[str, ...]:
    return limit.metric.value, f"{limit.expect:,.2f} {limit.unit}", f"{limit.warn:,.2f}", f"{limit.fail:,.2f}"


def formula_text(limit: MetricLimit) -> str:
    """Return the formula of a limit, then its inputs with their values: numbers first, texts last."""
    numbers = [f"{name} = {value:,.6g}" for name, value in limit.inputs.items() if not isinstance(value, str)]
    texts = [f"{name} = {value}" for name, value in limit.inputs.items() if isinstance(value, str)]
    inputs = ", ".join(numbers + texts)
    return "; ".join(part for part in (limit.formula, inputs) if part)


def verdict_sentence(judged: AcceptanceVerdict) -> str:
    """Return the verdict in one sentence, with the numbers that it rests on, the level and the fabric."""
    plan = judged.plan
    tests = counted(len(plan.tests), "test")
    about = f"level {plan.level} of fabric {plan.fabric}"
    if judged.verdict is VerdictKind.PASSED:
        return f"accepted: {tests} passed, {judged.links.done:,} links carried load, {about}"
    if judged.verdict is VerdictKind.FAILED:
        errors = sum(finding.severity is Severity.ERROR for finding in judged.findings)
        return f"not accepted: {counted(errors, 'finding')}, {about}"
    tests_run = sum(outcome.status is not OutcomeStatus.NOT_RUN for outcome in judged.outcomes.values())
    return f"incomplete: {tests_run:,} of {tests} ran, {about}"


def gaps(judged: AcceptanceVerdict) -> list[str]:
    """Return a sentence with its code for everything that did not run, was not covered or was not judged."""
    return [f"{remark.code} {remark.message}" for remark in in_order(judged.diagnostics)]


def elements_text(finding: AcceptanceFinding) -> str:
    """Return the elements that explain a finding as text: the names of each kind together."""
    names_by_kind: dict[str, list[str]] = {}
    for element in finding.elements:
        names_by_kind.setdefault(element.kind, []).append(element.name)
    return "; ".join(f"{kind} {compact(names)}" for kind, names in names_by_kind.items())


def acceptance_view(judged: AcceptanceVerdict) -> RenderableType:
    """Return findings with the elements to blame, tests by kind, limits, and the verdict."""
    # An incomplete acceptance is shown as a warning.
    good = None
    if judged.verdict is not VerdictKind.INCOMPLETE:
        good = judged.verdict is VerdictKind.PASSED
    return paragraphs(
        _findings(judged),
        _kinds(judged),
        _limits_table(judged.plan),
        verdict(good, verdict_sentence(judged)),
    )


def _findings(judged: AcceptanceVerdict) -> RenderableType | None:
    """Return a table of the first findings, None without any."""
    if not judged.findings:
        return None
    rows: list[tuple[str | Text, ...]] = []
    for finding in judged.findings[:_MOST_SHOWN]:
        style = "yellow"
        if finding.severity is Severity.ERROR:
            style = "bold red"
        rows.append((Text(finding.code, style=style), elements_text(finding), finding.message, finding.fix))
    if len(judged.findings) > _MOST_SHOWN:
        rows.append(("", "", f"and {len(judged.findings) - _MOST_SHOWN:,} more", ""))
    return table(*_FINDING_COLUMNS, rows=rows)


def _kinds(judged: AcceptanceVerdict) -> RenderableType:
    """Return a table of the numbers of tests that passed, failed and did not run, by kind."""
    styles = ("green", "bold red", "yellow")
    rows: list[tuple[str | Text, ...]] = []
    for kind, *counts in by_kind(judged):
        row: list[str | Text] = [kind]
        for count, style in zip(counts, styles, strict=True):
            # Only a count of such tests is colored, a zero is not.
            shown_style = style if count else "dim"
            row.append(Text(f"{count:,}", shown_style))
        rows.append(tuple(row))
    return table(*_KIND_COLUMNS, rows=rows)


def _limits_table(plan: AcceptancePlan) -> RenderableType:
    """Return a table with the first limit of each kind and metric; the page of the report has all limits."""
    first_rows: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in limit_rows(plan):
        kind_and_metric = row[:2]
        first_rows.setdefault(kind_and_metric, row)
    return table(*LIMIT_COLUMNS, rows=first_rows.values())


def acceptance_markdown(judged: AcceptanceVerdict) -> str:
    """Return the verdict as Markdown for a pull request, in the sections of draft-calabria-bmwg-ai-fabric."""
    parts = [f"## Acceptance of {judged.plan.fabric}\n", f"**{judged.verdict}**: {cell(verdict_sentence(judged))}\n"]
    parts += setup_sections(judged)
    parts.append("### Results\n")
    kind_rows = [(kind, *map(str, counts)) for kind, *counts in by_kind(judged)]
    parts.append(markdown_table(_KIND_COLUMNS, kind_rows))
    first_limits = [(*cells, code(formula)) for *cells, formula in limit_rows(judged.plan)[:_MOST_SHOWN]]
    parts.append(markdown_table(LIMIT_COLUMNS, first_limits))
    parts.append("### Anomalies\n")
    parts += _anomalies(judged)
    parts.append(repeatability_section(judged))
    return "\n".join(parts)


def _anomalies(judged: AcceptanceVerdict) -> Iterator[str]:
    """Yield the findings as Markdown, then what did not run or was not covered; "None." without any of them."""
    rows = [
        (code(finding.code), cell(elements_text(finding)), cell(finding.message), cell(finding.fix))
        for finding in judged.findings[:_MOST_SHOWN]
    ]
    if rows:
        yield markdown_table(_FINDING_COLUMNS, rows)
    if len(judged.findings) > _MOST_SHOWN:
        yield f"and {len(judged.findings) - _MOST_SHOWN:,} more\n"
    sentences = gaps(judged)
    if sentences:
        yield "\n".join(markdown_list([cell(sentence) for sentence in sentences], _MOST_SHOWN)) + "\n"
    if not rows and not sentences:
        yield "None.\n"
