"""The simulator judged by the lab of the fabric as it is."""

from typing import Any

import pytest
from sim_beside_lab import beside, compared

pytestmark = pytest.mark.e2e


def test_the_simulator_shows_what_the_lab_shows(deployed: Any, proves: Any) -> None:
    with beside(deployed):
        proves(compared(deployed))
