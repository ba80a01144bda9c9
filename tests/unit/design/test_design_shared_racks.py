"""Racks beside the fabrics of a file hold the devices of all of them: each fabric takes its own, and none twice."""

import pytest

from railweave.api.design.intent import gather_text
from railweave.diagnostics import Diagnostic

TEXT = """\
fabric: pod1
workload: {kind: inference}
nodes:
  - name: gpu
    count: 2
    gpus: 2
    nics:
      - {fabric: backend, count: 2, speed: 100G, model: connectx-6}
      - {fabric: storage, count: 1, speed: 100G, model: connectx-6}
  - {name: store, role: storage, count: 1, nics: [{fabric: storage, count: 1, speed: 100G, model: connectx-6}]}
racks:
  units: 42
  rows: [{name: a, racks: a1-3}]
  devices:
    - {devices: "gpu*", racks: a1-2, height: 4}
    - {devices: "store*", racks: a3, height: 2}
    - {devices: ["pod1-backend-leaf*", "pod1-backend-spine*"], racks: a3, height: 1, unit: 30}
    - {devices: ["pod1-storage-leaf*", "pod1-storage-spine*"], racks: a3, height: 1, unit: UNIT}
fabrics:
  backend:
    topology: {leaf: {model: sonic-vs, uplink_speed: 100G}, spine: {model: sonic-vs}}
  storage:
    topology: {shape: rack-aligned, leaf: {model: sonic-vs, uplink_speed: 100G}, spine: {model: sonic-vs}}
"""


def errors(text: str, fabric: str) -> list[Diagnostic]:
    gathered = gather_text(text, f"cluster.yml#{fabric}")
    return [found for found in gathered.diagnostics if found.severity == "error"]


@pytest.mark.parametrize("name", ["backend", "storage"])
def test_each_fabric_takes_its_own_devices(name: str) -> None:
    fabric = gather_text(TEXT.replace("UNIT", "10"), f"cluster.yml#{name}").fabric
    assert fabric is not None
    assert fabric.racks is not None
    assert fabric.racks.places.keys() == {*fabric.switch_of, *fabric.host_of}
    assert fabric.racks.places["gpu2"][:2] == ("a2", 1)


def test_two_devices_in_one_unit_are_refused() -> None:
    (refusal,) = errors(TEXT.replace("UNIT", "31"), "backend")
    assert (refusal.code, refusal.where.path) == ("RW127", "racks.devices")
    assert refusal.message == (
        "pod1-backend-leaf2 and pod1-storage-leaf1 of pod1-storage are both in unit 31 of rack a3;"
        " so are 2 other devices with one of pod1-storage"
    )


def test_a_node_in_two_places_is_refused() -> None:
    # With storage nodes in the same entry a rack gets more devices of one fabric than of the other.
    text = TEXT.replace("UNIT", "10").replace('devices: "gpu*", racks', 'devices: ["gpu*", "store*"], racks')
    text = text.replace('    - {devices: "store*", racks: a3, height: 2}\n', "")
    refusal, clash = errors(text, "backend")
    assert clash.message == "gpu2 and store1 of pod1-storage are both in unit 1 of rack a2"
    assert refusal.message == "pod1-backend and pod1-storage have gpu2 in different places"


def test_a_name_that_no_fabric_has_is_refused_by_its_own_fabric() -> None:
    text = TEXT.replace("UNIT", "10").replace('"pod1-storage-spine*"', '"pod1-storage-spine*", "pod1-storage-leaf77"')
    assert errors(text, "backend") == []
    (refusal,) = errors(text, "storage")
    assert (refusal.code, refusal.message) == ("RW301", "the fabric has no pod1-storage-leaf77")
