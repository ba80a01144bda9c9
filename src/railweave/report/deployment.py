"""The end of a deployment for a person and as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.plan.outcome import OUTCOME_TEXT, DeployResult, Outcome, Progress, Result
from railweave.report.layout import paragraphs, table, verdict
from railweave.report.tables import FittingTable
from railweave.report.verification import verify_json, verify_view
from railweave.wording import command_line, compact, counted

_STYLES = {
    Outcome.NEW: "green",
    Outcome.OLD: "yellow",
    Outcome.UNREACHABLE: "bold red",
    Outcome.NOT_ATTEMPTED: "dim",
    Outcome.BROKEN: "bold red",
}


def deploy_json(result: DeployResult) -> dict[str, Any]:
    """Return the contract of ``deploy --json``, with the reason of a stop, the verification and the journal's path."""
    return {
        "result": result.result.value,
        "devices": {
            name: {"outcome": device.outcome.value, "error": device.error or None}
            for name, device in result.devices.items()
        },
        "stopped_by": result.stopped_by or None,
        "verification": None if result.verification is None else verify_json(result.verification),
        "journal": result.journal,
        "rollout": result.rollout,
        "of": result.of or None,
        "waves": {"done": result.progress.waves_done, "of": len(result.progress.waves)},
        "undone": list(result.progress.undone),
        "failed": list(result.progress.failed),
        "drained": list(result.progress.drained),
        "next": next_steps(result),
    }


def next_steps(result: DeployResult) -> list[str]:
    """Return in sentences what a person does next; none where all is as intended."""
    intent, target = result.intent, result.target
    steps = [
        f"`{command_line('undrain', name, intent=intent, target=target)}`: "
        "the rollout drained it and could not undrain it"
        for name in result.progress.drained
    ]
    if result.ok:
        return steps
    new = set(result.names(Outcome.NEW))
    changed = any(name in new for wave in result.progress.waves for name in wave)
    if result.result is Result.STOPPED and result.rollout:
        resume = command_line("deploy", "--resume", target=target)  # the journals know the intent
        steps.append(f"`{resume}` resumes where it stopped once the cause is fixed")
    if result.rollout and changed and not result.of:
        steps.append(f"`{command_line('rollback', result.rollout, target=target)}` rolls back what was done")
    if not result.of:
        steps.append(f"`{command_line('plan', intent=intent, target=target)}` shows the remaining changes")
    return steps


def deploy_view(result: DeployResult) -> RenderableType:
    """Return how a deployment ended: the sentence, the devices by outcome, what went wrong, the verification."""
    return paragraphs(
        _headline(result),
        None if result.result is Result.UNCHANGED else _outcomes(result),
        _waves(result) if result.progress.waves and not result.ok else None,
        None if result.verification is None else verify_view(result.verification),
        [Text(f"{'      ' if number else 'next: '}{step}") for number, step in enumerate(next_steps(result))],
        Text(f"journal: {result.journal}", style="dim"),
    )


def _headline(result: DeployResult) -> Text:
    if result.result is Result.STOPPED:
        return Text.assemble(("✗ stopped", "bold red"), f"{_how_far(result.progress)}: ", result.stopped_by)
    standing = f"as before rollout {result.of}" if result.of else "as intended"
    if result.result is Result.UNCHANGED:
        return verdict(True, f"no changes: {_unchanged(result, standing)}")
    done = f"done: {counted(len(result.names(Outcome.NEW)), 'device')} {standing}"
    if result.progress.saved:
        done += f"; saved the running configuration of {compact(result.progress.saved)}"
    if result.progress.failed:
        return verdict(False, f"{done}, {len(result.progress.failed)} failed")
    return verdict(True, done)


def _unchanged(result: DeployResult, standing: str) -> str:
    """Return how the devices are, without a word on those that were not read."""
    read = len(result.names(Outcome.NEW))
    unread = len(result.devices) - read
    if not unread:
        return f"every device is {standing}"
    what = f"{counted(read, 'device')} {standing}" if read else "nothing is known of what runs"
    return f"{what}, {unread} not read"


def _how_far(progress: Progress) -> str:
    return f" after {progress.waves_done} of {counted(len(progress.waves), 'wave')}" if progress.waves else ""


def _waves(result: DeployResult) -> FittingTable:
    progress, rows = result.progress, []
    done, count = progress.waves_done, len(progress.waves)
    for first, last in ((0, done), (done, done + 1), (done + 1, count)):
        names = [name for wave in progress.waves[first:last] for name in wave]
        if names:
            label = f"{first + 1}…{min(last, count)}" if min(last, count) - first > 1 else str(first + 1)
            rows.append((label, f"{compact(names)} ({len(names)})", _counts(result, names)))
    return table("wave", "devices", "result", rows=rows)


def _counts(result: DeployResult, names: Sequence[str]) -> str:
    """Return how many of ``names`` ended how, those that were rolled back with their wave apart."""
    undone = set(result.progress.undone)
    words = Counter("rolled back with its wave" if name in undone else _end(result, name) for name in names)
    return ", ".join(f"{count} {word}" for word, count in words.items())


def _end(result: DeployResult, name: str) -> str:
    device = result.devices.get(name)
    return OUTCOME_TEXT[device.outcome if device is not None else Outcome.NOT_ATTEMPTED]


def _outcomes(result: DeployResult) -> FittingTable:
    """Return one line for each outcome and error; devices that share both are in one."""
    rows = []
    for outcome in Outcome:
        by_error: dict[str, list[str]] = {}
        for name in result.names(outcome):
            by_error.setdefault(result.devices[name].error, []).append(name)
        for error, names in sorted(by_error.items(), key=lambda item: bool(item[0])):
            shown = names[0] if error and len(names) == 1 else f"{compact(names)} ({len(names)})"
            rows.append((Text(OUTCOME_TEXT[outcome], style=_STYLES[outcome]), shown, error))
    return table("outcome", "devices", "error", rows=rows)
