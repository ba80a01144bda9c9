"""Manual drains and undrains for a terminal and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import as_json, members
from railweave.plan.manual_drain import WHOLE, DrainResult, DrainTarget
from railweave.plan.outcome import VerifyResult
from railweave.report.reasons import reason_lines
from railweave.wording import command_line, counted, first_few

_MOST_FAILED = 10


def intention_view(
    targets: Sequence[DrainTarget], drained: Mapping[str, tuple[str, ...]], uplinks_left_percent: float
) -> RenderableType:
    """Return the links that a drain takes out of use, and the share of uplinks that remains for the traffic.

    ``drained`` maps a switch to the peers that it is drained towards already, or to ``WHOLE``.
    """
    lines = []
    for target in targets:
        links = counted(len(target.links), "link")
        scope = f"{links} ({first_few(target.ports)})"
        if target.whole:
            scope = f"the whole switch, {links},"
        line = f"{target.device}: {scope} will be de-preferred by all neighbors (graceful shutdown)"
        drained_peers = drained.get(target.device, ())
        if drained_peers == WHOLE:
            line += "; drained already"
        elif drained_peers:
            line += f"; drained already: {first_few(drained_peers)}"
        lines.append(Text(line))
    lines.append(Text(f"sessions and routes stay; the worst switch keeps {uplinks_left_percent:g}% of its uplinks"))
    return Group(*lines)


def drain_view(results: Sequence[DrainResult], requested: int, *, intent: str, target: str) -> RenderableType:
    """Return a line with the result of each switch and the command that undoes it.

    A last line counts those of the ``requested`` switches that were not started.
    """
    lines = []
    for result in results:
        undrain = command_line("undrain", result.device, intent=intent, target=target)
        lines.append(_drain_line(result, undrain))
    if len(results) < requested:
        lines.append((f"{counted(requested - len(results), 'switch')} not started", "yellow"))
    return Group(*(Text(line, style=style) for line, style in lines))


def _drain_line(result: DrainResult, undrain: str) -> tuple[str, str]:
    """Return the line of a switch and its style."""
    if result.error:
        return f"{result.device}: not drained: {result.error}", "bold red"
    undo = f"undo: {undrain}"
    links = ""
    safe = "safe to work on"
    if result.after != WHOLE:
        links = f" over its peers {first_few(result.after)}"
        safe += " there"
    if result.flows:
        return f"{result.device} is drained{links}, but {result.flows}; not safe to work on yet; {undo}", "yellow"
    # Neighbors prefer other paths as soon as they can; only the counters show that traffic has gone.
    if result.waited:
        return f"{result.device} has no traffic{links}; {safe}; {undo}", "green"
    return f"{result.device} is drained{links}; its counters were not read; {undo}", "yellow"


def drained_view(states: Sequence[DrainResult]) -> RenderableType:
    """Return the drained switches of a fabric, and those that could not be read."""
    lines = []
    for state in states:
        if state.after == WHOLE:
            lines.append(Text(f"{state.device}: drained"))
        elif state.after:
            lines.append(Text(f"{state.device}: drained towards {first_few(state.after)}"))
    unread = {state.device: state.error for state in states if state.error}
    lines += [Text(line, style="bold red") for line in reason_lines(unread)]
    if not lines:
        return Text(f"nothing is drained on {len(states)} switches")
    return Group(*lines)


def drained_json(states: Sequence[DrainResult]) -> dict[str, Any]:
    """Return the document of ``drain --json`` without a switch: those that are drained or could not be read."""
    return {
        "devices": {
            state.device: {"drained": state.after, "error": state.error}
            for state in states
            if state.after or state.error
        }
    }


def undrain_view(results: Sequence[DrainResult], verification: VerifyResult | None) -> RenderableType:
    """Return the result of each switch, and whether its links and sessions passed the verification."""
    lines = [_undrain_line(result) for result in results]
    if verification is None:
        return Group(*lines)
    failed = verification.failed
    if failed:
        lines.append(Text(f"{len(failed)} checks failed (`{command_line('verify')}` lists them)", style="bold red"))
    else:
        count = len(verification.checks)
        lines.append(Text(f"{count} checks of links, sessions and prefixes passed", style="green"))
    lines += [
        Text(f"  {check.device} {check.kind.value} {check.subject}: {check.actual}, not {check.expected}")
        for check in failed[:_MOST_FAILED]
    ]
    return Group(*lines)


def _undrain_line(result: DrainResult) -> Text:
    if result.error:
        return Text(f"{result.device}: not undrained: {result.error}", style="bold red")
    if result.changed:
        return Text(f"{result.device}: traffic is back")
    return Text(f"{result.device}: was not drained")


def _result_json(result: DrainResult) -> dict[str, Any]:
    quiet = None
    if result.waited:
        quiet = not result.flows
    return {**members(result, "before", "after", "changed", "flows", "error"), "quiet": quiet}


def draining_json(results: Sequence[DrainResult], verification: VerifyResult | None = None) -> dict[str, Any]:
    """Return the document of ``drain --json`` and ``undrain --json``; ``quiet`` is null if no counters were read."""
    devices = {result.device: _result_json(result) for result in results}
    drained = all(result.ok for result in results)
    if verification is None:
        return {"ok": drained, "devices": devices}
    return {
        "ok": drained and verification.ok,
        "devices": devices,
        "checks": len(verification.checks),
        "failed": as_json(verification.failed),
    }
