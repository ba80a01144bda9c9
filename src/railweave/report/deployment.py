"""The result of a deployment for a terminal and as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from railweave.plan.outcome import OUTCOME_TEXT, DeployResult, Outcome, Progress, Result, VerifyResult
from railweave.report.layout import paragraphs, table, verdict
from railweave.report.reasons import by_reason
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

_ROLLBACK_TEXT = {Outcome.NEW: "rolled back", Outcome.OLD: "not rolled back", Outcome.BROKEN: "not rolled back, broken"}
"""What outcomes of a rollback are called."""
_BEHIND = "left behind"


def deploy_json(result: DeployResult) -> dict[str, Any]:
    """Return the document of ``deploy --json``, with the reason of a stop, the verification and the journal's path."""
    document = {
        "result": result.result.value,
        "devices": {
            name: {"outcome": device.outcome.value, "error": device.error or None}
            for name, device in result.devices.items()
        },
        "stopped_by": result.stopped_by or None,
        "verification": _verification_json(result.verification),
        "journal": result.journal,
        "rollout": result.rollout,
        "of": result.of or None,
        "waves": {"done": result.progress.waves_done, "of": len(result.progress.waves)},
        "undone": list(result.progress.undone),
        "failed": list(result.progress.failed),
        "drained": list(result.progress.drained),
        "next": next_steps(result),
    }
    if result.limit:
        document["limit"] = list(result.limit)
        document["behind"] = list(result.behind)
    return document


def _verification_json(verification: VerifyResult | None) -> dict[str, Any] | None:
    # A rollout that stopped earlier was not verified.
    if verification is None:
        return None
    return verify_json(verification)


def next_steps(result: DeployResult) -> list[str]:
    """Return the next steps for the operator, a sentence each; none if all is as intended."""
    intent = result.intent
    target = result.target
    steps = [
        f"`{command_line('undrain', name, intent=intent, target=target)}`: "
        "the rollout drained it and could not undrain it"
        for name in result.progress.drained
    ]
    plan_command = command_line("plan", intent=intent, target=target)
    if result.ok:
        if result.behind:
            steps.append(f"`{plan_command}` shows the changes that the limit left out")
        return steps
    if result.result is Result.STOPPED and result.rollout:
        # Without the intent: the journal names it.
        resume = command_line("deploy", "--resume", target=target)
        steps.append(f"`{resume}` resumes where it stopped once the cause is fixed")
    # A rollback is not rolled back, and has no plan of its own.
    if result.of:
        return steps
    if result.rollout and _has_changes(result):
        steps.append(f"`{command_line('rollback', result.rollout, target=target)}` rolls back what was done")
    steps.append(f"`{plan_command}` shows the remaining changes")
    return steps


def _has_changes(result: DeployResult) -> bool:
    """Tell whether a wave has devices that are still changed, which the rollout has not rolled back itself."""
    committed = set(result.names(Outcome.NEW))
    return any(committed.intersection(wave) for wave in result.progress.waves)


def deploy_view(result: DeployResult) -> RenderableType:
    """Return the result of a deployment: a sentence, devices by outcome and wave, the verification, the next steps."""
    parts: list[RenderableType | Sequence[RenderableType]] = [_headline(result)]
    if result.result is not Result.UNCHANGED:
        parts.append(_outcomes(result))
    if result.progress.waves and not result.ok:
        parts.append(_waves(result))
    if result.verification is not None:
        parts.append(verify_view(result.verification))
    steps = next_steps(result)
    # "next: " before the first, the others below it.
    parts.append([Text(f"next: {step}") for step in steps[:1]] + [Text(f"      {step}") for step in steps[1:]])
    parts.append(Text(f"journal: {result.journal}", style="dim"))
    return paragraphs(*parts)


def _headline(result: DeployResult) -> Text:
    """Return the result in a line: how far a stopped deployment came, or the numbers of devices by outcome."""
    if result.result is Result.STOPPED:
        return Text.assemble(("✗ stopped", "bold red"), f"{_how_far(result.progress)}: ", result.stopped_by)
    state = "as intended"
    if result.of:
        state = f"as before rollout {result.of}"
    if result.result is Result.UNCHANGED:
        return verdict(True, f"no changes: {_unchanged(result, state)}")
    changed = _changed(result)
    # The rollout's own work is named first.
    names = sorted(result.devices, key=lambda name: name not in changed)
    sentence = f"done: {_counts(result, names)}"
    if result.progress.saved:
        sentence += f"; saved the running configuration of {compact(result.progress.saved)}"
    return verdict(not result.progress.failed, sentence)


