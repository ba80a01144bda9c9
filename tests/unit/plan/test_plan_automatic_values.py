"""Automatic values that growth changes: a plan refuses to move nodes that run, with the lines that keep them."""

from pathlib import Path

import pytest

from railweave import api
from railweave.api.design.intent import design_text
from railweave.api.targets.automatic import kept_on_switches
from railweave.design.keeping import cables_and_addresses, kept_diagnostics
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.offline import plan_offline
from railweave.templates import find_templates

NICS = "nics: {count: 4, speed: 400G, model: connectx-7}"
SLOWER = "nics: {count: 4, speed: 100G, model: connectx-6}"
SHARED = f"""\
fabric: pod1
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: 20, gpus: 8, {NICS}}}
  - {{name: store, role: storage, count: 5, gpus: 0, share_leaves: true, {NICS}}}
topology:
  leaf: {{model: nokia-ixr7220-h4-64d}}
  spine: {{model: nokia-ixr7220-h4-64d, count: 4}}
"""
MORE_STORES = ("count: 5, gpus: 0", "count: 9, gpus: 0")
TWO_LEAVES = """\
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 6, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}
topology:
  leaf: {model: nokia-ixr7220-h4-64d, count: 2}
  spine: {model: nokia-ixr7220-h4-64d, count: 4}
"""
FOUR_LEAVES = (("count: 6", "count: 9"), ("64d, count: 2", "64d, count: 4"))


def changed(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def fabric_of(text: str) -> Fabric:
    return design_text(text, "f.yml").fabric


def refused(before: str, after: str, folder: Path) -> list[Diagnostic]:
    """Return what `diff` refuses, which is what a plan of switches that run ``before`` says as well."""
    for name, text in (("before.yml", before), ("after.yml", after)):
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(RefusedError) as caught:
        api.diff(api.open_project(folder / "after.yml"), str(folder / "before.yml"))
    head = fabric_of(after)
    plan = plan_offline(fabric_of(before), head, find_templates(), renumber=True)
    of_switches = kept_diagnostics(kept_on_switches(plan, load_intent_text(after, "f.yml"), head))
    assert [*of_switches] == [*caught.value.diagnostics]
    return [*caught.value.diagnostics]


def test_a_stripe_that_the_nodes_of_others_change_is_refused_with_the_lines_that_keep_it(tmp_path: Path) -> None:
    # 32 ports: 24 + 8 nodes. 20 + 9 have room in one stripe, but not with 16 for storage: 23 + 9.
    after = changed(SHARED, MORE_STORES)
    (refusal,) = refused(SHARED, after, tmp_path)
    assert refusal.code == "RW506"
    assert refusal.message == (
        "the automatic stripe of 'gpu' was 24 and is 23 and the automatic stripe of 'store' was 8 and is 9:"
        " cables and addresses that run would change"
    )
    assert refusal.fix == "state stripe: 24 for 'gpu' and state stripe: 8 for 'store', which keeps what runs"


def test_the_lines_that_are_printed_keep_every_cable() -> None:
    stated = (("count: 20, gpus: 8", "count: 20, gpus: 8, stripe: 24"), ("gpus: 0", "gpus: 0, stripe: 8"))
    assert cables_and_addresses(fabric_of(SHARED)) <= cables_and_addresses(
        fabric_of(changed(SHARED, MORE_STORES, *stated))
    )


def test_nodes_that_come_to_full_leaves_get_leaves_of_their_own(tmp_path: Path) -> None:
    # 40 GPU nodes fill the 32 ports of the first stripe.
    alone = changed(
        SHARED, (f"  - {{name: store, role: storage, count: 5, gpus: 0, share_leaves: true, {NICS}}}\n", "")
    )
    # Leaves in stripe 8 take more spines, so that cables between switches move, but not those of nodes.
    before = changed(alone, ("count: 20", "count: 40"), (", count: 4}", "}"))
    slower = f"  - {{name: store, role: storage, count: 5, gpus: 0, share_leaves: true, {SLOWER}}}\ntopology"
    (refusal,) = refused(before, changed(before, ("topology", slower)), tmp_path)
    assert refusal.message.startswith("the automatic stripe of 'gpu' was 32 and is 30 and 'store' would share the")
    assert refusal.fix == (
        "state stripe: 32 for 'gpu' and write leaf: {downlink_speed: 100G} in place of share_leaves for 'store', which"
        " keeps nodes at the ports where they run"
    )


def test_rails_that_follow_from_the_leaves_are_refused_with_the_line_that_keeps_them(tmp_path: Path) -> None:
    # 2 leaves for 8 NICs hold 8 nodes; as 4 rails they would hold 16 in one stripe, on other ports.
    (refusal,) = refused(TWO_LEAVES, changed(TWO_LEAVES, *FOUR_LEAVES), tmp_path)
    assert refusal.message == "rails: auto was 2 and is 4: cables and addresses that run would change"
    assert refusal.fix == "state rails: 2 under topology, which keeps what runs"
    stated = changed(TWO_LEAVES, *FOUR_LEAVES, ("topology:\n", "topology:\n  rails: 2\n"))
    assert cables_and_addresses(fabric_of(TWO_LEAVES)) <= cables_and_addresses(fabric_of(stated))


def test_growth_that_moves_nothing_states_nothing(tmp_path: Path) -> None:
    (tmp_path / "before.yml").write_text(SHARED, encoding="utf-8")
    (tmp_path / "after.yml").write_text(changed(SHARED, ("count: 20", "count: 22")), encoding="utf-8")
    plan = api.diff(api.open_project(tmp_path / "after.yml"), str(tmp_path / "before.yml"))
    assert plan.gone == ()
