"""The health of a fabric for a terminal and as JSON: findings, switches that were not read, and what was not judged."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import as_json
from railweave.diagnostics import Severity
from railweave.health.model import HealthFinding, HealthGap, HealthReport
from railweave.health.watch_rules import runbook_of
from railweave.report.layout import paragraphs, table, verdict
from railweave.report.reasons import reason_lines
from railweave.wording import command_line, compact, counted, listed

_MOST_SHOWN = 40
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}


def health_json(report: HealthReport) -> dict[str, Any]:
    """Return the document of ``health --json``."""
    return {
        "fabric": report.fabric,
        "target": report.target,
        "seconds": report.seconds,
        "ok": report.ok,
        "unread": dict(report.unread),
        "findings": [{**as_json(finding), "runbook": runbook_of(finding.code)} for finding in report.findings],
        "unjudged": as_json(report.gaps),
    }


def health_view(report: HealthReport) -> RenderableType:
    """Return the findings with their fixes, then what was not read and not judged, then a verdict."""
    findings: list[RenderableType] = []
    if report.findings:
        rows = [_row(finding) for finding in report.findings[:_MOST_SHOWN]]
        findings.append(table("code", "what is wrong", "fix", rows=rows))
        codes = dict.fromkeys(finding.code for finding in report.findings)
        pages = listed([runbook_of(code) for code in codes])
        explain = command_line("explain", "CODE")
        findings.append(Text(f"what to look at: {pages}; `{explain}` says how a code is judged"))
    hidden = len(report.findings) - _MOST_SHOWN
    if hidden > 0:
        findings.append(Text(f"and {hidden:,} more; --json has all of them"))
    unread = [Text(f"unread: {line}", style="bold red") for line in reason_lines(report.unread)]
    gaps = [Text(_gap_text(gap), style="yellow") for gap in report.gaps]
    return paragraphs(findings, unread, gaps, [_verdict(report)])


def health_changes(earlier: HealthReport, report: HealthReport) -> RenderableType | None:
    """Return the findings and unread switches that only one of two reports has; None if both have the same."""
    earlier_findings = {_identity(finding): finding for finding in earlier.findings}
    findings = {_identity(finding): finding for finding in report.findings}
    lines = [
        Text(f"+ {finding.code} {finding.message}; {finding.fix}", style=_STYLES[finding.severity])
        for identity, finding in findings.items()
        if identity not in earlier_findings
    ]
    lines += [
        Text(f"- {finding.code} {finding.message}", style="green")
        for identity, finding in earlier_findings.items()
        if identity not in findings
    ]
    lines += _changed_readings(earlier.unread, report.unread)
    if not lines:
        return None
    return Group(*lines)


def _changed_readings(earlier_unread: Mapping[str, str], unread: Mapping[str, str]) -> list[Text]:
    """Return a line for each switch that is unread in only one of two reports."""
    lost = sorted(unread.keys() - earlier_unread.keys())
    regained = sorted(earlier_unread.keys() - unread.keys())
    lines = [Text(f"+ unread: {name}: {unread[name]}", style="bold red") for name in lost]
    return lines + [Text(f"- unread: {name}", style="green") for name in regained]


def _identity(finding: HealthFinding) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return what identifies a finding from reading to reading; its message has numbers that change."""
    return finding.code, finding.devices, finding.ports


def _row(finding: HealthFinding) -> tuple[str | Text, ...]:
    return Text(finding.code, style=_STYLES[finding.severity]), finding.message, finding.fix


def _gap_text(gap: HealthGap) -> str:
    subject = ""
    if gap.codes:
        subject = f" {', '.join(gap.codes)}"
    return f"not judged:{subject} on {compact(gap.devices)}: {gap.reason}; {gap.fix}"


def _verdict(report: HealthReport) -> Text:
    """Return how many switches were judged and over what time, with the numbers of findings and unread switches."""
    judged = f"{counted(report.judged, 'switch')} over {report.seconds:g} s"
    if report.ok:
        return verdict(True, f"healthy: no finding on {judged}")
    sentence = f"{counted(len(report.findings), 'finding')} on {judged}"
    if report.unread:
        sentence += f", {counted(len(report.unread), 'switch')} not read"
    return verdict(False, sentence)
