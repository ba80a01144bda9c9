"""Modules of a simulated switch: kept with it, and faults that fit their medium alone."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from sim_switches import sim_device

from sonic_sim.clock import Clock
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.device import Device
from sonic_sim.errors import SimulatorError
from sonic_sim.kept import device_from_json, device_to_json
from sonic_sim.simulation import Simulation
from sonic_sim.spec import SimModule, SimSpec, spec_from_json

OPTICS = SimModule("QSFP-DD", "400G-DR4", "SN1", 4, 20)
COPPER = SimModule("QSFP-DD", "400G-CR4", "SN2", 4, 2, fixed=True, copper=True)
SPEC = replace(sim_device("leaf1", 1), modules={"Ethernet0": OPTICS, "Ethernet4": COPPER})


def switch() -> Device:
    device = Device(SPEC, Clock(0.0))
    device.install()
    return device


def test_modules_survive_a_restart_and_the_way_to_the_simulator() -> None:
    assert device_from_json(device_to_json(switch()), Clock(0.0)).spec.modules == SPEC.modules
    spec = SimSpec("lab", (SPEC,))
    assert spec_from_json(spec.to_json()) == spec


def test_a_cable_with_fixed_ends_reports_its_length_and_a_port_without_a_module_nothing() -> None:
    rows = rows_of_database(switch(), STATE, "TRANSCEIVER_INFO|*")
    info = {key: row for key, row in rows.items() if key.startswith("TRANSCEIVER_INFO|")}
    assert [row["cable_length"] for row in info.values()] == ["0.0", "2.0"]
    assert list(info) == ["TRANSCEIVER_INFO|Ethernet0", "TRANSCEIVER_INFO|Ethernet4"]


@pytest.mark.parametrize(
    ("kind", "port", "text"),
    [
        ("bad-copper", "Ethernet0", "leaf1 Ethernet0 has optics (400G-DR4): bad-copper is a fault of copper cables"),
        ("dirty-fiber", "Ethernet4", "leaf1 Ethernet4 has a copper cable (400G-CR4): dirty-fiber is a fault of optics"),
        ("dying-laser", "Ethernet4", "leaf1 Ethernet4 has a copper cable (400G-CR4): dying-laser is a fault of optics"),
        ("dying-laser", "Ethernet0", ""),
    ],
)
def test_a_fault_fits_the_medium_of_its_cable(tmp_path: Path, kind: str, port: str, text: str) -> None:
    simulation = Simulation(tmp_path, Clock(0.0), keeps=False)
    simulation.network.add_device(switch())
    fault = simulation.fault("leaf1", kind, {"port": port})
    if not text:
        assert [armed["kind"] for armed in asyncio.run(fault)] == [kind]
        return
    with pytest.raises(SimulatorError) as refused:
        asyncio.run(fault)
    assert str(refused.value) == text
