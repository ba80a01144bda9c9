"""What pictures say, what marks do to them, and what is refused."""

import io
import math
import sys
from functools import cache
from itertools import combinations
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from PIL import Image
from rich.console import Console

from railweave import api
from railweave.drawing.drawio import drawio
from railweave.drawing.formats import FORMATS, written
from railweave.drawing.layout import lay_out
from railweave.drawing.marks import NO_MARKS, Mark, MarkKind, Marks, summary, worst
from railweave.drawing.mermaid import mermaid
from railweave.drawing.palette import DARK, LIGHT, RAILS, mark_color
from railweave.drawing.png import png
from railweave.drawing.scene import Scene, Unit
from railweave.drawing.svg import svg, svg_element, svg_literal
from railweave.drawing.text import text
from railweave.errors import RailweaveError, UsageError
from railweave.report.drawing import scene_view

INTENTS = Path(__file__).resolve().parents[3] / "intent"
SVG = "{http://www.w3.org/2000/svg}"
FAILED = Mark(MarkKind.FAILED, "link down on Ethernet0")
CHANGED = Mark(MarkKind.CHANGED, "3 changes")
MARKS = Marks({"lab-leaf1": (CHANGED, FAILED), "gpu2": (CHANGED,)}, {("lab-spine2", "lab-leaf1"): (FAILED,)})


@cache
def scene(intent: str = "lab-4", of: str = "fabric") -> Scene:
    return api.draw(api.open_project(INTENTS / f"{intent}.yml"), of=of)


def test_a_small_fabric_shows_every_device_with_its_own_cables() -> None:
    found = scene()
    assert found.about == "4 nodes, 2 leaves, 2 spines, 12 cables"
    assert found.bands == ("spines", "leaves", "nodes")
    assert [block.title for block in found.blocks] == [
        "spine1",
        "spine2",
        "leaf1",
        "leaf2",
        "gpu1",
        "gpu2",
        "gpu3",
        "gpu4",
    ]
    assert {one.title for one in found.bundles} == {"100G"}


def test_a_large_fabric_shows_its_pods_and_a_pod_its_stripes() -> None:
    whole, pod = scene("pods-512"), scene("pods-512", "pod-2")
    assert whole.columns == ("pod 0", "pod 1", "pod 2", "pod 3")
    assert [len(block.units) for block in whole.blocks] == [64, *[32] * 8, *[128] * 4]
    assert pod.columns == ("stripe 8", "stripe 9", "stripe 10", "stripe 11")
    assert pod.about == "32 spines, 32 leaves, 128 GPU nodes; above it 64 super-spines"


def test_the_worst_mark_colors_a_device_and_all_of_them_are_read_out() -> None:
    root = fromstring(svg_element(lay_out(scene()), MARKS))
    links = {one.get("href"): one for one in root.iter(f"{SVG}a")}
    assert (links["#device-lab-leaf1"].get("class") or "").endswith("mark mark-failed")
    assert links["#device-lab-leaf1"].get("aria-label") == "leaf1, rail 0, 3 changes; link down on Ethernet0"
    assert links["#cables=lab-spine2~lab-leaf1"].get("class") == "line rail-0 mark mark-failed"
    assert "mark" not in (links["#cables=lab-spine1~lab-leaf1"].get("class") or "")


def test_every_link_of_a_page_says_where_it_leads_and_cables_are_no_stops_of_the_keyboard() -> None:
    root = fromstring(svg_element(lay_out(scene("pods-512")), NO_MARKS))
    for one in root.iter(f"{SVG}a"):
        assert one.get("aria-label")
        assert (one.get("tabindex") == "-1") == (one.get("href") or "").startswith("#cables=")


def test_a_file_has_no_links_and_brings_its_own_colors() -> None:
    root = fromstring(svg(lay_out(scene())))
    assert not list(root.iter(f"{SVG}a"))
    sheet = root.find(f"{SVG}style")
    assert sheet is not None
    assert "prefers-color-scheme: dark" in (sheet.text or "")
    assert root.get("role") == "img"


def test_mermaid_colors_what_has_a_mark() -> None:
    chart = mermaid(scene(), MARKS)
    assert "  classDef failed stroke:#cf222e,stroke-width:3px\n  class b2 failed\n" in chart
    assert "  class b5 changed\n" in chart


def test_draw_io_joins_shapes_that_are_there() -> None:
    root = fromstring(drawio(lay_out(scene("pods-512"))))
    cells = {cell.get("id"): cell for cell in root.iter("mxCell")}
    edges = [cell for cell in cells.values() if cell.get("edge")]
    assert len(edges) == len(scene("pods-512").bundles)
    assert all(cells[edge.get(end)].get("vertex") for edge in edges for end in ("source", "target"))


def test_renderers_without_variables_get_every_color_itself() -> None:
    written = svg_literal(lay_out(scene()), MARKS)
    assert "var(" not in written
    assert "@media" not in written
    failed = LIGHT[mark_color(MarkKind.FAILED)]
    assert f".picture .line.mark-failed path {{ stroke: {failed}; stroke-width: 3.5; }}" in written


