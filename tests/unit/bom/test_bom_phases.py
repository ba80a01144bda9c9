"""What each phase of growth orders: today, the growth that is stated, and all nodes that fit."""

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from railweave import api
from railweave.bom.bill import Bill, PartKind
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.growth import grown
from railweave.errors import RefusedError
from railweave.intent.load import load_intent

ROOT = Path(__file__).resolve().parents[3]
RACKS = """
racks:
  units: 48
  rows: [{{name: a, racks: a1-{racks}}}]
  devices:
    - {{devices: {nodes}, racks: a1-2, height: 4, per_rack: 4}}
    - {{devices: ["lab-leaf*", "lab-spine*"], racks: a{racks}, height: 1, unit: 30}}
"""


def pieces(bill: Bill) -> Counter[tuple[str, int | None]]:
    return Counter({(one.part, one.length_m): one.quantity for one in bill.lines})


def lab(folder: Path, racks: str) -> api.Project:
    path = folder / "lab.yml"
    path.write_text((ROOT / "intent/lab-4.yml").read_text(encoding="utf-8") + racks, encoding="utf-8")
    return api.open_project(path)


def test_growth_that_is_stated_is_a_phase_of_its_own() -> None:
    project = api.open_project(ROOT / "intent/pod-32-wide.yml")
    today, later = api.bom_phases(project)
    assert (today.title, today.nodes, today.gpus) == ("today", 32, 256)
    assert (later.title, later.nodes, later.gpus) == ("512 GPUs in 18 months", 64, 512)
    assert today.bill == api.bom(project)
    assert pieces(later.bill) == {
        ("Nokia 7220 IXR-H4-64D", None): 4,
        ("NVIDIA ConnectX-7", None): 128,
        ("OSFP or QSFP112 400G-DR4", None): 128,
        ("QSFP-DD 400G-DR4", None): 128,
        ("AOC QSFP-DD 400G to QSFP-DD 400G", 30): 128,
        ("OS2 fiber MPO-12 to MPO-12", 20): 128,
    }


def test_all_phases_together_are_the_bill_of_the_last(tmp_path: Path) -> None:
    project = api.open_project(ROOT / "intent/lab-4.yml")
    phases = api.bom_phases(project)
    assert [(one.title, one.nodes) for one in phases] == [("today", 4), ("all nodes that fit", 8)]
    larger = tmp_path / "larger.yml"
    text = (ROOT / "intent/lab-4.yml").read_text(encoding="utf-8")
    larger.write_text(
        text.replace("count: 4\n", "count: 8\n").replace("sonic-vs, count: 2, down", "sonic-vs, count: 4, down"),
        encoding="utf-8",
    )
    total = sum((pieces(one.bill) for one in phases), Counter[tuple[str, int | None]]())
    assert total == pieces(api.bom(api.open_project(larger)))


@pytest.mark.parametrize(
    ("name", "nodes", "ordered"),
    [
        ("lab-pods", [8, 16], {"SONiC virtual switch": 8}),
        ("generations", [8, 16], {"Nokia 7220 IXR-H4-64D": 4, "NVIDIA SN5600": 4}),
        ("mixed-nodes", [8, 16], {"NVIDIA SN4700": 8}),
    ],
)
def test_pods_bring_spines_of_their_own_and_other_kinds_of_nodes_end_the_room(
    name: str, nodes: list[int], ordered: dict[str, int]
) -> None:
    phases = api.bom_phases(api.open_project(ROOT / "intent" / f"{name}.yml"))
    assert [one.nodes for one in phases] == nodes
    found = {one.part: one.quantity for one in phases[-1].bill.lines if one.kind is PartKind.SWITCH}
    assert found == ordered


def test_a_fabric_without_room_has_one_phase() -> None:
    assert [one.title for one in api.bom_phases(api.open_project(ROOT / "intent/pod-32.yml"))] == ["today"]


def test_phases_have_prices_and_spares_of_all_parts_until_then(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text("currency: EUR\nprices: {SONiC virtual switch: 100}\n", encoding="utf-8")
    today, later = api.bom_phases(api.open_project(ROOT / "intent/lab-4.yml"), prices=prices, spares=["switch=50"])
    assert (today.bill.lines[0].quantity, today.bill.lines[0].spares, today.bill.total) == (4, 2, Decimal(600))
    assert (later.bill.lines[0].quantity, later.bill.lines[0].spares, later.bill.total) == (2, 1, Decimal(300))


def test_growth_has_places_in_the_racks_where_all_nodes_of_a_name_have(tmp_path: Path) -> None:
    phases = api.bom_phases(lab(tmp_path, RACKS.format(racks=3, nodes="gpu*")))
    assert [one.nodes for one in phases] == [4, 8]


def test_growth_without_a_place_is_refused_with_the_phase_and_the_place(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        api.bom_phases(lab(tmp_path, RACKS.format(racks=3, nodes="gpu1-4")))
    (found,) = [one for one in refused.value.diagnostics if one.severity == "error"]
    assert found.message == "with 8 nodes gpu: gpu5…8 have no place in a rack"
    assert (found.code, found.where.path) == ("RW301", "racks.devices")


def test_the_entry_that_grows_keeps_everything_but_its_number() -> None:
    intent = load_intent(ROOT / "intent/mixed-nodes.yml")
    fabric = design(intent, load_catalog()).fabric
    assert fabric is not None
    larger = grown(intent, 16, fabric)
    changed = [index for index, (old, new) in enumerate(zip(intent.nodes, larger.nodes, strict=True)) if old != new]
    assert len(changed) == 1
    assert larger.nodes[changed[0]].count == 16
    assert intent.nodes[changed[0]].gpus


def test_nodes_that_do_not_fit_before_others_are_an_entry_behind_them() -> None:
    intent = load_intent(ROOT / "intent/mixed-nodes.yml")
    fabric = design(intent, load_catalog()).fabric
    assert fabric is not None
    # Stripes 2 to 5 of 4 nodes are those of the older nodes, stripe 6 is that of storage.
    larger = grown(intent, 90, fabric)
    assert [(entry.name, entry.count, entry.first_stripe) for entry in larger.nodes] == [
        ("gpu", 8, None),
        ("old", 16, 2),
        ("store", 4, 6),
        ("old-behind", 74, 7),
    ]
