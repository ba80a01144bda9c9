"""From intent to a verified fabric, and what must be true on the second day."""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

FOREIGN = (
    "SNMP",
    "SNMP_COMMUNITY",
    "TACPLUS",
    "TACPLUS_SERVER",
    "ACL_TABLE",
    "ACL_RULE",
    "MGMT_INTERFACE",
    "MGMT_PORT",
    "NTP_SERVER",
)


def identities(fabric: Any) -> dict[str, Any]:
    return {device["name"]: (device["asn"], device["loopback"]) for device in fabric["devices"]}


def cables(fabric: Any) -> set[tuple[str, ...]]:
    return {
        tuple(f"{link[end][key]}" for end in ("a", "b") for key in ("device", "port", "address"))
        for link in fabric["links"]
    }


def foreign_rows(document: Any) -> dict[str, Any]:
    return {table: document[table] for table in FOREIGN if table in document}


def test_a_bare_fabric_is_deployed_verified_and_left_alone_by_a_second_deploy(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.up()
    before = {name: foreign_rows(project.running(name)) for name in ("lab-leaf1", "lab-spine2")}
    assert all(before.values()), "the factory configuration holds rows that are nobody's"

    first = project.deploy()
    assert first["result"] == "done"
    assert {device["outcome"] for device in first["devices"].values()} == {"new"}
    assert project.verify()["ok"] is True
    again = project.deploy()
    assert again["result"] == "unchanged"
    assert project.plan()["changes"] == []
    assert project.run("plan", "--target", "sim", "--exit-code").returncode == 0
    after = {name: foreign_rows(project.running(name)) for name in before}
    assert after == before


def test_a_switch_with_a_management_vrf_and_routes_of_others_in_it_is_deployed_and_left_alone(new_project: Any) -> None:
    """SONiC's build of FRR prints its defaults of nexthop tracking always, in the block of every VRF too."""
    project = new_project("lab-4.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    project.on("lab-leaf1", "sudo sonic-db-cli CONFIG_DB HSET 'MGMT_VRF_CONFIG|vrf_global' mgmtVrfEnabled true")
    project.on("lab-leaf1", "sudo vtysh -c 'configure terminal' -c 'vrf mgmt' -c 'ip route 0.0.0.0/0 192.0.2.1'")
    shown = project.running("lab-leaf1")["bgpraw"]
    assert shown.count("ipv6 nht resolve-via-default") == 2
    assert project.plan()["changes"] == []
    project.edit(("fabric: lab\n", "fabric: lab\nbgp: {keepalive: 2, hold: 8}\n"))
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    assert " ip route 0.0.0.0/0 192.0.2.1" in project.running("lab-leaf1")["bgpraw"].splitlines()


def test_the_worked_example_is_deployed_and_verified(new_project: Any) -> None:
    project = new_project("pod-32.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    verified = project.verify()
    assert verified["ok"] is True
    sessions = [check for check in verified["checks"] if check["kind"] == "bgp"]
    assert len(sessions) == 2 * 4 * 4 * 8, "both ends of eight links of each leaf-spine pair"
    assert project.plan()["summary"] == {"add": 0, "update": 0, "remove": 0}


@pytest.mark.nightly
def test_a_second_stripe_touches_only_new_devices_and_the_ports_that_meet_them(new_project: Any) -> None:
    project = new_project("pod-32-wide.yml")
    project.up()
    project.deploy()
    old = project.fabric()
    project.edit(("count: 32", "count: 64"), ("count: 4}\n  spine", "count: 8}\n  spine"))
    project.up()
    new = project.fabric()
    assert identities(old).items() <= identities(new).items()
    assert cables(old) <= cables(new)

    plan = project.plan()
    leaves = {name for name in plan["devices"] if re.search("leaf[1-4]$", name)}
    assert {plan["devices"][name]["state"] for name in leaves} == {"unchanged"}
    new_ports = {
        link["b"]["port"]
        for link in new["links"]
        if link["kind"] == "leaf_spine" and re.search("leaf[5-8]$", link["a"]["device"])
    }
    for change in plan["changes"]:
        if "spine" in change["device"] and change["table"] in {"PORT", "INTERFACE", "QUEUE", "PORT_QOS_MAP", "PFC_WD"}:
            assert change["key"].split("|")[0] in new_ports | {"GLOBAL"}, change
        if "spine" in change["device"]:
            assert change["op"] != "remove", change
            assert change["disruption"] in {"none", "flap"}, change
            assert change["method"] != "reload", change
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True
    assert project.plan()["changes"] == []


def test_a_stripe_and_then_two_spines_grow_the_small_fabric(deployed_lab: Any) -> None:
    project = deployed_lab
    first = project.fabric()

    grow_stripe(project)
    project.up()
    second = project.fabric()
    assert identities(first).items() <= identities(second).items()
    assert cables(first) <= cables(second)
    plan = project.plan()
    assert {name for name, device in plan["devices"].items() if device["state"] == "unchanged"} == {
        "lab-leaf1",
        "lab-leaf2",
    }
    assert project.deploy()["result"] == "done"

    grow_spines(project)
    project.up()
    third = project.fabric()
    assert identities(second).items() <= identities(third).items()
    assert cables(second) <= cables(third)
    plan = project.plan()
    assert {plan["devices"][f"lab-spine{number}"]["state"] for number in (1, 2)} == {"unchanged"}
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True
    assert project.deploy()["result"] == "unchanged"


def grow_stripe(project: Any) -> None:
    text = project.intent.read_text()
    text = re.sub(r"count: 4\b", "count: 8", text, count=1)
    text = re.sub(r"(leaf:.*?)count: 2\b", r"\1count: 4", text, count=1, flags=re.S)
    project.intent.write_text(text)


def grow_spines(project: Any) -> None:
    text = project.intent.read_text()
    project.intent.write_text(re.sub(r"(\bspine:.*?)count: 2\b", r"\1count: 4", text, count=1, flags=re.S))


def test_a_second_stripe_on_full_spines_is_refused_with_the_ways_out(new_project: Any) -> None:
    project = new_project("pod-32.yml")
    text = project.intent.read_text()
    text = re.sub(r"count: 32\b", "count: 64", text, count=1)
    text = re.sub(r"(\bleaf:.*?)count: 4\b", r"\1count: 8", text, count=1, flags=re.S)
    project.intent.write_text(text.replace("gpus: 256", "gpus: 512"))
    refused = project.json("size", status=1)
    said = " ".join(one["message"] + " " + one["fix"] for one in refused["diagnostics"])
    assert "spine" in said
    assert "ports" in said
    assert "8 spines" in said, "more spines is a way out"


def test_a_changed_roce_dscp_is_one_group_over_all_devices(deployed_lab: Any) -> None:
    project = deployed_lab
    classes = (
        "traffic_classes:\n"
        "  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 3, share: 90}\n"
        "  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}\n"
        "  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}\n"
    )
    project.intent.write_text(project.intent.read_text() + classes)
    plan = project.plan()
    assert {device["state"] for device in plan["devices"].values()} == {"changed"}
    assert {(change["table"], change["field"]) for change in plan["changes"]} == {
        ("DSCP_TO_TC_MAP", "24"),
        ("DSCP_TO_TC_MAP", "26"),
    }
    assert {change["method"] for change in plan["changes"]} == {"write"}
    assert {change["disruption"] for change in plan["changes"]} == {"none"}
    shown = project.run("plan", "--target", "sim").stdout
    assert shown.count("lab-leaf1, lab-leaf2, lab-spine1, lab-spine2 (4)") == 2, shown
    markdown = project.run("plan", "--target", "sim", "--markdown").stdout
    assert "DSCP_TO_TC_MAP" in markdown
    assert len(markdown) < 65_536
    assert project.run("plan", "--target", "sim", "--exit-code", status=2)
    assert "DSCP 26 is no longer lossless" in " ".join(shown.split())
    project.set_rollout(single_step=False)
    refused = project.deploy(status=1)
    assert [one["code"] for one in refused["diagnostics"]] == ["RW517"]
    assert project.deploy("--single-step")["result"] == "done"
    (dscp_map,) = project.running("lab-leaf1")["DSCP_TO_TC_MAP"].values()
    assert (dscp_map["24"], dscp_map["26"]) == ("3", "0")


def test_explain_names_the_rule_and_the_intent_path(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    told = project.run("explain", "lab-leaf1", "DSCP_TO_TC_MAP").stdout
    assert "traffic_classes" in told


def test_offline_diff_compares_two_revisions_without_a_device(new_project: Any) -> None:
    import subprocess

    project = new_project("lab-4.yml")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.net"]
    for words in (["init", "-q"], ["add", "intent"], ["commit", "-q", "-m", "before"]):
        subprocess.run([*git, *words], cwd=project.folder, check=True)
    project.intent.write_text(project.intent.read_text() + "mtu: {fabric: 9216, hosts: 9000}\n")
    plan = project.json("diff", "HEAD", "--intent", "intent/lab-4.yml")
    assert {(change["table"], change["field"]) for change in plan["changes"]} == {("PORT", "mtu")}
