"""The plan of an acceptance in short, for a terminal and as a document."""

from typing import Any

from railweave.acceptance.summary import PlanSummary, RoundsOfKind
from railweave.codec import as_json
from railweave.wording import command_line, counted

_MINUTE_S = 60
_HOUR_MIN = 60


def plan_summary_json(summary: PlanSummary) -> dict[str, Any]:
    """Return the document of ``acceptance plan --json``."""
    document: dict[str, Any] = as_json(summary)
    return document


def plan_summary_view(summary: PlanSummary) -> str:
    """Return how many rounds there are, how long they take, what they load, and the next command."""
    lines = [
        f"{summary.fabric}: acceptance {summary.level} of {counted(summary.nodes, 'node')},"
        f" about {_duration(summary.duration_s)}"
    ]
    lines += map(_kind_line, summary.kinds)
    loaded = summary.links - summary.below_confidence
    lines.append(
        f"  {loaded:,} of {counted(summary.links, 'link')} are loaded with a probability above {summary.confidence:g}"
    )
    lines.append(f"next: `{command_line('acceptance', 'run', summary.directory, '--target', 'TARGET')}`")
    return "\n".join(lines)


def _kind_line(kind: RoundsOfKind) -> str:
    rounds = _padded(counted(kind.rounds, "round"), "s", 11)
    tests = _padded(counted(kind.tests, "test"), "s", 13)
    return f"  {kind.kind.value:<10}  {rounds}  {tests}  {_duration(kind.seconds):>8}"


def _padded(count: str, plural: str, width: int) -> str:
    """Return a count right-aligned; a singular gets spaces for the ending of the plural, to keep numbers in line."""
    if not count.endswith(plural):
        count += " " * len(plural)
    return count.rjust(width)


def _duration(seconds: int) -> str:
    """Return seconds as ``18 min`` or ``24 h 30 min``; below a minute as ``40 s``."""
    if seconds < _MINUTE_S:
        return f"{seconds} s"
    minutes = round(seconds / _MINUTE_S)
    hours, odd_minutes = divmod(minutes, _HOUR_MIN)
    if not hours:
        return f"{minutes} min"
    if not odd_minutes:
        return f"{hours} h"
    return f"{hours} h {odd_minutes} min"
