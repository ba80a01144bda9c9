"""Which alerts a change of the intent changes: the thresholds that differ, and the interval of scrapes."""

import json
from pathlib import Path

import pytest
from reference_intents import ROOT

from railweave import api
from railweave.api.project import Project
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.model import Plan
from railweave.report.plan_parts import remarks

LAB = (ROOT / "intent/lab-4.yml").read_text(encoding="utf-8")
WATCHING = "telemetry: {scrape_s: 15}\n"
WATCHED = LAB + WATCHING
POD = (ROOT / "intent/pod-32.yml").read_text(encoding="utf-8") + WATCHING


def changed(folder: Path, before: str, after: str) -> Plan:
    """Return the difference of two intents."""
    for name, text in (("before.yml", before), ("after.yml", after)):
        (folder / name).write_text(text, encoding="utf-8")
    return api.diff(Project(folder / "after.yml"), str(folder / "before.yml"))


def lines(plan: Plan) -> list[str]:
    return [remark.text for remark in remarks(plan, 0) if "alert" in remark.text]


def test_smaller_packets_change_the_alerts_of_headroom_and_kmax(tmp_path: Path) -> None:
    plan = changed(tmp_path, POD, f"{POD}mtu: {{fabric: 4200, hosts: 4000}}\n")
    headroom, kmax = plan.alerts
    # 128 links between leaves and nodes or spines, on one end each of the same kind of switch.
    assert (headroom.code, headroom.changed, headroom.added, headroom.removed) == ("AL-5", 128, 0, 0)
    assert (kmax.code, kmax.changed) == ("AL-7", 128)
    assert lines(plan) == [
        "alert AL-5 HeadroomUsed changes by 128 thresholds railweave_headroom_bytes, such as pod1-spine1 Ethernet0 "
        "queue 3: 104448 → 98304",
        "alert AL-7 QueueAboveKmax changes by 128 thresholds railweave_ecn_kmax_bytes, such as pod1-spine1 Ethernet0 "
        "queue 3: 1592000 → 1604000",
    ]
    assert parse_plan(json.dumps(plan_json(plan)), "plan.json").alerts == plan.alerts


def test_a_floor_of_the_fabric_changes_one_threshold(tmp_path: Path) -> None:
    plan = changed(tmp_path, WATCHED, f"{WATCHED}failures: {{single: {{uplinks: 40}}}}\n")
    assert lines(plan) == ["alert AL-25 PlaneBelowFloor changes by 1 threshold railweave_links_floor_ratio: 0.5 → 0.4"]


def test_growth_adds_what_alerts_watch(tmp_path: Path) -> None:
    plan = changed(
        tmp_path, WATCHED, WATCHED.replace("count: 4", "count: 8").replace("count: 2, down", "count: 4, down")
    )
    assert {change.code for change in plan.alerts} == {"AL-1", "AL-16", "AL-2", "AL-5", "AL-7", "AL-8", "AL-9"}
    assert {(change.changed, change.removed) for change in plan.alerts} == {(0, 0)}
    assert lines(plan) == [
        "alerts AL-1, AL-2, AL-5, AL-7, AL-8, AL-9, AL-16 watch other ports or switches: 80 new thresholds, 0 removed"
    ]


def test_the_interval_of_scrapes_changes_all_alerts(tmp_path: Path) -> None:
    plan = changed(tmp_path, WATCHED, WATCHED.replace("15", "30"))
    assert not plan.deltas
    assert lines(plan) == ["all 27 alerts change their windows and delays: telemetry.scrape_s 15 → 30"]


@pytest.mark.parametrize("after", [f"{WATCHED}acceptance: {{seconds: 5}}\n", LAB], ids=["other keys", "no telemetry"])
def test_alerts_that_stay_or_that_nobody_asks_for_are_not_shown(tmp_path: Path, after: str) -> None:
    assert changed(tmp_path, WATCHED, after).alerts == ()
