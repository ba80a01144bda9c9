"""Racks: where devices stand, how long each cable is, and which medium spans it."""

from collections import Counter

import pytest

from railweave.api.design.intent import design_text
from railweave.cabling.assemblies import assemblies
from railweave.cabling.ends import cables_of
from railweave.catalog.load import load_catalog
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.fabric.racks import RackLayout
from railweave.fabric.ranges import names_in_range
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

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
  rack_distance_m: 0.6
  slack_m: 0.5
  rows:
    - {name: a, racks: a1-3}
    - {name: b, racks: b1-3, distance_m: 3, start_m: 1.2}
  devices:
    - {devices: gpu1-8, racks: [a1-2, b1-2], height: 8, unit: 1, per_rack: 2}
    - {devices: f-leaf1-4, racks: a3, height: 2}
    - {devices: f-spine1-2, racks: b3, height: 2, unit: 39, per_rack: 1}
"""


def racked(racks: str = RACKS, intent: str = INTENT) -> tuple[Fabric, RackLayout]:
    fabric = design_text(intent + racks, "f.yml").fabric
    assert fabric.racks is not None
    return fabric, fabric.racks


ONE_SPINE_A_RACK = RACKS.replace("a1-3", "a1-4").replace("racks: b3,", "racks: [a4, b3],")


def test_devices_fill_their_racks_in_order_from_the_stated_or_the_lowest_free_unit() -> None:
    _, racks = racked(ONE_SPINE_A_RACK)
    places = {name: (place.rack, place.unit) for name, place in racks.places.items()}
    assert [places[f"gpu{number}"] for number in (1, 2, 3, 8)] == [("a1", 1), ("a1", 9), ("a2", 1), ("b2", 9)]
    assert [places[f"f-leaf{number}"] for number in (1, 2, 3, 4)] == [("a3", 1), ("a3", 3), ("a3", 5), ("a3", 7)]
    assert (places["f-spine1"], places["f-spine2"]) == (("a4", 39), ("b3", 39))


def test_a_cable_rises_to_the_tray_follows_the_rows_and_has_slack_at_both_ends() -> None:
    _, racks = racked(ONE_SPINE_A_RACK)
    # 40 units are 1778 mm. gpu1 (units 1 to 8, middle 177.8) in a1, f-leaf1 (units 1 and 2, middle 44.45) in a3.
    assert racks.run_mm("gpu1", "f-leaf1") == round(1778 - 177.8 + 1778 - 44.45 + 2 * 600 + 2 * 500)
    # From row a to row b, whose racks begin 1.2 m further along: b3 stands 2.4 m along, a3 1.2 m.
    assert racks.run_mm("f-leaf1", "f-spine2") == round(1778 - 44.45 + 44.45 + 1200 + 3000 + 1000)
    assert racks.run_mm("f-spine2", "f-leaf1") == racks.run_mm("f-leaf1", "f-spine2")
    # In one rack the cable does not go up to the tray: from unit 1 and 2 to 7 and 8.
    assert racks.run_mm("f-leaf1", "f-leaf4") == round(6 * 44.45 + 1000)


def test_the_tray_may_be_higher_than_the_racks() -> None:
    _, low = racked(ONE_SPINE_A_RACK)
    _, high = racked(ONE_SPINE_A_RACK.replace("slack_m", "tray_m: 2.778\n  slack_m"))
    assert high.run_mm("gpu1", "f-leaf1") == low.run_mm("gpu1", "f-leaf1") + 2000


def test_every_link_has_the_next_length_that_is_sold_and_a_medium_that_spans_it() -> None:
    fabric, racks = racked(ONE_SPINE_A_RACK)
    media = {medium.id: medium for medium in CATALOG.media()}
    lengths: Counter[tuple[str, str, int]] = Counter()
    for link in fabric.links:
        assert link.length_m * 1000 >= racks.run_mm(link.lower, link.upper)
        assert link.length_m in media[link.media].lengths_m
        lengths[link.kind, link.media, link.length_m] += 1
    # Two leaf cages lead to each node's NICs, whose longest cable decides. A leaf cage leads to one spine cage.
    assert lengths == {
        ("host_leaf", "acc", 5): 8,
        ("host_leaf", "aoc", 10): 24,
        ("leaf_spine", "acc", 4): 128,
        ("leaf_spine", "aoc", 10): 128,
    }


def test_links_of_one_cage_have_one_medium_and_links_of_one_cable_one_length() -> None:
    fabric, _ = racked(ONE_SPINE_A_RACK)
    cables = cables_of(fabric, CATALOG)
    media: dict[object, set[str]] = {}
    for cable in cables:
        for end in (cable.lower, cable.upper):
            media.setdefault(end.cage, set()).add(cable.medium.id)
    assert {len(held) for held in media.values()} == {1}
    for one in assemblies(cables):
        assert {cable.link.length_m for cable in one.links} == {one.length_m}


def test_the_lengths_of_a_supplier_replace_those_of_the_catalog() -> None:
    fabric, _ = racked(ONE_SPINE_A_RACK + "  lengths_m: {acc: [5], aoc: [8, 12], dr: [12, 9]}\n")
    assert {(link.media, link.length_m) for link in fabric.links} == {("acc", 5), ("aoc", 8)}


def test_headroom_is_that_of_each_links_own_length() -> None:
    """The switches compute their headroom from CABLE_LENGTH, which is the length of the cable in each port."""
    fabric, _ = racked(ONE_SPINE_A_RACK)
    templates = find_templates()
    for switch in fabric.switches:
        found = configure(fabric, switch, templates).config_db()["CABLE_LENGTH"]["AZURE"]
        links = {switch.panel.ports[one.port_of(switch.name)].name: one for one in fabric.links_of[switch.name]}
        assert found == {port: f"{link.length_m}m" for port, link in links.items()}
    assert len(fabric.cable_lengths_m[0]) > 1


FAR = """
fabric: f
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 32, gpus: 4, nics: {count: 4, speed: 400G, model: connectx-7}}
topology:
  leaf: {model: nokia-ixr7220-h4-64d, count: 4}
  spine: {model: nokia-ixr7220-h4-64d, count: 4}
