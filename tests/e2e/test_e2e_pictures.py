"""Pages at 1,400 and 390 pixels and the pictures of the docs, beside reference pictures that ``make pictures`` renews.

The browser writes in the font that railweave ships, so the fonts of the machine do not matter.
"""

import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import PROGRAM, Browser, browser
from pictures import check_picture

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")]

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = ROOT / "tests" / "golden" / "pages"
ASSETS = ROOT / "docs" / "assets"
MOST_HEIGHT = 4000
"""Pixels of a page that are compared: what is below has the same kinds of content."""

COMMANDS = {
    "report": "report intent/pod-32.yml --out",
    "report-pods": "report intent/pods-512.yml --out",
    "compare": "compare intent/pod-32.yml intent/pod-32-wide.yml --html",
    "compare-three": "compare intent/pod-32.yml intent/pod-32-wide.yml intent/generations.yml --html",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write the pages by the commands that users type."""
    folder = tmp_path_factory.mktemp("pages")
    railweave = str(Path(sys.executable).with_name("railweave"))
    written = {}
    for name, words in COMMANDS.items():
        page = folder / f"{name}.html"
        subprocess.run([railweave, *words.split(), str(page)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        written[name] = page
    return written


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile"), own_font=True) as opened:
        opened.ask("Emulation.setScrollbarsHidden", hidden=True)
        yield opened


def picture(tab: Browser, page: Path, width: int, height: int | None = None, anchor: str = "") -> bytes:
    """Return a page as it looks in a window of this width: its first ``height`` pixels, or the whole of it."""
    tab.ask("Emulation.setDeviceMetricsOverride", width=width, height=height or 900, deviceScaleFactor=1, mobile=False)
    tab.open("about:blank")
    tab.open(f"{page.as_uri()}{anchor}")
    # The page of a comparison has no script; that of a report says when its data is unpacked.
    tab.run(
        "new Promise(done => { const look = () => !document.querySelector('script') || "
        "document.documentElement.dataset.ready ? done(1) : requestAnimationFrame(look); look(); })"
    )
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), "scrolls sideways"
    if height:
        # What the window shows, also where its address made the page scroll.
        shot = tab.ask("Page.captureScreenshot", format="png")
    else:
        whole = int(tab.run("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": min(whole, MOST_HEIGHT), "scale": 1}
        shot = tab.ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    return base64.b64decode(shot["data"])


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["report", "compare"])
def test_a_page_looks_as_before(name: str, width: int, pages: dict[str, Path], tab: Browser) -> None:
    check_picture(picture(tab, pages[name], width), REFERENCES / f"{name}.{width}.png")


@pytest.mark.parametrize(
    ("asset", "name", "size", "anchor"),
    [
        ("report-pod-32.png", "report", (1360, 815), ""),
        ("report-pods.png", "report-pods", (1360, 800), "#device-pods-leaf1"),
        ("compare.png", "compare-three", (1100, 1330), ""),
    ],
)
def test_the_pictures_of_the_docs_show_the_pages_of_today(
    asset: str, name: str, size: tuple[int, int], anchor: str, pages: dict[str, Path], tab: Browser
) -> None:
    width, height = size
    check_picture(picture(tab, pages[name], width, height, anchor), ASSETS / asset)
