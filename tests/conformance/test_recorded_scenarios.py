"""The simulator answers recorded commands as SONiC did: exit status, texts and the change of CONFIG_DB.

The recordings lie beside the project; where they are not there, nothing is collected (the project's own unit tests hold
the same behavior in fewer cases).
"""

import pytest
from recording import FOLDER, Ran, device_of, expected, load, normal, run, scenario_names

from sonic_sim.frr import show

NOT_REPLAYED: dict[str, tuple[tuple[int, ...], str]] = {
    # scenario: (steps, why)
    "frr/bgp-summary": ((2, 3), "its neighbors are on veth devices that the setup makes"),
    "frr/routes": ((0, 2, 3), "its routes are those of veth devices that the setup makes"),
    "frr/vtysh-forms": (
        (2, 3, 6, 7),
        "the recorded vtysh numbers its processes, runs without SONiC's vtysh.conf and kernel",
    ),
}
RECORDED_FRR = "8.4.4"


@pytest.fixture(autouse=True)
def recorded_frr_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "FRR_VERSION", RECORDED_FRR)


@pytest.mark.parametrize("name", scenario_names())
def test_a_recorded_scenario_ends_as_on_sonic(name: str) -> None:
    scenario = load(name)
    device = device_of(scenario)
    left_out, _ = NOT_REPLAYED.get(name, ((), ""))
    for number, step in enumerate(scenario["steps"]):
        ran = run(device, step)
        ran = Ran(ran.exit, normal(ran.stdout), normal(ran.stderr), ran.diff)
        if number not in left_out:
            assert ran == expected(step), f"step {number}: {step['command']}"


def test_the_tables_of_exceptions_name_real_scenarios() -> None:
    assert not FOLDER.exists() or NOT_REPLAYED.keys() <= set(scenario_names())
