"""Fabrics of every shape, drawn at random, and their acceptance plans."""

from typing import Any

import yaml
from hypothesis import assume, settings
from hypothesis import strategies as st

from railweave.acceptance.model import AcceptancePlan, Level, NicPort
from railweave.acceptance.planner import PlanInput, plan_acceptance
from railweave.api.design.intent import Designed, design_text
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric

NICS = {1: "connectx-6", 2: "connectx-7", 4: "amd-pollara-400"}
MODELS = ["sonic-vs", "nvidia-sn4700", "accton-as7726-32x"]
LOSSY = [
    {"name": "roce", "role": "rdma", "dscp": [26], "priority": 3, "share": 90},
    {"name": "cnp", "role": "cnp", "dscp": [48], "priority": 6, "strict": True},
    {"name": "best-effort", "role": "bulk", "dscp": "default", "priority": 0, "share": 10},
]
MOST_LINKS = 400

# An example takes a tenth of a second to a whole one.
few = settings(max_examples=max(2, settings().max_examples // 10))


def some(draw: st.DrawFn, **choices: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Return a mapping with some of the keys."""
    drawn = {key: draw(st.none() | values) for key, values in choices.items()}
    return {key: value for key, value in drawn.items() if value is not None}


@st.composite
def designs(draw: st.DrawFn, *, mixed: bool = False) -> Designed:
    """Draw a fabric of any shape: one to three tiers, planes, several entries of nodes, storage, one or two leaves.

    A ``mixed`` one may have NICs of two speeds, and `acceptance:` keys that decide on rounds and limits.
    """
    ports = draw(st.sampled_from([1, 1, 2, 4]))
    nics = {"count": draw(st.sampled_from([1, 2, 4])), "speed": "100G", "ports": ports, "model": NICS[ports]}
    count = st.sampled_from([1, 2, 4, 8])
    nodes = [{"name": "gpu", "count": draw(st.integers(1, 16)), "gpus": 2, "nics": nics}]
    for name in draw(st.sampled_from([[], [], ["old"], ["old", "store"]])):
        entry = {"name": name, "count": draw(count), "gpus": draw(st.sampled_from([0, 8])), "nics": nics}
        nodes.append(entry | some(draw, stripe=count))
    topology = some(
        draw,
        shape=st.sampled_from(["rail-optimized", "rack-aligned", "rail-only"]),
        tiers=st.sampled_from([2, 3]),
        planes=st.sampled_from([1, ports]),
        oversubscription=st.sampled_from(["1:1", "2:1"]),
        stripe=st.sampled_from([1, 2, 4]),
        links_per_pair=count,
        pod=st.sampled_from([1, 2]),
        leaves_per_nic=st.sampled_from([1, 2]),
    )
    speeds = {"downlink_speed": "100G", "uplink_speed": "100G"}
    model = draw(st.sampled_from(MODELS))
    if mixed and model == "nvidia-sn4700":
        for entry in nodes[1:]:
            entry |= {"nics": nics | {"speed": draw(st.sampled_from(["100G", "200G"]))}, "leaf": {"model": model}}
    topology |= {"leaf": {"model": model, **speeds}, "spine": {"model": model, **some(draw, count=count)}}
    if topology.get("tiers") == 3:
        topology["super_spine"] = {"model": model, **some(draw, count=count)}
    intent = {"fabric": "pod", "workload": {"kind": "inference"}, "nodes": nodes, "topology": topology}
    if mixed:
        intent["acceptance"] = some(
            draw,
            queue_pairs=st.sampled_from([1, 2, 8]),
            fail=st.sampled_from([0.5, 0.8]),
            warn=st.sampled_from([0.9, 0.99]),
            confidence=st.sampled_from([0.9, 0.9999]),
            isolated_rounds=st.integers(1, 4),
            loaded_rounds=st.integers(1, 4),
        )
    try:
        designed = design_text(yaml.safe_dump(intent | {"traffic_classes": LOSSY}), "pod.yml")
    except RefusedError:
        assume(False)
        raise
    assume(len(designed.fabric.links) <= MOST_LINKS)
    return designed


def planned(designed: Designed, level: Level = Level.SMOKE, seed: int = 0) -> AcceptancePlan:
    gpus_of = {entry.name: entry.gpus or 0 for entry in designed.intent.nodes}
    policy = designed.fabric.policies.acceptance
    given_input = PlanInput(designed.fabric, designed.catalog, policy, "0" * 64, gpus_of, level, seed)
    try:
        return plan_acceptance(given_input)
    except RefusedError:
        assume(False)
        raise


def switch_of_port(fabric: Fabric) -> dict[NicPort, str]:
    switches = {}
    for link in fabric.links:
        if link.is_access:
            port = fabric.host_of[link.lower].ports[link.lower_port]
            switches[NicPort(link.lower, port.nic, port.port)] = link.upper
    return switches
