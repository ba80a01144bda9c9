"""What buyers of NICs compare: values as their sources state them, unknown where none does."""

import json

import pytest

from railweave.catalog.load import load_catalog
from railweave.cli.main import main
from railweave.report.nics import UNKNOWN

CATALOG = load_catalog()
# The values of the sources that the catalog names, looked up apart from it.
STATED = {
    "connectx-6": {"message_rate_mps": 215, "virtual_functions": 127},
    "connectx-6-dx": {"virtual_functions": 127},
    "connectx-7": {"virtual_functions": 127},
    "connectx-8": {"virtual_functions": 127},
    "intel-e810": {"virtual_functions": 256},
}


def test_numbers_are_those_of_their_sources_and_all_others_unknown() -> None:
    numbers = {}
    for nic_id in CATALOG.nic_ids():
        facts = CATALOG.nic(nic_id).facts
        stated = {
            "power_w": facts.power_w,
            "message_rate_mps": facts.message_rate_mps,
            "virtual_functions": facts.virtual_functions,
        }
        if values := {name: fact.value for name, fact in stated.items() if fact is not None}:
            numbers[nic_id] = values
    assert numbers == STATED


@pytest.mark.parametrize("nic_id", CATALOG.nic_ids())
def test_every_fact_names_its_source_and_agrees_with_what_checks_use(nic_id: str) -> None:
    nic = CATALOG.nic(nic_id)
    for fact in nic.facts:
        assert fact is None or len(fact.source) > 20
    # L-2 allows spraying towards exactly these.
    assert nic.reorders == (nic.facts.reordering is not None)


def test_what_is_published_of_the_newest_nics() -> None:
    newest = {nic_id: CATALOG.nic(nic_id) for nic_id in ("connectx-9", "amd-vulcano", "broadcom-thor-ultra")}
    ports = {nic_id: [(use.ports, use.speed_gbps) for use in nic.combinations] for nic_id, nic in newest.items()}
    assert ports == {"connectx-9": [(2, 400)], "amd-vulcano": [], "broadcom-thor-ultra": [(1, 800), (8, 100)]}
    assert newest["connectx-9"].pcie == newest["broadcom-thor-ultra"].pcie == ("gen6x16",)
    assert all(nic.not_public for nic in newest.values())
    single = newest["connectx-9"].refusal(1, 800)
    assert single.message == (
        "1x800G ports are not known of NVIDIA ConnectX-9: NVIDIA has not published whether one port carries 800G in"
        " Ethernet, nor its other splits"
    )


def test_the_command_shows_each_fact_with_its_source_or_as_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "connectx-6"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "PCIe gen4x16: generation 4, 16 lanes, 252.1 Gb/s" in shown
    assert "message rate: 215 million/s (NVIDIA ConnectX-6 EN user manual, introduction" in shown
    assert "SR-IOV virtual functions: 127 a port (127 a port, 254 on two: NVIDIA ConnectX-6 firmware" in shown
    assert f"power: {UNKNOWN} packet" not in shown
    assert f"power: {UNKNOWN} message rate" in shown
    assert f"security: {UNKNOWN}" in shown


def test_the_document_has_null_for_what_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "broadcom-thor-ultra", "--json"]) == 0
    (nic,) = json.loads(capsys.readouterr().out)["nics"]
    assert nic["facts"]["reordering"]["value"] == "packets in any order, written to memory as they arrive"
    assert nic["facts"]["power_w"] is None
    assert nic["facts"]["security"] is None
    assert nic["facts"]["message_rate_mps"] is None
    assert nic["facts"]["virtual_functions"] is None
    assert nic["pcie_slots"] == [
        {"id": "gen6x16", "generation": 6, "lanes": 16, "slots": 1, "raw_gbps": 968.0},
    ]
