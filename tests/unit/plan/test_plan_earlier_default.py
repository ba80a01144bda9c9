"""Running switches that follow a default of an earlier version are recognized by their cables."""

from pathlib import Path

import pytest

from railweave.api.design.earlier import earlier_defaults, name_earlier_switches
from railweave.api.design.intent import design_text
from railweave.api.design.revisions import diff, phases
from railweave.api.project import Project
from railweave.diagnostics import Diagnostic, error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.earlier_default import TO_STATE, follows_earlier_default, ran_by_earlier_default
from railweave.plan.offline import plan_offline
from railweave.templates import find_templates

INTENT = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 200G, ports: 1, model: connectx-7}}
topology:
  stripe: 4
  leaf: {model: nvidia-sn4700}
  spine: {model: nvidia-sn4700}
"""


def with_keys(*keys: str) -> str:
    lines = "".join(f"  {key}\n" for key in keys)
    return INTENT.replace("topology:\n", f"topology:\n{lines}")


def found(running: str, intended: str) -> tuple[Diagnostic, ...]:
    """Return what a plan of ``intended`` says where switches run ``running``."""
    before, after = fabric_of(running), fabric_of(intended)
    plan = plan_offline(before, after, find_templates(), renumber=True)
    intent = load_intent_text(intended, "intent/fabric.yml")
    return follows_earlier_default(plan, after, earlier_defaults(intent), intent.where("topology"))


def fabric_of(text: str) -> Fabric:
    return design_text(text, "intent/fabric.yml").fabric


def test_the_split_of_a_whole_panel_is_recognized() -> None:
    (refusal,) = found(with_keys("split: panel"), INTENT)
    # 2 leaves with 32 uplinks each; those of the stripe, 4 a leaf, have other ports.
    assert refusal.code == "RW544"
    assert refusal.message == (
        "64 cables between running switches follow a default of an earlier version, and would move or go"
    )
    assert refusal.fix == (
        "write `split: panel` under `topology` in intent/fabric.yml, which keeps the cables; or deploy with --renumber,"
        " which has them moved"
    )
    assert refusal.devices == ("pod1-leaf1", "pod1-leaf2")


def test_both_earlier_defaults_are_recognized_together() -> None:
    (refusal,) = found(with_keys("split: panel", "wiring: ports"), INTENT)
    assert refusal.fix.startswith("write `split: panel` and `wiring: ports` under `topology`")


def test_the_earlier_wiring_is_recognized_where_the_split_is_stated() -> None:
    (refusal,) = found(with_keys("split: panel", "wiring: ports"), with_keys("split: panel"))
    assert refusal.fix.startswith("write `wiring: ports` under `topology`")


def test_the_lines_that_are_printed_leave_nothing_to_change() -> None:
    running = fabric_of(with_keys("split: panel", "wiring: ports"))
    stated = fabric_of(with_keys("wiring: ports", "split: panel"))
    assert not plan_offline(running, stated, find_templates()).deltas


def test_growth_by_another_stripe_is_no_earlier_default() -> None:
    assert found(INTENT, INTENT.replace("count: 4, gpus", "count: 8, gpus")) == ()


def test_a_larger_stripe_is_no_earlier_default() -> None:
    """Re-striping moves cables because the intent says so, whatever the defaults are."""
    assert found(INTENT, INTENT.replace("stripe: 4", "stripe: 16")) == ()


def test_growth_of_an_earlier_fabric_is_recognized_as_well() -> None:
    (refusal,) = found(with_keys("split: panel"), INTENT.replace("count: 4, gpus", "count: 8, gpus"))
    assert "`split: panel`" in refusal.fix


THREE_TIERS = INTENT.replace("count: 4, gpus", "count: 8, gpus").replace(
    "topology:", "topology:\n  tiers: 3\n  pod: 1\n  super_spine: {model: nvidia-sn4700}"
)
RAIL_ONLY = INTENT.replace("count: 4, gpus", "count: 8, gpus").replace(
    "topology:", "topology:\n  shape: rail-only\n  tiers: 2"
)
RESERVED = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 8, gpus: 2, nics: {count: 2, speed: 200G, ports: 1, model: connectx-7}}
topology:
  stripe: 4
  leaf: {model: nvidia-sn4700}
  spine: {model: nvidia-sn4700}
  reserve: {leaves: 64}
"""


