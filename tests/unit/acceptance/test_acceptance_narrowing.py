"""Narrower plans: what a growth or a repair changed is tested with peers outside it, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave import api
from railweave.acceptance.document import read_plan
from railweave.acceptance.model import AcceptancePlan, CoveredLink, Level, NicPort, PlannedTest, RoundKind

INTENT = """
fabric: pod
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 2, nics: {{count: 2, speed: 100G, model: connectx-6}}}}
topology:
  shape: rail-optimized
  stripe: 4
  links_per_pair: {links}
  reserve: {{leaves: 8, spines: 4}}
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
"""


def intent(folder: Path, name: str, nodes: int = 8, spines: int = 2, links: int = 2) -> Path:
    path = folder / name
    path.write_text(INTENT.format(nodes=nodes, spines=spines, links=links))
    return path


def plan_of(intent: Path, *, base: str = "", only: str = "") -> AcceptancePlan:
    folder = intent.parent / "out"
    api.acceptance.plan(api.open_project(intent), folder, level=Level.QUICK, base=base, only=only)
    return read_plan(folder).plan


def leaf_of(plan: AcceptancePlan) -> dict[NicPort, str]:
    return {link.nic_port: link.upper.device for link in plan.links if link.nic_port is not None}


def ends_of_pairs(plan: AcceptancePlan) -> Iterator[tuple[PlannedTest, tuple[NicPort, NicPort]]]:
    """Yield the pairs of tests that hold no bystander: an incast takes its senders where they are."""
    for test in plan.tests:
        if test.receiver is not None and test.kind is not RoundKind.INCAST:
            yield test, (test.sender, test.receiver)


def fabric_links(plan: AcceptancePlan, device: str) -> list[CoveredLink]:
    links = [link for link in plan.links if link.nic_port is None]
    return [link for link in links if device in (link.lower.device, link.upper.device)]


def test_added_leaves_are_tested_with_peers_on_the_others(tmp_path: Path) -> None:
    base = intent(tmp_path, "before.yml")
    plan = plan_of(intent(tmp_path, "after.yml", nodes=12), base=str(base))
    leaf = leaf_of(plan)
    new = {"pod-leaf5", "pod-leaf6"}
    pairs = list(ends_of_pairs(plan))
    assert all(new & {leaf[sender], leaf[receiver]} for _, (sender, receiver) in pairs)
    assert any(len(new & {leaf[sender], leaf[receiver]}) == 1 for _, (sender, receiver) in pairs)
    for name in new:
        assert all(link.probability > 0.999 for link in fabric_links(plan, name))


def test_added_spines_are_loaded_from_every_leaf(tmp_path: Path) -> None:
    base = intent(tmp_path, "before.yml")
    plan = plan_of(intent(tmp_path, "after.yml", spines=4), base=str(base))
    for name in ("pod-spine3", "pod-spine4"):
        links = fabric_links(plan, name)
        assert {link.lower.device for link in links} == {f"pod-leaf{number}" for number in range(1, 5)}
        assert all(link.probability > 0.999 for link in links)


def test_added_cables_load_their_leaves_alone(tmp_path: Path) -> None:
    base = intent(tmp_path, "before.yml", links=1)
    plan = plan_of(intent(tmp_path, "after.yml", links=2), base=str(base))
    new = [link for link in plan.links if link.nic_port is None and link.probability > 0.999]
    assert {link.lower.device for link in new} == {f"pod-leaf{number}" for number in range(1, 5)}


@pytest.mark.parametrize(
    ("only", "nodes"),
    [
        ("gpu3", {"gpu3"}),
        ("gpu2-4", {"gpu2", "gpu3", "gpu4"}),
        ("gpu1,gpu8", {"gpu1", "gpu8"}),
        ("gpu[56]", {"gpu5", "gpu6"}),
    ],
)
def test_only_nodes_are_tested(only: str, nodes: set[str], tmp_path: Path) -> None:
    plan = plan_of(intent(tmp_path, "pod.yml"), only=only)
    pairs = [{sender.node, receiver.node} for _, (sender, receiver) in ends_of_pairs(plan)]
    assert all(nodes & pair for pair in pairs)
    assert any(pair - nodes for pair in pairs)
    assert nodes <= set().union(*pairs)


def test_only_the_cable_of_a_nic_is_tested(tmp_path: Path) -> None:
    plan = plan_of(intent(tmp_path, "pod.yml"), only="gpu3 rail1")
    port = NicPort("gpu3", 1, 0)
    assert all(port in ends for _, ends in ends_of_pairs(plan))
    assert [link.probability for link in plan.links if link.nic_port == port] == [1.0]


def test_only_an_uplink_is_loaded_from_its_leaf(tmp_path: Path) -> None:
    whole = plan_of(intent(tmp_path, "pod.yml"))
    uplink = fabric_links(whole, "pod-leaf2")[0]
    plan = plan_of(intent(tmp_path, "pod.yml"), only=uplink.cable)
    leaf = leaf_of(plan)
    assert all("pod-leaf2" in (leaf[sender], leaf[receiver]) for _, (sender, receiver) in ends_of_pairs(plan))
    assert [link.probability > 0.999 for link in plan.links if link.cable == uplink.cable] == [True]


def test_only_a_switch_is_loaded(tmp_path: Path) -> None:
    plan = plan_of(intent(tmp_path, "pod.yml"), only="pod-leaf1")
    leaf = leaf_of(plan)
    assert all("pod-leaf1" in (leaf[sender], leaf[receiver]) for _, (sender, receiver) in ends_of_pairs(plan))
    assert all(link.probability > 0.999 for link in fabric_links(plan, "pod-leaf1"))
