"""Steps of work on a device: what is done, what is next, with the details that a technician needs."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.jsonable import as_json
from railweave.plan.lifecycle import WorkProgress, WorkStep
from railweave.report.layout import cell, code, verdict

_GLYPHS = {WorkProgress.DONE: ("✓", "green"), WorkProgress.NEXT: ("→", "bold yellow"), WorkProgress.LATER: ("·", "dim")}
_MOST_SHOWN = 6


def work_json(title: str, steps: Sequence[WorkStep]) -> dict[str, Any]:
    """Return the steps for programs; ``next`` is the number of the one to do now, None where all is done."""
    upcoming = [number for number, step in enumerate(steps, start=1) if step.progress is WorkProgress.NEXT]
    return {
        "work": title,
        "next": upcoming[0] if upcoming else None,
        "steps": [{**as_json(step), "command": step.command or None} for step in steps],
    }


def work_view(title: str, steps: Sequence[WorkStep]) -> RenderableType:
    """Return the steps with their state; only the next step has all of its details."""
    parts: list[RenderableType] = [Text(title, style="bold"), Text()]
    for number, step in enumerate(steps, start=1):
        glyph, style = _GLYPHS[step.progress]
        parts.append(Text.assemble((f"{glyph} ", style), f"{number}. {step.title}"))
        details = step.details
        command_style = "cyan"
        detail_style = ""
        if step.progress is not WorkProgress.NEXT:
            details = details[:_MOST_SHOWN]
            command_style = detail_style = "dim"
        if step.command:
            parts.append(Text(f"     {step.command}", style=command_style))
        parts += [Text(f"     {line}", style=detail_style) for line in details]
        if hidden := len(step.details) - len(details):
            parts.append(Text(f"     and {hidden} more", style="dim"))
    if all(step.progress is WorkProgress.DONE for step in steps):
        parts += [Text(), verdict(True, "all done")]
    return Group(*parts)


def work_markdown(title: str, steps: Sequence[WorkStep]) -> str:
    """Return the steps as a work order to print: a box to tick for each step and each line of it."""
    lines = [f"### {cell(title)}", ""]
    for number, step in enumerate(steps, start=1):
        mark = "x" if step.progress is WorkProgress.DONE else " "
        line = f"- [{mark}] {number}. {cell(step.title)}"
        if step.command:
            line += f": {code(step.command)}"
        lines.append(line)
        lines += [f"  - [{mark}] {cell(line)}" for line in step.details]
    return "\n".join(lines) + "\n"
