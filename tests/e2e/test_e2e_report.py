"""The report in a headless browser: opened, used by pointer and by keyboard, at 8, 256 and 1,024 switches."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, browser
from by_night import nightly_except
from intents import DENSE

from railweave import api
from railweave.api.starter import design_intent, starter_designs

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 2_000_000
POD = (ROOT / "intent" / "pod-32.yml").read_text(encoding="utf-8")
SIZES = {8: POD, 256: DENSE[256], 1024: DENSE[1024]}

SHOWN = "new Promise(done => addEventListener('hashchange', () => setTimeout(done), {once: true}))"
"""Settled when the page has shown what its address names."""

WALK = """(async () => {
  const dead = [], home = HOME;
  const go = (hash) => new Promise((done) => {
    addEventListener("hashchange", () => setTimeout(done), { once: true });
    location.hash = hash;
  });
  const part = document.getElementById("part"), panel = document.getElementById("panel");
  const all = [...document.querySelectorAll("#stage a")].map((one) => one.getAttribute("href").slice(1));
  for (const opens of new Set(all.filter((_, place) => place % Math.ceil(all.length / 12) === 0))) {
    if (opens === home) continue;
    await go(opens);
    if (panel.hidden && part.value !== opens) dead.push(opens);
    await go(home);
  }
  return dead;
})()"""
"""Follows a dozen links of a picture, each from the picture again; returns those that opened nothing."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Write a report of each size by the command that users run; return the files."""
    found = {}
    for switches, text in SIZES.items():
        folder = tmp_path_factory.mktemp(f"report{switches}")
        (folder / "intent").mkdir()
        (folder / "intent" / "fabric.yml").write_text(text, encoding="utf-8")
        command = [str(Path(sys.executable).with_name("railweave")), "report", "--out", "fabric.html"]
        begun = time.monotonic()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        print(f"{switches} switches: {time.monotonic() - begun:.1f} s, {done.stdout.strip()}")
        found[switches] = folder / "fabric.html"
    return found


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.ask("Emulation.setDeviceMetricsOverride", width=1500, height=1000, deviceScaleFactor=1, mobile=False)
        yield opened


def opened(tab: Browser, page: Path, anchor: str = "") -> None:
    """Open a page anew, wait until its data is unpacked, and check that it asks for nothing and logs no error."""
    tab.open("about:blank")
    visit = tab.open(f"{page.as_uri()}{anchor}")
    tab.run(
        "new Promise(done => { const look = () => document.documentElement.dataset.ready ? done(1) :"
        " requestAnimationFrame(look); look(); })"
    )
    assert visit.requested == [page.as_uri() + anchor] or visit.requested == [page.as_uri()]
    assert visit.errors == []


def then(tab: Browser, script: str) -> None:
    """Run a script that changes what is shown, and wait until it is."""
    tab.run(
        "new Promise(done => { addEventListener('hashchange', () => setTimeout(done), {once: true});"
        f" (() => {{ {script} }})(); }})"
    )


def go(tab: Browser, anchor: str) -> None:
    then(tab, f"location.hash = {json.dumps(anchor)};")


def press(tab: Browser, key: str, code: int, *, shows: bool = False) -> None:
    """Press a key, and wait for what it shows where it shows something."""
    if shows:
        tab.run(f"window.shown = {SHOWN}; 1")
    for kind in ("keyDown", "keyUp"):
        text = "\r" if key == "Enter" and kind == "keyDown" else ""
        tab.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)
    if shows:
        tab.run("window.shown")


def panel(tab: Browser) -> str:
    return str(
        tab.run("document.getElementById('panel').hidden ? '' : document.querySelector('#panel h3').textContent")
    )


def picture(tab: Browser) -> bytes:
    return base64.b64decode(tab.ask("Page.captureScreenshot", format="png")["data"])


def named(tab: Browser) -> Any:
    """Return what a screen reader would find without a name: links, buttons and fields."""
    return tab.run(
        "[...document.querySelectorAll('a, button, input, select')].filter(one => !(one.getAttribute('aria-label')"
        " || one.textContent.trim() || one.labels?.length)).map(one => one.outerHTML)"
    )


@pytest.mark.parametrize("switches", SIZES)
def test_the_page_is_small_and_opens_without_a_request_or_an_error(
    switches: int, pages: dict[int, Path], tab: Browser
) -> None:
    assert pages[switches].stat().st_size < MOST_BYTES
    opened(tab, pages[switches])
    assert tab.run("document.querySelectorAll('#stage .block').length") >= 3
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert named(tab) == []
    assert len(picture(tab)) > 20_000


