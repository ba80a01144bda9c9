"""Sizing refuses for headroom what `check` refuses, and nothing else of the configuration."""

from pathlib import Path

import pytest

from railweave import api
from railweave.errors import RefusedError

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
