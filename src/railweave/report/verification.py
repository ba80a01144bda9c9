"""Verifications for a terminal and as JSON: failed checks one by one, the others counted by kind."""

from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import as_json
from railweave.plan.outcome import CheckKind, VerifyResult
from railweave.report.layout import paragraphs, table, verdict
from railweave.report.reasons import by_reason
from railweave.report.tables import FittingTable
from railweave.wording import compact, counted

_MEANING = {
    CheckKind.REACHABLE: "devices answer",
    CheckKind.COMMIT: "commits confirmed",
    CheckKind.DAEMONS: "daemons that changes ended",
    CheckKind.LINK: "ports enabled, fabric links up",
    CheckKind.MTU: "MTU of used ports",
    CheckKind.ADDRESS: "interface addresses",
    CheckKind.LLDP: "LLDP neighbors as in the cabling plan",
    CheckKind.BGP: "BGP sessions established with the right AS number",
    CheckKind.TIMERS: "BGP timers in force",
    CheckKind.BFD: "BFD up on BGP sessions",
    CheckKind.IPV6: "BGP sessions with routes of IPv6",
    CheckKind.APPLIED: "ports, buffers and PFC watchdog as configured",
    CheckKind.TENANTS: "node ports that keep tenants apart",
    CheckKind.PREFIXES: "prefixes of each session, no fewer than before",
    CheckKind.ERRORS: "errors of used ports, rising no faster than before",
    CheckKind.STORMS: "queues that no neighbor pauses without end",
    CheckKind.DISCARDS: "discards of used ports, rising no faster than before",
}
_MOST_SHOWN = 60


def verify_json(result: VerifyResult) -> dict[str, Any]:
    """Return the document of ``verify --json``."""
    checks = as_json(result.checks)
    for check in checks:
        # The key is the reason, and present only for a check that was skipped.
        if not check["skipped"]:
            del check["skipped"]
    document: dict[str, Any] = {"ok": result.ok, "checks": checks}
    if result.advice:
        document["advice"] = result.advice
    if result.warnings:
        document["warnings"] = result.warnings
    return document


def verify_view(result: VerifyResult) -> RenderableType:
    """Return the checks by kind with their counts, and a table of the failed ones."""
    skipped = [Text(line, style="yellow") for line in _skipped(result)]
    failed = None
    advice: list[Text] = []
    if result.failed:
        failed = _failed(result)
        advice = [Text(sentence, style="yellow") for sentence in result.advice]
    warnings = [Text(f"warning: {sentence}", style="yellow") for sentence in result.warnings]
    return paragraphs(_by_kind(result), skipped, failed, [*advice, *warnings, _verdict(result)])


def _by_kind(result: VerifyResult) -> FittingTable:
    """Return a table with the numbers of passed and failed checks of each kind; skipped checks do not count."""
    counts = Counter((check.kind, check.ok) for check in result.checks if not check.skipped)
    rows = []
    for kind in CheckKind:
        passed = counts[kind, True]
        failed = counts[kind, False]
        if not passed and not failed:
            continue
        # Red only where something failed: a healthy fabric has none.
        failed_style = "bold red" if failed else "dim"
        passed_cell = Text(f"{passed:,}", style="green")
        failed_cell = Text(f"{failed:,}", style=failed_style)
        rows.append((kind.value, _MEANING[kind], passed_cell, failed_cell))
    return table("check", "what", "passed", "failed", rows=rows)


def _skipped(result: VerifyResult) -> list[str]:
    counts = Counter((check.kind, check.skipped) for check in result.checks if check.skipped)
    return [f"{kind.value}: {counted(count, 'check')} skipped: {reason}" for (kind, reason), count in counts.items()]


def _failed(result: VerifyResult) -> Group:
    """Return a table of the failed checks, which has a row for each reason why devices do not answer.

    The other checks follow one by one, up to a number of them.
    """
    silent = {check.device: check.actual for check in result.failed if check.kind is CheckKind.REACHABLE}
    other_checks = [check for check in result.failed if check.kind is not CheckKind.REACHABLE]
    rows: list[tuple[str | Text, ...]] = [
        (compact(names), CheckKind.REACHABLE.value, "", "reachable", Text(reason, style="red"))
        for reason, names in by_reason(silent).items()
    ]
    rows += [
        (check.device, check.kind.value, check.subject, check.expected, Text(check.actual, style="red"))
        for check in other_checks[:_MOST_SHOWN]
    ]
    parts: list[RenderableType] = [table("device", "check", "subject", "expected", "actual", rows=rows)]
    hidden = len(other_checks) - _MOST_SHOWN
    if hidden > 0:
        parts.append(Text(f"and {hidden:,} more"))
    return Group(*parts)


def _verdict(result: VerifyResult) -> Text:
    """Return how many checks passed or failed, and on how many devices."""
    skipped = sum(bool(check.skipped) for check in result.checks)
    checks = counted(len(result.checks) - skipped, "check")
    # After a failure the number of devices to look at matters, otherwise that of all devices.
    relevant_checks = result.failed or result.checks
    devices = counted(len({check.device for check in relevant_checks}), "device")
    if not result.ok:
        return verdict(False, f"{len(result.failed):,} of {checks} failed, on {devices}")
    sentence = f"verified: {checks} passed on {devices}"
    if skipped:
        sentence += f", {skipped:,} skipped"
    return verdict(True, sentence)
