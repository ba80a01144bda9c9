"""A switch that takes over what another was read to hold, the record of its links, and the faults of a rehearsal."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sonic_sim.device import CONFIG_FILE, FRR_FILE, VERSION_FILE, Device, Effect, Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.kept import Keeper
from sonic_sim.spec import SimSpec, SimState, spec_from_json
from sonic_sim.switch_host import SimulatedHost, take_over_transactions
from sonic_sim.watching import Watch

Run = Callable[..., tuple[int, str, str]]
STATE = SimState(
    running={
        "DEVICE_METADATA": {"localhost": {"hostname": "pod1-leaf1", "docker_routing_config_mode": "split"}},
        "PORT": {"Ethernet0": {"lanes": "0,1,2,3", "speed": "100000", "admin_status": "up", "alias": "etp1"}},
        "SYSLOG_SERVER": {"10.9.9.9": {}},
        "VLAN": {"Vlan10": {"members": ["Ethernet0"]}},
    },
    frr="frr version 10.3\nhostname pod1-leaf1\nrouter bgp 65001\n bgp router-id 10.0.0.1\nexit\n",
    startup={"DEVICE_METADATA": {"localhost": {"hostname": "older"}}},
    startup_frr="router bgp 65000\n",
    version_file="release: '202411'\n",
    digest_key="ab" * 32,
    generation={"number": 7, "digest": "d"},
)


@pytest.fixture
def pair(fabric: Fabric) -> tuple[Device, Device]:
    """Return a leaf and the spine whose first ports are joined."""
    return fabric.devices["leaf1"], fabric.devices["spine1"]


def test_a_switch_takes_over_what_another_runs_and_would_boot(switch: Device) -> None:
    switch.take_over(STATE)
    assert {name: rows for name, rows in switch.db.document().items() if name != "VERSIONS"} == STATE.running
    assert "bgp router-id 10.0.0.1" in switch.frr.show()
    assert switch.hostname == "pod1-leaf1"
    assert json.loads(switch.files.read(CONFIG_FILE)) == STATE.startup
    assert switch.files.read(FRR_FILE) == b"router bgp 65000\n"
    assert switch.files.read(VERSION_FILE) == b"release: '202411'\n"
    switch.lose_power()
    assert switch.hostname == "older"


def test_a_client_that_is_slow_meets_a_switch_that_lost_power_away(switch: Device) -> None:
    switch.lose_power(unanswered=1)
    switch.clock.advance(3600)
    assert [switch.answers() for _ in range(3)] == [False, True, True]


def test_frr_that_does_not_run_does_not_run_afterwards(switch: Device) -> None:
    switch.take_over(SimState(STATE.running, None, STATE.startup))
    assert not switch.frr.running


def test_the_transaction_program_knows_its_key_and_generation(switch: Device) -> None:
    take_over_transactions(switch, STATE)
    host = SimulatedHost(switch)
    assert host.read_file(f"{host.directory}/digest.key") == b"ab" * 32
    assert json.loads(host.read_file(f"{host.directory}/transaction.json"))["generation"] == {
        "number": 7,
        "digest": "d",
    }


def test_states_travel_with_a_specification(switch: Device) -> None:
    spec = SimSpec("f", (switch.spec,), states={"leaf1": STATE})
    assert spec_from_json(spec.to_json()) == spec


def test_a_fabric_that_keeps_nothing_writes_no_switch(switch: Device, tmp_path: Path) -> None:
    for keeps in (False, True):
        Keeper(tmp_path, keeps=keeps).save_device(switch)
        assert (tmp_path / "devices" / "leaf1.json").exists() is keeps


def test_a_link_is_down_at_both_ends_while_one_has_the_fault(pair: tuple[Device, Device]) -> None:
    leaf, spine = pair
    assert (leaf.link_up("Ethernet0"), spine.link_up("Ethernet0")) == (True, True)
    leaf.faults.add(FaultKind.LINK_DOWN, port="Ethernet4")
    assert leaf.link_up("Ethernet0")
    leaf.faults.add(FaultKind.LINK_DOWN, port="Ethernet0")
    assert (leaf.link_up("Ethernet0"), spine.link_up("Ethernet0")) == (False, False)
    leaf.faults.clear()
    assert spine.link_up("Ethernet0")


def test_a_switch_that_does_not_return_is_away_from_its_reload_on(run: Run, pair: tuple[Device, Device]) -> None:
    leaf, spine = pair
    effects: list[Effect] = []
    leaf.on_effect = lambda device, effect: effects.append(effect)
    leaf.faults.add(FaultKind.NO_RETURN)
    assert spine.link_up("Ethernet0")
    run(leaf, "config reload -y -f")
    assert Effect.OFFLINE in effects
    assert leaf.faults.has(FaultKind.UNREACHABLE)
    assert not spine.link_up("Ethernet0")


def test_the_record_has_the_links_that_carry_bgp_and_how_they_changed(run: Run, pair: tuple[Device, Device]) -> None:
    leaf, _spine = pair
    cable = ("leaf1:Ethernet0", "spine1:Ethernet0")
    watch = Watch(leaf.network)
    watch.look(leaf)
    assert watch.moments == []
    assert watch.begin() == [cable, ("leaf2:Ethernet0", "spine1:Ethernet4")]
    watch.look(leaf)
    assert watch.moments == []
    leaf.faults.add(FaultKind.LINK_DOWN, port="Ethernet0")
    watch.look(leaf)
    leaf.faults.clear()
    leaf.busy_s += 3.0
    watch.look(leaf)
    seen = [{name: moment[name] for name in ("device", "busy_s", "up", "down")} for moment in watch.moments]
    assert seen == [
        {"device": "leaf1", "busy_s": 0.0, "up": [], "down": [cable]},
        {"device": "leaf1", "busy_s": 3.0, "up": [cable], "down": []},
    ]


def test_a_session_that_is_no_longer_configured_is_down(run: Run, pair: tuple[Device, Device]) -> None:
    leaf, spine = pair
    watch = Watch(leaf.network)
    watch.begin()
    spine.frr.apply("no router bgp 65100\n")
    watch.look(spine)
    cables = [("leaf1:Ethernet0", "spine1:Ethernet0"), ("leaf2:Ethernet0", "spine1:Ethernet4")]
    assert [sorted(moment["down"]) for moment in watch.moments] == [cables]
