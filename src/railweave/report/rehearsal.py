"""A rehearsal for a person, for a program, and as markdown for a pull request."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.diagnostics import Diagnostic
from railweave.jsonable import as_json, members
from railweave.plan.outcome import DeployResult, Outcome, outcome_text
from railweave.plan.rehearsal import CANNOT_SHOW, CapacityLeft, Rehearsal, RehearsedWave
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
from railweave.wording import compact, counted, listed

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
        "waves": [{"number": number, **_wave_json(wave)} for number, wave in enumerate(rehearsal.waves, start=1)],
        **_result_json(rehearsal.result),
        "notes": list(rehearsal.notes),
        "cannot_show": list(CANNOT_SHOW),
    }  # fmt: skip


def _wave_json(wave: RehearsedWave) -> dict[str, Any]:
    seconds = {name: round(getattr(wave, name), 3) for name in ("elapsed_s", "switch_s")}
    return {"devices": list(wave.devices), **seconds, **as_json(wave.left), "violations": list(wave.violations)}


def _result_json(result: DeployResult | None) -> dict[str, Any]:
    if result is None:
        return {"result": None, "stopped_by": None, "devices": {}, "verification": None}
    verification = None
    if (verified := result.verification) is not None:
        verification = {
            "passed": len(verified.checks) - len(verified.failed),
            "failed": [members(check, "device", "kind", "subject", "expected", "actual") for check in verified.failed],
        }
    return {
        "result": result.result.value,
        "stopped_by": result.stopped_by or None,
        "devices": {
            name: {"outcome": device.outcome.value, "error": device.error or None}
            for name, device in result.devices.items()
        },
        "verification": verification,
    }


def rehearsal_view(rehearsal: Rehearsal) -> RenderableType:
    """Return the line, the waves, the failures, and what simulated switches cannot show."""
    rows = [_row(number, wave) for number, wave in enumerate(rehearsal.waves, start=1)]
    return paragraphs(
        verdict(rehearsal.ok, rehearsal.line),
        Text(f"state of the switches: {rehearsal.source}", style="dim"),
        [diagnostics_view(rehearsal.refused)] if rehearsal.refused else None,
        [table(*_COLUMNS, rows=rows), Text(_ABOUT, style="dim")] if rows else None,
        [*map(Text, _failures(rehearsal))],
        [Text(f"note: {note}", style="yellow") for note in rehearsal.notes],
        Text(f"simulated switches do not show {listed(CANNOT_SHOW)}", style="dim"),
    )


def _row(number: int, wave: RehearsedWave) -> tuple[str, ...]:
    policy = "; ".join(wave.violations) or "kept"
    times = (f"{wave.elapsed_s:.1f} s", f"{wave.switch_s:.0f} s")
    return (str(number), compact(wave.devices, most=3), *times, *_left(wave.left), policy)


def _left(left: CapacityLeft) -> tuple[str, str, str]:
    # Rounded down: 99.96 % is not all of the uplinks.
    percent = f"{int(left.uplink_percent * 10) / 10:g} %"
    paths = "-" if left.paths is None else str(left.paths)
    return percent, paths, str(left.rails_out or "-")


def _failures(rehearsal: Rehearsal) -> Iterator[str]:
    """Yield the injected faults and what went wrong, a sentence each."""
    for fault in rehearsal.faults:
        if fault.missed:
            yield f"no effect: {fault}: {fault.missed}"
        else:
            yield f"injected: {fault}"
    if rehearsal.result is not None:
        yield from _of_devices(rehearsal.result)
        yield from _of_verification(rehearsal.result)


def _of_devices(result: DeployResult) -> Iterator[str]:
    if result.stopped_by:
        yield f"stopped: {result.stopped_by}"
    errors: dict[tuple[Outcome, str], list[str]] = {}
    for name, device in result.devices.items():
        if device.error:
            errors.setdefault((device.outcome, device.error), []).append(name)
    for (outcome, error), names in errors.items():
        yield f"{compact(names)}: {outcome_text(outcome)}: {error}"
    if left := result.names(Outcome.NOT_ATTEMPTED):
        yield f"not started: {compact(left)}"


def _of_verification(result: DeployResult) -> Iterator[str]:
    verification = result.verification
    if verification is None:
        return
    failed = verification.failed
    yield f"verification: {counted(len(verification.checks) - len(failed), 'check')} passed, {len(failed)} failed"
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
        lines += [markdown_table(_COLUMNS, rows[:_MOST_LINES])]
        if len(rows) > _MOST_LINES:
            lines.append(f"and {counted(len(rows) - _MOST_LINES, 'wave')} more\n")
    lines += markdown_list([*map(cell, (*_failures(rehearsal), *rehearsal.notes))], _MOST_LINES)
    lines.append(f"\nSimulated switches do not show {cell(listed(CANNOT_SHOW))}.")
    return clipped("\n".join(lines).rstrip() + "\n", LIMIT_CHARS - 100)


def stored_line(document: Mapping[str, Any], *, markdown: bool = False) -> str:
    """Return the line of a stored rehearsal, with its time."""
    line = f"{document.get('line')} ({document.get('at')})"
    if markdown:
        return cell(line)
    return line


def _sentence(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.code}: {diagnostic.message}; fix: {diagnostic.fix}"
