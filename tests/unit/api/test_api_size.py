"""Sizing refuses for headroom what `check` refuses, and nothing else of the configuration."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from railweave import api
from railweave.diagnostics import Severity
from railweave.errors import RefusedError
from railweave.report.sizing import sizing_view

PROJECT = Path(__file__).resolve().parents[3]

INTENT = """
fabric: pod
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: 4, gpus: 8, nics: {{count: 2, speed: 400G, model: connectx-7}}}}
topology:
  leaf: {{model: {leaf}, count: 2}}
  spine: {{model: nokia-ixr7220-h4-64d, count: 2}}
{more}
"""


def project(folder: Path, leaf: str, more: str) -> api.Project:
    path = folder / "pod.yml"
    path.write_text(INTENT.format(leaf=leaf, more=more), encoding="utf-8")
    return api.open_project(path)


@pytest.mark.parametrize(
    ("leaf", "more"),
    [
        ("arista-7060dx5-64s", ""),
        ("nokia-ixr7220-h4-64d", "cabling: {leaf_spine: {length_m: 400}}"),
        ("nvidia-sn4700", "sonic: {buffer_model: traditional}\ncabling: {leaf_spine: {length_m: 400}}"),
    ],
)
def test_what_check_refuses_for_headroom_has_no_size(tmp_path: Path, leaf: str, more: str) -> None:
    pod = project(tmp_path, leaf, more)
    checked = {one.message for one in api.check(pod).diagnostics if one.code.startswith("H-")}
    with pytest.raises(RefusedError) as refused:
        api.size(pod)
    assert {one.message for one in refused.value.diagnostics if one.code.startswith("H-")} == checked


def test_overrides_that_check_refuses_do_not_keep_a_fabric_from_being_sized(tmp_path: Path) -> None:
    pod = project(tmp_path, "nokia-ixr7220-h4-64d", "overrides: {leaf: {PORT: {Ethernet0: {mtu: '1500'}}}}")
    assert not api.check(pod).ok
    assert api.size(pod).leaves == 2


def test_buffers_of_lossy_rdma_are_sized_with_their_marking_and_no_pauses() -> None:
    lossy = PROJECT / "tests" / "golden" / "sonic_config" / "intents" / "lossy-planes.yml"
    sized = api.size(api.open_project(lossy))
    (spines,) = sized.buffers
    assert spines.devices[0] == "mix-spine1"
    assert (spines.headroom, spines.pause_bytes) == ((), {})
    shown = io.StringIO()
    Console(file=shown, width=200).print(sizing_view(sized))
    assert "    no headroom: no class is lossless\n" in shown.getvalue()
    assert "XOFF" not in shown.getvalue()
    (roce,) = spines.marking
    assert roce.traffic_class == "roce"
    assert 0 < roce.minimum_bytes < roce.maximum_bytes


def test_the_buffers_of_the_reference_fabric_are_sized_with_their_thresholds() -> None:
    leaves, spines = api.size(api.open_project(PROJECT / "intent" / "pod-32.yml")).buffers
    assert spines.devices == ("pod1-spine1", "pod1-spine2", "pod1-spine3", "pod1-spine4")
    assert {pool.name: pool.size_bytes for pool in spines.in_use.pools}["ingress_lossless_pool"] == 26_312_696
    (room,) = spines.headroom
    assert (room.ports, room.size_bytes, room.xon_bytes, room.xoff_bytes) == (32, 152_576, 38_912, 104_448)
    assert spines.pause_bytes["all 32 ports congested"] == 797_354
    (roce,) = spines.marking
    assert (roce.minimum_bytes, roce.maximum_bytes, roce.probability_percent) == (398_000, 1_592_000, 20)
    assert roce.at_pause["one congested port"] == 100
    assert leaves.pause_bytes["all 64 ports congested and one lossy queue full"] == 930_474


def test_buffers_show_the_ports_in_use_apart_from_all_ports(tmp_path: Path) -> None:
    found = api.size(project(tmp_path, "nvidia-sn4700", "")).buffers
    (leaf,) = [one for one in found if one.hwsku == "ACS-MSN4700"]
    assert leaf.in_use.shared_bytes > leaf.all_ports.shared_bytes
    assert leaf.model == "dynamic"


def test_more_equal_paths_than_a_route_has_are_no_size_either(tmp_path: Path) -> None:
    text = """
fabric: pod
workload: {kind: pretraining}
nodes: [{name: gpu, count: 64, gpus: 8, nics: {count: 1, speed: 400G, model: connectx-7}}]
topology:
  stripe: 64
  links_per_pair: 300
  oversubscription: "2:1"
  leaf: {model: nokia-ixr7220-h6-128, count: 1, uplink_speed: 100G}
  spine: {model: nokia-ixr7220-h6-128}
sonic: {release: "202405"}
"""
    (tmp_path / "pod.yml").write_text(text, encoding="utf-8")
    pod = api.open_project(tmp_path / "pod.yml")
    assert "B-6" in {one.code for one in api.check(pod).diagnostics if one.severity is Severity.ERROR}
    with pytest.raises(RefusedError, match="equal paths"):
        api.size(pod)
