"""Trunks between racks: what is bought instead of single fibers, and what lies in the trays."""

from collections import Counter
from math import ceil

import pytest

from railweave.api.design.intent import design_text
from railweave.bom.bill import Bill, BillLine, PartKind, bill
from railweave.catalog.load import load_catalog
from railweave.fabric.model import Fabric

CATALOG = load_catalog()
INTENT = """
fabric: f
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 32, gpus: 8, nics: {count: 4, speed: 400G, model: connectx-7}}
topology:
  leaf: {model: nokia-ixr7220-h4-64d, count: 4}
  spine: {model: nvidia-sn4700, count: 4}
cabling: {host: {media: MEDIA}, leaf_spine: {media: MEDIA}}
racks:
  units: 48
  rows:
    - {name: a, racks: a1-5}
    - {name: b, racks: b1-4, distance_m: 2.4}
  devices:
    - {devices: gpu1-32, racks: [a1-4, b1-4], height: 8}
    - {devices: f-leaf1-4, racks: a5}
    - {devices: f-spine1-4, racks: a5}
"""


def made(media: str, connectors: int = 0) -> tuple[Fabric, Bill]:
    text = INTENT.replace("MEDIA", media)
    if connectors:
        text = text.replace("  units: 48", f"  units: 48\n  trunks: {{connectors: {connectors}, cord_m: 2}}")
    fabric = design_text(text, "f.yml").fabric
    return fabric, bill(fabric, CATALOG)


def fibers(found: Bill) -> list[BillLine]:
    return [one for one in found.lines if one.kind is PartKind.FIBER]


@pytest.mark.parametrize("connectors", [6, 12, 24])
def test_each_link_between_racks_takes_a_connector_and_two_cords(connectors: int) -> None:
    fabric, found = made("dr", connectors)
    assert fabric.racks is not None
    links = Counter(
        (fabric.racks.places[link.lower].rack, fabric.racks.places[link.upper].rack) for link in fabric.links
    )
    across = {pair: count for pair, count in links.items() if pair[0] != pair[1]}
    cords = sum(one.quantity for one in fibers(found) if "patch cord" in one.part)
    trunks = sum(one.quantity for one in fibers(found) if "trunk" in one.part)
    assert cords == 2 * sum(across.values()) == 256
    assert trunks == sum(ceil(count / connectors) for count in across.values())
    single = [one for one in fibers(found) if "fiber" in one.part]
    assert [(one.part, one.quantity) for one in single] == [("OS2 fiber MPO-12 to MPO-12", 128)]
    assert {one.length_m for one in fibers(found) if "patch cord" in one.part} == {2}


def test_pairs_of_fibers_share_a_connector_through_cassettes() -> None:
    _, found = made("fr", 12)
    cassettes = sum(one.quantity for one in fibers(found) if "cassette" in one.part)
    assert cassettes == 8 * 2 * ceil(16 / 6)
    assert sum(one.quantity for one in fibers(found) if "trunk" in one.part) == 8


def test_the_trays_hold_trunks_instead_of_single_fibers() -> None:
    _, single = made("dr")
    _, run = made("dr", 12)
    assert single.racks is not None
    assert run.racks is not None
    assert sum(one.cables for one in single.racks.bundles if one.rack != one.far_rack) == 128
    assert sum(one.cables for one in run.racks.bundles if one.rack != one.far_rack) == 8 * 2


def test_without_trunks_nothing_changes_and_lengths_stay_those_of_the_way() -> None:
    fabric, _ = made("dr")
    with_trunks, _ = made("dr", 12)
    assert [link.length_m for link in fabric.links] == [link.length_m for link in with_trunks.links]
