"""`plan --since`: only switches are read that the change touches, and all where the plan depends on all of them."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from counted_fabric import Counted, deployed_fabric

from railweave.api.plans import plan
from railweave.api.project import Project
from railweave.cli.main import main
from railweave.errors import UsageError
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.headline import headline
from railweave.plan.model import Plan
from railweave.report.plan_parts import remarks

TEXT = """\
fabric: pod
workload: {kind: inference}
nodes: [{name: gpu, count: 8, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}]
sonic: {acl_rules: 1024}
topology:
  rails: 2
  stripe: 4
  oversubscription: "8:1"
  leaf: {model: sonic-vs, uplink_speed: 100G, downlink_speed: 100G}
  spine: {model: sonic-vs, count: 4}
tenants:
  - {name: a, nodes: gpu1-2}
  - {name: b, nodes: gpu3}
  - {name: c, nodes: gpu4-8}
"""
MOVED = TEXT.replace("gpu1-2}", "gpu1}").replace("nodes: gpu3}", "nodes: gpu2-3}")
BASE = "base.yml"
TOUCHED = {"pod-leaf1", "pod-leaf2"}
LEAVES = {f"pod-leaf{number}" for number in range(1, 5)}
SWITCHES = LEAVES | {f"pod-spine{number}" for number in range(1, 5)}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Counted]]:
    folder = tmp_path_factory.mktemp("pod")
    with deployed_fabric(folder, "pod.yml", TEXT) as counted:
        (folder / BASE).write_text(TEXT)
        yield folder, counted


@pytest.fixture
def pod(deployed: tuple[Path, Counted]) -> Iterator[Counted]:
    folder, counted = deployed
    counted.clear()
    with contextlib.chdir(folder):
        yield counted


def planned(text: str, *, base: str = "", limit: str = "", since: str = "") -> Plan:
    Path("intent/pod.yml").write_text(text)
    return plan(Project(Path("intent/pod.yml")), "sim", base=base, limit=limit, since=since)


def test_the_plan_of_a_move_opens_only_the_switches_that_it_touches(pod: Counted) -> None:
    made = planned(MOVED, since=BASE)
    assert pod.asked.keys() == TOUCHED
    assert made.deltas.keys() == TOUCHED
    assert {*made.limit} == TOUCHED
    assert {*made.behind} == SWITCHES - TOUCHED
    assert {change.table for _, change in made.changes()} == {"ACL_RULE"}
    assert headline(made).endswith("; 6 switches not read, configured as at base.yml.")
    (read, *_) = remarks(made, 0)
    assert read.text == (
        "read: pod-leaf1, pod-leaf2; not read, with the configuration of base.yml: pod-leaf3, pod-leaf4, pod-spine1…4"
    )
    document = plan_json(made)
    assert plan_json(parse_plan(json.dumps(document), "plan.json")) == document
    pod.clear()
    whole = planned(MOVED)
    assert pod.asked.keys() == SWITCHES
    assert whole.deltas == made.deltas


def test_an_unchanged_intent_reads_no_switch(pod: Counted) -> None:
    made = planned(TEXT, since=BASE)
    assert not pod.asked
    assert not made.deltas
    assert headline(made) == "pod: nothing is known of what runs; 8 switches not read, configured as at base.yml."


def test_a_change_of_every_switch_reads_all_and_is_not_limited(pod: Counted) -> None:
    whole = planned(f"{TEXT}bgp: {{keepalive: 2, hold: 8}}\n", since=BASE)
    assert pod.asked.keys() == SWITCHES
    assert whole.since == ""
    assert not whole.limit


def test_a_switch_that_is_new_makes_the_plan_depend_on_all(pod: Counted) -> None:
    Path(BASE).write_text(TEXT.replace("count: 8", "count: 4").replace("gpu4-8", "gpu4"))
    made = planned(TEXT, since=BASE)
    Path(BASE).write_text(TEXT)
    assert pod.asked.keys() == SWITCHES
    assert made.since == ""


@pytest.mark.parametrize("other", [{"limit": "leaf"}, {"base": BASE}])
def test_since_takes_no_other_choice_of_switches(pod: Counted, other: dict[str, str]) -> None:
    with pytest.raises(UsageError) as refused:
        planned(MOVED, since=BASE, **other)
    assert str(refused.value) == "--since limits the plan by itself: omit --limit, --from and --phase"
    assert not pod.asked


def test_the_command_takes_since(pod: Counted, capsys: pytest.CaptureFixture[str]) -> None:
    Path("intent/pod.yml").write_text(MOVED)
    assert main(["plan", "--since", BASE, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["since"] == BASE
    assert pod.asked.keys() == TOUCHED
