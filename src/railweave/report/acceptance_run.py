"""The end of an acceptance run, for a terminal and as a document."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from railweave.acceptance.running.request import RunSummary
from railweave.wording import command_line, counted, first_few


def run_summary_json(summary: RunSummary) -> dict[str, Any]:
    """Return the document of ``acceptance run --json``."""
    return {
        "fabric": summary.fabric,
        "rounds": summary.rounds,
        "tests": {"planned": summary.tests, "ran": summary.tests - len(summary.not_run)},
        "not_run": [{"test": test, "reason": why} for test, why in summary.not_run.items()],
        "problems": [{"device": device, "reason": why} for device, why in summary.problems.items()],
        "repeated": [{"round": name, "reason": why} for name, why in summary.repeated.items()],
        "interrupted": summary.interrupted,
    }


def run_summary_view(summary: RunSummary, folder: Path) -> str:
    """Return how many tests ran, why the others did not, and what to do next."""
    ran = summary.tests - len(summary.not_run)
    lines = [f"{summary.fabric}: {ran:,} of {counted(summary.tests, 'test')} ran in {counted(summary.rounds, 'round')}"]
    for why, tests in _by_reason(summary.not_run).items():
        lines.append(f"  not run: {first_few(tests, 3)}: {why}")
    lines += [f"  {device}: {why}" for device, why in summary.problems.items()]
    lines += [f"  repeated {name}: {why}" for name, why in summary.repeated.items()]
    if summary.interrupted:
        lines.append(f"interrupted: `{command_line('acceptance', 'run', folder, '--resume')}` continues")
    else:
        lines.append(f"next: `{command_line('acceptance', 'judge', folder)}`")
    return "\n".join(lines)


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return names
