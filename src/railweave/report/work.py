"""Steps of work on a device, with their progress and the details that people on site need."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import as_json
from railweave.plan.lifecycle import WorkProgress, WorkStep
from railweave.report.layout import cell, code, verdict

_GLYPHS = {WorkProgress.DONE: ("✓", "green"), WorkProgress.NEXT: ("→", "bold yellow"), WorkProgress.LATER: ("·", "dim")}
_MOST_SHOWN = 6


def work_json(title: str, steps: Sequence[WorkStep]) -> dict[str, Any]:
    """Return the steps as JSON; ``next`` is the number of the step to do now, None if all are done."""
    upcoming = (number for number, step in enumerate(steps, start=1) if step.progress is WorkProgress.NEXT)
    return {
        "work": title,
        "next": next(upcoming, None),
        "steps": [{**as_json(step), "command": step.command or None} for step in steps],
    }


def work_view(title: str, steps: Sequence[WorkStep]) -> RenderableType:
    """Return the steps with their progress; the details of steps other than the next are cut short."""
    parts: list[RenderableType] = [Text(title, style="bold"), Text()]
    for number, step in enumerate(steps, start=1):
        glyph, style = _GLYPHS[step.progress]
        parts.append(Text.assemble((f"{glyph} ", style), f"{number}. {step.title}"))
        # Only the step to do now has to be read in full.
        command_style = "dim"
        line_style = "dim"
        most = _MOST_SHOWN
        if step.progress is WorkProgress.NEXT:
            command_style = "cyan"
            line_style = ""
            most = len(step.details)
        if step.command:
            parts.append(Text(f"     {step.command}", style=command_style))
        parts += [Text(f"     {line}", style=line_style) for line in step.details[:most]]
        if len(step.details) > most:
            parts.append(Text(f"     and {len(step.details) - most} more", style="dim"))
    if all(step.progress is WorkProgress.DONE for step in steps):
        parts += [Text(), verdict(True, "all done")]
    return Group(*parts)


def work_markdown(title: str, steps: Sequence[WorkStep]) -> str:
    """Return the steps as a work order to print, with a box to tick for each step and detail."""
    lines = [f"### {cell(title)}", ""]
    for number, step in enumerate(steps, start=1):
        mark = "x" if step.progress is WorkProgress.DONE else " "
        command = f": {code(step.command)}" if step.command else ""
        lines.append(f"- [{mark}] {number}. {cell(step.title)}{command}")
        lines += [f"  - [{mark}] {cell(line)}" for line in step.details]
    return "\n".join(lines) + "\n"
