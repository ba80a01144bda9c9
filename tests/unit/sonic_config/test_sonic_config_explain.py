from collections.abc import Callable

import pytest

from railweave.fabric.model import Fabric
from railweave.sonic.render.configure import configure
from railweave.sonic.render.explain import Explanation, explain, explain_text
from railweave.sonic.rows import DeviceConfig
from railweave.templates import find_templates


@pytest.fixture
def leaf(lab_fabric: Callable[..., Fabric]) -> DeviceConfig:
    fabric = lab_fabric()
    return configure(fabric, fabric.switch_of["lab-leaf1"], find_templates())


def subjects(explanation: Explanation) -> list[str]:
    return [one.subject for one in explanation.found]


def test_a_row_is_explained_with_its_fields(leaf: DeviceConfig) -> None:
    (found,) = explain_text(leaf, "PORT|Ethernet0").found
    assert found.field is None
    assert isinstance(found.value, dict)
    assert found.value["mtu"] == "9100"
    assert "gpu1:rail0" in found.reason


def test_a_field_is_explained_with_its_value(leaf: DeviceConfig) -> None:
    (found,) = explain_text(leaf, "PORT|Ethernet0|mtu").found
    assert (found.field, found.value) == ("mtu", "9100")
    assert "mtu.fabric" in found.reason


def test_a_key_may_hold_bars_itself(leaf: DeviceConfig) -> None:
    assert subjects(explain_text(leaf, "INTERFACE|Ethernet0|10.32.0.0/31")) == ["INTERFACE|Ethernet0|10.32.0.0/31"]
    assert subjects(explain(leaf, "QUEUE", "Ethernet0|3", "wred_profile")) == ["QUEUE|Ethernet0|3|wred_profile"]


def test_a_table_is_explained_row_by_row(leaf: DeviceConfig) -> None:
    schedulers = ["SCHEDULER|best-effort", "SCHEDULER|cnp-100g", "SCHEDULER|roce"]
    assert subjects(explain_text(leaf, "SCHEDULER")) == schedulers


def test_a_line_of_frr_is_explained_by_its_text_or_its_beginning(leaf: DeviceConfig) -> None:
    (found,) = explain_text(leaf, " maximum-paths   128").found
    assert found.table == "frr"
    assert found.key == "router bgp 4210000000 / address-family ipv4 unicast"
    assert subjects(explain_text(leaf, "neighbor 10.192.0.56")) == [
        "neighbor 10.192.0.56 remote-as 4200001000",
        "neighbor 10.192.0.56 peer-group SPINES",
        "neighbor 10.192.0.56 description lab-spine1:Ethernet0",
    ]


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("PORT|Ethernet1", "PORT|Ethernet12"),
        ("PRT|Ethernet8", "PORT|Ethernet8"),
        ("SCHEDULERS", "SCHEDULER"),
        ("maximum-path 128", "maximum-paths 128"),
    ],
)
def test_what_is_not_there_is_answered_with_the_nearest(leaf: DeviceConfig, asked: str, nearest: str) -> None:
    answer = explain_text(leaf, asked)
    assert not answer.found
    assert nearest in answer.nearest


def test_nothing_asked_explains_everything(leaf: DeviceConfig) -> None:
    assert len(explain_text(leaf, "").found) > len(leaf.rows)
