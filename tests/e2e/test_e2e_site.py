"""The documentation site: every page in a headless browser, with nothing requested from elsewhere and no error."""

import functools
import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, browser

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Build the site and serve it on loopback; return its folder and its address."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(["make", "docs", f"SITE={folder}"], cwd=ROOT, check=True)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name of the standard library
        pass


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def nothing_to_search(site: tuple[Path, str]) -> Iterator[None]:
    """Empty the index of the search for a while: every page reads it, which takes longer than all else of the page."""
    index = site[0] / "search" / "search_index.json"
    text = index.read_text(encoding="utf-8")
    index.write_text(json.dumps({**json.loads(text), "docs": []}), encoding="utf-8")
    yield
    index.write_text(text, encoding="utf-8")


def test_the_search_finds_a_code_with_nothing_but_the_site(site: tuple[Path, str], tab: Browser) -> None:
    _, address = site
    visit = tab.open(address + "index.html?q=RW527")
    first = tab.run(
        """new Promise((found, missed) => {
             const end = Date.now() + 20000
             const look = () => {
               const one = document.querySelector('.md-search-result__link')
               one ? found(one.href) : Date.now() > end ? missed('nothing found') : setTimeout(look, 50)
             }
             look()
           })"""
    )
    assert first.startswith(address + "reference/checks.html")
    assert [url for url in visit.requested if not url.startswith(address)] == []
    assert visit.errors == []


def test_every_page_opens_without_an_error_and_requests_nothing_from_elsewhere(
    site: tuple[Path, str], tab: Browser, nothing_to_search: None
) -> None:
    folder, address = site
    pages = sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.html"))
    assert len(pages) > 40
    found: dict[str, object] = {}
    for page in pages:
        visit = tab.open(address + page)
        elsewhere = [url for url in visit.requested if not url.startswith(address)]
        heading = tab.run("document.querySelector('h1')?.textContent.length > 3")
        wide = tab.run("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        if visit.errors or elsewhere or not heading or wide:
            found[page] = (visit.errors, elsewhere, heading, wide)
    assert found == {}


def test_the_button_of_a_shell_session_copies_its_commands(
    site: tuple[Path, str], tab: Browser, nothing_to_search: None
) -> None:
    tab.open(site[1] + "tutorial/first-fabric.html")
    copied = tab.ask(
        "Runtime.evaluate",
        expression="""new Promise((copied, missed) => {
             document.addEventListener('copy', () => copied(document.activeElement.value), true)
             const end = Date.now() + 20000
             const look = () => {
               const button = document.querySelector('[data-copy] [data-clipboard-target]')
               button ? button.click() : Date.now() > end ? missed('no button') : setTimeout(look, 50)
             }
             look()
           })""",
        awaitPromise=True,
        returnByValue=True,
        # Chromium copies only when a person asks for it.
        userGesture=True,
    )
    assert copied["result"]["value"] == "make setup\n. .venv/bin/activate"


@pytest.mark.parametrize(("scheme", "is_light"), [("light", True), ("dark", False)])
def test_the_palette_follows_the_system_and_its_text_is_readable(
    scheme: str, is_light: bool, site: tuple[Path, str], tmp_path: Path
) -> None:
    _, address = site
    with browser(tmp_path / "profile") as tab:
        tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        tab.open(address + "explanation/underlay.html")
        style = "getComputedStyle(document.querySelector({})).{}"
        parts = (style.format("'body'", "backgroundColor"), style.format("'article p'", "color"))
        colors = tab.run(f"[{', '.join(parts)}].map(one => one.match(/[0-9]+/g).slice(0, 3).map(Number))")
    background, text = map(sum, colors)
    assert (background > text) is is_light
    assert abs(background - text) > 300
