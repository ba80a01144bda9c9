"""The sizing for a terminal: the fabric in a table, then every step with its formula."""

from collections.abc import Iterator
from math import isinf

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from railweave.design.ratios import bandwidth_text, ratio_text
from railweave.fabric.buffers import SwitchBuffers
from railweave.fabric.sizing import CONNECTED_RATIO, NO_RAILS, RAILS, Sizing
from railweave.report.layout import paragraphs, table
from railweave.wording import compact, counted

_RESOURCES = {
    "leaf_ports": "ports of the one switch of a rail",
    "spine_ports": "spine ports",
    "leaf_uplinks": "leaf uplinks",
    "reserve": "`topology.reserve`",
    "address_pool": "an address pool",
    "asn": "AS numbers",
}


def sizing_view(sizing: Sizing) -> RenderableType:
    """Return the sizes of a fabric with their formulas, the buffers, the room left and the next step of growth."""
    figures = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    figures.add_column(style="dim", no_wrap=True)
    figures.add_column()
    for name, value in sizing_rows(sizing):
        figures.add_row(name, value)
    steps = ((step.name, Text(step.formula, style="cyan"), Text(step.result, style="bold")) for step in sizing.steps)
    return paragraphs(
        [Text(f"Fabric {sizing.fabric}", style="bold"), figures],
        [
            Text("How each number was calculated", style="bold"),
            table("step", "formula", "result", rows=steps),
        ],
        _buffers(sizing),
        _room(sizing),
    )


def sizing_rows(sizing: Sizing) -> Iterator[tuple[str, str]]:
    """Yield the sizes of a fabric with their names."""
    rails = counted(sizing.rails, "rail")
    if not _has_rails(sizing):
        rails = "rack-aligned (no rails)"
    shape = f"{counted(sizing.tiers, 'tier')}, {rails}"
    if sizing.planes > 1:
        shape += f", {counted(sizing.planes, 'plane')}"
    yield "nodes", f"{sizing.nodes:,} with {sizing.gpus:,} GPUs in {counted(sizing.stripes, 'stripe')}"
    yield "shape", shape
    if sizing.tiers == 1:
        yield from _rows_of_one_tier(sizing)
    else:
        yield from _rows_of_tiers(sizing)


def _rows_of_one_tier(sizing: Sizing) -> Iterator[tuple[str, str]]:
    """Yield the switches, the ports of a leaf and the links of a fabric without spines."""
    leaves = counted(sizing.leaves, "leaf")
    if _has_rails(sizing):
        leaves += ", one for each rail"
        if sizing.planes > 1:
            leaves += " and plane"
    elif sizing.planes > 1:
        leaves += ", one for each plane"
    yield "switches", leaves
    yield "leaf", f"{sizing.leaf.down} ports down ({bandwidth_text(sizing.leaf.down_gbps)})"
    yield "links", f"{sizing.links.host_leaf:,} host-leaf"


def _has_rails(sizing: Sizing) -> bool:
    """Whether a fabric has rails: a rack-aligned one has a step whose result says that it has none."""
    return all((step.name, step.result) != (RAILS, NO_RAILS) for step in sizing.steps)


def _rows_of_tiers(sizing: Sizing) -> Iterator[tuple[str, str]]:
    """Yield the switches, the ports of a leaf, the cables and the oversubscription of two tiers or more."""
    leaf = sizing.leaf
    links = sizing.links
    ratio = sizing.oversubscription
    switches = f"{counted(sizing.leaves, 'leaf')}, {counted(sizing.spines, 'spine')}"
    cables = f"{links.host_leaf:,} host-leaf, {links.leaf_spine:,} leaf-spine, {links.per_leaf_spine_pair} of each pair"
    if sizing.super_spines:
        switches += f", {counted(sizing.super_spines, 'super-spine')}"
        cables += f"; {links.spine_super_spine:,} spine-super-spine"
    down = f"{leaf.down} ports down ({bandwidth_text(leaf.down_gbps)})"
    yield "switches", switches
    yield "leaf", f"{down}, {leaf.up} up ({bandwidth_text(leaf.up_gbps)})"
    yield "links", cables
    ratios = [f"{_ratio_text(ratio.leaf)} (target {_ratio_text(ratio.target)})"]
    # There is no such step if the ratio of the ports in use is the same.
    ratios += [f"{step.result} with the ports in use" for step in sizing.steps if step.name == CONNECTED_RATIO]
    ratios.append(f"{_ratio_text(ratio.after_spine_loss)} with one spine lost")
    yield "oversubscription", ", ".join(ratios)


def _ratio_text(value: float) -> str:
    # The loss of the only spine leaves no uplink to divide by.
    if isinf(value):
        return "no path"
    return ratio_text(value)


def _buffers(sizing: Sizing) -> list[RenderableType]:
    """Return the headroom and the thresholds of switches with the same buffers; nothing if a sizing has no buffers."""
    if not sizing.buffers:
        return []
    lines: list[RenderableType] = [Text("Buffers with the ports in use", style="bold")]
    for buffers in sizing.buffers:
        lines.append(Text(f"  {compact(buffers.devices)}: {buffers.hwsku}"))
        lines.append(Text(f"    {_headroom(buffers)}"))
        for pattern, depth_bytes in buffers.pause_bytes.items():
            lines.append(Text(f"    XOFF threshold: {megabytes(depth_bytes)} with {pattern}"))
        for mark in buffers.marking:
            class_and_speed = f"{mark.traffic_class} at {mark.speed_gbps}G"
            lines.append(Text(f"    ECN marking: {class_and_speed} from {megabytes(mark.minimum_bytes)}"))
    return lines


def _headroom(buffers: SwitchBuffers) -> str:
    """Return the headroom of switches, the most that there may be, and the buffer that is left to share."""
    in_use = buffers.in_use
    if not buffers.headroom:
        # What is left to share is counted for lossless groups.
        return "no headroom: no class is lossless"
    headroom = f"{megabytes(in_use.headroom_bytes)} of {megabytes(in_use.budget_bytes)}"
    return f"headroom: {headroom}; left to share: {megabytes(in_use.shared_bytes)}"


def megabytes(size_bytes: int) -> str:
    """Return a size in MB, of 10^6 bytes, with at most two decimals: ``16.2 MB``, ``0.98 MB``."""
    decimals = 1 if size_bytes >= _MEGABYTE else 2
    return f"{round(size_bytes / _MEGABYTE, decimals):g} MB"


_MEGABYTE = 1_000_000


def _room(sizing: Sizing) -> Text:
    """Return the next step of growth, how many nodes fit without recabling, and the resource that limits them."""
    limit = sizing.limits.first
    resource = _RESOURCES.get(limit, limit)
    # Its name in the table is that of a fabric with rails.
    if limit == "leaf_ports" and not _has_rails(sizing):
        resource = "ports of the switch"
    # `spine_ports` means the ports of the highest tier.
    if limit == "spine_ports" and sizing.super_spines:
        resource = "super-spine ports"
    return Text.assemble(
        (sizing.room.next_step, "bold"),
        f"\nmax. nodes without recabling: {sizing.limits.nodes:,} (limited by {resource})",
    )
