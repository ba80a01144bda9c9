"""Facts of live devices against the intent, and the five ways in which RoCE fabrics usually fail."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave.checks.facts import fact_findings, switch_facts
from railweave.cli.main import main
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.sonic.document import RunningConfig, dump
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

Pod = Callable[..., Fabric]

NODE: dict[str, Any] = {
    "nics": {
        name: {
            "mtu": 9000,
            "speed_gbps": 400,
            "trust": "dscp",
            "pfc": [3],
            "dscp_to_priority": {"26": 3, "48": 6, "0": 0},
            "roce_tos": 106,
            "cnp_dscp": 48,
            "pcie": "gen5x16",
            "pause_rx": "off",
            "pause_tx": "off",
            "addresses": [address],
            "tables": [table],
        }
        for name, address, table in (("rail0", "10.32.0.1/31", 100), ("rail1", "10.32.0.129/31", 101))
    },
    "nccl": {"NCCL_IB_TC": "106"},
    "sysctl": {"net.ipv4.conf.all.arp_ignore": "1", "net.ipv4.conf.rail0.rp_filter": "2"},
}


def running(fabric: Fabric, name: str) -> dict[str, Any]:
    """Return what a switch runs when it is as intended, as SONiC would print it."""
    tables = Configurator(fabric, find_templates()).device(fabric.switch_of[name]).config_db()
    document: dict[str, Any] = json.loads(json.dumps(tables))
    return document


def found(fabric: Fabric, **documents: Any) -> list[Diagnostic]:
    files = {
        name.replace("_", "-"): (f"facts/{name}.json", document if isinstance(document, str) else json.dumps(document))
        for name, document in documents.items()
    }
    configurator = Configurator(fabric, find_templates())
    return list(fact_findings(fabric, files, configurator))


def nic(**fields: Any) -> dict[str, Any]:
    return {**NODE, "nics": {**NODE["nics"], "rail0": {**NODE["nics"]["rail0"], **fields}}}


def test_devices_that_are_as_intended_show_nothing(pod: Pod) -> None:
    fabric = pod()
    names = ("pod-leaf1", "pod-leaf2", "pod-spine1", "pod-spine2")
    switches = {name.replace("-", "_"): running(fabric, name) for name in names}
    assert not found(fabric, gpu1=NODE, **switches)


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"mtu": 9216}, "M-1", ("gpu1:rail0", "9216", "pod-leaf1:Ethernet0", "9100")),
        ({"mtu": 1500}, "M-4", ("gpu1:rail0", "1500", "pod-leaf1", "RoCE falls from 4096 to 1024")),
        ({"mtu": 4200}, "M-3", ("gpu1:rail0", "4200", "pod-leaf1", "9000")),
        ({"pfc": [4]}, "Q-3", ("gpu1:rail0 pauses 4", "pod-leaf1:Ethernet0 3")),
        ({"pfc": []}, "Q-3", ("gpu1:rail0 pauses no priority", "pod-leaf1:Ethernet0 3")),
        ({"dscp_to_priority": {"26": 0}}, "Q-2", ("priority 0 by gpu1:rail0", "3 by pod-leaf1:Ethernet0")),
        ({"dscp_to_priority": {"48": 7}}, "Q-2", ("priority 7 by gpu1:rail0", "6 by pod-leaf1:Ethernet0")),
        ({"trust": "pcp"}, "Q-2", ("gpu1:rail0", "pod-leaf1")),
        ({"roce_tos": 98}, "Q-2", ("gpu1:rail0", "98", "pod-leaf1", "106")),
        ({"cnp_dscp": 46}, "Q-2", ("gpu1:rail0", "46", "pod-leaf1", "48")),
        ({"speed_gbps": 200}, "P-3", ("gpu1:rail0 has speed 200G", "pod-leaf1:Ethernet0 400G")),
        ({"fec": "none"}, "P-5", ("gpu1:rail0 has FEC none", "pod-leaf1:Ethernet0 rs")),
        ({"autoneg": "on"}, "P-6", ("gpu1:rail0 has autonegotiation on", "pod-leaf1:Ethernet0 off")),
        ({"pause_rx": "on"}, "Q-3", ("gpu1:rail0", "pod-leaf1", "global pause on (rx)")),
        ({"addresses": ["10.32.0.9/31"]}, "N-2", ("gpu1:rail0 has 10.32.0.9/31", "pod-leaf1 expects 10.32.0.1/31")),
        ({"tables": []}, "N-2", ("gpu1:rail0", "table none", "pod-leaf1 is 100")),
        ({"tables": [254, 100]}, "N-2", ("gpu1:rail0", "254, 100", "pod-leaf1")),
        ({"pcie": "gen4x16"}, "P-1", ("gpu1:rail0", "gen4x16", "252", "pod-leaf1", "400G")),
    ],
)
def test_a_node_that_is_set_otherwise_is_found_with_both_ends(
    pod: Pod, fields: dict[str, Any], code: str, words: tuple[str, ...]
) -> None:
    (one,) = found(pod(), gpu1=nic(**fields))
    assert (one.code, one.severity) == (code, Severity.ERROR)
    assert all(word in one.message for word in words), one.message
    assert {"gpu1", "pod-leaf1"} <= set(one.devices)
    assert one.fix


def test_nccls_own_traffic_class_is_compared_too(pod: Pod) -> None:
    (one,) = found(pod(), gpu1={**NODE, "nccl": {"NCCL_IB_TC": "104"}})
    assert one.code == "N-4"
    assert "104" in one.message
    assert "106" in one.message
    assert one.devices == ("gpu1", "pod-leaf1", "pod-leaf2")


def test_sysctls_of_a_node_are_compared_too(pod: Pod) -> None:
    kernel = {**NODE["sysctl"], "net.ipv4.conf.rail0.rp_filter": "1", "net.ipv4.ip_forward": "1"}
    (one,) = found(pod(), gpu1={**NODE, "sysctl": kernel})
    assert one.code == "N-3"
    assert "net.ipv4.conf.rail0.rp_filter of gpu1 is 1, not 2: pod-leaf1, pod-leaf2" in one.message
    assert one.devices == ("gpu1", "pod-leaf1", "pod-leaf2")


def test_facts_of_a_switch_hold_what_checks_read_and_no_secret(pod: Pod) -> None:
    fabric = pod()
    config = Configurator(fabric, find_templates()).device(fabric.switch_of["pod-leaf1"])
    printed = json.loads(dump(RunningConfig(config.config_db(), config.frr)))
    printed |= {
        "TACPLUS": {"global": {"passkey": "s3cret"}},
        "SNMP_COMMUNITY": {"s3cret": {"TYPE": "RO"}},
        "MGMT_INTERFACE": {"eth0|192.0.2.1/24": {}},
        "VLAN_MEMBER": {"Vlan100|Ethernet0": {"tagging_mode": "untagged"}},
    }
    printed["bgpraw"] = printed["bgpraw"].replace(" !\n", " neighbor SPINES password s3cret\n !\n", 1)
    kept = switch_facts(json.dumps(printed))
    assert "s3cret" not in kept
    tables = json.loads(kept)
    assert not {"TACPLUS", "SNMP_COMMUNITY", "MGMT_INTERFACE"} & tables.keys()
    assert tables["PORT_QOS_MAP"] == printed["PORT_QOS_MAP"]
    assert {one.code for one in found(fabric, pod_leaf1=kept)} == {"D-2"}


def test_a_switch_left_at_sonics_defaults_is_found_from_both_ends(pod: Pod) -> None:
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    azure = {str(dscp): "1" for dscp in range(64)} | {"3": "3", "4": "4", "8": "0", "5": "2", "46": "5", "48": "6"}
    leaf["DSCP_TO_TC_MAP"]["FABRIC"] = azure
    for port, row in leaf["PORT_QOS_MAP"].items():
        if port != "global":
            row |= {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
    codes = {one.code for one in found(fabric, pod_leaf1=leaf)}
    assert {"Q-1", "Q-2", "Q-3", "W-1"} <= codes
    (trap,) = [one for one in found(fabric, pod_leaf1=leaf) if one.code == "Q-2"]
    assert "DSCP 26 of roce is priority 1 by pod-leaf1:Ethernet0 and 3 by gpu1:rail0" in trap.message
    assert "AZURE" in trap.message


def set_mtu(leaf: dict[str, Any]) -> None:
    leaf["PORT"]["Ethernet0"]["mtu"] = "1500"


def set_other_priority(leaf: dict[str, Any]) -> None:
    leaf["PORT_QOS_MAP"]["Ethernet0"] |= {"pfc_enable": "4"}


def set_late_marking(leaf: dict[str, Any]) -> None:
    leaf["WRED_PROFILE"]["roce-400g"] |= {"green_min_threshold": "40000000", "green_max_threshold": "50000000"}


def mix_traffic(leaf: dict[str, Any]) -> None:
    leaf["DSCP_TO_TC_MAP"]["FABRIC"]["10"] = "3"


def take_headroom(leaf: dict[str, Any]) -> None:
    leaf["BUFFER_PG"]["Ethernet0|3"] = {"profile": "ingress_lossy_profile"}


FAILURES = {
    "MTU mismatch": (set_mtu, "M-1"),
    "PFC priority misaligned": (set_other_priority, "Q-3"),
    "wrong ECN thresholds": (set_late_marking, "E-2"),
    "mixed traffic on a priority": (mix_traffic, "Q-1"),
    "incast exhausting buffers": (take_headroom, "H-headroom"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_of_the_five_failures_of_roce_is_found_on_the_one_device_that_has_it(pod: Pod, name: str) -> None:
    change, code = FAILURES[name]
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    assert not found(fabric, pod_leaf1=leaf)
    change(leaf)
    told = found(fabric, pod_leaf1=leaf)
    assert code in {one.code for one in told}
    for one in told:
        assert "pod-leaf1" in one.message
        assert "gpu1" in one.message
        assert one.where.file == "facts/pod_leaf1.json"


def test_groups_of_a_row_that_buffermgrd_left_behind_count_only_where_they_stand_alone(pod: Pod) -> None:
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    leaf["BUFFER_PG"]["Ethernet0|3-4"] = dict(leaf["BUFFER_PG"]["Ethernet0|3"])
    assert not found(fabric, pod_leaf1=leaf)
    del leaf["BUFFER_PG"]["Ethernet0|3"]
    (one,) = found(fabric, pod_leaf1=leaf)
    assert (one.code, one.message[:44]) == ("H-headroom", "pod-leaf1:Ethernet0 keeps headroom for 3, 4,")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"nics": []}', '{"nics": {"rail0": 3}}', '{"nics": {"rail0": {"mtu": "9000"}}}',
             '{"nics": {"rail0": {"pfc": "3"}}}', '{"nics": {"rail0": {"dscp_to_priority": {"x": 3}}}}']
)  # fmt: skip
def test_facts_that_cannot_be_read_are_told_with_their_file(pod: Pod, text: str) -> None:
    (one,) = found(pod(), gpu1=text)
    assert (one.code, one.where.file) == ("RW404", "facts/gpu1.json")


def test_facts_of_a_stranger_are_told(pod: Pod) -> None:
    (one,) = found(pod(), gpu77=NODE)
    assert (one.code, one.severity) == ("RW404", Severity.WARNING)


def test_what_facts_leave_out_is_not_compared(pod: Pod) -> None:
    assert not found(pod(), gpu1={"nics": {"rail0": {}}})
    assert not found(pod(), pod_leaf1={"PORT": {"Ethernet0": {"mtu": "9100"}}})


def test_check_takes_facts_from_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intent = Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml"
    (tmp_path / "gpu1.json").write_text(json.dumps({"nics": {"rail0": {"pfc": [5]}}}), encoding="utf-8")
    assert main(["check", str(intent), "--facts", str(tmp_path), "--json"]) == 1
    codes = {one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]}
    assert "Q-3" in codes


def test_a_folder_without_facts_is_wrong_usage(tmp_path: Path) -> None:
    intent = Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml"
    assert main(["check", str(intent), "--facts", str(tmp_path)]) == 64
