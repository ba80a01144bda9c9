"""Time of the order of a rollout: every switch disturbed, fabrics of four planes; prints figures only."""

import time

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.policy import RolloutPolicy, Share
from railweave.plan.waves import WaveGate, lay_out

pytestmark = pytest.mark.bench

INTENT = """
fabric: bench
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 8, speed: 100G, ports: 4, model: amd-pollara-400}}}}
topology:
  planes: 4
  stripe: 16
  links_per_pair: 1
  leaf: {{model: nokia-ixr7220-h4-64d, count: {leaves}, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: nokia-ixr7220-h4-64d, count: 16}}
"""
POLICIES = {
    "one at a time": RolloutPolicy(),
    "a quarter, floors": RolloutPolicy(spines=Share(percent=25), uplink_floor_percent=70, path_floor=8),
    "all but the floor": RolloutPolicy(spines=Share(percent=100), uplink_floor_percent=25, wave_size=500),
}


def fabric(leaves: int) -> Fabric:
    text = INTENT.format(leaves=leaves, nodes=2 * leaves)
    outcome = design(load_intent_text(text, "bench.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


@pytest.mark.parametrize("leaves", [48, 112, 240])
def test_order_of_a_rollout_that_disturbs_every_switch(leaves: int) -> None:
    chosen = fabric(leaves)
    names = [switch.name for switch in chosen.switches]
    for words, policy in POLICIES.items():
        began = time.process_time()
        gate = WaveGate(chosen, policy, disruptive=names)
        order = lay_out(chosen, names, gate, wave_size=policy.wave_size)
        spent_s = time.process_time() - began
        assert not order.violations
        assert sum(map(len, order.waves)) == len(names)
        print(f"\n{len(names):,} switches, {words}: {len(order.waves)} waves in {spent_s:.2f} s of CPU")