racks:
  units: 48
  rows:
    - {name: a, racks: a1-8}
    - {name: b, racks: b1, distance_m: 350}
  devices:
    - {devices: gpu*, racks: a1-6, height: 4}
    - {devices: [f-leaf1-3, f-spine*], racks: a8, height: 2}
    - {devices: f-leaf4, racks: b1, height: 2}
"""


def test_switches_whose_cables_are_longer_than_those_of_others_are_checked_on_their_own() -> None:
    with pytest.raises(RefusedError) as refused:
        design_text(FAR, "f.yml")
    found = [one for one in refused.value.diagnostics if one.severity == "error"]
    assert [(one.code, one.where.path, one.devices) for one in found] == [
        ("H-headroom", "racks", ("f-leaf4", "f-spine3", "f-spine4")),
        ("H-headroom", "racks", ("f-leaf4", "f-spine1", "f-spine2")),
    ]
    assert found[0].message.endswith("has no headroom for 400G over 360 m: its longest cable is 300 m")


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("gpu1-3", ("gpu1", "gpu2", "gpu3")),
        ("r08-10", ("r08", "r09", "r10")),
        ("pod1-leaf7-7", ("pod1-leaf7",)),
        ("pod1-leaf7", ("pod1-leaf7",)),
        ("a3-1", ("a3-1",)),
    ],
)
def test_a_range_is_its_names_in_order(written: str, names: tuple[str, ...]) -> None:
    assert names_in_range(written) == names


def test_a_star_stands_for_all_of_a_name_in_the_order_of_their_numbers() -> None:
    _, listed = racked(ONE_SPINE_A_RACK)
    _, starred = racked(ONE_SPINE_A_RACK.replace("gpu1-8", "gpu*").replace("f-leaf1-4", "f-leaf*"))
    assert starred.places == listed.places


FROM_THE_CATALOG = INTENT.replace("spine: {model: nvidia-sn5600", "spine: {model: arista-7060x6-64pe")


def test_switches_take_the_units_and_the_watts_of_their_model_unless_their_entry_states_others() -> None:
    racks = RACKS.replace("racks: a3, height: 2}", "racks: a3}").replace("height: 2, unit: 39", "unit: 39")
    stated = racks.replace("per_rack: 1}", "per_rack: 1, power_w: 1750}")
    for text, power_w in ((racks, 2400), (stated, 1750)):
        _, placed = racked(text.replace("a1-3", "a1-4").replace("racks: b3,", "racks: [a4, b3],"), FROM_THE_CATALOG)
        spine, leaf = placed.places["f-spine1"], placed.places["f-leaf2"]
        assert (leaf.unit, leaf.height, leaf.power_w) == (3, 2, None)
        assert (spine.unit, spine.height, spine.power_w) == (39, 2, power_w)


def test_what_neither_an_entry_nor_the_catalog_states_is_asked_for() -> None:
    racks = RACKS.replace("height: 8, unit: 1, ", "").replace("units: 40", "units: 40\n  power_w: 9000")
    with pytest.raises(RefusedError) as refused:
        racked(racks.replace("racks: a3, height: 2", "racks: a3"))
    limit = "and `racks.power_w` limits what a rack draws"
    assert [(one.code, one.message, one.devices[:1]) for one in refused.value.diagnostics if one.code == "RW011"] == [
        (
            "RW011",
            "key `height` is missing in `racks.devices[0]`, and the catalog has no rack units of gpu1…8",
            ("gpu1",),
        ),
        ("RW011", f"key `power_w` is missing in `racks.devices[0]`, {limit}", ("gpu1",)),
        ("RW011", f"key `power_w` is missing in `racks.devices[1]`, {limit}", ("f-leaf1",)),
        ("RW011", f"key `power_w` is missing in `racks.devices[2]`, {limit}", ("f-spine1",)),
    ]


def test_without_racks_there_is_one_length_a_tier() -> None:
    fabric = design_text(INTENT, "f.yml").fabric
    assert fabric.racks is None
    assert {(link.kind, link.length_m) for link in fabric.links} == {("host_leaf", 20), ("leaf_spine", 30)}
