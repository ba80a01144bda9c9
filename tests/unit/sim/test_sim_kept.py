"""What is kept of a simulated switch on disk."""

import json

import pytest
from sim_switches import sim_device

from sonic_sim.clock import Clock
from sonic_sim.device import Device
from sonic_sim.files import File
from sonic_sim.kept import device_from_json, device_to_json


@pytest.mark.parametrize("data", [b"", b"\1", b"\1" * 262_144, b"\xff" * 3, b"hostname leaf1\n", b"\0\xff\xfe"])
def test_a_file_comes_back_as_it_was_and_takes_no_more_text_than_it_has_bytes(data: bytes) -> None:
    leaf = Device(sim_device("leaf1", 1), Clock(0.0))
    before = len(json.dumps(device_to_json(leaf)))
    leaf.files.files["/var/lib/a"] = File(data, 0o600, "root", 12.5)
    text = json.dumps(device_to_json(leaf))
    assert device_from_json(json.loads(text), Clock(0.0)).files.files["/var/lib/a"] == leaf.files.files["/var/lib/a"]
    assert len(text) - before < 100 + len(data)
