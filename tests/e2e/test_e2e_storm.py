"""A NIC of a simulated node storms: the switch, `verify` and `health` name it with its cable until it ends.

A switch that does not answer is named as well, and keeps no other from being judged.
"""

import time
from typing import Any

import pytest

pytestmark = pytest.mark.e2e


def findings(project: Any, status: int) -> list[tuple[str, list[str], list[str]]]:
    report = project.json("health", "--target", "sim", "--seconds", "2", status=status)
    assert report["unread"] == {}
    return [(finding["code"], finding["ports"], finding["cables"]) for finding in report["findings"]]


def test_a_storm_is_named_until_the_watchdog_restores_the_queue(deployed_lab: Any) -> None:
    project = deployed_lab
    project.run("sim", "fault", "gpu1", "pfc-storm", "--nic", "0")
    project.wait_until(lambda: "stormed" in project.on("lab-leaf1", "pfcwd show stats"), 60, "no storm")
    (line,) = project.on("lab-leaf1", "pfcwd show stats").splitlines()[2:]
    assert line.split()[:3] == ["Ethernet0:3", "stormed", "1/0"]
    # The storm goes on: the watchdog counted it before both readings.
    assert findings(project, 1) == [("AL-3", ["lab-leaf1 Ethernet0"], ["gpu1 rail0"])]
    failed = [check for check in project.verify(status=1)["checks"] if not check["ok"]]
    assert [(check["device"], check["kind"], check["subject"]) for check in failed] == [
        ("lab-leaf1", "storms", "Ethernet0")
    ]
    assert "gpu1 pauses queue 3 without end" in failed[0]["actual"]
    project.run("sim", "fault", "gpu1", "clear")
    project.wait_until(lambda: "stormed" not in project.on("lab-leaf1", "pfcwd show stats"), 60, "the storm lasts")
    assert findings(project, 0) == []
    assert project.verify(status=0)["ok"]


def test_a_queue_that_drops_silently_is_named(deployed_lab: Any) -> None:
    project = deployed_lab
    project.run("sim", "fault", "lab-leaf2", "queue-drops", "--port", "Ethernet116")
    assert findings(project, 1) == [("AL-1", ["lab-leaf2 Ethernet116"], ["lab-leaf2 Ethernet116"])]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(("slow", "--seconds", "3600"), marks=pytest.mark.nightly), ("unreachable",)],
    ids=["hangs", "unreachable"],
)
def test_a_switch_that_does_not_answer_is_named_and_the_others_are_judged(
    deployed_lab: Any, kind: tuple[str, ...]
) -> None:
    project = deployed_lab
    project.run("sim", "fault", "gpu1", "pfc-storm", "--nic", "0")
    project.wait_until(lambda: "stormed" in project.on("lab-leaf1", "pfcwd show stats"), 60, "no storm")
    project.run("sim", "fault", "lab-spine1", *kind)
    began = time.monotonic()
    report = project.json("health", "--target", "sim", "--seconds", "2", status=1)
    assert list(report["unread"]) == ["lab-spine1"]
    assert report["unread"]["lab-spine1"]
    assert [finding["cables"] for finding in report["findings"]] == [["gpu1 rail0"]]
    graded = project.json("links", "--target", "sim", "--seconds", "2", status=None)
    assert list(graded["unread"]) == ["lab-spine1"]
    poor = {cable["cable"] for cable in graded["links"] if cable["grade"] != "A"}
    # One end of the cables of that spine is not measured.
    assert poor == {"lab-leaf1 Ethernet112", "lab-leaf2 Ethernet112"}
    assert time.monotonic() - began < 300
