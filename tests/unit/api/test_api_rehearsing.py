"""Where a rehearsal takes the state of switches from, how its twin is cabled, and that a twin is on loopback alone."""

import json
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

from nornir_railweave.target.model import Address, Source, Target
from nornir_railweave.target.rollout import Rollout
from nornir_railweave.tasks.recording import RecordedSwitch, startup_of
from railweave.api import open_project
from railweave.api.design.intent import Designed, load_designed
from railweave.api.simulator.rehearsal import rehearse
from railweave.api.simulator.rehearsal_files import store, stored
from railweave.api.simulator.sim import simulator_spec
from railweave.api.simulator.states import states_of
from railweave.api.simulator.twin import cabled_as_seen, dark_ports, refuse_other_machines, sim_state, twin_target
from railweave.catalog.load import load_catalog
from railweave.errors import RailweaveError, UsageError
from railweave.plan.document import plan_digest
from railweave.plan.model import Plan
from railweave.plan.observation import LldpNeighbor, Observation, PortState
from railweave.plan.outcome import DeployResult, Result
from railweave.plan.rehearsal import InjectedFault, Rehearsal
from railweave.sonic.document import RunningConfig
from sonic_sim.control import Endpoint, Endpoints

LAB = Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml"
LEAF, SPINE, OTHER_SPINE = "lab-leaf1", "lab-spine1", "lab-spine2"
UP, DOWN = PortState(True, True, 9100), PortState(True, False, 9100)


@pytest.fixture(scope="module")
def lab() -> Designed:
    return load_designed(LAB)


@pytest.fixture(scope="module")
def deployed(lab: Designed) -> Mapping[str, RecordedSwitch]:
    return states_of(open_project(LAB), lab, str(LAB)).recorded


def with_seen(
    recorded: Mapping[str, RecordedSwitch], lldp: Mapping[tuple[str, str], tuple[str, str]], down: tuple[str, ...] = ()
) -> dict[str, RecordedSwitch]:
    """Return recorded switches that show these neighbors, and every port up but those of ``down``."""
    made = {}
    for name, one in recorded.items():
        assert one.running is not None
        ports = {port: DOWN if f"{name}:{port}" in down else UP for port in one.running.config_db["PORT"]}
        neighbors = {port: (LldpNeighbor(*far),) for (device, port), far in lldp.items() if device == name}
        made[name] = replace(one, seen=Observation(ports=ports, lldp=neighbors))
    return made


def test_a_revision_of_the_intent_is_taken_to_be_deployed(
    lab: Designed, deployed: Mapping[str, RecordedSwitch]
) -> None:
    assert deployed.keys() == lab.fabric.switch_of.keys()
    running = deployed[LEAF].running
    assert running is not None
    assert running.config_db["DEVICE_METADATA"]["localhost"]["hostname"] == LEAF
    assert running.config_db["TACPLUS_SERVER"], "rows of a site are on the switch as well"
    assert running.frr is not None
    assert "router bgp" in running.frr
    state = sim_state(deployed[LEAF])
    assert state.running == state.startup


def test_a_folder_without_whole_documents_is_refused(lab: Designed, tmp_path: Path) -> None:
    project = open_project(LAB)
    with pytest.raises(UsageError, match=r"holds no document of a switch of lab: lab-leaf1\.json"):
        states_of(project, lab, str(tmp_path))
    for text, said in (("[]", "the document is not a JSON object"), ('{"PORT": {}}', "not a whole configuration")):
        (tmp_path / f"{LEAF}.json").write_text(text)
        with pytest.raises(RailweaveError, match=said):
            states_of(project, lab, str(tmp_path))
    (tmp_path / f"{LEAF}.json").write_text(json.dumps({"PORT": {}, "DEVICE_METADATA": {}, "bgpraw": "router bgp 1\n"}))
    found = states_of(project, lab, str(tmp_path))
    assert found.recorded == {
        LEAF: RecordedSwitch(running=RunningConfig({"PORT": {}, "DEVICE_METADATA": {}}, "router bgp 1\n"))
    }


def test_cables_are_those_that_lldp_shows(lab: Designed, deployed: Mapping[str, RecordedSwitch]) -> None:
    spec = simulator_spec(lab.fabric, load_catalog())
    assert cabled_as_seen(spec, lab.fabric, with_seen(deployed, {})) == spec
    swapped = {
        (LEAF, "Ethernet112"): (OTHER_SPINE, "Ethernet0"),
        (SPINE, "Ethernet0"): (LEAF, "Ethernet116"),
        (LEAF, "Ethernet0"): ("somebody", "eth0"),
    }
    ends = {(one.a, one.b) for one in cabled_as_seen(spec, lab.fabric, with_seen(deployed, swapped)).cables}
    plain = {(one.a, one.b) for one in spec.cables}
    assert ends - plain == {
        (f"{LEAF}:Ethernet112", f"{OTHER_SPINE}:Ethernet0"),
        (f"{LEAF}:Ethernet116", f"{SPINE}:Ethernet0"),
    }
    assert plain - ends == {
        (f"{LEAF}:Ethernet112", f"{SPINE}:Ethernet0"),
        (f"{LEAF}:Ethernet116", f"{OTHER_SPINE}:Ethernet0"),
    }