def _unchanged(result: DeployResult, state: str) -> str:
    """Return how many devices are in ``state``, left behind by the limit, and not read."""
    read_count = len(result.names(Outcome.NEW))
    unread_count = len(result.devices) - read_count - len(result.behind)
    if not read_count and unread_count:
        return f"nothing is known of what runs, {unread_count} not read"
    if not unread_count and not result.behind:
        return f"every device is {state}"
    sentence = f"{counted(read_count, 'device')} {state}"
    if result.behind:
        sentence += f", {len(result.behind)} outside of the limit {_BEHIND}"
    if unread_count:
        sentence += f", {unread_count} not read"
    return sentence


def _how_far(progress: Progress) -> str:
    if not progress.waves:
        return ""
    return f" after {progress.waves_done} of {counted(len(progress.waves), 'wave')}"


def _waves(result: DeployResult) -> FittingTable:
    """Return a table: a row for the waves that are done, one for the wave that stopped, one for those not started."""
    waves = result.progress.waves
    done_end = result.progress.waves_done
    # A rollout stops in the first wave that is not done; those behind it were not started.
    stopped_end = done_end + 1
    rows = []
    for start, end in ((0, done_end), (done_end, stopped_end), (stopped_end, len(waves))):
        names = [name for wave in waves[start:end] for name in wave]
        if not names:
            continue
        # Waves are numbered from 1, so that the end of a slice is the number of its last wave.
        label = str(start + 1)
        if len(waves[start:end]) > 1:
            label += f"…{end}"
        rows.append((label, f"{compact(names)} ({len(names)})", _counts(result, names)))
    return table("wave", "devices", "result", rows=rows)


def _counts(result: DeployResult, names: Sequence[str]) -> str:
    """Return the numbers of ``names`` by outcome; devices rolled back with their wave are counted apart."""
    undone = set(result.progress.undone)
    changed = _changed(result)
    counts: Counter[str] = Counter()
    for name in names:
        if name in undone:
            counts["rolled back with its wave"] += 1
        elif name in result.devices:
            counts[_outcome_label(result, name, is_changed=name in changed)] += 1
        else:
            counts[OUTCOME_TEXT[Outcome.NOT_ATTEMPTED]] += 1
    return ", ".join(f"{count} {label}" for label, count in counts.items())


def _changed(result: DeployResult) -> frozenset[str]:
    """Return the devices that the plan changes; all others had their configuration before the rollout."""
    return frozenset(name for wave in result.progress.waves for name in wave)


def _outcome_label(result: DeployResult, name: str, *, is_changed: bool) -> str:
    """Return the outcome of a device in words. ``is_changed`` says whether the plan changes the device."""
    if name in result.behind:
        return _BEHIND
    outcome = result.devices[name].outcome
    # A device that the plan does not change was not committed by this rollout.
    if outcome is Outcome.NEW and not is_changed:
        return "already as before" if result.of else "already as intended"
    if result.of:
        return _ROLLBACK_TEXT.get(outcome, OUTCOME_TEXT[outcome])
    return OUTCOME_TEXT[outcome]


def _outcomes(result: DeployResult) -> FittingTable:
    """Return a table with a row for each outcome and error, which names all devices that share both."""
    changed = _changed(result)
    rows = []
    for outcome in Outcome:
        groups = _outcome_groups(result, outcome, changed)
        # Devices without an error first, those that were changed before the others.
        groups.sort(key=lambda group: (bool(group.error), group.devices[0] not in changed))
        for group in groups:
            devices = f"{compact(group.devices)} ({len(group.devices)})"
            if group.error and len(group.devices) == 1:
                devices = group.devices[0]
            rows.append((Text(group.label, style=_STYLES[outcome]), devices, group.error))
    return table("outcome", "devices", "error", rows=rows)


class _OutcomeGroup(NamedTuple):
    """Devices of one outcome that are one row."""

    # The outcome in words.
    label: str
    error: str
    devices: list[str]


def _outcome_groups(result: DeployResult, outcome: Outcome, changed: frozenset[str]) -> list[_OutcomeGroup]:
    """Return the devices of an outcome in groups with the same label and error.

    Errors with a common cause, such as a refused login, count as the same.
    """
    errors = {name: result.devices[name].error for name in result.names(outcome)}
    groups = []
    for error, names in by_reason(errors).items():
        devices_by_label: dict[str, list[str]] = {}
        for name in names:
            label = _outcome_label(result, name, is_changed=name in changed)
            devices_by_label.setdefault(label, []).append(name)
        groups += [_OutcomeGroup(label, error, devices) for label, devices in devices_by_label.items()]
    return groups
