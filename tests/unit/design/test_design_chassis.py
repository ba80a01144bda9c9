"""Chassis of line cards: sized, counted and tried for failures, card by card, and never configured."""

from pathlib import Path

import pytest

from railweave import api
from railweave.api.design.intent import design_text, load_configurable
from railweave.bom.bill import PartKind, bill
from railweave.catalog.load import load_catalog
from railweave.errors import RefusedError
from railweave.failures.analysis import single_failures

CATALOG = load_catalog()
CHASSIS = "arista-7808r3a-36d2"
INTENT = f"""
fabric: big
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: 128, gpus: 8, nics: {{count: 8, speed: 400G, model: connectx-7}}}}
topology:
  leaf: {{model: nvidia-sn5600, downlink_speed: 400G, uplink_speed: 400G}}
  spine: {{model: {CHASSIS}}}
"""


def test_the_cages_of_a_chassis_are_those_of_all_its_cards() -> None:
    model = CATALOG.switch(CHASSIS)
    assert (len(model.cages), model.card_cages) == (288, 36)
    first, second = model.cages[0], model.cages[36]
    assert (first.number, first.name, second.number, second.name) == (1, "Ethernet0", 37, "Ethernet288")
    assert second.lanes == first.lanes


def test_a_spine_of_line_cards_is_sized_and_bought_with_all_of_them() -> None:
    designed = design_text(INTENT, "big.yml")
    sizing = designed.fabric.sizing
    assert (sizing.leaves, sizing.spines, sizing.links.leaf_spine) == (16, 4, 1024)
    found = bill(designed.fabric, CATALOG)
    assert found.quantity(PartKind.CARD) == 4 * 8
    assert found.space.max_power_w == 4 * 9484
    assert [(one.severity.value, one.code) for one in designed.diagnostics if one.code == "RW126"] == [
        ("info", "RW126")
    ]


def test_a_line_card_takes_the_links_on_its_ports_and_no_others() -> None:
    fabric = design_text(INTENT, "big.yml").fabric
    (card,) = [one for one in single_failures(fabric) if one.example[0].kind == "line card"]
    component = card.example[0]
    assert (card.count, component.name, component.device) == (32, "big-spine1 line card 1", "big-spine1")
    panel = fabric.switch_of["big-spine1"].panel
    ports = [panel.ports[link.upper_port] for link in component.down]
    assert {panel.card_of(port) for port in ports} == {1}
    assert len(ports) == sum(
        panel.card_of(panel.ports[link.upper_port]) == 1 for link in fabric.downlinks_of["big-spine1"]
    )
    assert card.cost.uplink_percent == pytest.approx(100 * 62 / 64)


def test_what_configures_refuses_a_chassis(tmp_path: Path) -> None:
    path = tmp_path / "big.yml"
    path.write_text(INTENT, encoding="utf-8")
    with pytest.raises(RefusedError) as refused:
        load_configurable(path)
    (found,) = refused.value.diagnostics
    assert (found.code, found.severity.value, found.where.line, found.where.column) == ("RW126", "error", 8, 18)
    assert (found.message, found.fix) == (
        "a chassis of line cards, each with a SONiC of its own: the fabric can be sized, not configured",
        "choose a model without line cards to configure it",
    )
    with pytest.raises(RefusedError):
        api.render(api.open_project(path), tmp_path / "out")
    assert not (tmp_path / "out").exists()
