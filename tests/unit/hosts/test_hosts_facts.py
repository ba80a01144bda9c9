"""What a node's program read, as facts: words of tools become values, and what it left out stays out."""

from typing import Any

import pytest

from railweave.catalog.load import load_catalog
from railweave.hosts.facts import node_facts

NVIDIA = {
    "trust": "dscp",
    "pfc": "0 0 0 1 0 0 0 0",
    "dscp to priority": {"26": "3", "48": "6"},
    "traffic class": "106",
    "cnp dscp": "48",
    "pause rx": "off",
    "pause tx": "on",
    "dcbx": "OS controlled",
}
BROADCOM = {
    "trust": "1",
    "pfc": {str(priority): "on" if priority == 3 else "off" for priority in range(8)},
    "dscp to priority": {"26": "3", "48": "6"},
    "roce dscp": "26",
    "cnp dscp": "48",
    "pause rx": "off",
    "pause tx": "on",
}
MEANT = {
    "trust": "dscp",
    "pfc": [3],
    "dscp_to_priority": {"26": 3, "48": 6},
    "roce_tos": 106,
    "cnp_dscp": 48,
    "pause_rx": "off",
    "pause_tx": "on",
}


def facts(settings: dict[str, Any], vendor: str | None, **link: Any) -> dict[str, Any]:
    read = {"interfaces": {"rail0": {"mtu": 9000, "addresses": [], "rules": [], "settings": settings, **link}}}
    found: dict[str, Any] = node_facts(read, vendor)["nics"]["rail0"]
    return found


@pytest.mark.parametrize(("vendor", "settings"), [("nvidia", NVIDIA), ("broadcom", BROADCOM)])
def test_settings_of_both_vendors_become_the_same_facts(vendor: str, settings: dict[str, Any]) -> None:
    assert facts(settings, vendor) == {"mtu": 9000, "addresses": [], "tables": [], **MEANT}


def test_amd_s_words_become_facts_too() -> None:
    read = {"trust": "DSCP", "pfc": {"0": "disable", "3": "enable"}, "cnp dscp": "46"}
    found = facts(read, "amd")
    assert (found["trust"], found["pfc"], found["cnp_dscp"]) == ("dscp", [3], 46)
    assert facts({"trust": "PCP"}, "amd")["trust"] == "pcp"


def test_what_was_not_read_is_no_fact() -> None:
    left = {"trust": "", "pfc": "", "dscp to priority": {}, "traffic class": "", "cnp dscp": "x"}
    assert facts(left, "nvidia").keys() == {"mtu", "addresses", "tables"}
    assert facts(NVIDIA, None).keys() == {"mtu", "addresses", "tables"}


def test_a_nic_that_trusts_pcp_is_said_to() -> None:
    assert facts({**BROADCOM, "trust": "0"}, "broadcom")["trust"] == "pcp"


@pytest.mark.parametrize(
    ("read", "fact", "value"),
    [
        ({"speed_mbps": "400000"}, "speed_gbps", 400),
        ({"fec": "RS"}, "fec", "rs"),
        ({"fec": "BaseR"}, "fec", "fc"),
        ({"fec": "Off"}, "fec", "none"),
        ({"fec": "LLRS"}, "fec", None),
        ({"pcie_speed": "32.0 GT/s PCIe", "pcie_width": "16"}, "pcie", "gen5x16"),
        ({"pcie_speed": "16.0 GT/s", "pcie_width": "8"}, "pcie", "gen4x8"),
        ({"pcie_speed": "Unknown", "pcie_width": "16"}, "pcie", None),
        ({"autoneg": "off"}, "autoneg", "off"),
        ({"rules": [{"from": "10.0.0.1", "table": "100", "priority": "1000"}]}, "tables", [100]),
    ],
)
def test_what_linux_knows_of_a_port_is_put_into_the_words_of_switches(
    read: dict[str, Any], fact: str, value: object
) -> None:
    assert facts({}, None, **read).get(fact) == value


@pytest.mark.parametrize("vendor", load_catalog().vendor_ids())
def test_every_fact_of_a_pack_comes_from_a_read_that_it_has(vendor: str) -> None:
    pack = load_catalog().vendor_pack(vendor)
    reads = {read["what"] for step in pack.steps for read in step["reads"]}
    assert {source["what"] for source in pack.facts.values()} <= reads
    assert {"trust", "pfc", "cnp_dscp", "dscp_to_priority"} <= pack.facts.keys()
