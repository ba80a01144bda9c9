"""Hands on hardware: a switch is replaced, one leaves for good, and the speed of links changes, on a running fabric."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SPINE = "lab-spine2"
THIRD_SPINE = ("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}")
SECOND_STRIPE = (("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))


def commit(folder: Path) -> None:
    """Keep the intent as it stands as the branch ``main`` of a repository."""
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    subprocess.run(["git", "add", "intent"], cwd=folder, check=True)
    who = ("-c", "user.name=test", "-c", "user.email=test@example.net")
    subprocess.run(["git", *who, "commit", "-qm", "intent", "--", "intent"], cwd=folder, check=True)


def retire(project: Any, status: int = 0) -> Any:
    relative = project.intent.relative_to(project.folder)
    return project.json("retire", "main", "--intent", str(relative), "--wait", "2", status=status)


def unproven(found: Any) -> list[tuple[str, str, str]]:
    return [(one["device"], one["what"], one["actual"]) for one in found["proofs"] if not one["ok"]]


def test_a_replaced_spine_is_brought_in_step_by_step(deployed_lab: Any) -> None:
    project = deployed_lab
    new = {"serial": "not delivered"}

    def following() -> int | None:
        step: int | None = project.json("replace", SPINE, "--serial", new["serial"])["next"]
        return step

    assert following() == 1
    project.run("drain", SPINE, "--yes")
    assert following() == 2
    new = project.json("sim", "replace", SPINE)
    assert following() == 3
    assert project.plan(status=1)["devices"][SPINE]["state"] == "unreachable"
    project.run("trust", SPINE, "--replace", "--yes")
    assert following() == 4
    plan = project.plan()
    assert {change["device"] for change in plan["changes"]} == {SPINE}
    assert project.deploy()["result"] == "done"
    assert following() is None
    assert project.verify()["ok"] is True
    running = project.running(SPINE)["DEVICE_METADATA"]["localhost"]
    assert running["mac"] == new["mac"]


def test_a_spine_leaves_when_it_is_drained_and_not_before(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(THIRD_SPINE)
    project.up()
    assert project.deploy()["result"] == "done"
    commit(project.folder)
    project.edit(tuple(reversed(THIRD_SPINE)))
    assert ("lab-spine3", "out of traffic", "not drained") in unproven(retire(project, status=1))
    project.edit(THIRD_SPINE)
    project.run("drain", "lab-spine3", "--yes")
    project.edit(tuple(reversed(THIRD_SPINE)))
    found = retire(project)
    assert (found["devices"], found["ok"]) == (["lab-spine3"], True)
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True
    assert "lab-spine3" not in project.on("lab-leaf1", "show runningconfiguration all")


def test_a_stripe_leaves_when_its_nodes_are_gone(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(*SECOND_STRIPE)
    project.up()
    assert project.deploy()["result"] == "done"
    commit(project.folder)
    project.edit(*((new, old) for old, new in SECOND_STRIPE))
    wrong = unproven(retire(project, status=1))
    assert ("lab-leaf3", "GPU nodes that are up on it", "gpu5, gpu6, gpu7, gpu8") in wrong
    for leaf in ("lab-leaf3", "lab-leaf4"):
        project.run("sim", "fault", leaf, "unreachable")
    afar = {device: ends for device, _, ends in unproven(retire(project, status=1))}
    assert afar["lab-leaf3"].startswith("lab-spine1:")


def test_a_stripe_leaves_in_one_deployment_when_its_nodes_are_shut_down(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(*SECOND_STRIPE)
    project.up()
    assert project.deploy()["result"] == "done"
    project.edit(*((new, old) for old, new in SECOND_STRIPE))
    refused = project.run("deploy", "--target", "sim", "--yes", status=1).stderr
    assert (
        "4 ports of 2 switches would be shut down permanently, but are still in use: lab-leaf3, lab-leaf4"
        in " ".join(refused.split())
    )
    project.run("sim", "power-off", "gpu5", "gpu6", "gpu7", "gpu8")
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []


def test_a_stripe_leaves_in_phases(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(*SECOND_STRIPE)
    project.up()
    assert project.deploy()["result"] == "done"
    commit(project.folder)
    project.edit(*((new, old) for old, new in SECOND_STRIPE))
    relative = str(project.intent.relative_to(project.folder))
    said = ("--from", "main", "--intent", relative)
    found = project.json("phases", "main", "--intent", relative)["phases"]
    assert [(one["kind"], one["title"], one["leaving"]) for one in found] == [
        ("drain", "take 4 GPU nodes out of use", ["gpu5", "gpu6", "gpu7", "gpu8"]),
        ("switches", "close the ports of 4 GPU nodes", ["gpu5", "gpu6", "gpu7", "gpu8"]),
        ("drain", "take 2 leaves out of use", ["lab-leaf3", "lab-leaf4"]),
        ("switches", "remove 2 leaves from the other switches", ["lab-leaf3", "lab-leaf4"]),
    ]
    early = project.run("deploy", "--target", "sim", "--yes", *said, "--phase", "2", status=1).stderr
    assert "phase 2 cannot begin: gpu5, gpu6, gpu7, gpu8 are in use: gpu5: links up at lab-leaf3:Ethernet0" in " ".join(
        early.split()
    )
    waits = project.json("deploy", "--target", "sim", "--yes", *said)
    assert (waits["steps"], waits["waiting"]["number"], waits["waiting"]["for"]) == ([], 1, "removal")
    assert {(one["device"], one["ok"]) for one in waits["waiting"]["proofs"]} == {
        (f"gpu{number}", False) for number in range(5, 9)
    }
    project.run("sim", "power-off", "gpu5", "gpu6", "gpu7", "gpu8")
    done = project.json("deploy", "--target", "sim", "--yes", *said)
    assert ([one["number"] for one in done["steps"]], done["waiting"]) == ([2, 3, 4], None)
    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True
    # The leaves were drained before their links went away, and are switched off now.
    for leaf in ("lab-leaf3", "lab-leaf4"):
        project.run("sim", "fault", leaf, "unreachable")
    again = project.json("deploy", "--target", "sim", "--yes", *said)
    assert [(one["number"], one["result"]) for one in again["steps"]] == [(4, "unchanged")]


@pytest.mark.nightly
def test_nodes_leave_when_they_are_shut_down_and_not_before(new_project: Any) -> None:
    project = new_project("pod-32.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    project.edit(("count: 32", "count: 28"), ("gpus: 256", "gpus: 224"))
    project.up()
    refused = project.run("deploy", "--target", "sim", "--yes", status=1).stderr
    assert " ".join(refused.split()).endswith(
        "error[RW523]: 16 ports of 4 switches would be shut down permanently, but are still in use:"
        " gpu29, gpu30, gpu31, gpu32 devices: pod1-leaf1…4 fix: take them out of use before their ports close with"
        " `railweave deploy --from REV --target sim`, where REV is the git revision that is deployed; or"
        " deploy with --remove-live if they may lose these links"
    )
    assert project.plan()["summary"]["remove"] > 0
    project.run("sim", "power-off", "gpu29", "gpu30", "gpu31", "gpu32")
    done = project.deploy()
    assert (done["result"], {one["outcome"] for one in done["devices"].values()}) == ("done", {"new"})
    assert project.verify()["ok"] is True
    project.edit(("count: 28", "count: 24"), ("gpus: 224", "gpus: 192"))
    assert project.deploy("--remove-live")["result"] == "done"


def test_another_speed_of_the_uplinks_goes_spine_by_spine(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.edit(('oversubscription: "2:1"', 'oversubscription: "5:1"'))
    project.up()
    assert project.deploy()["result"] == "done"
    commit(project.folder)
    project.edit(("uplink_speed: 100G", "uplink_speed: 40G"))
    refused = project.run("deploy", "--target", "sim", "--yes", status=1).stderr
    assert "both ends of 4 links have to change" in refused
    relative = str(project.intent.relative_to(project.folder))
    parts = project.json("phases", "main", "--intent", relative)["phases"]
    assert [one["title"] for one in parts[:2]] == ["40G on the links of lab-spine1", "40G on the links of lab-spine2"]
    project.run("deploy", "--target", "sim", "--yes", "--from", "main", "--intent", relative)
    assert project.verify()["ok"] is True
    assert project.plan()["changes"] == []
