"""The timeline of waves: every device is in its column, and no words meet."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from railweave.api.design.intent import load_designed
from railweave.drawing.marks import Mark, MarkKind, Marks
from railweave.drawing.timeline import WaveSlot, timeline

FABRIC = load_designed(Path(__file__).resolve().parents[3] / "intent" / "lab-pods.yml").fabric
NAMES = [one.name for one in FABRIC.switches]


def drawn(slots: list[WaveSlot], marks: Marks | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(timeline(FABRIC, slots, marks or Marks()))


def elements(tree: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in tree.iter() if one.tag.endswith(name)]


def test_a_wave_of_one_switch_opens_it_and_one_of_several_the_plan() -> None:
    tree = drawn([WaveSlot((NAMES[-1],), 50), WaveSlot(tuple(NAMES[:2]), 100)])
    links = elements(tree, "}a")
    assert [one.get("href") for one in links] == [f"#device-{NAMES[-1]}", "#plan"]
    assert [one.get("aria-label") for one in links] == ["wave 1: superspine5", "wave 2: 2 leaves"]
    assert "50 %" in [one.text for one in elements(tree, "}text") if one.get("class") == "detail"]


def test_a_wave_is_marked_by_the_most_urgent_of_its_devices() -> None:
    marks = Marks({NAMES[0]: (Mark(MarkKind.CHANGED, "x"),), NAMES[1]: (Mark(MarkKind.DISTURBED, "y"),)})
    [link] = elements(drawn([WaveSlot(tuple(NAMES[:2]), 100)], marks), "}a")
    assert link.get("class") == "block level-0 mark mark-disturbed"
    assert link.get("aria-label") == "wave 1: 2 leaves, disturbed"


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(NAMES), min_size=1, unique=True), st.floats(0, 100), st.floats(0.1, 900)),
        min_size=1,
        max_size=120,
    ),
    st.booleans(),
)
def test_columns_follow_each_other_and_their_numbers_do_not_meet(
    waves: list[tuple[list[str], float, float]], timed: bool
) -> None:
    slots = [WaveSlot(tuple(names), left, seconds if timed else None) for names, left, seconds in waves]
    tree = drawn(slots)
    width = float(tree.get("width", "0"))
    places: dict[int, tuple[float, float]] = {}
    for link in elements(tree, "}a"):
        number = int((link.get("aria-label") or "").removeprefix("wave ").split(":")[0])
        [box] = elements(link, "}rect")
        places[number] = float(box.get("x", "0")), float(box.get("width", "0"))
    assert list(places) == list(range(1, len(slots) + 1))
    assert all(x + wide <= following for (x, wide), (following, _) in pairwise(places.values()))
    assert all(0 < wide <= width and x + wide < width for x, wide in places.values())
    head = [one for one in elements(tree, "}text") if one.get("class") == "remark" and one.get("y") == "16"]
    ends = [(float(one.get("x", "0")), float(one.get("x", "0")) + 6 * len(one.text or "")) for one in head]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))
    assert re.match(r"1\b", head[0].text or "")
