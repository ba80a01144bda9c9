"""The end of a deployment for a person and as JSON."""

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.outcome import DeployResult, Outcome, Result
from railweave.report.listing import compact, counted
from railweave.report.verification import verify_json, verify_view

_STYLES = {Outcome.NEW: "green", Outcome.OLD: "yellow", Outcome.UNREACHABLE: "bold red", Outcome.NOT_ATTEMPTED: "dim"}


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
    }


def deploy_view(result: DeployResult) -> RenderableType:
    """Return how a deployment ended: the sentence, the devices by outcome, what went wrong, the verification."""
    parts: list[RenderableType] = [_headline(result), Text()]
    if result.result is not Result.UNCHANGED:
        parts += [_outcomes(result), Text()]
    if result.verification is not None:
        parts += [verify_view(result.verification), Text()]
    parts.append(Text(f"every step: {result.journal}", style="dim"))
    return Group(*parts)


def _headline(result: DeployResult) -> Text:
    if result.result is Result.STOPPED:
        return Text.assemble(("✗ stopped: ", "bold red"), result.stopped_by)
    if result.result is Result.UNCHANGED:
        return Text.assemble(("✓ ", "green"), "nothing to do: every device already is as intended; nothing was changed")
    return Text.assemble(("✓ ", "green"), f"done: {counted(len(result.names(Outcome.NEW)), 'device')} as intended")


def _outcomes(result: DeployResult) -> Table:
    """Return one line an outcome, and one line a device that something went wrong with."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in ("outcome", "devices", "error"):
        table.add_column(column, overflow="fold")
    for outcome in Outcome:
        names = result.names(outcome)
        calm = [name for name in names if not result.devices[name].error]
        if calm:
            table.add_row(Text(outcome.value, style=_STYLES[outcome]), f"{compact(calm)} ({len(calm)})", "")
        for name in names:
            if result.devices[name].error:
                table.add_row(Text(outcome.value, style=_STYLES[outcome]), name, Text(result.devices[name].error))
    return table
