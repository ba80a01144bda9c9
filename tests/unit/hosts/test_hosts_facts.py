"""What a node's program read, as facts: words of tools become values, and what it left out stays out."""

from pathlib import Path
from typing import Any

import pytest
from node_stand_in import load

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

PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"


def facts(settings: dict[str, Any], vendor: str | None, **link: Any) -> dict[str, Any]:
    read = {"interfaces": {"rail0": {"mtu": 9000, "addresses": [], "rules": [], "settings": settings, **link}}}
    found: dict[str, Any] = node_facts(read, vendor)["nics"]["rail0"]
    return found


@pytest.mark.parametrize(("vendor", "settings"), [("nvidia", NVIDIA), ("broadcom", BROADCOM)])
def test_settings_of_both_vendors_become_the_same_facts(vendor: str, settings: dict[str, Any]) -> None:
    found = facts(settings, vendor)
    other = found.pop("settings", {})
    assert found == {"mtu": 9000, "addresses": [], "tables": [], "rule_priorities": [], **MEANT}
    assert other == ({"dcbx": "OS controlled"} if vendor == "nvidia" else {})


def test_amd_s_words_become_facts_too() -> None:
    read = {"trust": "DSCP", "pfc": {"0": "disable", "3": "enable"}, "cnp dscp": "46"}
    found = facts(read, "amd")
    assert (found["trust"], found["pfc"], found["cnp_dscp"]) == ("dscp", [3], 46)
    assert facts({"trust": "PCP"}, "amd")["trust"] == "pcp"


def test_what_was_not_read_is_no_fact() -> None:
    left = {"trust": "", "pfc": "", "dscp to priority": {}, "traffic class": "", "cnp dscp": "x"}
    kept = {"mtu", "addresses", "tables", "rule_priorities"}
    assert facts(left, "nvidia").keys() == kept
    assert facts(NVIDIA, None).keys() == kept
    assert node_facts({"interfaces": {"rail0": {"mtu": 9000}}}, "nvidia") == {"nics": {"rail0": {"mtu": 9000}}}


def test_the_speed_of_an_interface_without_hardware_is_no_fact() -> None:
    veth = {"interfaces": {"rail0": {"mtu": 9000, "speed_mbps": "10000", "autoneg": "off"}}}
    assert node_facts(veth, None)["nics"]["rail0"] == {"mtu": 9000, "speed_gbps": 10, "autoneg": "off"}
    assert node_facts(veth, None, has_nics=False)["nics"]["rail0"] == {"mtu": 9000}


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
        ({"rules": [{"from": "10.0.0.1", "table": "100", "priority": "1000"}]}, "rule_priorities", [1000]),
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
    # The driver of Intel's NICs trusts DSCP as soon as one is mapped, and tells neither that nor the CNPs' marking.
    assert {"pfc", "dscp_to_priority"} | ({"trust", "cnp_dscp"} if vendor != "intel" else set()) <= pack.facts.keys()


def test_the_firmware_of_every_port_of_a_card_is_read() -> None:
    load(PROGRAMS / "railweave_host.py", "railweave_host")
    program = load(PROGRAMS / "railweave_facts.py", "railweave_facts")
    machine = program.node.Machine()
    slots = {"rail0p0": "0000:1a:00.0", "rail0p1": "0000:1a:00.1", "rail1p0": "0000:3c:00.0", "rail2p1": "0000:9a:00.1"}
    machine.pci_address = lambda interface: slots[interface]
    row = "        {0:<36}{1:<16}{1:<16}{1:<16}\n"
    both = row.format("LINK_TYPE_P1", "ETH(2)") + row.format("LINK_TYPE_P2", "IB(1)")
    one = row.format("LINK_TYPE_P1", "ETH(2)")
    shown = {"0000:1a:00.0": both, "0000:1a:00.1": both, "0000:3c:00.0": one, "0000:9a:00.1": one}
    machine.run = lambda command: shown[command[2]]
    pack = load_catalog().vendor_pack("nvidia")
    nic = {"firmware_query": pack.firmware_query, "firmware": pack.firmware[:1], "firmware_set": pack.firmware_set}
    found = list(program.firmware(machine, {"interfaces": [{"name": name} for name in slots], "nic": nic}))
    assert [(note["subject"], note["what"]) for note in found] == [("rail0p1", "LINK_TYPE_P2")]
    assert found[0]["text"] == "1, and 2 fits: `mlxconfig -d 0000:1a:00.1 set LINK_TYPE_P2=2`, then a restart"
