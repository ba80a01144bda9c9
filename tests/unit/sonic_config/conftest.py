"""Fabrics for the tests of device configuration: designed from short intents, once a session."""

from collections.abc import Callable
from functools import cache

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

LAB = """
fabric: lab
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}
topology:
  shape: rail-optimized
  rails: 2
  stripe: 4
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: sonic-vs, count: 2, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs, count: 2}
  reserve: {leaves: 4, spines: 4}
"""


@cache
def _designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "test.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


@pytest.fixture(scope="session")
def lab_fabric() -> Callable[..., Fabric]:
    """Return a function that designs the lab with lines added at the end of its intent."""

    def fabric(extra: str = "") -> Fabric:
        return _designed(LAB + extra)

    return fabric


@pytest.fixture(scope="session")
def designed() -> Callable[[str], Fabric]:
    """Return a function that designs the fabric of an intent."""
    return _designed
