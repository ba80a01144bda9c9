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


def rehearsal_json(found: Rehearsal) -> dict[str, Any]:
    """Return the document of ``railweave rehearse --json``, which is also what is stored beside a plan."""
    return {
        "line": found.line,
        "ok": found.ok,
        **members(
            found, "fabric", "target", "plan_digest", "at", "source", "switches", "elapsed_s", "changes", "faults",
            "refused", "before",
        ),
        "waves": [{"number": number, **_wave_json(one)} for number, one in enumerate(found.waves, start=1)],
        **_result_json(found.result),
        "notes": list(found.notes),
        "cannot_show": list(CANNOT_SHOW),
    }  # fmt: skip


def _wave_json(wave: RehearsedWave) -> dict[str, Any]:
    seconds = {name: round(getattr(wave, name), 3) for name in ("elapsed_s", "switch_s")}
    return {"devices": list(wave.devices), **seconds, **as_json(wave.left), "violations": list(wave.violations)}


def _result_json(result: DeployResult | None) -> dict[str, Any]:
    if result is None:
        return {"result": None, "stopped_by": None, "devices": {}, "verification": None}
    seen = result.verification
    checked = seen and {
        "passed": len(seen.checks) - len(seen.failed),
        "failed": [members(one, "device", "kind", "subject", "expected", "actual") for one in seen.failed],
    }
    return {
        "result": result.result.value,
        "stopped_by": result.stopped_by or None,
        "devices": {
            name: {"outcome": one.outcome.value, "error": one.error or None} for name, one in result.devices.items()
        },
        "verification": checked,
    }


def rehearsal_view(found: Rehearsal) -> RenderableType:
    """Return the line, the waves, what went wrong, and what simulated switches cannot show."""
    rows = [_row(number, one) for number, one in enumerate(found.waves, start=1)]
    return paragraphs(
        verdict(found.ok, found.line),
        Text(f"state of the switches: {found.source}", style="dim"),
        [diagnostics_view(found.refused)] if found.refused else None,
        [table(*_COLUMNS, rows=rows), Text(_ABOUT, style="dim")] if rows else None,
        [Text(one) for one in _wrong(found)],
        [Text(f"note: {one}", style="yellow") for one in found.notes],
        Text(f"simulated switches do not show {listed(CANNOT_SHOW)}", style="dim"),
    )


def _row(number: int, wave: RehearsedWave) -> tuple[str, ...]:
    broken = "; ".join(wave.violations) or "kept"
    shown = (f"{wave.elapsed_s:.1f} s", f"{wave.switch_s:.0f} s", *_left(wave.left))
    return (str(number), compact(wave.devices, most=3), *shown, broken)


def _left(left: CapacityLeft) -> tuple[str, str, str]:
    percent = f"{int(left.uplink_percent * 10) / 10:g} %"
    return percent, "-" if left.paths is None else str(left.paths), str(left.rails_out or "-")


def _wrong(found: Rehearsal) -> Iterator[str]:
    """Yield what a deployment would meet, a sentence each."""
    for fault in found.faults:
        yield f"no effect: {fault}: {fault.missed}" if fault.missed else f"injected: {fault}"
    if found.result is not None:
        yield from _of_devices(found.result)
        yield from _of_verification(found.result)


def _of_devices(result: DeployResult) -> Iterator[str]:
    if result.stopped_by:
        yield f"stopped: {result.stopped_by}"
    errors: dict[tuple[Outcome, str], list[str]] = {}
    for name, one in result.devices.items():
        if one.error:
            errors.setdefault((one.outcome, one.error), []).append(name)
    for (outcome, error), names in errors.items():
        yield f"{compact(names)}: {outcome_text(outcome)}: {error}"
    if left := result.names(Outcome.NOT_ATTEMPTED):
        yield f"not started: {compact(left)}"


def _of_verification(result: DeployResult) -> Iterator[str]:
    if (seen := result.verification) is None:
        return
    yield f"verification: {counted(len(seen.checks) - len(seen.failed), 'check')} passed, {len(seen.failed)} failed"
    for check in seen.failed[:_MOST_LINES]:
        yield f"{check.device}: {check.kind.value} {check.subject}: {check.actual}, expected {check.expected}"
    if len(seen.failed) > _MOST_LINES:
        yield f"and {len(seen.failed) - _MOST_LINES} more failed checks"


def rehearsal_markdown(found: Rehearsal) -> str:
    """Return the rehearsal as markdown that fits into a comment; its first line is `Rehearsal.line`."""
    lines = [f"### {cell(found.line)}\n", f"State of the switches: {cell(found.source)}\n"]
    lines += markdown_list([cell(_sentence(one)) for one in found.refused], _MOST_LINES)
    if found.waves:
        rows = [tuple(map(cell, _row(number, one))) for number, one in enumerate(found.waves, start=1)]
        lines += [markdown_table(_COLUMNS, rows[:_MOST_LINES])]
        if len(rows) > _MOST_LINES:
            lines.append(f"and {counted(len(rows) - _MOST_LINES, 'wave')} more\n")
    lines += markdown_list([*map(cell, (*_wrong(found), *found.notes))], _MOST_LINES)
    lines.append(f"\nSimulated switches do not show {cell(listed(CANNOT_SHOW))}.")
    return clipped("\n".join(lines).rstrip() + "\n", LIMIT_CHARS - 100)


def stored_line(document: Mapping[str, Any], *, markdown: bool = False) -> str:
    """Return the line of a stored rehearsal, with its time."""
    line = f"{document.get('line')} ({document.get('at')})"
    return cell(line) if markdown else line


def _sentence(one: Diagnostic) -> str:
    return f"{one.code}: {one.message}; fix: {one.fix}"
