"""A rehearsal ends as the deployment does, and nothing of the target changes for it."""

import contextlib
import json
import os
import select
import signal
from pathlib import Path
from typing import Any

import pytest
from by_night import nightly_except
from json_schemas import Draft202012Validator

from railweave.report.documents import schema

pytestmark = pytest.mark.e2e

LEAF, SPINE = "lab-leaf1", "lab-spine1"
DEVICES = (LEAF, "lab-leaf2", SPINE, "lab-spine2")
WIDER = ("fabric: lab\n", "fabric: lab\nmtu: {fabric: 9216, hosts: 9000}\n")
FOREIGN = "sonic-db-cli CONFIG_DB HSET 'SYSLOG_SERVER|10.9.9.9' port 514"
DRIFT = "sudo config interface mtu Ethernet0 8000"


def held(project: Any) -> dict[str, Any]:
    """Return all that the simulator keeps of the target's switches: rows, FRR, files, faults, moments of boots."""
    folder = project.folder / ".railweave" / "sim" / "lab" / "devices"
    return {path.stem: json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))}


def settle(project: Any) -> None:
    """Read every switch once, which puts the program of the transactions and its key there."""
    project.plan(status=None)


def rehearse(project: Any, *words: str, status: int = 0) -> Any:
    """Rehearse; the document is one of the published schema."""
    document = project.json("rehearse", *words, status=status)
    assert [one.message for one in Draft202012Validator(schema("rehearse")).iter_errors(document)] == []
    return document


def ending(document: Any) -> Any:
    return {name: one["outcome"] for name, one in document["devices"].items()}


def test_a_rehearsal_changes_nothing_on_the_target_and_ends_as_the_deployment(deployed_lab: Any) -> None:
    project = deployed_lab
    project.on(LEAF, FOREIGN)
    project.on(LEAF, DRIFT)
    project.edit(WIDER)
    settle(project)
    before, journals = held(project), sorted((project.folder / ".railweave").glob("journal/*"))
    done = rehearse(project, "--discard-newer")
    assert held(project) == before
    assert sorted((project.folder / ".railweave").glob("journal/*")) == journals
    assert done["line"].startswith("rehearsed on 4 simulated switches in ")
    assert done["line"].endswith(": 4 waves, no gate violated")
    assert [wave["devices"] for wave in done["waves"]] == [[SPINE], ["lab-spine2"], [LEAF], ["lab-leaf2"]]
    deployed = project.deploy()
    assert (done["result"], ending(done)) == (deployed["result"], ending(deployed))
    assert done["verification"]["passed"] == len(deployed["verification"]["checks"])
    assert "10.9.9.9" in project.running(LEAF)["SYSLOG_SERVER"]


