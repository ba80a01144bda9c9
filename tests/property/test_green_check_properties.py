"""Nothing is refused, or breaks, behind a green check: commands that read an intent accept what `check` accepts.

Random intents of small fabrics: shapes and tiers, several kinds of nodes, shared leaves, stated and automatic counts.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from railweave import api
from railweave.api.lab import chosen_image, rendered
from railweave.api.project import Project
from railweave.errors import RefusedError

pytestmark = pytest.mark.slow

LOSSY = [
    {"name": "roce", "role": "rdma", "dscp": [26], "priority": 3, "share": 90},
    {"name": "cnp", "role": "cnp", "dscp": [48], "priority": 6, "strict": True},
    {"name": "best-effort", "role": "bulk", "dscp": "default", "priority": 0, "share": 10},
]
MODELS = ["sonic-vs", "nvidia-sn4700", "nvidia-sn5600", "accton-as7726-32x"]
# Of 100G, by the number of ports.
NICS = {1: "connectx-6", 2: "connectx-7", 4: "amd-pollara-400", 8: "connectx-8"}
MOST_LINKS = 600

# An example takes seconds.
few = settings(max_examples=max(2, settings().max_examples // 10))

COMMANDS: dict[str, Callable[[Project], object]] = {
    "bom": api.bom,
    "bom --phases": api.bom_phases,
    "bom --labels": api.cable_labels,
    "failures": api.failures,
    "lab render": lambda project: rendered(project.intent, chosen_image({})),
}


def some(draw: st.DrawFn, **choices: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Return a mapping with some of the keys; those with None are left out."""
    drawn = {key: draw(st.none() | values) for key, values in choices.items()}
    return {key: value for key, value in drawn.items() if value is not None}


@st.composite
def intents(draw: st.DrawFn) -> dict[str, Any]:
    count = st.sampled_from([1, 2, 4, 8])
    model = draw(st.sampled_from(MODELS))
    ports = draw(st.sampled_from([1, 1, 1, 2, 4, 8]))
    nics = {"count": draw(count), "speed": "100G", "ports": ports, "model": NICS[ports]}
    first = {"name": "gpu", "count": draw(st.integers(1, 12)), "gpus": 2, "nics": nics}
    others = []
    for name in draw(st.sampled_from([[], [], ["old"], ["old", "store"]])):
        other = {"name": name, "count": draw(count), "gpus": draw(st.sampled_from([0, 8])), "nics": nics}
        other |= some(draw, first_stripe=count, stripe=count, share_leaves=st.just(True))
        others.append(other)
    topology = some(
        draw,
        shape=st.sampled_from(["rail-optimized", "rack-aligned", "rail-only"]),
        tiers=st.sampled_from([2, 3]),
        planes=st.sampled_from([1, ports]),
        oversubscription=st.sampled_from(["1:1", "2:1", "1.5:1"]),
        stripe=st.sampled_from([1, 2, 4, 16]),
        links_per_pair=count,
        pod=count,
        reserve=st.fixed_dictionaries({}, optional={"leaves": st.sampled_from([4, 8, 16]), "pods": count}),
    )
    speeds = {"downlink_speed": "100G", "uplink_speed": "100G"}
    topology["leaf"] = {"model": model, **speeds, **some(draw, count=count)}
    topology["spine"] = {"model": model, **some(draw, count=count)}
    if draw(st.booleans()):
        topology["super_spine"] = {"model": model, **some(draw, count=count)}
    intent = {"fabric": "pod", "workload": {"kind": "inference"}, "nodes": [first, *others], "topology": topology}
    pools = some(draw, loopbacks=st.sampled_from(["10.255.0.0/26", "10.255.0.0/22"]), hosts=st.just("10.32.0.0/20"))
    if pools:
        intent["addressing"] = pools
    return intent | {"traffic_classes": LOSSY}


@given(intents())
@few
def test_nothing_is_refused_behind_a_green_check(intent: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pod.yml"
        path.write_text(yaml.safe_dump(intent), encoding="utf-8")
        project = Project(path)
        try:
            checked = api.check(project)
        except RefusedError:
            assume(False)
        assume(checked.ok and checked.fabric is not None and len(checked.fabric.links) <= MOST_LINKS)
        refused = {}
        for command, run in COMMANDS.items():
            try:
                run(project)
            except RefusedError as refusal:
                refused[command] = str(refusal)
        assert not refused
