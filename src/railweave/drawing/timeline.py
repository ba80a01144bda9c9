"""The waves of a rollout from left to right: the devices of each tier that a wave changes, and the uplinks left."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from railweave.drawing.marks import Marks, worst
from railweave.drawing.palette import level_color, mark_color
from railweave.drawing.scene import short
from railweave.fabric.model import Fabric, Tier
from railweave.wording import counted, percent_text

_LEFT, _WIDTH, _WIDEST, _NARROWEST = 130, 1080, 110, 5
_LANE, _LANE_GAP, _CHART, _TOP, _LETTER = 30, 10, 70, 34, 7


class WaveSlot(NamedTuple):
    """One wave: its devices, the percent of its uplinks that the worst switch in service has left meanwhile, and the
    seconds that it took in a rehearsal, None without one."""

    devices: tuple[str, ...]
    uplink_percent: float
    seconds: float | None = None


class _Column(NamedTuple):
    number: int
    slot: WaveSlot
    x: float
    width: float


def timeline(fabric: Fabric, slots: Sequence[WaveSlot], marks: Marks) -> str:
    """Return the waves as an element of a page; a block opens its device, or the table of waves where it is of several.

    Columns are as wide as the waves took in a rehearsal, and of one width without.
    """
    columns = list(_columns(slots))
    tiers = [tier for tier in reversed(fabric.tiers) if any(_of_tier(fabric, slot, tier) for slot in slots)]
    chart = _TOP + len(tiers) * (_LANE + _LANE_GAP)
    width, height = columns[-1].x + columns[-1].width + 16, chart + _CHART + 30
    parts = [
        *_axes(tiers, chart, width),
        *_numbers(columns),
        *(part for one in columns for part in _blocks(fabric, one, tiers, marks)),
        *_left(columns, chart),
    ]
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


def _columns(slots: Sequence[WaveSlot]) -> Iterator[_Column]:
    timed = [slot.seconds for slot in slots if slot.seconds is not None]
    total = sum(timed) if len(timed) == len(slots) else 0
    even = min(_WIDEST, _WIDTH / len(slots))
    x = float(_LEFT)
    for number, slot in enumerate(slots, start=1):
        width = max(_NARROWEST, _WIDTH * slot.seconds / total if total and slot.seconds is not None else even)
        yield _Column(number, slot, x, width)
        x += width


def _of_tier(fabric: Fabric, slot: WaveSlot, tier: Tier) -> list[str]:
    return [name for name in slot.devices if name in fabric.switch_of and fabric.switch_of[name].tier == tier]


def _axes(tiers: Sequence[Tier], chart: float, width: float) -> Iterator[str]:
    yield _text("band", 0, 16, "wave")
    for place, tier in enumerate(tiers):
        yield _text("band", 0, _lane(place) + _LANE / 2 + 4, tier.plural)
    yield _text("band", 0, chart + 14, "uplinks left")
    for percent in (0, 50, 100):
        y = _level(chart, percent)
        yield _text("remark", _LEFT - 40, y + 4, f"{percent} %")
        yield f'<path class="rule" d="M{_LEFT} {y:g}H{width - 16:g}"/>'


def _numbers(columns: Sequence[_Column]) -> Iterator[str]:
    """Yield the numbers of the waves, with their seconds where there is room; those that would meet are left out."""
    free = 0.0
    for one in columns:
        if one.x < free:
            continue
        words = f"{one.number}"
        timed = words if one.slot.seconds is None else f"{words}: {one.slot.seconds:,.0f} s"
        if _wide(timed) <= one.width:
            words = timed
        yield _text("remark", one.x + 2, 16, words)
        free = one.x + _wide(words)


def _wide(words: str) -> int:
    return len(words) * _LETTER + 4


def _blocks(fabric: Fabric, column: _Column, tiers: Sequence[Tier], marks: Marks) -> Iterator[str]:
    slot, x, inner = column.slot, column.x, max(column.width - 2, _NARROWEST - 2)
    took = "" if slot.seconds is None else f" {slot.seconds:,.0f} s"
    for place, tier in enumerate(tiers):
        names = _of_tier(fabric, slot, tier)
        if not names:
            continue
        said = marks.of_devices(names)
        kind = worst(said)
        classes = f"block {level_color(tier.level)}" + (f" mark {mark_color(kind)}" if kind else "")
        what = short(fabric, names[0]) if len(names) == 1 else counted(len(names), tier.name)
        title = f"wave {column.number}: {what}{took}" + (f", {kind.value}" if kind else "")
        opens = f"#device-{names[0]}" if len(names) == 1 else "#plan"
        label = next((one for one in (what, str(len(names))) if inner >= _wide(one)), "")
        y = _lane(place)
        yield (
            f'<a class="{classes}" href={quoteattr(opens)} aria-label={quoteattr(title)}>'
            f'<rect x="{x + 1:g}" y="{y:g}" width="{inner:g}" height="{_LANE}" rx="3"/>'
            + (_text("detail", x + column.width / 2, y + _LANE / 2 + 4, label) if label else "")
            + f"<title>{escape(title)}</title></a>"
        )


def _left(columns: Sequence[_Column], chart: float) -> Iterator[str]:
    floor = _level(chart, 0)
    steps = "".join(f"V{_level(chart, one.slot.uplink_percent):g}H{one.x + one.width:g}" for one in columns)
    yield f'<path class="left" d="M{_LEFT} {floor:g}{steps}V{floor:g}Z"/>'
    for one in columns:
        words = percent_text(one.slot.uplink_percent)
        if one.slot.uplink_percent < 100 and one.width >= _wide(words):
            yield _text("detail", one.x + one.width / 2, _level(chart, one.slot.uplink_percent) + 13, words)


def _lane(place: int) -> float:
    return _TOP + place * (_LANE + _LANE_GAP)


def _level(chart: float, percent: float) -> float:
    return chart + 18 + (_CHART - 18) * (1 - percent / 100)


def _text(name: str, x: float, y: float, words: str) -> str:
    return f'<text class="{name}" x="{x:g}" y="{y:g}">{escape(words)}</text>'
