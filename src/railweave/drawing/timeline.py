"""The waves of a rollout from left to right: the devices that change in each tier, and the uplinks in service."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from railweave.drawing.marks import Marks, worst
from railweave.drawing.palette import level_color, mark_class
from railweave.drawing.scene import short
from railweave.fabric.devices import Tier
from railweave.fabric.model import Fabric
from railweave.wording import counted, percent_text

# Pixels; the waves share _WIDTH, each between the narrowest and the widest.
_LEFT = 130
_WIDTH = 1080
_WIDEST = 110
_NARROWEST = 5
_LANE = 30
_LANE_GAP = 10
_CHART = 70
_TOP = 34
_LETTER = 7
"""Width of a letter in pixels, as no font is loaded."""


class WaveSlot(NamedTuple):
    """One wave of a rollout."""

    devices: tuple[str, ...]
    # The share of its uplinks that the worst switch in service has during the wave.
    uplink_percent: float
    # The duration in a rehearsal, None without one.
    seconds: float | None = None


class _WaveColumn(NamedTuple):
    """A wave, counted from 1, with its left end and width in pixels."""

    number: int
    slot: WaveSlot
    x: float
    width: float


def timeline(fabric: Fabric, slots: Sequence[WaveSlot], marks: Marks) -> str:
    """Return the waves as an element of a page; a block opens its device, or the table of waves if it has several.

    The width of a column is proportional to the time that the wave took in a rehearsal; without one all are alike.
    """
    columns = list(_columns(slots))
    tiers = [tier for tier in reversed(fabric.tiers) if any(_of_tier(fabric, slot, tier) for slot in slots)]
    chart_top = _TOP + len(tiers) * (_LANE + _LANE_GAP)
    width = columns[-1].x + columns[-1].width + 16
    height = chart_top + _CHART + 30
    parts = [*_axes(tiers, chart_top, width), *_numbers(columns)]
    for column in columns:
        parts += _blocks(fabric, column, tiers, marks)
    parts += _uplink_chart(columns, chart_top)
    title = f"{counted(len(slots), 'wave')} from left to right"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="group" aria-labelledby="title-waves">',
            f'<title id="title-waves">{escape(title)}</title>',
            *parts,
            "</svg>",
        )
    )


def _columns(slots: Sequence[WaveSlot]) -> Iterator[_WaveColumn]:
    """Yield the columns of the waves. They are to scale if all waves have a duration, and equally wide otherwise."""
    durations = [slot.seconds for slot in slots if slot.seconds is not None]
    total = sum(durations)
    have_all_durations = len(durations) == len(slots)
    if have_all_durations and total:
        widths = [_WIDTH * seconds / total for seconds in durations]
    else:
        widths = [min(_WIDEST, _WIDTH / len(slots))] * len(slots)
    x = float(_LEFT)
    for number, (slot, exact_width) in enumerate(zip(slots, widths, strict=True), start=1):
        width = max(_NARROWEST, exact_width)
        yield _WaveColumn(number, slot, x, width)
        x += width


def _of_tier(fabric: Fabric, slot: WaveSlot, tier: Tier) -> list[str]:
    return [name for name in slot.devices if name in fabric.switch_of and fabric.switch_of[name].tier == tier]


def _axes(tiers: Sequence[Tier], chart_top: float, width: float) -> Iterator[str]:
    """Yield the titles of the lanes and of the chart, and a line for each percentage that the chart names."""
    yield _text("band", 0, 16, "wave")
    for lane, tier in enumerate(tiers):
        yield _text("band", 0, _lane_top(lane) + _LANE / 2 + 4, tier.plural)
    yield _text("band", 0, chart_top + 14, "uplinks left")
    for percent in (0, 50, 100):
        y = _percent_y(chart_top, percent)
        yield _text("remark", _LEFT - 40, y + 4, f"{percent} %")
        yield f'<path class="rule" d="M{_LEFT} {y:g}H{width - 16:g}"/>'


def _numbers(columns: Sequence[_WaveColumn]) -> Iterator[str]:
    """Yield the numbers of the waves, with their seconds where they fit; a number that would overlap is left out."""
    free_x = 0.0
    for column in columns:
        if column.x < free_x:
            continue
        label = f"{column.number}"
        if column.slot.seconds is not None:
            label_with_seconds = f"{label}: {column.slot.seconds:,.0f} s"
            if _text_width(label_with_seconds) <= column.width:
                label = label_with_seconds
        yield _text("remark", column.x + 2, 16, label)
        # The end of this label.
        free_x = column.x + _text_width(label)


def _text_width(text: str) -> int:
    return len(text) * _LETTER + 4


def _blocks(fabric: Fabric, column: _WaveColumn, tiers: Sequence[Tier], marks: Marks) -> Iterator[str]:
    """Yield a block for each tier with devices that the wave changes."""
    for lane, tier in enumerate(tiers):
        names = _of_tier(fabric, column.slot, tier)
        if names:
            yield _block(fabric, column, tier, names, _lane_top(lane), marks)


def _block(fabric: Fabric, column: _WaveColumn, tier: Tier, names: Sequence[str], y: float, marks: Marks) -> str:
    """Return the devices that a wave changes in one tier as a link; ``y`` is the upper edge of the tier's lane."""
    if len(names) == 1:
        content = short(fabric, names[0])
        opens = f"#device-{names[0]}"
    else:
        content = counted(len(names), tier.name)
        opens = "#plan"
    title = f"wave {column.number}: {content}"
    if column.slot.seconds is not None:
        title += f" {column.slot.seconds:,.0f} s"
    device_marks = marks.of_devices(names)
    kind = worst(device_marks)
    if kind:
        title += f", {kind.value}"
    width = max(column.width - 2, _NARROWEST - 2)
    label = ""
    # The number of devices fits where their name does not.
    for text in (content, str(len(names))):
        if _text_width(text) <= width:
            label = _text("detail", column.x + column.width / 2, y + _LANE / 2 + 4, text)
            break
    return (
        f'<a class="block {level_color(tier.level)}{mark_class(device_marks)}" href={quoteattr(opens)} '
        f"aria-label={quoteattr(title)}>"
        f'<rect x="{column.x + 1:g}" y="{y:g}" width="{width:g}" height="{_LANE}" rx="3"/>'
        f"{label}<title>{escape(title)}</title></a>"
    )


