"""A verification for a person and as JSON: failing checks one by one, the others counted by kind."""

from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.jsonable import as_json
from railweave.plan.outcome import CheckKind, VerifyResult
from railweave.report.layout import paragraphs, table, verdict
from railweave.report.tables import FittingTable
from railweave.wording import counted

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
    CheckKind.PREFIXES: "prefixes of each session, no fewer than before",
    CheckKind.ERRORS: "errors of used ports, rising no faster than before",
    CheckKind.DISCARDS: "discards of used ports, rising no faster than before",
}
_MOST_SHOWN = 60


def verify_json(result: VerifyResult) -> dict[str, Any]:
    """Return the contract of ``verify --json``."""
    checks = as_json(result.checks)
    for check in checks:
        if not check["skipped"]:
            del check["skipped"]
    document = {"ok": result.ok, "checks": checks}
    if result.advice:
        document["advice"] = result.advice
    if result.warnings:
        document["warnings"] = result.warnings
    return document


def verify_view(result: VerifyResult) -> RenderableType:
    """Return the checks by kind with their counts, and a table of those that failed."""
    advice = [Text(sentence, style="yellow") for sentence in result.advice if result.failed]
    warnings = [Text(f"warning: {sentence}", style="yellow") for sentence in result.warnings]
    return paragraphs(
        _by_kind(result),
        [Text(line, style="yellow") for line in _skipped(result)],
        _failed(result) if result.failed else None,
        [*advice, *warnings, _verdict(result)],
    )


def _by_kind(result: VerifyResult) -> FittingTable:
    rows = []
    for kind in CheckKind:
        checks = [check for check in result.checks if check.kind is kind and not check.skipped]
        if not checks:
            continue
        failed = sum(not check.ok for check in checks)
        passed_cell = Text(f"{len(checks) - failed:,}", style="green")
        failed_cell = Text(f"{failed:,}", style="bold red" if failed else "dim")
        rows.append((kind.value, _MEANING[kind], passed_cell, failed_cell))
    return table("check", "what", "passed", "failed", rows=rows)


def _skipped(result: VerifyResult) -> list[str]:
    counts = Counter((check.kind, check.skipped) for check in result.checks if check.skipped)
    return [f"{kind.value}: {counted(count, 'check')} skipped: {why}" for (kind, why), count in counts.items()]


def _failed(result: VerifyResult) -> Group:
    rows = (
        (check.device, check.kind.value, check.subject, check.expected, Text(check.actual, style="red"))
        for check in result.failed[:_MOST_SHOWN]
    )
    hidden = len(result.failed) - _MOST_SHOWN
    shown = table("device", "check", "subject", "expected", "actual", rows=rows)
    if hidden <= 0:
        return Group(shown)
    return Group(shown, Text(f"and {hidden:,} more"))


def _verdict(result: VerifyResult) -> Text:
    skipped = sum(bool(check.skipped) for check in result.checks)
    checks = counted(len(result.checks) - skipped, "check")
    failed = result.failed
    devices = counted(len({check.device for check in failed or result.checks}), "device")
    if not result.ok:
        return verdict(False, f"{len(failed):,} of {checks} failed, on {devices}")
    sentence = f"verified: {checks} passed on {devices}"
    if skipped:
        sentence += f", {skipped:,} skipped"
    return verdict(True, sentence)
