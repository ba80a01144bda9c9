"""Every format of a random fabric has each node once, in a connected tree, under legal names, in equal bytes."""

import re
from collections import Counter
from pathlib import Path

import pytest
from exported import of_fabric, slurm_switches, text_of
from hypothesis import given
from hypothesis import strategies as st
from random_fabrics import fabrics

from railweave.errors import RefusedError
from railweave.export.check.consumer import check_file
from railweave.export.hostlist import expanded, hostlist
from railweave.export.model import ExportSource
from railweave.export.names import LABEL_VALUE, SLURM, label_value
from railweave.export.registry import FORMATS
from railweave.fabric.model import Fabric


@given(fabric=fabrics())
def test_every_node_is_in_the_tree_once_and_all_are_connected(fabric: Fabric) -> None:
    source = of_fabric(fabric)
    switches = slurm_switches(text_of(source, "slurm-tree"))
    nodes = Counter(node for members, _ in switches.values() for node in members)
    assert nodes == Counter(host.name for host in fabric.hosts)
    children = Counter(below for _, inner in switches.values() for below in inner)
    assert set(children) <= set(switches)
    assert set(children.values()) <= {1}
    assert len(switches.keys() - children.keys()) == 1


@given(fabric=fabrics(), data=st.data())
def test_what_is_out_of_service_leaves_each_node_in_a_tree_or_left_out(fabric: Fabric, data: st.DataObject) -> None:
    names = [switch.name for switch in fabric.switches]
    out = data.draw(st.lists(st.sampled_from(names), unique=True, max_size=4))
    topology = of_fabric(fabric, dict.fromkeys(out, "is drained")).topology
    placed = [node for group in topology.lowest for node in group.nodes]
    assert Counter([*placed, *topology.left_out]) == Counter(host.name for host in fabric.hosts)
    assert not {switch for group in topology.groups for switch in group.switches} & set(out)
    for root in topology.roots:
        for group in root.walk():
            assert len(set(group.all_nodes)) == len(group.all_nodes) > 0


@given(fabric=fabrics())
def test_names_are_legal_and_bytes_are_equal(fabric: Fabric) -> None:
    for name in FORMATS:
        if name == "nic-names":
            # The random intents state no PCI addresses.
            with pytest.raises(RefusedError):
                text_of(of_fabric(fabric), name)
        else:
            assert text_of(of_fabric(fabric), name) == text_of(of_fabric(fabric), name)
    for group in of_fabric(fabric).topology.groups:
        assert SLURM.fault(group.name) == LABEL_VALUE.fault(label_value(group.name)) == ""


@given(fabric=fabrics())
def test_what_is_exported_agrees_with_the_intent(fabric: Fabric) -> None:
    source: ExportSource = of_fabric(fabric)
    for name in (
        "slurm-tree",
        "slurm-block",
        "slurm-yaml",
        "node-labels",
        "nfd-rules",
        "kueue",
        "volcano",
        "cidr-pools",
        "nic-configuration",
    ):
        assert check_file(source, Path(name), text_of(source, name)) == ()


@given(numbers=st.sets(st.integers(0, 300)), prefix=st.sampled_from(("gpu", "a-b", "n2x")))
def test_a_host_list_reads_back(numbers: set[int], prefix: str) -> None:
    names = [f"{prefix}{number}" for number in sorted(numbers)]
    assert expanded(hostlist(names)) == names
    assert re.fullmatch(r"[\w\[\],-]*", hostlist(names))