def test_a_legend_says_what_squares_stand_for() -> None:
    def squares(drawn: Scene) -> list[tuple[str, bool]]:
        return [(label.text, label.is_part) for label in lay_out(drawn).squares]

    assert squares(scene("lab-4")) == []
    large = scene("pods-512")
    assert squares(large) == [("one device", False)]
    stripes = tuple(Unit(f"stripe {number}", f"stripe-{number}", (f"leaf{number}",)) for number in range(2))
    large = large._replace(blocks=(*large.blocks[:-1], large.blocks[-1]._replace(units=stripes)))
    assert squares(large) == [("one device", False), ("devices of one stripe", True)]
    assert svg(lay_out(large)).count('class="cell part level-') == len(stripes)


@pytest.mark.slow
def test_png_shows_what_is_marked_in_its_color() -> None:
    plain, marked = (Image.open(io.BytesIO(png(lay_out(scene()), marks))).convert("RGB") for marks in (NO_MARKS, MARKS))
    failed = tuple(bytes.fromhex(LIGHT[mark_color(MarkKind.FAILED)][1:]))
    assert plain.size == marked.size
    counts = [
        sum(count for count, color in image.getcolors(1 << 24) or () if color == failed) for image in (plain, marked)
    ]
    assert counts[0] == 0
    assert counts[1] > 500


def test_every_color_is_there_in_light_and_dark_and_every_mark_has_one() -> None:
    assert list(LIGHT) == list(DARK)
    assert {mark_color(kind) for kind in MarkKind} <= set(LIGHT)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_words_stand_out_from_every_ground(colors: dict[str, str]) -> None:
    grounds = [color for name, color in colors.items() if name in {"paper", "frame"} or name.startswith("level-")]
    for words in ("ink", "dim"):
        assert min(contrast(colors[words], ground) for ground in grounds) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def linear(color: str) -> tuple[float, ...]:
    """Return red, green and blue as shares of light, without sRGB's gamma."""
    parts = [part / 255 for part in bytes.fromhex(color[1:])]
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def luminance(color: str) -> float:
    red, green, blue = linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_rails_differ_from_each_other_and_from_states(colors: dict[str, str]) -> None:
    rails = [color for name, color in colors.items() if name.startswith("rail-")]
    states = [color for name, color in colors.items() if name.startswith("mark-")]
    assert len(rails) == RAILS
    # In OKLab 0.02 is a difference that can just be seen.
    assert min(math.dist(oklab(one), oklab(other)) for one, other in combinations(rails, 2)) > 0.1
    assert min(math.dist(oklab(rail), oklab(state)) for rail in rails for state in states) > 0.1
    assert min(contrast(rail, colors[ground]) for rail in rails for ground in ("paper", "frame")) >= 3


def oklab(color: str) -> tuple[float, ...]:
    """Return a color in OKLab, where distances are those that people see (bottosson.github.io/posts/oklab)."""
    red, green, blue = linear(color)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
    )


def test_marks_are_ordered_and_said_once() -> None:
    assert worst([CHANGED, FAILED, CHANGED]) is MarkKind.FAILED
    assert worst([]) is None
    assert summary([CHANGED, CHANGED, FAILED]) == "3 changes; link down on Ethernet0"
    assert summary([Mark(MarkKind.FAILED, str(number)) for number in range(5)]) == "0; 1; 2 and 2 more"


@pytest.mark.parametrize(
    ("intent", "of", "refusal"),
    [
        ("lab-4", "stripe-4", "no stripe 4 in fabric lab: it has stripe-0"),
        ("lab-4", "pod-1", "no pod 1 in fabric lab: it has no pods"),
        ("pods-512", "pod-9", "no pod 9 in fabric pods: it has pod-0…3"),
        ("lab-4", "lab-lea1", "no device 'lab-lea1' in fabric lab; did you mean lab-leaf1?"),
    ],
)
def test_what_is_not_there_is_refused(intent: str, of: str, refusal: str) -> None:
    with pytest.raises(UsageError) as refused:
        scene(intent, of)
    assert str(refused.value) == refusal


def test_an_unknown_ending_names_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        written(scene(), NO_MARKS, Path("fabric.jpg"))
    assert (
        str(refused.value) == "fabric.jpg: the ending tells the format, and has to be .svg, .png, .mmd, .drawio or .txt"
    )
    assert {ending for ending in FORMATS if written(scene(), NO_MARKS, Path(f"fabric{ending}"))} == set(FORMATS)


def test_png_without_resvg_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(RailweaveError) as refused:
        png(lay_out(scene()))
    assert str(refused.value) == "PNG needs resvg: install railweave[png], or write SVG, which every browser shows"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    out = tmp_path / "absent" / "fabric.svg"
    with pytest.raises(RailweaveError) as refused:
        api.draw(api.open_project(INTENTS / "lab-4.yml"), out=out)
    assert str(refused.value) == (
        f"{out} cannot be written: No such file or directory; create its folder: `mkdir -p {out.parent}`"
    )


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
@pytest.mark.parametrize("intent", ["lab-4", "pod-32", "mixed-nodes", "pods-512"])
def test_no_line_of_a_terminals_picture_breaks(intent: str, columns: int) -> None:
    screen = Console(width=columns, file=io.StringIO(), highlight=False)
    with screen.capture() as captured:
        screen.print(scene_view(scene(intent)))
    _, _, shown = captured.get().partition("\n\n")
    assert {line.rstrip() for line in shown.splitlines()} == {
        *text(scene(intent), min(columns, 100)).splitlines(),
    }
    assert max(map(len, shown.splitlines())) <= columns