@pytest.mark.parametrize("switches", SIZES)
def test_every_picture_opens_and_every_link_in_it_leads_somewhere(
    switches: int, pages: dict[int, Path], tab: Browser
) -> None:
    opened(tab, pages[switches])
    keys = tab.run("[...document.querySelectorAll('#part option')].map(one => one.value)")
    for key in dict.fromkeys(keys[:4] + keys[-1:]):
        if key != keys[0]:
            go(tab, key)
        assert tab.run("document.getElementById('part').value") == key
        dead = tab.run(WALK.replace("HOME", json.dumps(key)))
        assert dead == []


SECTIONS = """(async () => {
  const dead = [], part = document.getElementById("part"), panel = document.getElementById("panel");
  for (const one of document.querySelectorAll("nav a, a.skip, main section a")) {
    if (one.closest("#stage")) continue;
    const name = one.getAttribute("href").slice(1);
    if (document.getElementById(name) || location.hash.slice(1) === name) continue;
    await new Promise((done) => {
      addEventListener("hashchange", () => setTimeout(done), { once: true });
      location.hash = name;
    });
    if (panel.hidden && part.value !== name) dead.push(name);
  }
  return dead;
})()"""
"""Follows the links of all sections; returns those that opened nothing."""

CHASSIS = """
fabric: big
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 128, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}
topology:
  leaf: {model: nvidia-sn5600, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: arista-7808r3a-36d2}
"""
KINDS = {**{name: design_intent(name) for name in starter_designs()}, "chassis": CHASSIS}


@pytest.mark.parametrize("kind", nightly_except(KINDS, daily=["chassis", "storage", "two-planes-200g"]))
def test_no_link_of_any_kind_of_fabric_is_dead(kind: str, tab: Browser, tmp_path: Path) -> None:
    intent = tmp_path / "fabric.yml"
    intent.write_text(KINDS[kind], encoding="utf-8")
    page = tmp_path / "fabric.html"
    api.report(api.open_project(intent), page)
    opened(tab, page)
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    keys = tab.run("[...document.querySelectorAll('#part option')].map(one => one.value)")
    for key in dict.fromkeys(keys[:2] + keys[-1:]):
        if key != keys[0]:
            go(tab, key)
        assert tab.run(WALK.replace("HOME", json.dumps(key))) == []
    assert tab.run(SECTIONS) == []


def test_markup_of_others_is_shown_and_runs_nothing(tab: Browser, tmp_path: Path) -> None:
    evil = """<script>document.title="owned"</script>"><img src=x onerror="document.title='owned'">]]></style>"""
    row = {"table": evil, "key": evil, "field": evil, "before": evil, "after": evil, "disruption": evil, "op": "update"}
    document = {
        **{"version": 1, "fabric": "pod1", "target": evil, "drift": True, "changes": [{"device": "pod1-leaf1", **row}]},
        "devices": {"pod1-leaf1": {"state": "changed"}, "pod1-leaf2": {"state": "unreachable", "error": evil}},
    }
    drift, page = tmp_path / "drift.json", tmp_path / "fabric.html"
    drift.write_text(json.dumps(document), encoding="utf-8")
    api.report(api.open_project(ROOT / "intent" / "pod-32.yml"), page, drift=drift)
    opened(tab, page, "#device-pod1-leaf2")
    assert evil in tab.run("document.getElementById('panel').textContent")
    assert evil in tab.run("document.getElementById('drift').textContent")
    assert tab.run("document.title") == "pod1 – fabric report"
    assert tab.run("document.images.length") == 0


