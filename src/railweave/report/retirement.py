"""The proof that switches can leave, and what to do with it."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.jsonable import members
from railweave.plan.lifecycle import Leaving, Proof
from railweave.report.layout import paragraphs, table, verdict
from railweave.wording import command_line, compact, counted


def retirement_json(gone: Leaving, found: tuple[Proof, ...]) -> dict[str, Any]:
    """Return the proof for programs."""
    return {
        "ok": is_proven(gone, found),
        "devices": [switch.name for switch in gone.switches],
        "nodes": gone.hosts,
        "cables_to_move": [str(cable) for cable in gone.moved],
        "proofs": list(map(proof_json, found)),
    }


def proof_json(one: Proof) -> dict[str, Any]:
    """Return one proof."""
    return members(one, "device", "what", "expected", "actual", "ok")


def is_proven(gone: Leaving, found: tuple[Proof, ...]) -> bool:
    """Tell whether the switches may leave now: nothing uses them, and no cable has to move first."""
    return not gone.moved and all(one.ok for one in found)


def retirement_view(gone: Leaving, found: tuple[Proof, ...], target: str) -> RenderableType:
    """Return the proof as a table, and the next step in words."""
    if not gone.switches:
        return Text("no switch is removed: the newer intent has every device of the older one")
    rows = (
        (
            Text("✓", style="green") if one.ok else Text("✗", style="bold red"),
            *(one.device, one.what, one.expected),
            Text(one.actual, style="" if one.ok else "red"),
        )
        for one in found
    )
    nodes = [Text(f"with {counted(len(gone.hosts), 'GPU node')}: {compact(gone.hosts)}")] if gone.hosts else []
    return paragraphs(
        [Text(f"leaving: {compact([switch.name for switch in gone.switches])}", style="bold"), *nodes],
        table("", "device", "what", "must be", "is", rows=rows),
        _next(gone, found, target),
    )


def _next(gone: Leaving, found: tuple[Proof, ...], target: str) -> list[Text]:
    if gone.moved:
        count = counted(len(gone.moved), "cable")
        phases = command_line("phases", "BASE")
        return [verdict(False, f"{count} must move first: `{phases}` lists them, in safe steps")]
    if is_proven(gone, found):
        deploy = command_line("deploy", target=target)
        return [
            verdict(True, "nothing uses the switches to be removed"),
            Text(f"next: `{deploy}`, then power it off and remove it from the inventory"),
        ]
    undrained = sorted({one.device for one in found if not one.ok and one.what == "out of traffic"})
    advice = command_line("drain", *undrained, target=target) if undrained else ""
    words = f"next: `{advice}`, then run this again" if advice else "remove what uses it first, then run this again"
    return [verdict(False, "not proven unused"), Text(words)]
