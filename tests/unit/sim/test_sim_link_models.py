"""Models of poor links: what the ports of both ends count, and what their modules report."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flow_fabrics import FlowRig

from sonic_sim.databases import APPL, COUNTERS, STATE, rows_of_database
from sonic_sim.device import Device
from sonic_sim.faults import Faults
from sonic_sim.flows.constants import Constants
from sonic_sim.network import End

PORT = "Ethernet0"
FEC = "SAI_PORT_STAT_IF_IN_FEC_"
MINUTE = 60.0


class Cables:
    """A rail-only fabric; PORT of its first leaf goes to a node."""

    def __init__(self, seed: int = 3) -> None:
        self.rig = FlowRig("rail-only", Constants(seed=seed))
        self.leaf = next(iter(self.rig.net.devices.values()))
        # Counters begin at the first reading.
        self.row(PORT)

    def row(self, port: str, leaf: Device | None = None) -> dict[str, float]:
        """Return the FEC counters of a port."""
        rows = rows_of_database(leaf or self.leaf, COUNTERS)
        oid = rows["COUNTERS_PORT_NAME_MAP"][port]
        counts = {name.removeprefix(FEC): float(value) for name, value in rows[f"COUNTERS:{oid}"].items()}
        return counts | {name: float(value) for name, value in rows.get(f"RATES:{oid}", {}).items()}

    def errors_in(self, seconds: float, port: str = PORT) -> float:
        """Let time pass; return the wrong symbols that a port counted."""
        before = self.row(port)["SYMBOL_ERRORS"]
        self.rig.clock.advance(seconds)
        return self.row(port)["SYMBOL_ERRORS"] - before

    def fault(self, kind: str, **details: Any) -> None:
        """Arm a fault of PORT."""
        self.leaf.faults.add(kind, **{"port": PORT, "since": self.rig.clock.now(), **details})

    def readings(self, port: str = PORT) -> dict[str, str]:
        """Return what the module of a port reports."""
        readings = rows_of_database(self.leaf, STATE, "TRANSCEIVER_*")[f"TRANSCEIVER_DOM_SENSOR|{port}"]
        return {name: value for name, value in readings.items() if name != "last_update_time"}

    def flaps(self, port: str = PORT) -> str:
        """Return the transitions of a port."""
        return rows_of_database(self.leaf, APPL, "PORT_TABLE:*")[f"PORT_TABLE:{port}"]["flap_count"]


@pytest.fixture
def cables() -> Cables:
    """Return a fabric without faults."""
    return Cables()


def test_a_dirty_fiber_takes_light_and_adds_errors_on_one_lane_of_the_receiver(cables: Cables) -> None:
    clean = cables.readings()
    healthy = cables.errors_in(MINUTE)
    cables.fault("dirty-fiber", lane=2, ber=1e-6, db=8.0)
    dirty = cables.readings()
    assert float(dirty["rx3power"]) == pytest.approx(float(clean["rx3power"]) - 8)
    assert {name for name in clean if clean[name] != dirty[name]} == {"rx3power"}
    # 24 Tbit a minute, a quarter of them on the lane.
    assert cables.errors_in(MINUTE) == pytest.approx(healthy + 6e12 * 1e-6, rel=0.02)
    assert cables.errors_in(MINUTE, "Ethernet8") == pytest.approx(healthy, rel=0.1)


def test_a_dying_laser_of_a_nic_fades_and_its_switch_counts_a_decade_more_in_each_period(cables: Cables) -> None:
    clean = cables.readings()
    far = cables.rig.net.cables[End(cables.leaf.name, PORT)]
    faults = cables.rig.net.host_faults.setdefault(far.node, Faults())
    faults.add("dying-laser", ber=1e-7, lane=0, decade_s=3600.0, since=cables.rig.clock.now())
    first = cables.errors_in(MINUTE)
    cables.rig.clock.advance(2 * 3600 - MINUTE)
    cables.row(PORT)
    assert cables.errors_in(MINUTE) == pytest.approx(100 * first, rel=0.1)
    faded = cables.readings()
    assert float(faded["rx1power"]) < float(clean["rx1power"]) - 2
    assert faded["tx1power"] == clean["tx1power"]


def test_a_dying_laser_of_a_port_shows_in_its_own_bias_and_adds_no_errors_there(cables: Cables) -> None:
    clean = cables.readings()
    healthy = cables.errors_in(MINUTE)
    cables.fault("dying-laser", ber=1e-5, lane=1)
    worn = cables.readings()
    assert float(worn["tx2bias"]) > 1.3 * float(clean["tx2bias"])
    assert float(worn["tx2power"]) < float(clean["tx2power"]) - 2
    assert cables.errors_in(MINUTE) == pytest.approx(healthy, rel=0.1)


def test_a_bad_copper_cable_flaps_and_has_no_readings(cables: Cables) -> None:
    modules = dict(cables.leaf.spec.modules)
    modules[PORT] = replace(modules[PORT], copper=True, fixed=True, length_m=2)
    cables.leaf.spec = replace(cables.leaf.spec, modules=modules)
    cables.leaf.db.version += 1
    assert cables.flaps() == "1"
    cables.fault("bad-copper", flaps=3600.0, ber=1e-6)
    cables.rig.clock.advance(MINUTE)
    # One a second on average, each down and up.
    assert 1 + 2 * 25 < int(cables.flaps()) < 1 + 2 * 100
    assert int(cables.flaps()) % 2
    assert set(cables.readings().values()) == {"N/A"}
    assert cables.errors_in(MINUTE) == pytest.approx(2.4e13 * 1e-6, rel=0.05)


def test_a_hot_cage_warms_the_module_beside_it_and_both_ports_have_errors(cables: Cables) -> None:
    cables.fault("hot-cage", celsius=80.0, ber=1e-6)
    assert [cables.readings(port)["temperature"] for port in (PORT, "Ethernet8")] == ["80.000", "77.000"]
    assert float(cables.readings("Ethernet16")["temperature"]) < 50
    for port in (PORT, "Ethernet8"):
        assert cables.errors_in(MINUTE, port) == pytest.approx(2.4e13 * 1e-6, rel=0.05)
    assert cables.errors_in(MINUTE, "Ethernet16") < 1e6


def test_bins_of_a_link_that_fails_are_full_to_the_last_and_lose_codewords(cables: Cables) -> None:
    cables.fault("ber", ber=4e-3, lane=0)
    before = cables.row(PORT)
    cables.rig.clock.advance(MINUTE)
    grown = {name: value - before.get(name, 0) for name, value in cables.row(PORT).items()}
    codewords = 4e11 * MINUTE / 5440
    bins = [grown[f"CODEWORD_ERRORS_S{count}"] for count in range(16)]
    assert sum(bins) + grown["NOT_CORRECTABLE_FRAMES"] == pytest.approx(codewords, rel=1e-6)
    assert min(bins) > 1000
    assert grown["NOT_CORRECTABLE_FRAMES"] > 100
    assert grown["CORRECTABLE_FRAMES"] == sum(bins[1:])


def test_error_rates_are_those_of_the_script_of_sonic(cables: Cables) -> None:
    before = cables.row(PORT)
    cables.fault("ber", ber=4e-3, lane=0)
    cables.rig.clock.advance(MINUTE)
    after = cables.row(PORT)
    # 8 lanes of 53.125 Gb/s, coding included.
    bits = 8 * 53.125e9 * MINUTE
    corrected = after["CORRECTED_BITS"] - before["CORRECTED_BITS"]
    assert after["FEC_PRE_BER"] == pytest.approx(corrected / bits)
    lost = after["NOT_CORRECTABLE_FRAMES"] - before["NOT_CORRECTABLE_FRAMES"]
    assert after["FEC_POST_BER"] == pytest.approx(lost * 1e-8 / bits)
    assert after["FEC_PRE_BER_MAX"] == after["FEC_PRE_BER"]


def test_counts_are_drawn_anew_by_another_seed_and_the_same_by_the_same() -> None:
    drawn = []
    for seed in (3, 3, 4):
        cables = Cables(seed)
        drawn.append(cables.errors_in(MINUTE))
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_a_link_that_goes_down_and_comes_back_is_two_transitions(cables: Cables) -> None:
    assert cables.flaps() == "1"
    cables.fault("link-down")
    assert cables.flaps() == "2"
    cables.leaf.faults.clear()
    assert cables.flaps() == "3"


def test_a_port_without_light_reports_a_dark_lane(cables: Cables) -> None:
    far = next(end for end in cables.rig.net.cables.values() if end.node in cables.rig.net.hosts)
    near = cables.rig.net.cables[far]
    cables.rig.net.unplug(far)
    device = cables.rig.net.devices[near.node]
    rows = rows_of_database(device, STATE, "TRANSCEIVER_*")
    assert rows[f"TRANSCEIVER_DOM_SENSOR|{near.port}"]["rx1power"] == "-inf"


def test_commands_show_modules_flaps_and_bins(cables: Cables, run: Callable[..., tuple[int, str, str]]) -> None:
    def show(command: str) -> list[str]:
        status, shown, _ = run(cables.leaf, f"show interfaces {command}")
        assert status == 0
        return shown.splitlines()

    cables.rig.clock.advance(MINUTE)
    eeprom = show(f"transceiver eeprom -d {PORT}")
    assert eeprom[0] == f"{PORT}: SFP EEPROM detected"
    assert "        Identifier: QSFP-DD Double Density 8X Pluggable Transceiver" in eeprom
    assert f"                RX1Power: {cables.readings()['rx1power']}dBm" in eeprom
    assert "                RxPowerLowAlarm   : -9.4dBm" in eeprom
    assert show(f"flap {PORT}")[2].split()[:4] == [PORT, "1", "Up", "Up"]
    assert show(f"counters fec-histogram {PORT}")[3].split()[0] == "BIN1"
    (row,) = [line.split() for line in show("counters fec-stats") if line.split()[0] == PORT]
    assert row[1] == "U"
    assert float(row[5]) == pytest.approx(2e-9, rel=0.2)
