"""Slurm's own controller reads the exported tree, and shows the groups of the fabric."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from exported import TWO_CLUSTERS, cluster, source_of, text_of
from real_slurm import controller, unpacked
from reference_intents import ROOT

from railweave.export.hostlist import expanded, hostlist
from railweave.export.model import ExportSource

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

SHOWN = re.compile(r"SwitchName=(\S+) Level=(\d+) LinkSpeed=\d+ Nodes=(\S+)")
SOURCES: dict[str, Callable[[], ExportSource]] = {
    "three tiers": cluster,
    "two roots": lambda: source_of(TWO_CLUSTERS, "blue", "green"),
    "512 nodes": lambda: source_of((ROOT / "intent/pods-512.yml").read_text(encoding="utf-8")),
    "left out": lambda: cluster({"ai1-leaf3": "is drained", "ai1-spine1": "is drained", "ai1-spine2": "is drained"}),
}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("slurm"))


def intended(source: ExportSource) -> dict[str, tuple[int, set[str]]]:
    return {group.name: (group.tier, set(map(source.node, group.all_nodes))) for group in source.topology.groups}


@pytest.mark.parametrize("name", SOURCES)
def test_slurm_shows_the_groups_of_the_fabric(name: str, slurm: Path, tmp_path: Path) -> None:
    source = SOURCES[name]()
    nodes = hostlist(host.name for fabric in source.fabrics for host in fabric.hosts)
    with controller(slurm, tmp_path / "slurm", text_of(source, "slurm-tree"), nodes) as scontrol:
        text = scontrol.show("topology")
        log = scontrol.log
    shown = {
        match[1]: (int(match[2]), set(expanded(match[3]))) for match in map(SHOWN.match, text.splitlines()) if match
    }
    assert shown == intended(source)
    assert not re.search(r"error: .*(topology|switch)", log, re.IGNORECASE) or source.topology.left_out
