"""Fabrics for the tests of checks: designed from short intents, once a session."""

from collections.abc import Callable
from functools import cache

import pytest
from config_checks import check_config

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

INTENT = """
fabric: pod
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 2, speed: {speed}, model: {nic}}}}}
topology:
  stripe: {nodes}
  links_per_pair: 1
  oversubscription: "64:1"
  leaf: {{model: {leaf}, count: 2, downlink_speed: {speed}, uplink_speed: {speed}}}
  spine: {{model: {spine}, count: 2}}
"""
DEFAULTS = {"nodes": 4, "speed": "400G", "nic": "connectx-7", "leaf": "nokia-ixr7220-h4-64d", "spine": "nvidia-sn4700"}


@cache
def designed(text: str) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    intent = load_intent_text(text, "pod.yml")
    outcome = design(intent, load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric, check_config(outcome.fabric, intent.where)


def intent_text(extra: str = "", **chosen: object) -> str:
    return INTENT.format(**{**DEFAULTS, **chosen}) + extra


@pytest.fixture(scope="session")
def pod() -> Callable[..., Fabric]:
    """Return a function that designs a pod of two leaves and two spines; keys of the intent may be added or chosen."""

    def fabric(extra: str = "", **chosen: object) -> Fabric:
        return designed(intent_text(extra, **chosen))[0]

    return fabric


@pytest.fixture(scope="session")
def findings() -> Callable[..., tuple[Diagnostic, ...]]:
    """Return a function that checks such a pod."""

    def found(extra: str = "", **chosen: object) -> tuple[Diagnostic, ...]:
        return designed(intent_text(extra, **chosen))[1]

    return found


@pytest.fixture(scope="session")
def text_of() -> Callable[..., str]:
    """Return a function that writes the intent of such a pod."""
    return intent_text


@pytest.fixture(scope="session")
def findings_of() -> Callable[[str], tuple[Diagnostic, ...]]:
    """Return a function that checks an intent."""
    return lambda text: designed(text)[1]
