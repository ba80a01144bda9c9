"""Racks from the front: every device at its own units, and a page that has them."""

from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from railweave import api
from railweave.api.design.intent import design_text
from railweave.drawing.elevation import described, elevation
from railweave.drawing.marks import Mark, MarkKind, Marks
from railweave.fabric.model import Fabric

POD = (Path(__file__).resolve().parents[3] / "intent" / "pod-32.yml").read_text(encoding="utf-8")
RACKS = """
racks:
  units: 48
  rows:
    - {name: a, racks: a1-5}
    - {name: b, racks: b1-4, distance_m: 2.4}
  devices:
    - {devices: gpu1-32, racks: [a1-4, b1-4], height: 8}
    - {devices: pod1-leaf1-4, racks: a5, height: 2, unit: 30}
    - {devices: pod1-spine1-4, racks: a5, height: 1, unit: 40}
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    return design_text(POD + RACKS, "racks.yml").fabric


def test_every_device_stands_in_its_rack_and_on_no_other(fabric: Fabric) -> None:
    assert fabric.racks is not None
    root = fromstring(elevation(fabric, fabric.racks, Marks({"gpu3": (Mark(MarkKind.FAILED, "link down"),)})))
    links = {(one.get("href") or "").removeprefix("#device-"): one for one in root.iter(f"{SVG}a")}
    assert set(links) == set(fabric.ports_of)
    assert "mark-failed" in (links["gpu3"].get("class") or "")
    assert links["pod1-leaf1"].get("aria-label") == "pod1-leaf1, units 30 to 31"
    places: set[tuple[float, int]] = set()
    for one in links.values():
        rect = one.find(f"{SVG}rect")
        assert rect is not None
        x, y, height = (float(rect.get(name) or 0) for name in ("x", "y", "height"))
        assert height >= 11, "its name is written in letters of 8"
        units = {(x, round(y) + step) for step in range(0, round(height), 12)}
        assert not units & places
        places |= units


def test_every_rack_is_listed_with_what_is_free(fabric: Fabric) -> None:
    assert fabric.racks is not None
    rows = {name: (row, devices, free) for name, row, devices, free in described(fabric, fabric.racks)}
    assert rows["a5"] == ("a", "spine4, spine3, spine2, spine1, leaf4, leaf3, leaf2, leaf1", "36")
    assert rows["b4"][2] == "16"
    assert len(rows) == 9


def test_a_page_has_the_racks_of_the_intent(tmp_path: Path) -> None:
    intent, out = tmp_path / "racks.yml", tmp_path / "page.html"
    intent.write_text(POD + RACKS, encoding="utf-8")
    api.report(api.open_project(intent), out)
    page = out.read_text(encoding="utf-8")
    assert '<option value="racks">9 racks</option>' in page
    assert "<h2>Racks</h2>" in page