@pytest.mark.parametrize("intended", [THREE_TIERS, RAIL_ONLY], ids=["three-tiers", "rail-only"])
def test_the_split_of_a_whole_panel_is_recognized_in_every_shape(intended: str) -> None:
    stated = intended.replace("topology:", "topology:\n  split: panel")
    (refusal,) = found(stated, intended)
    assert refusal.fix.startswith("write `split: panel` under `topology`")


def test_fewer_spines_than_the_reserve_asks_for_are_an_earlier_default() -> None:
    """Automatic spines have ports for the leaves of the reserve; before, they had ports for those of today."""
    running = RESERVED.replace("spine: {", "spine: {count: 2, ")
    (refusal,) = found(running, RESERVED)
    assert refusal.fix.startswith("write `spine.count: 2` under `topology` in intent/fabric.yml")
    assert not plan_offline(fabric_of(running), fabric_of(running), find_templates()).deltas


def test_growth_to_more_spines_is_recognized_by_the_ports_of_the_leaves() -> None:
    """32 uplinks of 8 leaves need 4 spines, to which half of the cables move by either default."""
    (refusal,) = found(with_keys("split: panel"), INTENT.replace("count: 4, gpus", "count: 16, gpus"))
    assert "write `split: panel` under `topology` in intent/fabric.yml, which keeps their ports on" in refusal.fix


def compared(base: str, head: str, instead: str = TO_STATE) -> tuple[Diagnostic, ...]:
    intent = load_intent_text(head, "intent/fabric.yml")
    where = intent.where("topology")
    return ran_by_earlier_default(fabric_of(base), fabric_of(head), earlier_defaults(intent), where, instead)


def test_a_revision_with_the_earlier_default_is_recognized_without_a_plan() -> None:
    (refusal,) = compared(with_keys("split: panel", "wiring: ports"), INTENT)
    assert (refusal.code, str(refusal.where)) == ("RW544", "intent/fabric.yml:6:1")
    assert refusal.fix == (
        "write `split: panel` and `wiring: ports` under `topology` in intent/fabric.yml, which keep the cables;"
        " or state `split: stripe` and `wiring: cages`, which has them moved"
    )


def test_a_revision_that_states_the_default_of_today_moves_the_cables() -> None:
    assert compared(with_keys("split: panel"), with_keys("split: stripe", "wiring: cages")) == ()
    assert compared(with_keys("split: panel"), with_keys("split: panel")) == ()


def test_switches_of_other_names_are_those_of_an_earlier_default() -> None:
    """Spines of three tiers are numbered by the split of a leaf, so a target may lack those of today's."""
    running = fabric_of(THREE_TIERS.replace("topology:", "topology:\n  split: panel"))
    intended = fabric_of(THREE_TIERS)
    missing = tuple(sorted(intended.switch_of.keys() - running.switch_of.keys()))
    refused = error("RW604", "the simulator does not know them", devices=missing, fix="bring it up to date")
    intent = load_intent_text(THREE_TIERS, "intent/fabric.yml")

    def is_reached(fabric: Fabric) -> bool:
        return fabric.switch_of.keys() <= running.switch_of.keys()

    (named,) = name_earlier_switches([refused], intent, intended, is_reached)
    assert named.fix == (
        "bring it up to date; if an earlier version of railweave deployed the switches, write `split: panel` under"
        " `topology` in intent/fabric.yml, which keeps their names"
    )
    assert name_earlier_switches([refused], intent, intended, lambda _: False) == (refused,)


def test_a_comparison_of_revisions_of_one_of_several_fabrics_is_refused(tmp_path: Path) -> None:
    nodes, _, topology = INTENT.partition("topology:")
    nodes = nodes.replace("nics: {", "nics: [{fabric: backend, ").replace("connectx-7}}", "connectx-7}]}")
    indented = topology.replace("\n  ", "\n      ")
    text = f"{nodes}fabrics:\n  backend:\n    topology:{indented}"
    running, intended = tmp_path / "running.yml", tmp_path / "intended.yml"
    running.write_text(text.replace("topology:", "topology:\n      split: panel"))
    intended.write_text(text)
    project = Project(Path(f"{intended}#backend"))
    with pytest.raises(RefusedError) as refused:
        diff(project, str(running))
    (refusal,) = refused.value.diagnostics
    assert f"write `split: panel` under `fabrics.backend.topology` in {intended}" in refusal.fix
    with pytest.raises(RefusedError, match="follow a default of an earlier version"):
        phases(project, str(running))
    assert len(diff(project, str(running), renumber=True).deltas) == len(refusal.devices) + 2
