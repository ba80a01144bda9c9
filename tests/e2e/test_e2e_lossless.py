"""Lossless classes on a running fabric: buffers deployed, changed while traffic runs, and found when set by hand."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SECOND_CLASS = """
preset: microsoft
cabling: {host: {length_m: 5}, leaf_spine: {length_m: 150}}
pfc_watchdog: {detection_ms: 300, action: alert}
"""


def test_classes_thresholds_and_cables_change_on_a_running_fabric_and_back(deployed_lab: Any) -> None:
    project = deployed_lab
    first = project.running("lab-leaf1")
    assert first["BUFFER_PG"]["Ethernet0|3"] == {"profile": "pg_lossless_100000_40m_profile"}

    text = project.intent.read_text(encoding="utf-8")
    project.intent.write_text(text + SECOND_CLASS, encoding="utf-8")
    plan = project.plan()
    assert {change["disruption"] for change in plan["changes"]} == {"none"}
    assert project.deploy("--single-step")["result"] == "done"
    assert project.plan()["changes"] == []
    changed = project.running("lab-leaf1")
    lossless = dict.fromkeys((3, 4), "pg_lossless_100000_5m_profile")
    assert groups(changed, "Ethernet0") == {0: "ingress_lossy_profile", **lossless}
    assert changed["CABLE_LENGTH"]["AZURE"]["Ethernet112"] == "300m"
    assert changed["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "3,4"

    # SONiC's buffer manager made a row of 3 and 4, which group 3 loses its buffer with for a moment.
    assert "Ethernet0|3-4" in changed["BUFFER_PG"]
    project.intent.write_text(text, encoding="utf-8")
    plan = project.plan()
    flaps = {(change["table"], change["key"]) for change in plan["changes"] if change["disruption"] != "none"}
    assert ("BUFFER_PG", "Ethernet0|3-4") in flaps
    assert {table for table, _ in flaps} == {"BUFFER_PG"}
    assert project.deploy("--single-step")["result"] == "done"
    assert project.plan()["changes"] == []
    assert groups(project.running("lab-leaf1"), "Ethernet0") == groups(first, "Ethernet0")


def test_a_rollback_of_a_second_class_takes_along_what_sonic_made_of_it(deployed_lab: Any) -> None:
    project = deployed_lab
    first = project.running("lab-leaf1")["BUFFER_PG"]
    text = project.intent.read_text(encoding="utf-8")
    project.intent.write_text(text + "preset: microsoft\n", encoding="utf-8")
    assert project.deploy("--single-step")["result"] == "done"
    assert project.running("lab-leaf1")["BUFFER_PG"].keys() - first.keys() >= {"Ethernet0|3-4", "Ethernet0|4"}
    project.json("rollback", "--target", "sim", "--yes")
    assert project.running("lab-leaf1")["BUFFER_PG"] == first
    project.intent.write_text(text, encoding="utf-8")
    assert project.plan()["changes"] == []


def groups(tables: Any, port: str) -> dict[int, str]:
    """Return the profile of each priority group of a port, its rows taken in the order of keys as at a boot."""
    found: dict[int, str] = {}
    for key, row in sorted(tables["BUFFER_PG"].items()):
        name, _, numbers = key.partition("|")
        first, _, last = numbers.partition("-")
        if name == port:
            found |= dict.fromkeys(range(int(first), int(last or first) + 1), row["profile"])
    return found


def test_a_live_switch_that_was_set_by_hand_is_found_by_its_facts_and_mended(deployed_lab: Any) -> None:
    project = deployed_lab
    facts = project.folder / "facts"
    collect = ("facts", "collect", "--target", "sim", "--out", str(facts))
    assert project.json(*collect) == {
        "version": 1,
        "out": str(facts),
        "switches": ["lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2"],
        "nodes": [],
        "unread": {},
    }
    project.json("check", "--facts", str(facts))
    project.on("lab-leaf1", "sudo sonic-db-cli CONFIG_DB HSET 'PORT_QOS_MAP|Ethernet0' pfc_enable 4")
    project.on(
        "lab-leaf2",
        "sudo vtysh -c 'configure terminal' -c 'router bgp 4210000001' -c 'address-family ipv4 unicast'"
        " -c 'no neighbor SPINES route-map TO-SPINES-V4 out'",
    )
    project.json(*collect)
    found = project.json("check", "--facts", str(facts), status=1)["diagnostics"]
    (told,) = [one for one in found if one["code"] == "Q-3"]
    assert "lab-leaf1:Ethernet0 pauses 4 and gpu1:rail0 3" in told["message"]
    (valley,) = [one for one in found if one["code"] == "V-1"]
    assert valley["devices"][0] == "lab-leaf2"
    project.deploy()
    project.json(*collect)
    project.json("check", "--facts", str(facts))


def test_the_facts_of_a_switch_that_cannot_be_read_are_taken_away(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.up()
    facts = project.folder / "facts"
    collect = ("facts", "collect", "--target", "sim", "--out", str(facts), "--limit", "spine")
    project.json(*collect)
    project.run("sim", "fault", "lab-spine2", "unreachable")
    told = project.json(*collect, status=1)
    assert told["switches"] == ["lab-spine1"]
    assert list(told["unread"]) == ["lab-spine2"]
    assert [path.name for path in facts.iterdir()] == ["lab-spine1.json"]


def test_an_intent_by_which_pfc_would_fire_before_ecn_is_refused_with_the_numbers(new_project: Any) -> None:
    project = new_project("pod-32.yml")
    with project.intent.open("a", encoding="utf-8") as file:
        file.write(
            "traffic_classes:\n"
            "  - {name: roce, dscp: [26], lossless: true, priority: 3, share: 90,\n"
            "     ecn: {min_kb: 20000, max_kb: 24000}}\n"
            "  - {name: cnp, dscp: [48], priority: 6, strict: true}\n"
            "  - {name: best-effort, dscp: default, priority: 0, share: 10}\n"
        )
    found = project.json("check", status=1)["diagnostics"]
    told = [one for one in found if one["code"] == "E-2" and "pod1-leaf1" in one["devices"]]
    assert (
        "marking starts at 20000000 bytes, a single congested priority group pauses at 16184753" in told[0]["message"]
    )
    project.run("render", "--out", "out", status=1)


def test_a_watchdog_that_is_switched_off_leaves_all_ports_up_and_comes_back(deployed_lab: Any) -> None:
    project = deployed_lab
    text = project.intent.read_text(encoding="utf-8")
    before = project.running("lab-leaf1")["PFC_WD"]
    project.intent.write_text(text + "pfc_watchdog: {enabled: false}\n", encoding="utf-8")
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    assert project.running("lab-leaf1")["PFC_WD"] == {"GLOBAL": before["GLOBAL"]}
    assert project.verify()["ok"] is True
    project.json("rollback", "--target", "sim", "--yes")
    assert project.running("lab-leaf1")["PFC_WD"] == before
    assert project.verify()["ok"] is True
