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
        "not_run": [{"test": test, "reason": reason} for test, reason in summary.not_run.items()],
        "problems": [{"device": device, "reason": reason} for device, reason in summary.problems.items()],
        "repeated": [{"round": name, "reason": reason} for name, reason in summary.repeated.items()],
        "interrupted": summary.interrupted,
    }


def run_summary_view(summary: RunSummary, folder: Path) -> str:
    """Return how many tests ran, why the others did not, and what to do next."""
    tests_run = summary.tests - len(summary.not_run)
    tests = counted(summary.tests, "test")
    lines = [f"{summary.fabric}: {tests_run:,} of {tests} ran in {counted(summary.rounds, 'round')}"]
    for reason, names in _by_reason(summary.not_run).items():
        lines.append(f"  not run: {first_few(names, 3)}: {reason}")
    lines += [f"  {device}: {reason}" for device, reason in summary.problems.items()]
    lines += [f"  repeated {name}: {reason}" for name, reason in summary.repeated.items()]
    if summary.interrupted:
        lines.append(f"interrupted: `{command_line('acceptance', 'run', folder, '--resume')}` continues")
    else:
        lines.append(f"next: `{command_line('acceptance', 'judge', folder)}`")
    return "\n".join(lines)


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return names
