"""Rehearsals for a terminal, as JSON, and as markdown for a pull request."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.codec import as_json, members
from railweave.diagnostics import Diagnostic
from railweave.plan.outcome import DeployResult, Outcome, VerifyResult, outcome_text
from railweave.plan.rehearsal import CANNOT_SHOW, Rehearsal, RehearsedWave
from railweave.report.diagnostics import diagnostics_view
from railweave.report.layout import (
    LIMIT_CHARS,
    cell,
    clipped,
    markdown_list,
    markdown_table,
    paragraphs,
    table,
    verdict,
)
from railweave.wording import compact, counted, listed, percent_text

_COLUMNS = ("wave", "devices", "here", "on switches", "uplinks", "paths", "rails out", "rollout policy")
_MOST_LINES = 40
_ABOUT = (
    "here: seconds of this machine; on switches: simulated time, what the slowest would take by SONiC's usual waits; "
    "uplinks, paths, rails out: what the worst switch, two leaves and GPU node had at the worst moment"
)


def rehearsal_json(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return the document of ``railweave rehearse --json``, which is also stored beside a plan."""
    return {
        "line": rehearsal.line,
        "ok": rehearsal.ok,
        **members(
            rehearsal, "fabric", "target", "plan_digest", "at", "source", "switches", "elapsed_s", "changes", "faults",
            "refused", "before",
        ),
        "waves": [_wave_json(number, wave) for number, wave in enumerate(rehearsal.waves, start=1)],
        **_result_json(rehearsal.result),
        "notes": list(rehearsal.notes),
        "cannot_show": list(CANNOT_SHOW),
    }  # fmt: skip


def _wave_json(number: int, wave: RehearsedWave) -> dict[str, Any]:
    """Return a wave for the document, with its times and the capacity left in its worst moment."""
    return {
        "number": number,
        "devices": list(wave.devices),
        "elapsed_s": round(wave.elapsed_s, 3),
        "switch_s": round(wave.switch_s, 3),
        **as_json(wave.left),
        "violations": list(wave.violations),
    }


def _result_json(result: DeployResult | None) -> dict[str, Any]:
    """Return the members of the rollout's result; they are empty if there was no rollout."""
    if result is None:
        return {"result": None, "stopped_by": None, "devices": {}, "verification": None}
    devices = {}
    for name, device in result.devices.items():
        devices[name] = {"outcome": device.outcome.value, "error": device.error or None}
    return {
        "result": result.result.value,
        "stopped_by": result.stopped_by or None,
        "devices": devices,
        "verification": _verification_json(result.verification),
    }


def _verification_json(verification: VerifyResult | None) -> dict[str, Any] | None:
    """Return the number of passed checks and each failed check; None without a verification."""
    if verification is None:
        return None
    failed = verification.failed
    return {
        "passed": len(verification.checks) - len(failed),
        "failed": [members(check, "device", "kind", "subject", "expected", "actual") for check in failed],
    }


def rehearsal_view(rehearsal: Rehearsal) -> RenderableType:
    """Return the line of a rehearsal, then its waves, problems and notes, and what simulated switches cannot show."""
    refused: RenderableType | None = None
    if rehearsal.refused:
        refused = diagnostics_view(rehearsal.refused)
    waves: list[RenderableType] | None = None
    if rehearsal.waves:
        rows = [_row(number, wave) for number, wave in enumerate(rehearsal.waves, start=1)]
        waves = [table(*_COLUMNS, rows=rows), Text(_ABOUT, style="dim")]
    return paragraphs(
        verdict(rehearsal.ok, rehearsal.line),
        Text(f"state of the switches: {rehearsal.source}", style="dim"),
        refused,
        waves,
        [Text(problem) for problem in _problems(rehearsal)],
        [Text(f"note: {note}", style="yellow") for note in rehearsal.notes],
        Text(f"simulated switches do not show {listed(CANNOT_SHOW)}", style="dim"),
    )


