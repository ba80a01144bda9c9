"""`railweave selftest`: an unused switch is tried and left as it was; one in use is refused."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from napalm_sonic.calling import Caller
from railweave.report.documents import schema
from railweave_switch.reader import READ_ONLY

pytestmark = pytest.mark.e2e

SPARE = """
fabric: spare
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 2, gpus: 8, nics: {count: 2, speed: 400G, ports: 1, model: connectx-7}}
topology: {shape: rail-only, leaf: {model: nokia-ixr7220-h4-64d}}
"""
LEAF = "spare-leaf1"
TEST = ("selftest", LEAF, "--spare", "--yes", "--timer", "2")


@pytest.fixture
def spare(new_project: Callable[[str], Any]) -> Any:
    project = new_project("lab-4.yml")
    project.intent.write_text(SPARE)
    project.run("sim", "up")
    project.run("sim", "power-off", "gpu1", "gpu2")
    return project


def running(project: Any) -> str:
    return str(project.on(LEAF, "show runningconfiguration all"))


def is_armed(project: Any) -> bool:
    return '"armed"' in project.on(LEAF, "sudo cat /var/lib/railweave/transaction.json")


def test_a_spare_switch_confirms_the_claims_and_is_left_as_it_was(spare: Any) -> None:
    before = running(spare)
    done = spare.run(*TEST, "--reload", "--json", "--out", "bundle")
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema("selftest"))
    verdicts = {trial["name"]: trial["verdict"] for trial in document["trials"] if trial["verdict"] != "not-tried"}
    assert document["ok"]
    assert document["is_back"]
    assert "contradicted" not in verdicts.values()
    tried = ("description", "MTU lowered", "prefix list", "revert timer", "lost session", "reload")
    assert {verdicts[name] for name in tried} == {"confirmed"}
    assert {"traffic classes", "ECN threshold", "share", "lossless priorities", "watchdog time"} <= verdicts.keys()
    assert running(spare) == before

    (bundle,) = (spare.folder / "bundle").iterdir()
    text = bundle.read_text()
    assert json.loads(text)["trials"] == document["trials"]
    assert LEAF not in text
    assert "127." not in text


def test_a_switch_in_use_is_refused_and_nothing_is_changed(spare: Any) -> None:
    spare.run("sim", "power-on", "gpu1")
    before = running(spare)
    refused = spare.run(*TEST, status=1).stdout
    assert "refused: the switch is in use" in refused
    assert "Ethernet0 is connected to gpu1" in refused
    assert running(spare) == before


def test_it_asks_for_the_word_that_the_switch_is_unused(spare: Any) -> None:
    refused = spare.run("selftest", LEAF, "--yes", status=64).stderr
    assert "say --spare if it is unused" in refused


def test_looking_alone_changes_nothing(spare: Any) -> None:
    before = running(spare)
    document = json.loads(spare.run("selftest", LEAF, "--spare", "--read-only", "--json").stdout)
    assert document["trials"] == []
    assert document["counters"]["ports"]["count"] > 0
    assert running(spare) == before


def test_looking_alone_needs_the_readers_verbs_alone(spare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    line = Caller._command_line

    def noted(caller: Caller, words: list[str]) -> str:
        asked.add(words[0])
        return line(caller, words)

    monkeypatch.setattr(Caller, "_command_line", noted)
    spare.run("selftest", LEAF, "--spare", "--read-only")  # installs the program
    spare.in_process = True
    spare.run("selftest", LEAF, "--spare", "--read-only")
    assert "probe" in asked
    assert asked <= set(READ_ONLY)


@pytest.mark.nightly
def test_the_next_run_removes_what_one_that_was_killed_left(spare: Any) -> None:
    before = running(spare)
    spare.set_rollout(verify_timeout=1, drain_timeout=1, revert_in=31)
    spare.run("sim", "fault", LEAF, "slow", "--command", "railweave-switch revert", "--seconds", "60")
    process = spare.start("selftest", LEAF, "--spare", "--yes", "--timer", "2")
    kept = spare.folder / ".railweave" / "selftest" / f"spare-sim-{LEAF}.json"
    spare.wait_until(lambda: kept.exists() or process.poll() is not None, 150, "the classes were never added")
    assert kept.exists(), process.communicate()[0]
    spare.wait_until(lambda: "DSCP_TO_TC_MAP" in running(spare) and is_armed(spare), 150, "no trial began")
    spare.kill(process)
    spare.run("sim", "fault", LEAF, "clear")
    spare.wait_until(lambda: not is_armed(spare), 150, "the trial is still armed")
    assert running(spare) != before
    spare.run(*TEST)
    assert running(spare) == before
    assert not kept.exists()
