"""Labels of cables, how many lie in each tray, and the workbook."""

import csv
import io
import re
import sys
import zipfile
from collections import Counter
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest

from railweave.api.design.intent import design_text
from railweave.bom.bill import bill
from railweave.bom.labels import LabelEnd, cable_labels
from railweave.bom.prices import Prices, priced
from railweave.bom.spares import read_spares, with_spares
from railweave.bom.trays import TraySection
from railweave.cabling.assemblies import assemblies
from railweave.cabling.ends import cables_of
from railweave.catalog.load import load_catalog
from railweave.errors import RailweaveError, UsageError
from railweave.fabric.model import Fabric
from railweave.report.bom import bom_json
from railweave.report.labels import labels_csv, labels_html, write_labels
from railweave.report.workbook import workbook, write_workbook

CATALOG = load_catalog()
INTENT = """
fabric: f
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 8, gpus: 4, nics: {count: 4, speed: 400G, model: connectx-7}}
topology:
  leaf: {model: nvidia-sn5600, count: 4, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nvidia-sn5600, count: 2}
  oversubscription: "1:1"
"""
RACKS = """
racks:
  units: 40
  rows:
    - {name: a, racks: a1-4}
    - {name: b, racks: b1-4, distance_m: 3}
  devices:
    - {devices: gpu*, racks: [a1-2, b1-2], height: 8, power_w: 10000}
    - {devices: f-leaf*, racks: a3, height: 2, power_w: 900}
    - {devices: f-spine*, racks: b4, height: 2, power_w: 900}
"""


def fabric(racks: str = RACKS) -> Fabric:
    return design_text(INTENT + racks, "f.yml").fabric


def test_every_plug_has_a_label_and_both_ends_of_a_cable_name_each_other() -> None:
    built = fabric()
    labels = cable_labels(built, CATALOG)
    ends: Counter[tuple[str, str]] = Counter()
    for one in labels:
        ends.update((one.near.device, port) for port in one.near.ports)
    assert set(ends.values()) == {1}
    assert len(ends) == 2 * len(built.links)
    met = {
        (one.near.device, port, far.device, there)
        for one in labels
        for far in one.far
        for port in one.near.ports
        for there in far.ports
    }
    ports = built.ports_of
    for link in built.links:
        lower, upper = ports[link.lower][link.lower_port].name, ports[link.upper][link.upper_port].name
        assert (link.lower, lower, link.upper, upper) in met
        assert (link.upper, upper, link.lower, lower) in met
    assert len({one.cable for one in labels}) == len(assemblies(cables_of(built, CATALOG)))


def test_a_cable_that_is_broken_out_has_a_label_at_each_of_its_plugs() -> None:
    first, second, shared = (one for one in cable_labels(fabric(), CATALOG) if one.cable == "gpu1 rail0")
    assert first.near == LabelEnd("gpu1", ("rail0",), (), "a1", 1)
    assert second.near == LabelEnd("gpu2", ("rail0",), (), "a1", 9)
    assert shared.near == LabelEnd("f-leaf1", ("Ethernet0", "Ethernet4"), ("etp1a", "etp1b"), "a3", 1)
    assert shared.far == (first.near, second.near)
    assert first.far == (LabelEnd("f-leaf1", ("Ethernet0",), ("etp1a",), "a3", 1),)


def test_labels_come_in_the_order_of_racks_units_and_devices() -> None:
    built = fabric()
    places = [(one.near.rack, one.near.unit or 0) for one in cable_labels(built, CATALOG)]
    order = ["a1", "a2", "a3", "b1", "b2", "b4"]
    assert list(dict.fromkeys(rack for rack, _ in places)) == order
    assert places == sorted(places, key=lambda one: (order.index(one[0]), one[1]))
    spine = [one.near.ports[0] for one in cable_labels(built, CATALOG) if one.near.device == "f-spine2"]
    # A cable has the two ports of a cage.
    assert spine == [port.name for port in built.switch_of["f-spine2"].panel.ports[: 2 * len(spine) : 2]]


def test_labels_without_racks_have_no_place() -> None:
    assert {(one.near.rack, one.near.unit) for one in cable_labels(fabric(""), CATALOG)} == {("", None)}


