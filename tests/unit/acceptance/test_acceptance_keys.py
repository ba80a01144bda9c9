"""The keys of `acceptance:` in an intent: defaults, values, and what is refused."""

import json
from pathlib import Path

import pytest
from acceptance_designs import LOSSY, planned

from railweave.acceptance.model import AcceptancePlan, Level
from railweave.api.design.intent import design_text
from railweave.errors import RefusedError
from railweave.fabric.acceptance import AcceptancePolicy, CollectiveTool
from railweave.intent.acceptance import AcceptanceKeys
from railweave.intent.load import load_intent_text

POD = (Path(__file__).resolve().parents[3] / "intent/pod-32.yml").read_text()


def policy(keys: str) -> AcceptancePolicy:
    return load_intent_text(f"{POD}\nacceptance: {keys}\n", "pod.yml").policies.acceptance


def test_every_key_has_a_default() -> None:
    assert load_intent_text(POD, "pod.yml").policies.acceptance == AcceptancePolicy()
    assert policy("{}") == AcceptancePolicy()


def test_keys_are_read() -> None:
    stated = policy("{queue_pairs: 8, gid_index: 3, collectives: rccl, fail: 0.92, warn: 1, confidence: .9999}")
    expected = AcceptancePolicy(queue_pairs=8, gid_index=3, collectives=CollectiveTool.RCCL)
    assert stated == expected._replace(fail=0.92, warn=1.0, confidence=0.9999)


@pytest.mark.parametrize(
    ("keys", "message", "fix"),
    [
        ("{fail: 90}", "acceptance.fail: `90` is not a share", "write a number between 0 and 1, like 0.9"),
        ("{fail: true}", "acceptance.fail: `true` is not a share", "write a number between 0 and 1, like 0.9"),
        ("{fail: 0}", "acceptance.fail: `0` is out of range", "write a number above 0, up to 1"),
        ("{confidence: 1}", "acceptance.confidence: `1` is out of range", "write a number above 0, up to 0.999999"),
        ("{fail: 0.97}", "acceptance: warn 0.96 is below fail 0.97", "write warn as the larger of the two"),
        ("{queue_pairs: 0}", "acceptance.queue_pairs: `0` is out of range", "write a number from 1 to 1024"),
        ("{queuepairs: 4}", "unknown key `queuepairs` in `acceptance`", "did you mean `queue_pairs`?"),
    ],
)
def test_wrong_values_are_refused_with_a_fix(keys: str, message: str, fix: str) -> None:
    with pytest.raises(RefusedError) as refused:
        policy(keys)
    (diagnostic,) = refused.value.diagnostics
    assert message in diagnostic.message
    assert fix in diagnostic.fix


SMALL = f"""
fabric: pod
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: 4, gpus: 2, nics: {{count: 2, speed: 100G, model: connectx-6}}}}
topology: {{shape: rail-optimized, leaf: {{model: sonic-vs, uplink_speed: 100G}}, spine: {{model: sonic-vs}}}}
traffic_classes: {json.dumps(LOSSY)}
"""
CHANGED = {
    "queue_pairs": 8,
    "seconds": 20,
    "message_bytes": 131072,
    "latency_bytes": 128,
    "latency_iterations": 20000,
    "gid_index": 3,
    "collectives": "rccl",
    "collective_bytes": 1 << 30,
    "fail": 0.85,
    "warn": 0.97,
    "confidence": 0.999999,
    "covered_share": 0.1,
    "disturbed_share": 0.03,
    "peer_share": 0.8,
    "variation": 0.1,
    "isolated_rounds": 1,
    "loaded_rounds": 1,
    "soak_hours": 12,
}
"""Another value than the default of every key."""


def plan_of(keys: dict[str, object]) -> AcceptancePlan:
    return planned(design_text(f"{SMALL}acceptance: {json.dumps(keys)}\n", "pod.yml"), Level.SOAK)


@pytest.fixture(scope="module")
def default_plan() -> AcceptancePlan:
    return plan_of({})


def test_every_key_of_the_schema_is_one_of_the_policy() -> None:
    assert set(AcceptanceKeys.model_fields) == set(AcceptancePolicy._fields) == CHANGED.keys()


@pytest.mark.parametrize("key", AcceptancePolicy._fields)
def test_every_key_changes_the_plan(key: str, default_plan: AcceptancePlan) -> None:
    changed = plan_of({key: CHANGED[key]})
    assert changed != default_plan