def test_a_switch_shows_its_ports_and_a_cable_its_row(pages: dict[int, Path], tab: Browser) -> None:
    opened(tab, pages[8], "#device-pod1-leaf2")
    assert panel(tab) == "pod1-leaf2"
    assert tab.run("document.querySelectorAll('#panel tbody tr').length") == 64
    assert tab.run("document.querySelectorAll('#stage .chosen').length") == 6, (
        "the switch, and its lines to 4 spines and nodes"
    )
    then(tab, "document.querySelector('#panel tbody a').click()")
    assert panel(tab).startswith("Cable ")
    ends = tab.run("[...document.querySelectorAll('#panel dd')].slice(0, 2).map(one => one.textContent)")
    assert ends == ["gpu1 rail1", "pod1-leaf2 Ethernet0 (Ethernet1/1)"]
    then(tab, "document.querySelector('#stage .line').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert panel(tab) == "8 cables"


def test_it_can_be_used_by_keyboard_alone(pages: dict[int, Path], tab: Browser) -> None:
    opened(tab, pages[8])
    tab.run("document.querySelector('#stage .block').focus()")
    assert tab.run("document.activeElement.getAttribute('href')") == "#device-pod1-spine1"
    press(tab, "Enter", 13, shows=True)
    assert panel(tab) == "pod1-spine1"
    press(tab, "Escape", 27, shows=True)
    assert panel(tab) == ""
    tab.run("document.querySelector('#stage .block').focus()")
    press(tab, "Tab", 9)
    assert tab.run("document.activeElement.getAttribute('href')") == "#device-pod1-spine2"


def test_rails_are_filtered_and_stay_so_in_other_pictures(pages: dict[int, Path], tab: Browser) -> None:
    opened(tab, pages[256])
    before = tab.run("document.querySelectorAll('#stage .out').length")
    tab.run("document.querySelectorAll('input[name=rail]').forEach(one => { if (one.value !== '3') one.click(); })")
    go(tab, "stripe-1")
    out, kept = (
        tab.run(f"document.querySelectorAll('{query}').length") for query in ("#stage .out", "#stage .rail-3:not(.out)")
    )
    assert before == 0
    assert out > 0
    assert kept > 0
    assert tab.run("document.querySelectorAll('#stage .rail-2:not(.out)').length") == 0
    tab.run("document.querySelectorAll('input[name=rail]').forEach(one => { if (!one.checked) one.click(); })")
    assert tab.run("document.querySelectorAll('#stage .out').length") == 0


def test_a_device_is_found_by_a_part_of_its_name(pages: dict[int, Path], tab: Browser) -> None:
    opened(tab, pages[1024])
    then(
        tab,
        "const box = document.getElementById('find'); box.value = 'leaf100'; box.dispatchEvent(new Event('input'));"
        " box.dispatchEvent(new Event('change', {bubbles: true}));",
    )
    assert panel(tab) == "bench-leaf100"
    assert tab.run("document.querySelectorAll('#names option').length") == 1
    assert tab.run("document.querySelectorAll('#stage .cell.chosen, #stage .block.chosen').length") == 1
    tab.run(
        "(() => { const box = document.getElementById('find'); box.value = 'nobody';"
        " box.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    assert tab.run("document.getElementById('find').validationMessage") == "No device is named nobody"


def test_dark_and_light_are_chosen_by_the_viewer_and_by_the_button(pages: dict[int, Path], tab: Browser) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        tab.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        opened(tab, pages[8])
        ground = "getComputedStyle(document.body).backgroundColor"
        block = "getComputedStyle(document.querySelector('#stage .level-0 rect')).fill"
        grounds += [(tab.run(ground), tab.run(block))]
        tab.run("document.getElementById('theme').click()")
        grounds += [(tab.run(ground), tab.run(block))]
    tab.ask("Emulation.setEmulatedMedia", features=[])
    assert grounds[0] == grounds[3]
    assert grounds[1] == grounds[2]
    assert grounds[0] != grounds[1]


def test_print_shows_every_section_and_no_tools(pages: dict[int, Path], tab: Browser) -> None:
    tab.ask("Emulation.setEmulatedMedia", media="print")
    opened(tab, pages[8])
    assert tab.run("getComputedStyle(document.getElementById('tools')).display") == "none"
    assert tab.run("[...document.querySelectorAll('main > section')].every(one => one.offsetHeight > 0)")
    tab.ask("Emulation.setDeviceMetricsOverride", width=720, height=1000, deviceScaleFactor=1, mobile=False)
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), "A4 is 720 px wide"
    tab.ask("Emulation.setDeviceMetricsOverride", width=1500, height=1000, deviceScaleFactor=1, mobile=False)
    tab.ask("Emulation.setEmulatedMedia", media="")


def test_a_page_that_is_dark_is_printed_light_and_is_dark_again(pages: dict[int, Path], tab: Browser) -> None:
    opened(tab, pages[8])
    ground = "getComputedStyle(document.body).backgroundColor"
    light = tab.run(ground)
    tab.run("document.getElementById('theme').click()")
    dark = tab.run(ground)
    tab.run("dispatchEvent(new Event('beforeprint'))")
    assert tab.run(ground) == light
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert tab.run(ground) == dark != light


@pytest.mark.parametrize("switches", SIZES)
def test_the_way_of_a_class_is_seen_from_end_to_end(switches: int, pages: dict[int, Path], tab: Browser) -> None:
    opened(tab, pages[switches])
    ways = "[...document.querySelectorAll('.chain')]"
    assert tab.run(f"{ways}.length") > 0
    assert tab.run(f"{ways}.every(one => one.scrollWidth <= one.clientWidth)")


def test_without_scripts_the_whole_fabric_and_all_tables_are_there(pages: dict[int, Path], tab: Browser) -> None:
    tab.ask("Emulation.setScriptExecutionDisabled", value=True)
    visit = tab.open(pages[8].as_uri())
    text = json.dumps(tab.ask("DOM.getDocument", depth=-1))
    tab.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert visit.errors == []
    assert "spine4" in text
    assert "Bill of materials" in text
