"""Nodes without GPUs: addresses, routes and RDMA as every node has them, and nothing of NCCL."""

import json

import pytest

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings
from railweave.design.build import Design, design
from railweave.fabric.devices import NodeRole
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent_text
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

NICS = "{count: 4, speed: 400G, model: connectx-7}"


def outcome(role: str = "storage", stores: int = 4, workload: str = "{kind: pretraining}") -> Design:
    text = f"""
fabric: pod
workload: {workload}
nodes:
  - {{name: gpu, count: 8, gpus: 8, nics: {NICS}}}
  - {{name: other, role: {role}, count: {stores}, gpus: 0, first_stripe: 1, nics: {NICS}}}
topology:
  stripe: 8
  links_per_pair: 1
  leaf: {{model: nokia-ixr7220-h4-64d}}
  spine: {{model: nokia-ixr7220-h4-64d}}
"""
    return design(load_intent_text(text, "roles.yml"), load_catalog())


@pytest.mark.parametrize("role", ["storage", "cpu"])
def test_only_gpu_nodes_get_the_files_of_nccl(role: str) -> None:
    fabric = outcome(role).fabric
    assert fabric is not None
    renderer = HostRenderer(fabric, find_templates())
    gpu, other = (dict(renderer.files(fabric.host_of[name])) for name in ("gpu1", "other1"))
    assert (fabric.host_of["gpu1"].role, fabric.host_of["other1"].role) == (NodeRole.GPU, NodeRole(role))
    assert set(gpu) - set(other) == {"nccl.conf", "nccl.env"}
    documents = [json.loads(files["rails.json"]) for files in (gpu, other)]
    assert documents[0]["nccl"]
    assert documents[1]["nccl"] == {}
    assert documents[1]["nic"] == documents[0]["nic"]
    assert [one["name"] for one in documents[1]["interfaces"]] == ["rail0", "rail1", "rail2", "rail3"]


def test_nccl_is_not_looked_for_on_nodes_without_gpus() -> None:
    fabric = outcome().fabric
    assert fabric is not None
    facts = {name: (f"facts/{name}.json", json.dumps({"nics": {}, "nccl": {}})) for name in ("gpu1", "other1")}
    found = fact_findings(fabric, facts, Configurator(fabric, find_templates()))
    assert [one.devices[0] for one in found if one.code == "N-4"] == ["gpu1"]


def test_gpus_are_counted_and_fabrics_grow_by_the_last_entry_that_has_some() -> None:
    found = outcome()
    assert found.sizing is not None
    assert (found.sizing.nodes, found.sizing.gpus, found.sizing.leaves) == (12, 64, 8)
    # 64 ports of a spine hold 16 stripes of 4 leaves: storage has the second alone.
    assert found.sizing.limits.nodes == 16 * 8
    wanted = outcome(workload=f"{{kind: pretraining, growth: {{gpus: {15 * 64}}}}}")
    assert [one.code for one in wanted.diagnostics if one.code == "T-8"] == []
    beyond = outcome(workload=f"{{kind: pretraining, growth: {{gpus: {15 * 64 + 1}}}, gpus: 64}}")
    assert [one.message for one in beyond.diagnostics if one.code == "T-8"] == [
        "961 GPUs do not fit later: super-spine ports end at 960 GPUs (128 nodes) unless cables move"
    ]