def test_what_a_switch_refuses_is_met_in_the_rehearsal_already(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(WIDER)
    settle(project)
    done = rehearse(project, "--discard-newer", "--fault", "lab-spine2=unreachable", status=1)
    assert done["faults"] == [{"device": "lab-spine2", "kind": "unreachable", "port": "", "wave": 2, "missed": ""}]
    project.run("sim", "fault", "lab-spine2", "unreachable")
    left = project.plan(status=1)
    assert left["devices"]["lab-spine2"]["state"] == "unreachable"
    assert ending(done) == {
        SPINE: "new",
        "lab-spine2": "unreachable",
        LEAF: "not-attempted",
        "lab-leaf2": "not-attempted",
    }


@pytest.mark.nightly
def test_a_switch_that_does_not_come_back_from_its_reload_stops_the_rollout(deployed_lab: Any) -> None:
    project = deployed_lab
    project.run("sim", "replace", LEAF)
    project.run("trust", LEAF, "--replace", "--yes")
    settle(project)
    before = held(project)
    whole = rehearse(project, "--provision", "--discard-newer")
    assert (whole["ok"], whole["result"]) == (True, "done")
    lost = rehearse(project, "--provision", "--discard-newer", "--fault", f"{LEAF}=no-return", status=1)
    assert (lost["result"], lost["devices"][LEAF]["outcome"]) == ("stopped", "unreachable")
    assert held(project) == before


@pytest.mark.parametrize(
    ("fault", "missed", "ok"),
    nightly_except(
        [
            ("unreachable", "", False),
            ("slow", "", True),
            ("refuse-commit", "", False),
            ("drop-session", "", True),
            ("lose-config", "", False),
            ("power-cycle", "", False),
            ("link-down", "", False),
            ("no-return", "the switch was not reloaded after that", True),
            ("bgp-down", "", False),
            ("silent", "", False),
            ("wrong-host-key", "", False),
        ],
        daily=[("power-cycle", "", False), ("no-return", "the switch was not reloaded after that", True)],
    ),
)
def test_every_fault_has_an_effect_or_says_why_it_has_none(
    deployed_lab: Any, fault: str, missed: str, ok: bool
) -> None:
    project = deployed_lab
    (project.folder / "before.yml").write_text(project.intent.read_text(encoding="utf-8"), encoding="utf-8")
    project.edit(WIDER)
    done = rehearse(project, "--running", "before.yml", "--fault", f"lab-spine2={fault}", status=0 if ok else 1)
    assert [one["missed"] for one in done["faults"]] == [missed]
    assert (" with 1 fault (1 without effect): " in done["line"]) == bool(missed)
    assert done["waves"][-1]["switch_s"] < 60, "no fault makes minutes of a switch's own time"


@pytest.mark.parametrize(
    ("intent", "fault"),
    nightly_except(
        [
            ("lab-pods.yml", "labpods-spine29=power-cycle"),
            ("generations.yml", ""),
            ("mixed-nodes.yml", ""),
            ("lab-dual.yml", ""),
        ],
        daily=[("lab-dual.yml", "")],
    ),
)
def test_rehearsals_of_other_shapes_are_documents_of_the_schema(new_project: Any, intent: str, fault: str) -> None:
    project = new_project(intent)
    before = project.folder / "before.yml"
    before.write_text(project.intent.read_text(encoding="utf-8"), encoding="utf-8")
    text = project.intent.read_text(encoding="utf-8")
    project.intent.write_text(f"{text}bgp: {{keepalive: 5, hold: 15}}\n", encoding="utf-8")
    done = rehearse(
        project, "--running", "before.yml", *(["--fault", fault] if fault else []), status=1 if fault else 0
    )
    assert done["ok"] is not bool(fault)


def test_a_fault_of_a_wave_that_never_came_says_so(deployed_lab: Any) -> None:
    project = deployed_lab
    (project.folder / "before.yml").write_text(project.intent.read_text(encoding="utf-8"), encoding="utf-8")
    asked = ("--running", "before.yml", "--fault", "lab-leaf1=slow")
    assert [one["missed"] for one in rehearse(project, *asked)["faults"]] == ["the plan has no wave"]
    project.edit(WIDER)
    stopped = rehearse(project, *asked, "--fault", "lab-spine1=unreachable", status=1)
    assert [one["missed"] for one in stopped["faults"]] == ["wave 3 was not started", ""]
    last = rehearse(project, *asked[:2], "--fault", "lab-spine1=refuse-commit@4")
    assert [one["missed"] for one in last["faults"]] == ["nothing was committed on the switch after that"]
    refused = project.run("rehearse", *asked[:2], "--fault", "lab-leaf1=errors", status=64).stderr
    assert "--fault lab-leaf1=errors: no fault 'errors' in a rehearsal; there are unreachable, slow, " in refused


def test_a_switch_that_does_not_answer_does_not_answer_in_the_rehearsal(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(WIDER)
    project.run("sim", "fault", "lab-leaf2", "unreachable")
    done = rehearse(project, "--discard-newer", status=1)
    assert done["stopped_by"] == "lab-leaf2 could not be reached; nothing was changed"
    skipped = rehearse(project, "--discard-newer", "--skip-unreachable")
    assert ending(skipped)["lab-leaf2"] == "unreachable"
    assert skipped["notes"] == ["lab-leaf2 could not be read, and does not answer in the rehearsal either"]


def test_what_a_deployment_is_refused_for_a_rehearsal_is_refused_for(deployed_lab: Any) -> None:
    project = deployed_lab
    project.run("sim", "replace", LEAF)
    project.run("trust", LEAF, "--replace", "--yes")
    refused = rehearse(project, "--discard-newer", status=1)
    assert refused["line"].endswith(": the deployment would be refused (RW507)")
    assert [one["code"] for one in refused["refused"]] == ["RW507"]
    said = project.run("deploy", "--yes", "--target", "sim", status=1).stderr
    assert refused["refused"][0]["message"] in said.replace("\n", " ")


def test_what_sonic_would_refuse_of_a_reload_the_rehearsal_names(deployed_lab: Any) -> None:
    project = deployed_lab
    project.run("sim", "replace", LEAF)
    project.run("trust", LEAF, "--replace", "--yes")
    project.on(LEAF, "sonic-db-cli CONFIG_DB HSET 'VLAN|Vlan10' vlanid 5000")
    refused = rehearse(project, "--provision", "--discard-newer", status=1)
    assert [one["code"] for one in refused["refused"]] == ["RW527"]
    said = project.run("deploy", "--yes", "--provision", status=1).stderr
    assert refused["refused"][0]["message"] in " ".join(said.split())


def test_a_disruptive_change_shows_what_is_left_in_each_wave(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit((WIDER[0], WIDER[1].replace("9216", "9050")))
    left = ("uplink_percent", "paths", "rails_out", "violations")
    done = rehearse(project, "--discard-newer")
    assert [[wave[name] for name in left] for wave in done["waves"]] == 2 * [[50, 1, 0, []]] + 2 * [[100, 2, 1, []]]
    crossed = rehearse(project, "--discard-newer", "--fault", "lab-spine2=bgp-down@1", status=1)
    said = "two leaves keep no path between them, and the floor is 1"
    assert [[wave[name] for name in left] for wave in crossed["waves"]] == [[0, 0, 0, [said]]]
    assert "1 gate violated" in crossed["line"]
    project.run("sim", "fault", "lab-spine2", "bgp-down")
    refused = project.deploy(status=1)
    assert refused["result"] == "stopped"
    assert ending(refused) == ending(crossed)
    flows = "lab-spine1: packets a second still flow on Ethernet0 "
    assert [one["stopped_by"].startswith(flows) for one in (refused, crossed)] == [True, True]


def test_a_phase_is_rehearsed_as_it_is_deployed(deployed_lab: Any) -> None:
    project = deployed_lab
    (project.folder / "before.yml").write_text(project.intent.read_text(encoding="utf-8"), encoding="utf-8")
    project.edit(WIDER)
    done = rehearse(project, "--from", "before.yml", "--discard-newer")
    assert (done["source"], done["result"]) == ("target sim, phase 1 from before.yml", "done")
    both = project.run("rehearse", "--from", "before.yml", "--running", "before.yml", status=64).stderr
    assert "the phase of a change depends on what switches run: omit --from and --phase, or --running" in both


def test_a_rehearsal_is_shown_with_its_own_plan_and_no_other(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(WIDER)
    project.run("plan", "-o", "plan.json")
    done = rehearse(project, "plan.json", "--discard-newer")
    assert json.loads((project.folder / "plan.rehearsal.json").read_bytes()) == done
    assert done["plan_digest"] == json.loads((project.folder / "plan.json").read_bytes())["digest"]
    shown = f"{done['line']} ({done['at']})"
    assert shown in project.run("plan").stdout
    assert shown in project.run("plan", "--markdown").stdout
    project.on(LEAF, DRIFT)
    assert done["line"] not in project.run("plan").stdout
    refused = project.run("rehearse", "plan.json", status=1).stderr
    assert "error[RW503]: 1 device changed since this plan was made: lab-leaf1" in refused


def test_a_rehearsal_that_is_ended_at_its_start_leaves_nothing_either(deployed_lab: Any, tmp_path: Path) -> None:
    project, folder = deployed_lab, tmp_path / "twins"
    folder.mkdir()
    project.environ["TMPDIR"] = str(folder)
    running = project.start("rehearse", "--discard-newer")
    project.wait_until(lambda: list(folder.glob("railweave-twin-*")), 120, "a folder of the twin")
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=240)
    assert running.returncode == 130
    project.wait_until(lambda: not simulators(folder), 120, "the end of the twin")
    assert not list(folder.glob("railweave-twin-*"))


def simulators(folder: Path) -> list[Path]:
    """Return the processes that serve a simulated fabric below ``folder``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in path.read_bytes():
                found.append(path)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_rehearsal_leaves_no_process_and_no_folder(deployed_lab: Any, number: int, tmp_path: Path) -> None:
    project = deployed_lab
    project.edit(WIDER)
    folder = tmp_path / "twins"
    folder.mkdir()
    project.environ["TMPDIR"] = str(folder)
    running = project.start("rehearse", "--discard-newer")
    for line in running.stdout:
        if line.startswith("wave 1 of 4"):
            break
    (twin,) = folder.glob("railweave-twin-*")
    handle = os.pidfd_open(json.loads((twin / "process.json").read_bytes())["pid"])
    try:
        running.send_signal(number)
        running.communicate(timeout=240)
        assert running.returncode == {signal.SIGKILL: -signal.SIGKILL}.get(signal.Signals(number), 130)
        assert select.select([handle], [], [], 60)[0], "the simulator still runs"
    finally:
        os.close(handle)
    assert not list(folder.glob("railweave-twin-*"))
    assert not (project.folder / ".railweave" / "rehearsals").exists()


def test_a_change_is_rehearsed_without_a_switch(deployed_lab: Any) -> None:
    project = deployed_lab
    before = project.folder / "before.yml"
    before.write_text(project.intent.read_text(encoding="utf-8"), encoding="utf-8")
    project.edit(WIDER)
    settle(project)
    kept = held(project)
    project.run("sim", "down", "--all")
    done = rehearse(project, "--running", "before.yml")
    assert (done["result"], done["source"]) == ("done", "the intent at before.yml, taken to be deployed")
    assert done["plan_digest"] == project.json("diff", "before.yml")["digest"]
    assert done["line"] in project.run("diff", "before.yml").stdout
    assert kept.keys() == set(DEVICES)


def test_documents_of_switches_are_a_state_as_well(deployed_lab: Any) -> None:
    project = deployed_lab
    project.on(LEAF, DRIFT)
    folder = project.folder / "state"
    folder.mkdir()
    for name in DEVICES:
        (folder / f"{name}.json").write_text(project.on(name, "show runningconfiguration all"), encoding="utf-8")
    project.run("sim", "down", "--all")
    done = rehearse(project, "--running", "state")
    assert (done["result"], done["changes"]) == ("done", 1)
    assert [wave["devices"] for wave in done["waves"]] == [[LEAF]]
    (folder / f"{LEAF}.json").write_text('{"PORT": {}}', encoding="utf-8")
    refused = project.run("rehearse", "--running", "state", status=1).stderr
    assert "lab-leaf1.json: not a whole configuration: `show runningconfiguration all` prints one" in refused
    empty = project.run("rehearse", "--running", "intent", status=64).stderr
    assert "intent holds no document of a switch of lab: lab-leaf1.json, lab-leaf2.json" in empty


@pytest.mark.nightly
def test_cables_and_links_of_the_twin_are_those_of_the_target(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(WIDER)
    project.run("sim", "cable", f"{LEAF}:Ethernet112", "lab-spine2:Ethernet0")
    project.run("sim", "cable", f"{LEAF}:Ethernet116", f"{SPINE}:Ethernet0")
    project.run("sim", "power-off", "gpu1")
    done = rehearse(project, "--discard-newer", status=1)
    deployed = project.deploy(status=1)
    assert (done["stopped_by"], ending(done)) == (deployed["stopped_by"], ending(deployed))
    assert done["notes"] == ["down on the target, and here: lab-leaf1:Ethernet0, lab-leaf2:Ethernet0"]
