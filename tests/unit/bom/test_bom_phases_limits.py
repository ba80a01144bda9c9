"""The last phase of a bill orders exactly what grows without moving a cable, and is never refused."""

from pathlib import Path

import pytest

from railweave import api

LOSSY = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], priority: 3, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""

# The spines that are stated are those of a pod of one stripe: larger pods would need more of them.
ONE_POD = """}
nodes: [{name: gpu, count: 16, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}]
topology:
  tiers: 3
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d, count: 8}
  super_spine: {model: nokia-ixr7220-h4-64d}
"""
# The first kind keeps stripes 0 and 1 though it fills neither: 30 stripes of 32 nodes are left for the second.
TWO_KINDS = """}
nodes:
  - {name: gpu, count: 2, gpus: 2, nics: {count: 1, speed: 100G, ports: 2, model: broadcom-thor}}
  - {name: more, count: 1, gpus: 8, nics: {count: 1, speed: 100G, ports: 2, model: connectx-7}, first_stripe: 2}
topology: {shape: rail-only, links_per_pair: 4, leaf: {model: nvidia-sn4700, uplink_speed: 100G}}
"""
# Nodes on the leaves of others do not grow; those of the last kind have one stripe of two.
SHARED = """}
nodes:
  - {name: gpu, count: 3, gpus: 1, nics: {count: 1, speed: 100G, model: bluefield-3}}
  - {name: beside, count: 1, gpus: 8, nics: {count: 1, speed: 100G, model: intel-e810}, share_leaves: true}
  - {name: last, count: 2, gpus: 8, nics: {count: 2, speed: 100G, model: broadcom-thor}, stripe: 2}
topology:
  oversubscription: "1.5:1"
  links_per_pair: 4
  leaf: {model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs}
  reserve: {leaves: 4}
"""
# The stripes of storage are behind 2 of the first kind: growth that is stated goes behind these.
BEHIND = """, growth: {gpus: 64}}
nodes:
  - {name: gpu, count: 3, gpus: 2, nics: {count: 1, speed: 400G, model: connectx-7}}
  - {name: store, count: 8, gpus: 0, role: storage, nics: {count: 1, speed: 400G, model: connectx-7}, first_stripe: 2}
topology: {stripe: 4, leaf: {model: nvidia-sn5600, uplink_speed: 400G}, spine: {model: nvidia-sn5600}}
"""
# Two tiers that reserve 4 pods: the third tier comes with the second pod.
RESERVED_PODS = """}
nodes: [{name: gpu, count: 2, gpus: 4, nics: {count: 1, speed: 100G, ports: 4, model: amd-pollara-400}}]
topology:
  tiers: 2
  stripe: 2
  links_per_pair: 8
  leaf: {model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs, count: 3}
  super_spine: {model: sonic-vs}
  reserve: {pods: 4}
"""
# Of the 8 leaves in reserve 2 pods hold 4, which a warning says.
FEWER_PODS = """}
nodes: [{name: gpu, count: 8, gpus: 8, nics: {count: 8, speed: 100G, model: intel-e810}}]
topology:
  shape: rack-aligned
  links_per_pair: 4
  leaf: {model: micas-m2-w6930-64qc, downlink_speed: 100G, uplink_speed: 100G}
  spine: {ports: 8, speed: 200G}
  reserve: {leaves: 8, pods: 2}
"""


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (ONE_POD, [16, 64]),
        (TWO_KINDS, [1, 960]),
        (SHARED, [2]),
        (BEHIND, [3, 32]),
        (RESERVED_PODS, [2, 16]),
        (FEWER_PODS, [8, 64]),
    ],
    ids=["pod", "kinds", "shared", "behind", "reserved-pods", "fewer-pods"],
)
def test_all_nodes_that_fit_are_a_phase(tmp_path: Path, text: str, nodes: list[int]) -> None:
    path = tmp_path / "pod.yml"
    path.write_text(f"fabric: pod\nworkload: {{kind: pretraining{text}{LOSSY}", encoding="utf-8")
    assert [phase.nodes for phase in api.bom_phases(api.open_project(path))] == nodes