def test_cables_in_the_trays_are_those_of_the_racks_that_they_pass() -> None:
    """4 links of each node to the leaves in a3, two nodes a rack; 128 cables from there to the spines in b4. Those of
    b1 and b2 stay in row b as far as a3 stands along the rows, those of the leaves in row a."""
    found = bill(fabric(), CATALOG).racks
    assert found is not None
    assert found.trays == (
        TraySection("a1", "a2", 8),
        TraySection("a2", "a3", 16),
        TraySection("a3", "a4", 128),
        TraySection("a3", "b3", 16),
        TraySection("a4", "b4", 128),
        TraySection("b1", "b2", 8),
        TraySection("b2", "b3", 16),
    )
    assert [(one.rack, one.far_rack, one.cables) for one in found.bundles] == [
        ("a1", "a3", 8),
        ("a2", "a3", 8),
        ("a3", "b4", 128),
        ("b1", "a3", 8),
        ("b2", "a3", 8),
    ]
    assert sum(one.cables for one in found.bundles) == 32 + 128
    assert (found.racks, found.units, found.taken_units, found.power_w) == (6, 240, 76, 85_400)


class Tags(HTMLParser):
    """Counts tags, and keeps the addresses that a page asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href"}]


def test_the_page_has_a_label_for_each_plug_a_section_for_each_rack_and_needs_nothing_else() -> None:
    labels = cable_labels(fabric(), CATALOG)
    page = labels_html(labels, "f").decode()
    tags = Tags()
    tags.feed(page)
    assert tags.tags["li"] == len(labels)
    assert tags.tags["section"] == len({one.near.rack for one in labels})
    assert tags.addresses == []
    assert "http" not in page


def test_the_table_for_label_printers_has_a_line_a_plug() -> None:
    labels = cable_labels(fabric(), CATALOG)
    rows = list(csv.DictReader(io.StringIO(labels_csv(labels).decode())))
    assert len(rows) == len(labels)
    assert rows[0] == {
        "cable": "gpu1 rail0",
        "rack": "a1",
        "unit": "1",
        "device": "gpu1",
        "ports": "rail0",
        "front_panel": "",
        "far_rack": "a3",
        "far_unit": "1",
        "far_device": "f-leaf1",
        "far_ports": "Ethernet0",
        "far_front_panel": "etp1a",
        "part": rows[0]["part"],
        "length_m": rows[0]["length_m"],
    }
    shared = next(one for one in rows if one["cable"] == "gpu1 rail0" and one["device"] == "f-leaf1")
    assert (shared["ports"], shared["far_device"], shared["far_unit"]) == ("Ethernet0 Ethernet4", "gpu1+gpu2", "1+9")


def test_labels_are_written_as_a_page_or_a_table_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape("labels are written as .html or .csv, not as `labels.pdf`")):
        write_labels((), "f", tmp_path / "labels.pdf")
    with pytest.raises(RailweaveError, match="cannot be written: No such file or directory"):
        write_labels((), "f", tmp_path / "none" / "labels.csv")


def sheets(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        names = re.findall(r'<sheet name="([^"]+)"', book.read("xl/workbook.xml").decode())
        return {
            name: book.read(f"xl/worksheets/sheet{number}.xml").decode() for number, name in enumerate(names, start=1)
        }


def test_the_workbook_has_the_parts_with_formulas_of_their_prices_and_the_trays() -> None:
    pytest.importorskip("xlsxwriter")
    bought = with_spares(bill(fabric(), CATALOG), read_spares(["10"]))
    prices = Prices("EUR", {bought.lines[0].part: Decimal("1000.50")}, {})
    found = sheets(workbook(priced(bought, prices, bought.lines)))
    assert list(found) == ["Parts", "Trays", "Bundles"]
    assert found["Parts"].count("<row ") == len(bought.lines) + 2
    assert '<c r="F2"><f>D2+E2</f><v>7</v></c>' in found["Parts"]
    assert "F2*G2" in found["Parts"]
    assert "<v>7003.5</v>" in found["Parts"]
    assert f"SUM(H2:H{len(bought.lines) + 1})" in found["Parts"]
    assert found["Bundles"].count("<row ") == len(bom_json(bought)["racks"]["bundles"]) + 1
    # A leaf cage of two ports leads to two spines by cables with fixed ends.
    crosswise = INTENT.replace("  oversubscription", "  wiring: ports\n  oversubscription")
    unbuildable = design_text(f"{crosswise}cabling: {{leaf_spine: {{media: aoc}}}}\n", "f.yml").fabric
    assert list(sheets(workbook(bill(unbuildable, CATALOG)))) == ["Parts", "Remarks"]


def test_a_workbook_is_not_written_into_a_file_of_another_ending(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape("a workbook is written as .xlsx, not as `parts.csv`")):
        write_workbook(bill(fabric(""), CATALOG), tmp_path / "parts.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_same_bill_gives_the_same_workbook() -> None:
    pytest.importorskip("xlsxwriter")
    assert workbook(bill(fabric(), CATALOG)) == workbook(bill(fabric(), CATALOG))


def test_a_workbook_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(RailweaveError, match=re.escape("install railweave[xlsx], or write --csv")):
        workbook(bill(fabric(""), CATALOG))