def test_a_link_is_dark_where_it_should_be_up(lab: Designed, deployed: Mapping[str, RecordedSwitch]) -> None:
    spec = simulator_spec(lab.fabric, load_catalog())
    seen = with_seen(deployed, {}, (f"{LEAF}:Ethernet112", f"{SPINE}:Ethernet0", f"{LEAF}:Ethernet8"))
    assert dark_ports(spec, seen, ()) == ((LEAF, "Ethernet8"), (LEAF, "Ethernet112"))
    assert dark_ports(spec, seen, (SPINE,)) == ((LEAF, "Ethernet8"),)
    assert dark_ports(spec, deployed, ()) == ()
    running = seen[SPINE].running
    assert running is not None
    port = {**running.config_db["PORT"]["Ethernet0"], "admin_status": "down"}
    tables = {**running.config_db, "PORT": {**running.config_db["PORT"], "Ethernet0": port}}
    seen[SPINE] = replace(seen[SPINE], running=RunningConfig(tables, running.frr))
    assert dark_ports(spec, seen, ()) == ((LEAF, "Ethernet8"),), "it is down on purpose"


def test_what_a_reader_may_not_see_of_the_startup_is_unknown() -> None:
    assert startup_of("") is None
    assert startup_of('{"bgpraw": null}') is None
    text = '{"DEVICE_METADATA": {"localhost": {}}, "PORT": {}, "bgpraw": "router bgp 1\\n"}'
    known = startup_of(text)
    assert known is not None
    assert known.frr == "router bgp 1\n"


ENDPOINTS = Endpoints({LEAF: Endpoint("127.1.2.3", 2222)}, "admin", "key", "known", 1)


def test_a_twin_has_nothing_of_the_login_of_its_target() -> None:
    of = Target("production", Source.ADDRESSES, address="{name}.example.net", options={"secret": "x"})
    made = twin_target(of, ENDPOINTS)
    assert (made.name, made.address, made.login.agent, made.login.strict) == ("production", None, False, True)
    assert made.devices == {LEAF: Address("127.1.2.3", 2222)}
    assert "secret" not in made.options
    assert made.rollout.soak_s == 0


def test_the_patience_with_a_twin_grows_with_its_switches_alone() -> None:
    hasty = Target("production", Source.ADDRESSES, rollout=Rollout(verify_timeout_s=1, revert_in_s=60, workers=7))
    large = replace(ENDPOINTS, devices={f"leaf{number}": Endpoint("127.0.0.1", 1) for number in range(1000)})
    for endpoints, patience_s in ((ENDPOINTS, 10.1), (large, 110.0)):
        rollout = twin_target(hasty, endpoints).rollout
        assert rollout.verify_timeout_s == rollout.drain_timeout_s == pytest.approx(patience_s)
        assert rollout.revert_in_s == ceil(3 * patience_s)
        assert rollout.workers == 7


def test_a_twin_that_is_not_on_loopback_is_refused(lab: Designed) -> None:
    made = twin_target(Target("production", Source.ADDRESSES), ENDPOINTS)
    elsewhere = {name: Address("192.0.2.1") for name in lab.fabric.switch_of}
    for target in (made, replace(made, devices=elsewhere)):
        with pytest.raises(RailweaveError, match="its twin is not on loopback, so nothing was rehearsed"):
            refuse_other_machines(lab.fabric, target)


def test_a_reviewed_plan_and_another_state_exclude_each_other() -> None:
    with pytest.raises(UsageError) as refused:
        rehearse(open_project(LAB), "sim", reviewed=Path("plan.json"), running="HEAD")
    assert str(refused.value) == "a plan's file is of devices that were read: omit it, or --running"


def test_a_rehearsal_is_found_by_its_plan_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan, other = (Plan("lab", target, "", {}, ()) for target in ("sim", "production"))
    assert stored(plan) == ()
    made = Rehearsal(
        "lab", "sim", plan_digest(plan), "2026-11-23T12:00:00+00:00", "target sim", 4, 2.0, 0,
        result=DeployResult(Result.UNCHANGED, {}),
    )  # fmt: skip
    store(made, Path("plan.json"))
    store(replace(made, faults=(InjectedFault(LEAF, "slow"),)))
    assert [len(one["faults"]) for one in stored(plan)] == [0, 1]
    assert stored(other) == ()
    assert stored(other, Path("plan.json")) == ()
    Path("plan.rehearsal.json").write_text("{")
    assert [len(one["faults"]) for one in stored(plan, Path("plan.json"))] == [0, 1]
