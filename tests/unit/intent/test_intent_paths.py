"""Intent paths and how a place is found for one."""

import pytest

from railweave.diagnostics import Where
from railweave.intent.load import load_intent_text
from railweave.intent.paths import child, parent, path_text

INTENT = """\
fabric: pod1
workload: {kind: pretraining}
nodes:
  - name: gpu
    count: 4
    gpus: 8
    nics: {count: 4, speed: 400G, model: connectx-7}
topology:
  leaf: {model: nvidia-sn4700}
  spine: {model: nvidia-sn4700}
overrides:
  leaf: {SYSLOG_SERVER: {"10.9.9.9": {port: "514"}}}
"""


@pytest.mark.parametrize(
    "parts",
    [
        ("fabric",),
        ("nodes", 0, "nics", "speed"),
        ("traffic_classes", 12, "dscp", 0),
        ("overrides", "leaf", "SYSLOG_SERVER", "10.9.9.9", "port"),
        ("overrides", "leaf", "ACL_RULE", 'a|"]["b'),
    ],
)
def test_walking_up_a_path_drops_one_part_at_a_time(parts: tuple[str | int, ...]) -> None:
    for length in range(len(parts), 0, -1):
        assert parent(path_text(parts[:length])) == path_text(parts[: length - 1])


def test_a_path_reads_like_the_file() -> None:
    assert path_text(("nodes", 0, "nics", "speed")) == "nodes[0].nics.speed"
    assert child("overrides.leaf.SYSLOG_SERVER", "10.9.9.9") == 'overrides.leaf.SYSLOG_SERVER["10.9.9.9"]'


def test_a_value_of_the_file_has_its_own_place() -> None:
    intent = load_intent_text(INTENT, "i.yml")
    assert intent.where("nodes[0].nics.speed") == Where("i.yml", 7, 29, "nodes[0].nics.speed")
    assert intent.where('overrides.leaf.SYSLOG_SERVER["10.9.9.9"].port').line == 12


def test_a_default_has_the_place_of_its_nearest_parent() -> None:
    intent = load_intent_text(INTENT, "i.yml")
    assert intent.where("nodes[0].nics.ports") == Where("i.yml", 7, 5, "nodes[0].nics")
    assert intent.where("topology.reserve.leaves") == Where("i.yml", 8, 1, "topology")


def test_a_default_without_a_parent_stands_at_the_beginning() -> None:
    assert load_intent_text(INTENT, "i.yml").where("mtu.hosts") == Where("i.yml", 1, 1, "")
