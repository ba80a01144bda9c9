"""Plans and journals that revision 89c1923c wrote, on simulated switches, are read with the same meaning."""

from pathlib import Path

from railweave.plan.document import parse_plan, plan_json
from railweave.plan.outcome import Outcome
from railweave.plan.parsed_rollout import parse_rollout
from railweave.plan.resumption import unlike_plan

EARLIER = Path(__file__).with_name("earlier")
PLAN = EARLIER / "plan-89c1923c.json"
JOURNAL = EARLIER / "20261128T105835Z-first-fc81df.jsonl"


def test_a_plan_of_an_earlier_revision_is_read_whole() -> None:
    plan = parse_plan(PLAN.read_text(encoding="utf-8"), str(PLAN))
    assert plan.fabric == "first"
    assert plan.waves == (("first-spine1",), ("first-spine2",), ("first-leaf1",), ("first-leaf2",))
    assert plan.summary.update == 128
    assert plan_json(plan)["digest"] == "ae8aa76d6cdf6c699ed4419cf421435e0b46cba35252ff7482958468576c6984"


def test_a_journal_of_an_earlier_revision_belongs_to_its_plan() -> None:
    plan = parse_plan(PLAN.read_text(encoding="utf-8"), str(PLAN))
    rollout = parse_rollout(JOURNAL, JOURNAL.read_bytes())
    assert rollout.finished
    assert rollout.state == "done"
    assert (rollout.unread, rollout.torn, rollout.unknown) == (0, False, ())
    assert rollout.names(Outcome.NEW) == tuple(name for wave in plan.waves for name in wave)
    assert rollout.devices["first-spine1"].drain == ("*",)
    assert all(record.commit_id in record.commit_ids for record in rollout.devices.values())
    assert unlike_plan(rollout, plan) == ()
