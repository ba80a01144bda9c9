"""Self-tests for a terminal, and as JSON, the bundle to send in."""

from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.selftest import SelftestReport, TrialVerdict
from railweave.wording import counted

_STYLES = {
    TrialVerdict.CONFIRMED: "green",
    TrialVerdict.CONTRADICTED: "bold red",
    TrialVerdict.UNKNOWN: "yellow",
    TrialVerdict.NOT_TRIED: "dim",
}


def selftest_view(report: SelftestReport) -> RenderableType:
    """Return the trials with their verdicts, and whether the switch runs what it ran before.

    For a switch in use the view only lists its uses: nothing was tried, because trials would disturb them.
    """
    if report.uses:
        return Group(
            Text("refused: the switch is in use", style="bold red"), *(Text(f"  {use}") for use in report.uses)
        )
    table = Table(box=None, pad_edge=False)
    for title in ("trial", "claim", "verdict", "apply", "revert", "reason"):
        table.add_column(title, overflow="fold")
    trials = [result for result in report.results if result.verdict is not TrialVerdict.NOT_TRIED]
    for result in trials:
        table.add_row(
            result.name,
            f"{result.method} {result.disruption}".strip(),
            Text(result.verdict.value, style=_STYLES[result.verdict]),
            _seconds(result.apply_s),
            _seconds(result.revert_s),
            "; ".join(result.reasons),
        )
    parts: list[RenderableType] = [Text(_heading(report))]
    if trials:
        parts.append(table)
    parts.append(_summary(report))
    return Group(*parts)


def _heading(report: SelftestReport) -> str:
    """Return the platform and the release of a switch, and the numbers of ports and queues that have counters."""
    platform = " ".join(report.platform[name] for name in ("hwsku", "buffer_model") if name in report.platform)
    release = report.image.get("release") or report.image.get("branch") or "unknown release"
    # What has counters is named in the plural: `ports`, `queues`.
    counters = ", ".join(counted(int(counter["count"]), name[:-1]) for name, counter in _counters(report))
    return f"{platform}, SONiC {release}; counted: {counters}"


def _counters(report: SelftestReport) -> list[tuple[str, Any]]:
    return list(report.counters.items())


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f} s"


def _summary(report: SelftestReport) -> Text:
    """Return the numbers of verdicts and the state of the switch, or why the self-test ended early."""
    counts = Counter(result.verdict for result in report.results)
    verdicts = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in TrialVerdict)
    if report.error:
        return Text(f"ended early: {report.error}; {verdicts}; {_state(report)}", style="bold red")
    style = ""
    if not report.ok:
        style = "bold red"
    return Text(f"{verdicts}; {_state(report)}", style=style)


def _state(report: SelftestReport) -> str:
    if report.is_back:
        return "the switch runs what it ran before"
    return "the switch does NOT run what it ran before"


def selftest_json(report: SelftestReport) -> dict[str, Any]:
    """Return the document of ``selftest --json``, which is also the bundle: without names, addresses and secrets."""
    return {
        "ok": report.ok,
        "platform": dict(report.platform),
        "image": dict(report.image),
        "port": report.port,
        "counters": {name: dict(counter) for name, counter in _counters(report)},
        "uses": len(report.uses),
        "is_back": report.is_back,
        "ended_early": bool(report.error),
        "trials": [
            {
                "name": result.name,
                "verdict": result.verdict.value,
                "reasons": list(result.reasons),
                "method": result.method,
                "disruption": result.disruption,
                "place": result.place,
                "source": result.source,
                "apply_s": result.apply_s,
                "revert_s": result.revert_s,
            }
            for result in report.results
        ],
    }
