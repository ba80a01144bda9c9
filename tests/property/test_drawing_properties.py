"""Pictures show every device once and every cable once, and nothing stands on anything else, whatever the fabric."""

from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from by_check import sampled
from hypothesis import given
from hypothesis import strategies as st
from random_fabrics import fabrics
from reference_intents import REFERENCE_INTENTS

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.drawing.layout import CELL, Box, Picture, lay_out
from railweave.drawing.scene import Scene
from railweave.drawing.text import text
from railweave.drawing.views import FABRIC, MOST_COLUMNS, part_keys, scene_of
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent


@cache
def reference(path: Path) -> Fabric:
    fabric = design(load_intent(path), load_catalog()).fabric
    assert fabric is not None
    return fabric


def check_the_whole(fabric: Fabric, scene: Scene) -> None:
    shown = [name for block in scene.blocks for name in block.devices]
    assert sorted(shown) == sorted(fabric.ports_of)
    assert sum(one.cables for one in scene.bundles) == len(fabric.links)
    assert len(scene.columns) <= MOST_COLUMNS


def check_no_cable_between_shown_devices_is_missing(fabric: Fabric, scene: Scene) -> None:
    shown = {name for block in scene.blocks for name in block.devices}
    inside = [link for link in fabric.links if {link.lower, link.upper} <= shown]
    assert sum(one.cables for one in scene.bundles) == len(inside)
    assert {speed for one in scene.bundles for speed in one.speeds_gbps} == {link.speed_gbps for link in inside}


def check_places(picture: Picture) -> None:
    for one, other in combinations(picture.boxes, 2):
        apart = (
            one.x + one.width <= other.x
            or other.x + other.width <= one.x
            or one.y + one.height <= other.y
            or other.y + other.height <= one.y
        )
        assert apart, (one.block.key, other.block.key)
    box_of: dict[str, Box] = {box.block.key: box for box in picture.boxes}
    for box in picture.boxes:
        assert box.x >= 0
        assert box.x + box.width <= picture.width
        assert box.y + box.height <= picture.height
        assert all(box.x <= cell.x and cell.x + CELL <= box.x + box.width for cell in box.cells)
        assert all(box.y <= cell.y and cell.y + CELL <= box.y + box.height for cell in box.cells)
        assert len(box.cells) in {0, len(box.block.units)}
    for line in picture.lines:
        upper, lower = box_of[line.bundle.upper], box_of[line.bundle.lower]
        assert upper.x <= line.x1 <= upper.x + upper.width
        assert lower.x <= line.x2 <= lower.x + lower.width
        assert line.y1 < line.y2


@given(fabric=fabrics(), most=st.sampled_from((1, 4, 16)))
def test_the_picture_of_a_random_fabric_is_whole(fabric: Fabric, most: int) -> None:
    scene = scene_of(fabric, FABRIC, most)
    check_the_whole(fabric, scene)
    check_places(lay_out(scene))


@given(fabric=fabrics(), data=st.data())
def test_a_part_of_a_random_fabric_shows_all_cables_between_its_devices(fabric: Fabric, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([*part_keys(fabric), *(f"device-{name}" for name in fabric.ports_of)]))
    scene = scene_of(fabric, key)
    assert scene.key == key
    check_no_cable_between_shown_devices_is_missing(fabric, scene)
    check_places(lay_out(scene))
    if key.startswith("device-"):
        name = key.removeprefix("device-")
        links = fabric.links_of.get(name) or fabric.uplinks_of[name]
        assert sum(one.cables for one in scene.bundles) == len(links)


@pytest.mark.parametrize("path", sampled(REFERENCE_INTENTS, every=3), ids=lambda path: path.stem)
def test_every_picture_of_a_reference_intent_is_whole(path: Path) -> None:
    fabric = reference(path)
    check_the_whole(fabric, scene_of(fabric, FABRIC))
    for key in (FABRIC, *part_keys(fabric), f"device-{fabric.switches[-1].name}", fabric.hosts[0].name):
        scene = scene_of(fabric, key)
        check_no_cable_between_shown_devices_is_missing(fabric, scene)
        check_places(lay_out(scene))
        assert max(map(len, text(scene).splitlines())) <= 100


@pytest.mark.parametrize("path", sampled(REFERENCE_INTENTS, every=3), ids=lambda path: path.stem)
def test_what_a_block_or_unit_opens_is_a_picture(path: Path) -> None:
    fabric = reference(path)
    scenes = [scene_of(fabric, key) for key in (FABRIC, *part_keys(fabric)[:3])]
    opened = {block.opens for scene in scenes for block in scene.blocks} | {
        unit.opens for scene in scenes for block in scene.blocks for unit in block.units
    }
    for key in opened - {""}:
        assert scene_of(fabric, key).key == key
