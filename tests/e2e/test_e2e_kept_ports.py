"""Automatic values that growth would change, on running switches: refused, with lines that leave nothing to do."""

import re
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.e2e

NICS = "nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}"
INTENT = """\
fabric: kept
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {gpus}, gpus: 8, {nics}}}
  - {{name: store, role: storage, count: {stores}, gpus: 0, {share}{nics}}}
topology:
  oversubscription: "2:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: 4}}
"""


def refusals(project: Any) -> list[tuple[str, str]]:
    """Return what a deployment is refused for, each with its fix; no switch is changed by it."""
    before = project.running("kept-leaf1")
    answer = project.run("deploy", "--target", "sim", "--yes", "--provision", "--json", status=1)
    assert project.running("kept-leaf1") == before
    return [(found["code"], found["fix"]) for found in answer["diagnostics"]]
