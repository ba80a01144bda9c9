"""The judge on simulated flows: what tools of nodes print and what switches count, without sessions to either.

``RAILWEAVE_FAULT_FABRICS=all`` tries faults on all six shapes of fabrics; ``RAILWEAVE_HEALTHY_RUNS=50`` makes so many
runs without a fault for each constant, halved and doubled.
"""

import os
from dataclasses import fields, replace
from random import Random

import pytest
from acceptance_fabrics import LAB
from acceptance_trials import Trial, document
from flow_acceptance import accept
from flow_faults import KINDS, draw, shapes

from railweave.acceptance.model import Level
from sonic_sim.flows.constants import Constants

pytestmark = [pytest.mark.slow, pytest.mark.trials]

CONSTANTS = [field.name for field in fields(Constants) if field.name not in ("seed", "speedup")]
HURRY = Constants(seed=1, speedup=1000)
HEALTHY_RUNS = int(os.environ.get("RAILWEAVE_HEALTHY_RUNS", "2"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fabric", shapes())
def test_a_fault_that_no_configuration_shows_is_named(fabric: str, kind: str) -> None:
    fault = draw(kind, document(fabric), Random(f"{fabric} {kind}"))
    if fault is None:
        return
    verdict = accept(fabric, Level.SMOKE, HURRY, (fault.name, fault.kind, fault.details))
    assert Trial((fault.truth,), verdict).wrong == ""


@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("seed", range(2, 2 + HEALTHY_RUNS))
def test_a_healthy_fabric_passes_with_each_constant_halved_and_doubled(name: str, factor: float, seed: int) -> None:
    constants = replace(HURRY, **{"seed": float(seed), name: getattr(HURRY, name) * factor})
    # With spines: their leaves spread flows by a hash that each seed draws anew.
    verdict = accept(LAB, Level.SMOKE, constants)
    assert (verdict.verdict, verdict.findings) == ("passed", ())
