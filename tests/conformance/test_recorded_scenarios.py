"""The simulator answers recorded commands as SONiC did: exit status, texts and the change of CONFIG_DB.

The recordings lie beside the project; where they are not there, nothing is collected (the project's own unit tests hold
the same behavior in fewer cases).
"""

import pytest
from by_check import sampled
from recording import FOLDER, NOT_SIMULATED, Ran, device_of, expected, load, normal, run, scenario_names


@pytest.mark.parametrize("name", sampled(scenario_names(), every=8))
def test_a_recorded_scenario_ends_as_on_sonic(name: str) -> None:
    scenario = load(name)
    device = device_of(scenario)
    for number, step in enumerate(scenario["steps"]):
        ran = run(device, step)
        ran = Ran(ran.exit, normal(ran.stdout), normal(ran.stderr), ran.diff)
        assert ran == expected(step), f"step {number}: {step['command']}"


@pytest.mark.parametrize(
    "name", [name for names in NOT_SIMULATED.values() for name in names] if FOLDER.exists() else ()
)
def test_a_scenario_that_is_left_out_has_a_command_that_is_not_simulated(name: str) -> None:
    scenario = load(name)
    device = device_of(scenario)
    answers = [run(device, step) for step in scenario["steps"]]
    assert any(answer.stderr.endswith(" not simulated\n") for answer in answers)
