"""`railweave sim up` on a grown intent lists the cables whose ports another cable holds."""

import json
from pathlib import Path

import pytest

from railweave import api
from railweave.api.simulator.sim import RunningSim
from railweave.cli.main import main
from sonic_sim.control import Endpoint, Endpoints

UNPLUGGED = (("pod1-leaf1:Ethernet0", "pod1-spine5:Ethernet0"), ("pod1-leaf1:Ethernet8", "pod1-spine6:Ethernet0"))


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the simulator answer that two cables are not plugged."""
    endpoints = Endpoints({"pod1-leaf1": Endpoint("127.0.0.1", 22)}, "admin", "key", "keys", 7, (), UNPLUGGED)
    running = RunningSim("pod1", endpoints, Path(".railweave/sim/pod1"))
    monkeypatch.setattr(api.sim, "up", lambda project, *, real_time: running)
    monkeypatch.setenv("COLUMNS", "200")


def test_cables_that_cannot_be_plugged_are_listed_with_what_moves_them(
    grown: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", "up", "intent/pod-32.yml"]) == 0
    assert capsys.readouterr().out == (
        "simulated fabric pod1: 1 switch on loopback, process 7\n"
        "not plugged, as another cable is in one of the ports: 2 cables: pod1-leaf1:Ethernet0 – pod1-spine5:Ethernet0, "
        "pod1-leaf1:Ethernet8 – pod1-spine6:Ethernet0\n"
        "next: `railweave sim cable --from REV --phase N --intent intent/pod-32.yml` moves the cables of a phase; "
        "`railweave sim cable A:PORT B:PORT --intent intent/pod-32.yml` plugs a cable\n"
    )


def test_they_are_in_the_json_document(grown: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "up", "intent/pod-32.yml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unplugged"] == [list(ends) for ends in UNPLUGGED]


def test_a_machine_that_cannot_run_nodes_says_so_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = (
        "the GPU nodes are not started: they are Linux namespaces, which only root can make; the switches run alone"
    )
    switch = Endpoint("127.0.0.1", 22)
    endpoints = Endpoints({"pod1-leaf1": switch}, "admin", "key", "keys", 7, without_nodes=reason)
    running = RunningSim("pod1", endpoints, Path(".railweave/sim/pod1"))
    monkeypatch.setattr(api.sim, "up", lambda project, *, real_time: running)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["sim", "up", "intent/pod-32.yml"]) == 0
    assert capsys.readouterr().out == f"simulated fabric pod1: 1 switch on loopback, process 7\n{reason}\n"
