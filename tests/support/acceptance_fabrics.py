"""Small fabrics of every shape that acceptance must judge, as intents."""

from pathlib import Path

POD_32 = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 32, gpus: 8, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  leaf: {model: nokia-ixr7220-h4-64d, count: 4}
  spine: {model: nvidia-sn4700, count: 4}
"""

TWO_PLANES = """
fabric: planes
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 8, gpus: 4, nics: {count: 2, speed: 200G, ports: 2, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  planes: 2
  stripe: 4
  links_per_pair: 2
  leaf: {model: nvidia-sn4700, downlink_speed: 200G, uplink_speed: 200G}
  spine: {model: nvidia-sn4700, count: 2}
  reserve: {leaves: 8, spines: 2}
"""

THREE_TIERS = """
fabric: tiers
workload: {kind: inference}
nodes:
  - {name: gpu, count: 8, gpus: 4, nics: {count: 2, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  tiers: 3
  stripe: 4
  pod: 1
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: nokia-ixr7220-h4-64d, count: 4}
  spine: {model: nvidia-sn5600, count: 4, uplink_speed: 800G}
  super_spine: {model: nvidia-sn5600, count: 2, oversubscription: "4:1"}
  reserve: {leaves: 8, spines: 16, pods: 4}
"""

RAIL_ONLY = """
fabric: rails
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 12, gpus: 4, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-only
  rails: 4
  leaf: {model: nokia-ixr7220-h4-64d}
"""

DUAL_TOR = """
fabric: dual
workload: {kind: inference}
nodes:
  - {name: gpu, count: 8, gpus: 2, nics: {count: 2, speed: 200G, ports: 2, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  rails: 2
  leaves_per_nic: 2
  stripe: 4
  links_per_pair: 2
  oversubscription: "2:1"
  leaf: {model: nvidia-sn4700, downlink_speed: 200G, uplink_speed: 200G}
  spine: {model: nvidia-sn4700, count: 2}
  reserve: {leaves: 16, spines: 4}
"""

MIXED = """
fabric: mixed
workload: {kind: inference}
nodes:
  - {name: gpu, count: 8, gpus: 4, nics: {count: 2, speed: 400G, model: connectx-7, pcie: gen5x16}}
  - name: old
    count: 4
    gpus: 4
    first_stripe: 2
    nics: {count: 2, speed: 200G, model: connectx-6, pcie: gen4x16}
    leaf: {model: nvidia-sn4700}
topology:
  stripe: 4
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nvidia-sn5600}
  reserve: {leaves: 12, spines: 8}
"""

FABRICS = {
    "pod-32": POD_32,
    "two-planes": TWO_PLANES,
    "three-tiers": THREE_TIERS,
    "rail-only": RAIL_ONLY,
    "dual-tor": DUAL_TOR,
    "mixed": MIXED,
}
"""The six shapes."""

LAB = "lab-4"
INTENTS = {**FABRICS, LAB: (Path(__file__).resolve().parents[2] / "intent" / "lab-4.yml").read_text(encoding="utf-8")}
"""The shapes, and the smallest fabric that has spines."""
