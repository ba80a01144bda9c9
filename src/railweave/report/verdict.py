"""The verdict on an acceptance, for a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.acceptance.judge.outcomes import OutcomeStatus
from railweave.acceptance.judge.verdict import AcceptanceVerdict
from railweave.wording import counted


def verdict_view(verdict: AcceptanceVerdict) -> RenderableType:
    """Return a sentence, then every finding with its fix."""
    lines: list[RenderableType] = [Text(headline(verdict), style="bold")]
    for finding in verdict.findings:
        lines.append(Text(f"{finding.severity} {finding.code}: {finding.message}"))
        lines.append(Text(f"  fix: {finding.fix}"))
    return Group(*lines)


def headline(verdict: AcceptanceVerdict) -> str:
    """Return the verdict with how much of the plan it rests on."""
    statuses = [outcome.status for outcome in verdict.outcomes.values()]
    passed = statuses.count(OutcomeStatus.PASSED)
    links = f"{verdict.links.done:,} of {counted(verdict.links.planned, 'link')} carried load"
    return f"{verdict.plan.fabric}: {verdict.verdict}; {passed:,} of {counted(len(statuses), 'test')} passed, {links}"
