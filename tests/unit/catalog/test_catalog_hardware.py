"""NICs and PCIe slots: what the fact sheet says of them."""

from railweave.catalog.load import load_catalog

CATALOG = load_catalog()


def test_a_connectx_8_is_two_ports_of_400g_and_never_one_of_800g() -> None:
    nic = CATALOG.nic("connectx-8")
    assert nic.find(2, 400) is not None
    assert nic.find(1, 800) is None
    refused = nic.refusal_of(1, 800)
    assert refused is not None
    assert "ports: 2" in refused.fix


def test_a_combination_that_is_only_not_listed_has_no_refusal_of_its_own() -> None:
    assert CATALOG.nic("connectx-7").find(2, 400) is None
    assert CATALOG.nic("connectx-7").refusal_of(2, 400) is None


def test_400g_fits_generation_5_and_not_generation_4() -> None:
    assert CATALOG.pcie_slot("gen5x16").raw_gbps > 400 > CATALOG.pcie_slot("gen4x16").raw_gbps


def test_800g_needs_generation_6_or_two_slots() -> None:
    carrying = {slot for slot in CATALOG.pcie_ids() if CATALOG.pcie_slot(slot).raw_gbps >= 800}
    assert carrying == {"gen6x16", "2xgen5x16"}
    assert CATALOG.pcie_slot("2xgen5x16").slots == 2


def test_two_ports_of_an_e810_share_100g() -> None:
    assert CATALOG.nic("intel-e810").total_gbps(2, 100) == 100
    assert CATALOG.nic("connectx-7").total_gbps(2, 200) == 400


def test_a_bluefield_3_has_qsfp112_cages_only() -> None:
    assert CATALOG.nic("bluefield-3").form_factors == ("QSFP112",)
