"""The proof that switches can leave, and what to do with it."""

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.retirement import Leaving, Proof
from railweave.wording import compact, counted


def retirement_json(gone: Leaving, found: tuple[Proof, ...]) -> dict[str, Any]:
    """Return the proof for programs."""
    return {
        "ok": is_proven(gone, found),
        "devices": [switch.name for switch in gone.switches],
        "nodes": list(gone.hosts),
        "cables_to_move": [str(cable) for cable in gone.moved],
        "proofs": [
            {"device": one.device, "what": one.what, "expected": one.expected, "actual": one.actual, "ok": one.ok}
            for one in found
        ],
    }


def is_proven(gone: Leaving, found: tuple[Proof, ...]) -> bool:
    """Tell whether the switches may leave now: nothing uses them, and no cable has to move first."""
    return not gone.moved and all(one.ok for one in found)


def retirement_view(gone: Leaving, found: tuple[Proof, ...], target: str) -> RenderableType:
    """Return the proof as a table, and the next step in words."""
    if not gone.switches:
        return Text("no switch is removed: the newer intent has every device of the older one")
    parts: list[RenderableType] = [
        Text(f"leaving: {compact([switch.name for switch in gone.switches])}", style="bold"),
        *([Text(f"with {counted(len(gone.hosts), 'GPU node')}: {compact(list(gone.hosts))}")] if gone.hosts else []),
        Text(),
        _table(found),
        Text(),
        *_next(gone, found, target),
    ]
    return Group(*parts)


def _table(found: tuple[Proof, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in ("", "device", "what", "must be", "is"):
        table.add_column(column, overflow="fold")
    for one in found:
        glyph = Text("✓", style="green") if one.ok else Text("✗", style="bold red")
        table.add_row(glyph, one.device, one.what, one.expected, Text(one.actual, style="" if one.ok else "red"))
    return table


def _next(gone: Leaving, found: tuple[Proof, ...], target: str) -> list[RenderableType]:
    if gone.moved:
        count = counted(len(gone.moved), "cable")
        return [Text(f"✗ {count} must move first: `railweave phases BASE` lists them, in safe steps", style="red")]
    if is_proven(gone, found):
        return [
            Text.assemble(("✓ ", "green"), "nothing uses the switches to be removed"),
            Text(f"next: `railweave deploy --target {target}`, then power it off and remove it from the inventory"),
        ]
    undrained = sorted({one.device for one in found if not one.ok and one.what == "out of traffic"})
    advice = f"railweave drain {' '.join(undrained)} --target {target}" if undrained else ""
    words = f"next: `{advice}`, then run this again" if advice else "remove what uses it first, then run this again"
    return [Text.assemble(("✗ ", "bold red"), "not proven unused"), Text(words)]
