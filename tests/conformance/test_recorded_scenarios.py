"""The simulator answers recorded commands as SONiC did: exit status, texts and the change of CONFIG_DB.

The recordings lie beside the project; where they are not there, nothing is collected (the project's own unit tests hold
the same behavior in fewer cases).
"""

import pytest
from recording import Ran, device_of, expected, load, normal, run, scenario_names


@pytest.mark.parametrize("name", scenario_names())
def test_a_recorded_scenario_ends_as_on_sonic(name: str) -> None:
    scenario = load(name)
    device = device_of(scenario)
    for number, step in enumerate(scenario["steps"]):
        ran = run(device, step)
        ran = Ran(ran.exit, normal(ran.stdout), normal(ran.stderr), ran.diff)
        assert ran == expected(step), f"step {number}: {step['command']}"
