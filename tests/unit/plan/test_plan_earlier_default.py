"""Running switches that follow a default of an earlier version are recognized by their cables."""

from railweave.api.design.intent import design_text
from railweave.api.targets.earlier import earlier_defaults
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.earlier_default import follows_earlier_default
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
    earlier = earlier_defaults(load_intent_text(intended, "intent/fabric.yml"))
    return follows_earlier_default(plan, after, earlier, "intent/fabric.yml")


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
