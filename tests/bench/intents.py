"""Intents of the benchmark, which ``railweave check`` accepts: two tiers up to the largest, and three."""

_SHAPE = """\
fabric: bench
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: {rails}, speed: {speed}, ports: {planes}, model: {nic}}}}}
topology:
  planes: {planes}
  rails: {rails}
  stripe: {stripe}
  links_per_pair: 1
  oversubscription: "1:1"
  leaf: {{model: {leaf}, count: {leaves}, downlink_speed: {speed}, uplink_speed: {speed}}}
  spine: {{model: nokia-ixr7220-h4-64d, count: {spines}}}
"""
_DENSE = {"rails": 8, "speed": "100G", "planes": 4, "nic": "amd-pollara-400", "leaf": "nokia-ixr7220-h4-64d"}
_POD = {**_DENSE, "rails": 4, "speed": "400G", "planes": 1, "nic": "connectx-7"}


def thin(leaves: int) -> str:
    """Return four planes of ``leaves`` small leaves and two spines: many switches with few links each."""
    small = {**_DENSE, "rails": 1, "leaf": "sonic-vs"}
    return _SHAPE.format(**small, nodes=2 * leaves, stripe=2, leaves=leaves, spines=2)


THIN = {1024: thin(254)}
DENSE = {
    64: _SHAPE.format(**_POD, nodes=256, stripe=32, leaves=32, spines=32),
    256: _SHAPE.format(**_DENSE, nodes=128, stripe=32, leaves=32, spines=32),
    1024: _SHAPE.format(**_DENSE, nodes=2048, stripe=128, leaves=128, spines=128),
    1536: _SHAPE.format(**_DENSE, nodes=4096, stripe=128, leaves=256, spines=128),
}
"""By number of switches. No two tiers hold more: a spine has ports for 256 leaves, a NIC for four planes."""


def shared_by_tenants(text: str, nodes: int, tenants: int) -> str:
    """Return an intent whose nodes belong to tenants of equal size; the last one has the rest."""
    each = nodes // tenants
    lasts = [*range(each, each * tenants, each), nodes]
    lines = [f"  - {{name: team{number}, nodes: gpu{each * number + 1}-{last}}}\n" for number, last in enumerate(lasts)]
    return f"{text}sonic: {{acl_rules: 65536}}\ntenants:\n{''.join(lines)}"


TENANTS = {1024: shared_by_tenants(DENSE[1024], 2048, 200)}
"""The dense fabric of two hundred tenants, whose leaves filter: at most one and a half times as dear to render."""

_PODS = """\
fabric: bench
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 8, speed: {speed}, ports: {planes}, model: {nic}}}}}
topology:
  tiers: 3
  planes: {planes}
  pod: 4
  leaf: {{model: {model}}}
  spine: {{model: {model}}}
  super_spine: {{model: {model}}}
cabling:
  spine_super_spine: {{length_m: 100}}
"""
_SUPERPOD = {"speed": "400G", "planes": 1, "nic": "connectx-7", "model": "nokia-ixr7220-h4-64d"}
_PLANES = {"speed": "100G", "planes": 8, "nic": "broadcom-thor-ultra", "model": "nvidia-sn4600c"}
PODS = {
    1024: _PODS.format(**_SUPERPOD, nodes=1536),
    4096: _PODS.format(**_SUPERPOD, nodes=6144),
    16384: _PODS.format(**_PLANES, nodes=3072),
}
"""Three tiers of switches with 64 ports in pods of 128 nodes, by number of switches; the largest in eight planes."""

ACCEPTED = _PODS.format(**_SUPERPOD, nodes=4096)
"""Three tiers with 4,096 nodes of eight NICs each, whose acceptance is planned."""

ACCEPTED_SMALL = _PODS.format(**_SUPERPOD, nodes=128)
"""The same with 128 nodes, whose acceptance is judged."""

LARGER_MTU = "mtu: {fabric: 9216, hosts: 9000}\n"
SLOWER_BGP = "bgp: {keepalive: 5, hold: 15}\n"
