"""Two fabrics in twenty lines: counts, rails, pools and AS numbers are defaults, and storage nodes have no GPUs."""

from pathlib import Path

from railweave import api
from railweave.bom.bill import PartKind

TEXT = """\
fabric: pod1
workload: {kind: inference, gpus: 4}
nodes:
  - name: gpu
    count: 2
    gpus: 2
    nics:
      - {fabric: backend, count: 2, speed: 100G, model: connectx-6}
      - {fabric: storage, count: 1, speed: 100G, model: connectx-6}
  - {name: store, role: storage, count: 1, nics: [{fabric: storage, count: 1, speed: 100G, model: connectx-6}]}
fabrics:
  backend:
    topology:
      leaf: {model: sonic-vs, uplink_speed: 100G}
      spine: {model: sonic-vs}
  storage:
    topology:
      shape: rack-aligned
      leaf: {model: sonic-vs, uplink_speed: 100G}
      spine: {model: sonic-vs}
"""


def test_two_fabrics_of_twenty_lines_are_green_and_have_one_bill(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yml"
    path.write_text(TEXT, encoding="utf-8")
    project = api.open_project(path)
    assert len(TEXT.splitlines()) == 20
    assert not [d for d in api.check(project).diagnostics if d.severity in ("error", "warning")]
    pieces = {line.kind: line.quantity for line in api.bom(project).lines}
    # Two leaves and two spines each; 2 × 2 NICs in one fabric, and one of each of 3 nodes in the other.
    assert (pieces[PartKind.SWITCH], pieces[PartKind.NIC]) == (8, 7)
