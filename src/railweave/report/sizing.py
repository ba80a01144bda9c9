"""The sizing for a person: the fabric in a table, then every step with its formula."""

from collections.abc import Iterable
from math import isinf

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.fabric.sizing import Sizing
from railweave.wording import counted

_RESOURCES = {
    "spine_ports": "ports of the spines",
    "leaf_uplinks": "uplinks of the leaves",
    "reserve": "the reserve of the intent",
    "address_pool": "an address pool",
    "asn": "AS numbers",
}


def sizing_view(sizing: Sizing) -> RenderableType:
    """Return the sizes of a fabric with the steps that led to them, the room left and the next step of growth."""
    return Group(
        Text(f"Fabric {sizing.fabric}", style="bold"),
        _figures(sizing),
        Text(),
        Text("Every number with its formula", style="bold"),
        _steps(sizing),
        Text(),
        _room(sizing),
    )


def _figures(sizing: Sizing) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, value in _rows(sizing):
        table.add_row(name, value)
    return table


def _rows(sizing: Sizing) -> Iterable[tuple[str, str]]:
    leaf, links, ratio = sizing.leaf, sizing.links, sizing.oversubscription
    planes = f", {counted(sizing.planes, 'plane')}" if sizing.planes > 1 else ""
    yield "nodes", f"{sizing.nodes:,} with {sizing.gpus:,} GPUs in {counted(sizing.stripes, 'stripe')}"
    yield "shape", f"{sizing.tiers} tiers, {counted(sizing.rails, 'rail')}{planes}"
    supers = f", {counted(sizing.super_spines, 'super-spine')}" if sizing.super_spines else ""
    yield "switches", f"{counted(sizing.leaves, 'leaf')}, {counted(sizing.spines, 'spine')}{supers}"
    yield "leaf", f"{leaf.down} ports down ({_bandwidth(leaf.down_gbps)}), {leaf.up} up ({_bandwidth(leaf.up_gbps)})"
    yield (
        "links",
        (f"{links.host_leaf:,} host-leaf, {links.leaf_spine:,} leaf-spine, {links.per_leaf_spine_pair} of each pair"),
    )
    yield (
        "oversubscription",
        f"{_ratio(ratio.leaf)} (target {_ratio(ratio.target)}), {_ratio(ratio.after_spine_loss)} with one spine lost",
    )


def _bandwidth(gbps: int) -> str:
    return f"{gbps / 1000:g} Tb/s" if gbps >= 1000 else f"{gbps} Gb/s"


def _ratio(value: float) -> str:
    if isinf(value):
        return "no path"
    return f"{value:.2f}".rstrip("0").rstrip(".") + ":1"


def _steps(sizing: Sizing) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    table.add_column("step", no_wrap=True)
    table.add_column("formula", style="cyan")
    table.add_column("result", style="bold")
    for step in sizing.steps:
        table.add_row(Text(step.name), Text(step.formula), Text(step.result))
    return table


def _room(sizing: Sizing) -> Text:
    first = _RESOURCES.get(sizing.limits.first, sizing.limits.first)
    return Text.assemble(
        (sizing.room.next_step, "bold"),
        f"\nmost nodes without moving a cable: {sizing.limits.nodes:,}; first limit: {first}",
    )
