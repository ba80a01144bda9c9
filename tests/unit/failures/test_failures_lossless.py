"""What failures mean for lossless classes: in the terminal, as JSON and on the page."""

from pathlib import Path

from rich.console import Console

from railweave import api
from railweave.failures.analysis import Failures
from railweave.report.failures import failures_json, failures_view, lossless_text

ROOT = Path(__file__).resolve().parents[3]
LOSSY = """
traffic_classes:
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: rdma, role: rdma, dscp: [26], priority: 3, share: 50, lossless: false}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 50}
"""


def shown(found: Failures) -> str:
    console = Console(width=300, color_system=None)
    with console.capture() as captured:
        console.print(failures_view(found))
    return captured.get()


def lossy(folder: Path) -> api.Project:
    path = folder / "lossy.yml"
    path.write_text((ROOT / "intent/pod-32.yml").read_text(encoding="utf-8") + LOSSY, encoding="utf-8")
    return api.open_project(path)


def test_a_fabric_with_a_lossless_class_says_why_it_stays_safe() -> None:
    found = api.failures(api.open_project(ROOT / "intent/pod-32.yml"))
    assert failures_json(found)["lossless"] == ["roce"]
    assert (
        "lossless (roce): PFC stays free of cyclic buffer dependencies under each of them: routes go up, then down, "
        "whatever fails; headroom depends on port speed and cable length only"
    ) in shown(found)


def test_a_fabric_without_one_promises_nothing_of_pfc(tmp_path: Path) -> None:
    found = api.failures(lossy(tmp_path))
    assert failures_json(found)["lossless"] == []
    assert "no class is lossless: no failure makes PFC pause anything" in shown(found)
    assert "cyclic" not in shown(found)


def test_the_page_says_the_same(tmp_path: Path) -> None:
    pages = []
    for project in (api.open_project(ROOT / "intent/pod-32.yml"), lossy(tmp_path)):
        api.report(project, tmp_path / "fabric.html")
        pages.append((tmp_path / "fabric.html").read_text(encoding="utf-8"))
    assert f"{lossless_text(['roce'])[1:]}." in pages[0]
    assert "No class is lossless: no failure makes PFC pause anything." in pages[1]
