"""Intents for tests of the design, written as a user would write them."""

from collections.abc import Callable

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import Design, design
from railweave.intent.load import load_intent_text

H4 = "{model: nokia-ixr7220-h4-64d}"
NICS = "{count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}"

Writer = Callable[..., str]
Designer = Callable[..., Design]


def write_intent(
    *,
    nodes: int = 32,
    gpus: int = 8,
    nics: str = NICS,
    leaf: str = H4,
    spine: str = H4,
    shape: str = "rail-optimized",
    workload: str = "{kind: pretraining}",
    more_nodes: str = "",
    topology: str = "",
    rest: str = "",
) -> str:
    entries = f"  - {{name: gpu, count: {nodes}, gpus: {gpus}, nics: {nics}}}\n{more_nodes}"
    keys = "".join(f"  {line}\n" for line in topology.splitlines())
    tiers = f"  shape: {shape}\n  leaf: {leaf}\n  spine: {spine}\n"
    return f"fabric: pod1\nworkload: {workload}\nnodes:\n{entries}topology:\n{tiers}{keys}{rest}"


@pytest.fixture
def written() -> Writer:
    return write_intent


@pytest.fixture
def designed() -> Designer:
    """Return a function that designs an intent given by the parts that matter to a test."""

    def run(**parts: object) -> Design:
        return design(load_intent_text(write_intent(**parts), "intent.yml"), load_catalog())  # type: ignore[arg-type]

    return run
