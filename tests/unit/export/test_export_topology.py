"""The groups that schedulers see: roots of separate networks, and what is out of service."""

import pytest
from exported import TWO_CLUSTERS, cluster, documents, slurm_switches, source_of, text_of

from railweave.export.hostlist import expanded, hostlist, hostlist_parts

DUAL_TOR = """
fabric: dual
workload: {kind: inference}
nodes:
  - name: gpu
    count: 4
    gpus: 1
    nics: {count: 1, speed: 100G, ports: 2, model: connectx-6-dx}
topology:
  leaves_per_nic: 2
  rails: 1
  oversubscription: "8:1"
  leaf: {model: sonic-vs}
  spine: {model: sonic-vs}
"""


def test_separate_fabrics_have_separate_roots() -> None:
    source = source_of(TWO_CLUSTERS, "blue", "green")
    switches = slurm_switches(text_of(source, "slurm-tree"))
    assert [name for name, (_, below) in switches.items() if below] == ["ai-blue", "ai-green"]
    assert switches["ai-blue-stripe-0"][0] == ["gpu1", "gpu2", "gpu3", "gpu4"]
    assert switches["ai-green-leaf1"][0] == ["cpu1", "cpu2", "cpu3", "cpu4"]


def test_a_node_of_several_fabrics_is_in_the_tree_of_its_collectives() -> None:
    blue = "{fabric: blue, count: 2, speed: 100G, model: connectx-6}"
    green = "{fabric: green, count: 1, speed: 100G, model: connectx-6}"
    text = TWO_CLUSTERS.replace(f"[{blue}]", f"[{blue}, {green}]")
    source = source_of(text, "green", "blue")
    assert [len(group.nodes) for group in source.topology.lowest if group.name.startswith("ai-green")] == [4]
    assert [group.nodes[0] for group in source.topology.lowest if group.name.startswith("ai-blue")] == ["gpu1"]


def test_a_stripe_whose_leaf_has_no_spine_is_a_root_of_its_own() -> None:
    source = cluster({"ai1-spine1": "is drained", "ai1-spine2": "is drained"})
    roots = {root.name: len(root.all_nodes) for root in source.topology.roots}
    assert roots == {"ai1": 2, "ai1-stripe-0": 4, "ai1-stripe-1": 3}


def test_pods_without_super_spines_are_roots() -> None:
    source = cluster({"ai1-superspine1": "failed", "ai1-superspine5": "failed"})
    assert [root.name for root in source.topology.roots] == ["ai1-pod-0", "ai1-pod-1"]
    assert source.topology.left_out == {}


def test_nodes_behind_a_leaf_out_of_service_are_left_out_with_the_reason() -> None:
    source = cluster({"ai1-leaf1": "is in maintenance"})
    assert source.topology.left_out == {f"gpu{number}": "ai1-leaf1 is in maintenance" for number in range(1, 5)}
    labels = {one["metadata"]["name"]: one["metadata"]["labels"] for one in documents(source, "node-labels")}
    # Server-side apply removes what the object no longer has, so the node keeps its object.
    assert labels["gpu1"] == {"railweave/kind": "gpu"}
    assert labels["gpu5"]["fabric.topograph.run/tier-0"] == "ai1-stripe-1"
    assert "# Left out, because ai1-leaf1 is in maintenance: gpu1, gpu2, gpu3, gpu4\n" in text_of(source, "kueue")


def test_one_of_two_leaves_that_share_a_nic_is_enough() -> None:
    leaf = source_of(DUAL_TOR).fabrics[0].switches[0].name
    assert source_of(DUAL_TOR, out={leaf: "is drained"}).topology.left_out == {}
    both = dict.fromkeys((switch.name for switch in source_of(DUAL_TOR).fabrics[0].switches[:2]), "is drained")
    assert source_of(DUAL_TOR, out=both).topology.left_out.keys() == {"gpu1", "gpu2", "gpu3", "gpu4"}


def test_a_host_list_is_compact_and_reads_back() -> None:
    names = ["gpu1", "gpu2", "gpu3", "gpu10", "a", "gpu007", "store-2.x"]
    assert hostlist(names) == "gpu[1-3,10],gpu007,a,store-2.x"
    assert sorted(expanded(hostlist(names))) == sorted(names)
    assert expanded("n[08-11]") == ["n08", "n09", "n10", "n11"]
    assert hostlist_parts(names) == ["gpu[1-3,10]", "gpu007", "a", "store-2.x"]


def test_a_range_that_ends_below_its_start_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^'16-1' is a range whose end is below its start$"):
        expanded("gpu[20,16-1]")
