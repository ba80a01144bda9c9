"""An automatic first stripe that growth changes: the plan refuses to replace leaves that run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.consent import PLAN_ALONE, check_consent
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.model import MovedStripes, Plan
from railweave.plan.offline import plan_offline
from railweave.templates import find_templates

ROOT = Path(__file__).resolve().parents[3]
STORE = "  - {name: store, role: storage, count: 2, gpus: 0, nics: {count: 2, speed: 100G, model: connectx-6}}\n"
# Without a reserve of leaves, so that storage begins at the next power of two above twice the stripes.
MIXED = (("topology:\n", STORE + "topology:\n"), ("count: 2, downlink", "downlink"), ("leaves: 4, ", ""))
TWO_STRIPES = ("count: 4\n", "count: 8\n")
REFUSED = (
    "the leaves of 'store' run from stripe 4 on; first_stripe: auto is 8 now, which replaces them by other switches"
)
FIX = "state first_stripe: 4 for 'store', which keeps what runs"


@pytest.fixture
def plan(redesign: Callable[..., Fabric]) -> Plan:
    # 1 stripe of GPU nodes: above 2 × 1 is 4. 2 stripes: above 2 × 2 is 8.
    return plan_offline(redesign(*MIXED), redesign(*MIXED, TWO_STRIPES), find_templates(ROOT), renumber=True)


def test_a_plan_that_moves_a_kind_to_other_leaves_prints_the_line_that_keeps_it(plan: Plan) -> None:
    assert plan.moved_stripes == (MovedStripes("store", 4, 8),)
    assert parse_plan(json.dumps(plan_json(plan)), "plan.json").moved_stripes == plan.moved_stripes
    (diagnostic,) = (found for found in check_consent(plan, PLAN_ALONE) if found.code == "RW506")
    assert (diagnostic.message, diagnostic.fix) == (REFUSED, FIX)


def test_a_comparison_of_two_intents_refuses_it_too(redesign: Callable[..., Fabric]) -> None:
    with pytest.raises(RefusedError) as refused:
        plan_offline(redesign(*MIXED), redesign(*MIXED, TWO_STRIPES), find_templates(ROOT))
    assert [(found.code, found.message) for found in refused.value.diagnostics] == [("RW506", REFUSED)]


def test_the_printed_line_keeps_what_runs(redesign: Callable[..., Fabric]) -> None:
    stated = ("count: 2, gpus: 0", "count: 2, gpus: 0, first_stripe: 4")
    plan = plan_offline(redesign(*MIXED), redesign(*MIXED, TWO_STRIPES, stated), find_templates(ROOT))
    assert plan.gone == ()
    assert plan.moved_stripes == ()


def test_a_kind_that_comes_moves_nothing(redesign: Callable[..., Fabric]) -> None:
    plan = plan_offline(redesign(MIXED[1], MIXED[2]), redesign(*MIXED), find_templates(ROOT))
    assert plan.moved_stripes == ()
