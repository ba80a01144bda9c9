"""What may polarize traffic: hashes that SONiC does not set, and too few flows for the uplinks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.sonic.hashing import hash_seed
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.templates import find_templates

Findings = Callable[..., tuple[Diagnostic, ...]]
Pod = Callable[..., Fabric]


def of(code: str, found: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return [one for one in found if one.code == code]


@pytest.mark.parametrize(
    ("release", "rendered"),
    [("202305", False), ("202311", True), ("202405", True), ("202411", True), ("202505", True), ("202605", True)],
)
def test_the_hash_is_set_where_release_and_asic_take_it(
    pod: Pod, findings: Findings, release: str, rendered: bool
) -> None:
    extra = f"sonic: {{release: '{release}'}}\n"
    fabric = pod(extra)
    configurator = Configurator(fabric, find_templates())
    tables = {name: configurator.designed(fabric.switch_of[name]) for name in ("pod-leaf1", "pod-spine1")}
    assert "SWITCH_HASH" not in tables["pod-leaf1"]
    assert ("SWITCH_HASH" in tables["pod-spine1"]) is rendered
    told = {name for one in of("L-1", findings(extra)) for name in one.devices}
    assert told == {"pod-leaf1", "pod-leaf2", *(() if rendered else ("pod-spine1", "pod-spine2"))}
    assert all(one.severity is Severity.INFO and release in one.message for one in of("L-1", findings(extra)))


def test_the_reason_of_a_leaf_s_hash_states_the_load_of_its_busiest_uplink(pod: Pod) -> None:
    fabric = pod(leaf="nvidia-sn4700")
    configurator = Configurator(fabric, find_templates())
    reasons = {
        name: row.reason
        for name in ("pod-leaf1", "pod-spine1")
        for row in configurator.rows(fabric.switch_of[name])
        if row.table == "SWITCH_HASH"
    }
    assert "4 flows of the nodes put 1.3 times the mean load on the busiest of 2 uplinks" in reasons["pod-leaf1"]
    assert "flows of the nodes" not in reasons["pod-spine1"]
    assert "hash is 10 (DEVICE_METADATA type LeafRouter)" in reasons["pod-spine1"]


def test_all_adjacent_tiers_have_seeds_of_their_own() -> None:
    seeds = [hash_seed(SONIC_TYPE[tier]) for tier in ("leaf", "spine", "super-spine")]
    assert None not in seeds
    assert len(set(seeds)) == len(seeds)


def test_few_flows_bring_advice_and_more_queue_pairs_end_it(
    findings_of: Callable[[str], tuple[Diagnostic, ...]],
) -> None:
    pod_32 = (Path(__file__).parents[3] / "intent" / "pod-32.yml").read_text("utf-8")
    (few,) = of("L-3", findings_of(pod_32))
    assert few.severity is Severity.INFO
    assert (
        few.message == "ECMP: with 1 queue pair per downlink the busiest of 32 uplinks carries 3.5 × the average load"
    )
    assert "hosts.qps_per_connection (NCCL_IB_QPS_PER_CONNECTION): 2.7 with 2" in few.fix
    assert not of("L-3", findings_of(f"{pod_32}hosts: {{qps_per_connection: 32}}\n"))
    (most,) = of("L-3", findings_of(f"{pod_32}hosts: {{qps_per_connection: 8}}\n"))
    assert most.where.path == "hosts.qps_per_connection"
