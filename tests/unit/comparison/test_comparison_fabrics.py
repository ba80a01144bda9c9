"""Designs are suggested for one of several fabrics as for an intent of its own."""

from pathlib import Path

import pytest

from railweave.api.project import open_project
from railweave.api.reports.suggestions import suggest
from railweave.errors import UsageError

TEXT = """\
fabric: pod1
workload: {kind: pretraining}
nodes:
  - name: gpu
    count: 16
    gpus: 8
    nics:
      - {fabric: backend, count: 8, speed: 400G, model: connectx-7}
      - {fabric: storage, count: 1, speed: 200G, model: connectx-7}
fabrics:
  backend:
    topology: {leaf: {model: nokia-ixr7220-h4-64d}, spine: {model: nokia-ixr7220-h4-64d}}
  storage:
    topology: {shape: rack-aligned, leaf: {model: nvidia-sn4700}, spine: {model: nvidia-sn4700}}
    addressing:
      {loopbacks: 10.254.0.0/16, links: 10.128.0.0/11, hosts: 10.96.0.0/11, asn: {leaf: 4220000000, spine: 4200101000}}
"""
ALONE = """\
fabric: pod1-backend
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 16, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}
topology: {leaf: {model: nokia-ixr7220-h4-64d}, spine: {model: nokia-ixr7220-h4-64d}}
"""


@pytest.mark.slow
def test_the_suggestions_are_those_for_the_fabric_alone(tmp_path: Path) -> None:
    (tmp_path / "cluster.yml").write_text(TEXT)
    (tmp_path / "alone.yml").write_text(ALONE)
    found = suggest(open_project(tmp_path / "cluster.yml", fabric="backend"))
    alone = suggest(open_project(tmp_path / "alone.yml"))
    assert found.texts == alone.texts
    assert found.texts


def test_a_fabric_has_to_be_named(tmp_path: Path) -> None:
    (tmp_path / "cluster.yml").write_text(TEXT)
    with pytest.raises(UsageError, match=r"holds 2 fabrics \(backend, storage\)"):
        suggest(open_project(tmp_path / "cluster.yml"))