def _row(number: int, wave: RehearsedWave) -> tuple[str, ...]:
    """Return the cells of a wave below ``_COLUMNS``."""
    left = wave.left
    paths = "-"
    if left.paths is not None:
        paths = str(left.paths)
    return (
        str(number),
        compact(wave.devices, most=3),
        f"{wave.elapsed_s:.1f} s",
        f"{wave.switch_s:.0f} s",
        percent_text(left.uplink_percent),
        paths,
        str(left.rails_out or "-"),
        "; ".join(wave.violations) or "kept",
    )


def _problems(rehearsal: Rehearsal) -> Iterator[str]:
    """Yield a sentence for each fault injected, error of a device and failed check."""
    for fault in rehearsal.faults:
        if fault.missed:
            yield f"no effect: {fault}: {fault.missed}"
        else:
            yield f"injected: {fault}"
    result = rehearsal.result
    if result is None:
        return
    yield from _device_problems(result)
    if result.verification is not None:
        yield from _verification_problems(result.verification)


def _device_problems(result: DeployResult) -> Iterator[str]:
    """Yield why the rollout stopped, each error with its devices, and the devices that were not started."""
    if result.stopped_by:
        yield f"stopped: {result.stopped_by}"
    # A cause common to a wave is one sentence, not one for each device.
    names_by_error: dict[tuple[Outcome, str], list[str]] = {}
    for name, device in result.devices.items():
        if device.error:
            names_by_error.setdefault((device.outcome, device.error), []).append(name)
    for (outcome, error), names in names_by_error.items():
        yield f"{compact(names)}: {outcome_text(outcome)}: {error}"
    not_started = result.names(Outcome.NOT_ATTEMPTED)
    if not_started:
        yield f"not started: {compact(not_started)}"


def _verification_problems(verification: VerifyResult) -> Iterator[str]:
    """Yield the numbers of passed and failed checks, then the first failed checks one by one."""
    failed = verification.failed
    passed = counted(len(verification.checks) - len(failed), "check")
    yield f"verification: {passed} passed, {len(failed)} failed"
    for check in failed[:_MOST_LINES]:
        yield f"{check.device}: {check.kind.value} {check.subject}: {check.actual}, expected {check.expected}"
    if len(failed) > _MOST_LINES:
        yield f"and {len(failed) - _MOST_LINES} more failed checks"


def rehearsal_markdown(rehearsal: Rehearsal) -> str:
    """Return the rehearsal as markdown that fits into a comment; its first line is `Rehearsal.line`."""
    lines = [f"### {cell(rehearsal.line)}\n", f"State of the switches: {cell(rehearsal.source)}\n"]
    lines += markdown_list([cell(_sentence(diagnostic)) for diagnostic in rehearsal.refused], _MOST_LINES)
    if rehearsal.waves:
        rows = [tuple(map(cell, _row(number, wave))) for number, wave in enumerate(rehearsal.waves, start=1)]
        lines.append(markdown_table(_COLUMNS, rows[:_MOST_LINES]))
        if len(rows) > _MOST_LINES:
            lines.append(f"and {counted(len(rows) - _MOST_LINES, 'wave')} more\n")
    problems_and_notes = [*_problems(rehearsal), *rehearsal.notes]
    lines += markdown_list([cell(sentence) for sentence in problems_and_notes], _MOST_LINES)
    lines.append(f"\nSimulated switches do not show {cell(listed(CANNOT_SHOW))}.")
    # A pipeline puts the comment's marker, by which it finds it again, in front.
    return clipped("\n".join(lines).rstrip() + "\n", LIMIT_CHARS - 100)


def stored_line(document: Mapping[str, Any], *, markdown: bool = False) -> str:
    """Return the line of a stored rehearsal, with its time."""
    # The file may be of another version, so no member is taken for granted.
    line = f"{document.get('line')} ({document.get('at')})"
    if markdown:
        return cell(line)
    return line


def _sentence(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.code}: {diagnostic.message}; fix: {diagnostic.fix}"
