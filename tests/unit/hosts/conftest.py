"""Fabrics for the tests of GPU nodes, and the node's own program as a module."""

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

PROGRAM = Path(__file__).resolve().parents[3] / "templates" / "hosts" / "railweave_host.py"

INTENT = """
fabric: pod
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 4, speed: 400G, model: {nic}{nics}}}}}
topology:
  shape: {shape}
  leaf: {{model: nokia-ixr7220-h4-64d}}
  spine: {{model: nokia-ixr7220-h4-64d}}
{rest}
"""


@cache
def designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "test.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


@pytest.fixture
def intent_text() -> Callable[..., str]:
    """Return a function that writes an intent with the given parts."""

    def write(
        *, nodes: int = 8, nic: str = "connectx-7", nics: str = "", shape: str = "rail-optimized", rest: str = ""
    ) -> str:
        return INTENT.format(nodes=nodes, nic=nic, nics=nics, shape=shape, rest=rest)

    return write


@pytest.fixture
def pod(intent_text: Callable[..., str]) -> Callable[..., Fabric]:
    """Return a function that designs the fabric of an intent with the given parts."""
    return lambda **parts: designed(intent_text(**parts))


@pytest.fixture(scope="session")
def program() -> ModuleType:
    """Return the program that runs on a node."""
    spec = importlib.util.spec_from_file_location("railweave_host_program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
