"""Drains by hand for a person and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.jsonable import as_json, members
from railweave.plan.manual_drain import WHOLE, DrainResult, DrainTarget
from railweave.plan.outcome import VerifyResult
from railweave.wording import command_line, counted, first_few

_MOST_FAILED = 10


def intention_view(
    targets: Sequence[DrainTarget], drained: Mapping[str, tuple[str, ...]], uplinks_left_percent: float
) -> RenderableType:
    """Return what a drain would take off which links, and what is left for the traffic."""
    lines = []
    for target in targets:
        links = counted(len(target.links), "link")
        what = f"the whole switch, {links}," if target.whole else f"{links} ({first_few(target.ports)})"
        had = drained.get(target.device, ())
        note = "" if not had else "; drained already" if had == WHOLE else f"; drained already: {first_few(had)}"
        lines.append(Text(f"{target.device}: {what} will be de-preferred by all neighbors (graceful shutdown){note}"))
    lines.append(Text(f"sessions and routes stay; the worst switch keeps {uplinks_left_percent:g}% of its uplinks"))
    return Group(*lines)


def drain_view(results: Sequence[DrainResult], asked: int, *, intent: str, target: str) -> RenderableType:
    """Return the result of each switch, and the command that undoes it."""
    lines = [_drain_line(one, command_line("undrain", one.device, intent=intent, target=target)) for one in results]
    if len(results) < asked:
        lines.append((f"{counted(asked - len(results), 'switch')} not started", "yellow"))
    return Group(*(Text(line, style=style) for line, style in lines))


def _drain_line(one: DrainResult, undrain: str) -> tuple[str, str]:
    if one.error:
        return f"{one.device}: not drained: {one.error}", "bold red"
    links = "" if one.after == WHOLE else f" over its peers {first_few(one.after)}"
    undo = f"undo: {undrain}"
    if one.flows:
        return f"{one.device} is drained{links}, but {one.flows}; not safe to work on yet; {undo}", "yellow"
    if one.waited:
        return f"{one.device} has no traffic{links}; safe to work on{' there' if links else ''}; {undo}", "green"
    return f"{one.device} is drained{links}; its counters were not read; {undo}", "yellow"


def drained_view(found: Sequence[DrainResult]) -> RenderableType:
    """Return what is drained of a fabric, and which switches do not say."""
    lines = [
        Text(f"{one.device}: {'drained' if one.after == WHOLE else f'drained towards {first_few(one.after)}'}")
        for one in found
        if one.after
    ]
    lines += [Text(f"{one.device}: {one.error}", style="bold red") for one in found if one.error]
    return Group(*lines) if lines else Text(f"nothing is drained on {len(found)} switches")


def drained_json(found: Sequence[DrainResult]) -> dict[str, Any]:
    """Return the contract of ``drain --json`` without a switch: those that are drained or do not say."""
    return {
        "devices": {one.device: {"drained": one.after, "error": one.error} for one in found if one.after or one.error}
    }


def undrain_view(results: Sequence[DrainResult], verification: VerifyResult | None) -> RenderableType:
    """Return the result of each switch, and whether its sessions hold."""
    parts = [
        Text(f"{one.device}: not undrained: {one.error}", style="bold red")
        if one.error
        else Text(f"{one.device}: {'traffic is back' if one.changed else 'was not drained'}")
        for one in results
    ]
    if verification is not None:
        failed = verification.failed
        good = f"{len(verification.checks)} checks of links, sessions and prefixes passed"
        bad = f"{len(failed)} checks failed (`{command_line('verify')}` lists them)"
        parts.append(Text(bad, style="bold red") if failed else Text(good, style="green"))
        parts += [
            Text(f"  {one.device} {one.kind.value} {one.subject}: {one.actual}, not {one.expected}")
            for one in failed[:_MOST_FAILED]
        ]
    return Group(*parts)


def draining_json(results: Sequence[DrainResult], verification: VerifyResult | None = None) -> dict[str, Any]:
    """Return the contract of ``drain --json`` and ``undrain --json``; ``quiet`` is null where nobody looked."""
    devices = {
        one.device: {
            **members(one, "before", "after", "changed", "flows", "error"),
            "quiet": not one.flows if one.waited else None,
        }
        for one in results
    }
    verified: dict[str, Any] = {}
    if verification is not None:
        verified = {"checks": len(verification.checks), "failed": as_json(verification.failed)}
    ok = all(one.ok for one in results) and (verification is None or verification.ok)
    return {"ok": ok, "devices": devices, **verified}