def _uplink_chart(columns: Sequence[_WaveColumn], chart_top: float) -> Iterator[str]:
    """Yield the uplinks in service as an area with a step for each wave, and the percentage below 100 where it fits."""
    # SVG's commands V and H draw a step each without a repetition of the other coordinate.
    floor = _percent_y(chart_top, 0)
    path = f"M{_LEFT} {floor:g}"
    for column in columns:
        path += f"V{_percent_y(chart_top, column.slot.uplink_percent):g}H{column.x + column.width:g}"
    yield f'<path class="left" d="{path}V{floor:g}Z"/>'
    for column in columns:
        percent = column.slot.uplink_percent
        label = percent_text(percent)
        if percent < 100 and column.width >= _text_width(label):
            yield _text("detail", column.x + column.width / 2, _percent_y(chart_top, percent) + 13, label)


def _lane_top(lane: int) -> float:
    """Return the upper edge of a lane; lanes count from 0."""
    return _TOP + lane * (_LANE + _LANE_GAP)


def _percent_y(chart_top: float, percent: float) -> float:
    """Return the y of a percentage in the chart."""
    return chart_top + 18 + (_CHART - 18) * (1 - percent / 100)


def _text(css_class: str, x: float, y: float, text: str) -> str:
    return f'<text class="{css_class}" x="{x:g}" y="{y:g}">{escape(text)}</text>'
