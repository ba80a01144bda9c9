"""The judge on simulated flows: what tools of nodes print and what switches count, without sessions to either.

``RAILWEAVE_FAULT_FABRICS=all`` tries faults on all six shapes of fabrics.
"""

from dataclasses import fields, replace
from random import Random

import pytest
from acceptance_trials import Trial, document
from flow_acceptance import accept
from flow_faults import KINDS, draw, shapes

from railweave.acceptance.model import Level
from sonic_sim.flows.constants import Constants

pytestmark = [pytest.mark.slow, pytest.mark.trials]

CONSTANTS = [field.name for field in fields(Constants) if field.name not in ("seed", "speedup")]
HURRY = Constants(seed=1, speedup=1000)


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
@pytest.mark.parametrize("seed", [2.0, 3.0])
def test_a_healthy_fabric_passes_with_each_constant_halved_and_doubled(name: str, factor: float, seed: float) -> None:
    constants = replace(HURRY, **{"seed": seed, name: getattr(HURRY, name) * factor})
    verdict = accept("rail-only", Level.SMOKE, constants)
    assert (verdict.verdict, verdict.findings) == ("passed", ())
