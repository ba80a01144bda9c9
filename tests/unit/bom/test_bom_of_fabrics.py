"""One bill for all fabrics of a file: parts added up, counted by hand."""

from pathlib import Path

import pytest
from fabrics_intent import intent_of_fabrics

from railweave import api
from railweave.bom.bill import Bill, PartKind
from railweave.errors import UsageError

TEXT = intent_of_fabrics(
    [
        "{fabric: backend, count: 2, speed: 100G, model: connectx-6}",
        "{fabric: storage, count: 1, speed: 100G, model: connectx-6}",
    ],
    {"backend": "", "storage": "rails: 1, "},
)
PRICES = "currency: EUR\nprices:\n  NVIDIA ConnectX-6: 100\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def quantities(found: Bill) -> dict[PartKind, int]:
    return {kind: found.quantity(kind) for kind in (PartKind.SWITCH, PartKind.NIC, PartKind.CABLE)}


def test_the_parts_of_all_fabrics_are_one_bill(file: Path, tmp_path: Path) -> None:
    # Backend: 2 leaves, 4 spines, 8 + 8 cables. Storage: 1 leaf, 4 spines, 4 + 4 cables. NICs: 4 × 2 and 4 × 1.
    prices = tmp_path / "prices.yml"
    prices.write_text(PRICES, encoding="utf-8")
    found = api.bom(api.open_project(file), prices=prices, spares=["switch=+1"])
    assert found.fabric == "pod1-backend, pod1-storage"
    assert quantities(found) == {PartKind.SWITCH: 11, PartKind.NIC: 12, PartKind.CABLE: 24}
    assert found.total == 1200
    [switches] = [line for line in found.lines if line.kind is PartKind.SWITCH]
    # A spare serves both fabrics.
    assert (switches.spares, switches.where) == (1, ("leaf", "spine"))


def test_a_named_fabric_has_its_own_bill(file: Path) -> None:
    found = api.bom(api.open_project(Path(f"{file}#storage")))
    assert quantities(found) == {PartKind.SWITCH: 5, PartKind.NIC: 4, PartKind.CABLE: 8}


def test_the_difference_is_that_of_all_fabrics(file: Path) -> None:
    before = file.with_name("before.yml")
    before.write_text(TEXT.replace("count: 4\n", "count: 3\n", 1), encoding="utf-8")
    found = api.bom(api.open_project(file), against=str(before))
    # A node more: two NICs with a cable each in the backend, one in storage.
    assert quantities(found) == {PartKind.SWITCH: 0, PartKind.NIC: 3, PartKind.CABLE: 3}


def test_labels_are_those_of_all_fabrics(file: Path) -> None:
    labels = api.cable_labels(api.open_project(file))
    assert len(labels) == len({label.near for label in labels}) == 2 * 24


def test_phases_are_of_one_fabric(file: Path) -> None:
    with pytest.raises(UsageError, match="name one with --fabric"):
        api.bom_phases(api.open_project(file))
