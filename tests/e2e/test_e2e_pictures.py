"""Pages at 1,400 and 390 pixels and the pictures of the docs, beside reference pictures that ``make pictures`` renews.

The browser writes in the font that railweave ships, so the fonts of the machine do not matter.
"""

import base64
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance_faults.carry_out import carry_out
from acceptance_faults.nature import Conditions, Loss
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


LEFT_BY_A_RUN = """(() => {
  const same = [[/\\d{8}T\\d{6}Z-lab-[0-9a-f]{6}/, "20261126T030756Z-lab-3f95c9"],
    [/\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d/, "2026-11-26 03:07:56"], [/ by \\S+@\\S+/, " by operator@station"]];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    for (const [pattern, text] of same) texts.currentNode.data = texts.currentNode.data.replace(pattern, text);
})()"""
"""Replaces what differs from run to run on the page of a rollout: its name, times and user."""


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Change a simulated fabric by the commands that users type, and write a page of what each leaves."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "inventory", project / "inventory")
    (project / "intent").mkdir()
    intent = project / "intent" / "lab.yml"
    deployed = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")
    intent.write_text(deployed, encoding="utf-8")
    railweave = str(Path(sys.executable).with_name("railweave"))

    def run(command: str, status: int = 0) -> str:
        words = [railweave, *shlex.split(command)]
        done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == status, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def page(name: str, option: str) -> None:
        run(f"report {option} --out {name}.html")

    run("sim up")
    try:
        run("deploy --yes --provision")
        intent.write_text(f"{deployed}mtu: {{fabric: 8000, hosts: 4200}}\n", encoding="utf-8")
        run("plan -o plan.json")
        page("plan", "--plan plan.json")
        run("sim fault lab-leaf1 refuse-commit")
        run("deploy --yes", status=1)
        page("rollout", "--rollout newest")
        run("sim fault lab-leaf1 clear")
        intent.write_text(deployed, encoding="utf-8")
        run("deploy --yes")
        run("sim ssh lab-leaf2 'sudo config interface mtu Ethernet0 8000'")
        run("sim ssh lab-spine1 'sudo config interface shutdown Ethernet4'")
        (project / "drift.json").write_text(run("drift --json"), encoding="utf-8")
        page("drift", "--drift drift.json")
        run("deploy --yes")
        run("sim cable lab-leaf1:Ethernet112 lab-spine2:Ethernet4")
        (project / "verify.json").write_text(run("verify --json", status=1), encoding="utf-8")
        page("verify", "--verification verify.json")
    finally:
        run("sim down")
    return {name: project / f"{name}.html" for name in ("plan", "rollout", "drift", "verify")}


@pytest.fixture(scope="module")
def racks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of the racks that the how-to on the bill of materials states."""
    folder = tmp_path_factory.mktemp("racks")
    how_to = (ROOT / "docs" / "how-to" / "bom.md").read_text(encoding="utf-8")
    section = how_to.split("# racks.yml\n")[1].split("```")[0]
    pod = (ROOT / "intent" / "pod-32.yml").read_text(encoding="utf-8")
    (folder / "racked.yml").write_text(pod + section, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("railweave")), "report", "racked.yml", "--out", "racks.html"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "racks.html"


ACCEPTED = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 10, gpus: 8, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nvidia-sn4700}
acceptance: {isolated_rounds: 8}
"""


@pytest.fixture(scope="module")
def acceptance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of an acceptance whose tests a model carries out: the cable of a NIC loses 3 % of its packets."""
    folder = tmp_path_factory.mktemp("acceptance")
    (folder / "pod1.yml").write_text(ACCEPTED, encoding="utf-8")
    railweave = str(Path(sys.executable).with_name("railweave"))

    def run(command: str) -> None:
        subprocess.run([railweave, *command.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    run("acceptance plan pod1.yml --out tests")
    cables = [link["cable"] for link in json.loads((folder / "tests" / "plan.json").read_bytes())["links"]]
    lossy = (cables.index("gpu6 rail2"), True)
    carry_out(folder / "tests", Conditions(loss={lossy: Loss(0.03)}), 1)
    run("report pod1.yml --acceptance tests --out page.html")
    return folder / "page.html"


def picture(
    tab: Browser, page: Path, width: int, height: int | None = None, anchor: str = "", script: str = "0"
) -> bytes:
    """Return a page as it looks in a window of this width: its first ``height`` pixels, or the whole of it.

    ``script`` runs before, for what no address scrolls to.
    """
    tab.ask("Emulation.setDeviceMetricsOverride", width=width, height=height or 900, deviceScaleFactor=1, mobile=False)
    tab.open("about:blank")
    tab.open(f"{page.as_uri()}{anchor}")
    # The page of a comparison has no script; that of a report says when its data is unpacked.
    tab.run(
        "new Promise(done => { const look = () => !document.querySelector('script') || "
        "document.documentElement.dataset.ready ? done(1) : requestAnimationFrame(look); look(); })"
    )
    tab.run(LEFT_BY_A_RUN)
    tab.run(script)
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


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "height", "anchor"),
    [
        ("plan", 1130, "#topology"),
        ("rollout", 1300, ""),
        ("drift", 1000, ""),
        ("verify", 640, "#device-lab-leaf1"),
    ],
)
def test_the_pictures_of_the_docs_show_the_changes_of_today(
    name: str, height: int, anchor: str, changes: dict[str, Path], tab: Browser
) -> None:
    check_picture(picture(tab, changes[name], 1360, height, anchor), ASSETS / f"report-{name}.png")


@pytest.mark.nightly
def test_the_picture_of_an_acceptance_shows_the_page_of_today(acceptance: Path, tab: Browser) -> None:
    # Its matrices and everything below them.
    first = "document.querySelector('#acceptance .drawing').previousElementSibling"
    shown = picture(tab, acceptance, 1360, 1170, "#acceptance", f"{first}.scrollIntoView()")
    check_picture(shown, ASSETS / "report-acceptance.png")


def test_the_picture_of_the_racks_shows_the_page_of_today(racks: Path, tab: Browser) -> None:
    check_picture(picture(tab, racks, 1360, 800, "#racks"), ASSETS / "report-racks.png")
