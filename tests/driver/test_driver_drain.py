"""Draining by the driver against simulated switches: the way back first, the switch's own timer, commits under it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from napalm.base.exceptions import CommitConfirmException, CommitError

from napalm_sonic.driver import SonicDriver
from sonic_sim import control
from sonic_sim.factory import factory_config
from sonic_sim.spec import SimDevice, SimSpec

pytestmark = pytest.mark.slow

PEERS = ("10.192.0.0", "10.192.0.2", "10.192.0.4")
FRR = """frr defaults traditional
hostname leaf1
!
router bgp 65001
 bgp router-id 10.255.0.1
 no bgp default ipv4-unicast
 neighbor SPINES peer-group
 neighbor 10.192.0.0 remote-as 65000
 neighbor 10.192.0.0 peer-group SPINES
 neighbor 10.192.0.2 remote-as 65000
 neighbor 10.192.0.2 peer-group SPINES
 neighbor 10.192.0.4 remote-as 65000
 !
 address-family ipv4 unicast
  neighbor SPINES activate
  neighbor SPINES route-map FROM-SPINES in
  neighbor SPINES route-map TO-SPINES out
  neighbor 10.192.0.4 activate
  neighbor 10.192.0.4 route-map ALONE in
 exit-address-family
exit
!
route-map ALONE permit 10
exit
!
route-map FROM-SPINES permit 10
exit
!
route-map TO-SPINES permit 10
exit
!
end
"""
CHANGE = {
    "PORT": {"Ethernet0": {"mtu": "9000"}},
    "bgpraw": "router bgp 65001\n neighbor 10.192.0.0 description renamed\nexit\n",
}

Open = Callable[[], SonicDriver]


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Open]]:
    """A provisioned leaf and a maker of sessions to it."""
    folder = tmp_path_factory.mktemp("sim")
    ports = {
        f"Ethernet{4 * n}": {"lanes": ",".join(str(4 * n + lane) for lane in range(4)), "speed": "100000"}
        for n in range(3)
    }
    mac = "52:54:00:00:00:01"
    factory = factory_config(ports, hwsku="Force10-S6000", platform="x86_64-kvm_x86_64-r0", mac=mac)
    ends = control.up(folder, SimSpec("drained", (SimDevice("leaf1", factory, "SN1", mac),)))
    arguments = {"port": ends.devices["leaf1"].port, "key_file": ends.key_file, "allow_agent": False}
    arguments |= {"alt_key_file": ends.known_hosts, "system_host_keys": False, "reload_poll": 0.05}

    def make() -> SonicDriver:
        return SonicDriver(ends.devices["leaf1"].address, ends.username, "", 300, dict(arguments))

    with make() as driver:
        document = json.loads(driver.get_config(retrieve="running")["running"])
        document["DEVICE_METADATA"]["localhost"] |= {
            "hostname": "leaf1",
            "docker_routing_config_mode": "split-unified",
        }
        document.pop("BGP_NEIGHBOR", None)
        driver.load_replace_candidate(config=json.dumps({**document, "bgpraw": FRR}))
        driver.commit_config()
    yield folder, make
    control.down(folder)


@pytest.fixture
def leaf(switch: tuple[Path, Open]) -> Iterator[SonicDriver]:
    """A session to the leaf, which ends undrained and as it began."""
    folder, make = switch
    with make() as driver:
        before = whole(driver)
        yield driver
    control.clear_fault(folder, "leaf1")
    with make() as driver:
        if driver.has_pending_commit():
            driver.rollback()
        driver.traffic.undrain()
        if whole(driver) != before:
            driver.load_replace_candidate(config=json.dumps(before))
            driver.commit_config()


def whole(driver: SonicDriver, which: str = "running") -> dict[str, Any]:
    return dict(json.loads(driver.get_config(retrieve=which)[which]))


def change(driver: SonicDriver, revert_in: int | None = 600) -> None:
    driver.load_merge_candidate(config=json.dumps(CHANGE))
    driver.commit_config(revert_in=revert_in)


def is_changed(driver: SonicDriver, which: str = "running") -> bool:
    found = whole(driver, which)
    in_rows = found["PORT"]["Ethernet0"].get("mtu") == "9000"
    in_frr = "description renamed" in found["bgpraw"]
    assert in_rows == in_frr, "half of the change"
    return in_frr


def saved(driver: SonicDriver) -> str:
    return str(whole(driver, "startup")["bgpraw"])


DRAINING = ("graceful-shutdown", "DRAINED")


def holds_drain(text: str) -> bool:
    return any(word in text for word in DRAINING)


@pytest.mark.parametrize(
    ("peers", "shown"), [(None, ("*",)), (["*"], ("*",)), ([PEERS[2], PEERS[0]], (PEERS[0], PEERS[2]))]
)
def test_an_operators_drain_is_saved_and_an_undrain_leaves_no_trace(
    leaf: SonicDriver, peers: list[str] | None, shown: tuple[str, ...]
) -> None:
    before = whole(leaf)
    for _ in range(2):
        leaf.traffic.drain(peers, revert_in=None)
        assert leaf.traffic.drained() == shown
        assert not leaf.has_pending_commit()
        assert holds_drain(saved(leaf))
    for _ in range(2):
        leaf.traffic.undrain()
        assert leaf.traffic.drained() == ()
        assert not holds_drain(saved(leaf))
    assert whole(leaf) == before


def test_a_drain_is_no_change_to_a_candidate(leaf: SonicDriver) -> None:
    before = whole(leaf)
    leaf.traffic.drain([PEERS[2]], revert_in=None)
    leaf.load_replace_candidate(config=json.dumps(before))
    assert leaf.compare_config() == ""
    change(leaf, None)
    assert leaf.traffic.drained() == (PEERS[2],)
    leaf.rollback()
    assert (is_changed(leaf), leaf.traffic.drained()) == (False, (PEERS[2],))


def test_peers_that_are_not_there_carry_nothing(leaf: SonicDriver) -> None:
    leaf.traffic.drain(["10.9.9.9"], revert_in=600)
    assert leaf.traffic.drained() == ()
    assert not leaf.has_pending_commit()


def test_the_switch_ends_a_temporary_drain_that_nobody_ended(leaf: SonicDriver, switch: tuple[Path, Open]) -> None:
    before = whole(leaf)
    leaf.traffic.drain(None, revert_in=600, message="for a change")
    assert leaf.has_pending_commit()
    assert leaf.traffic.drained() == ("*",)
    assert not holds_drain(saved(leaf))
    leaf.close()
    control.pass_time(switch[0], 600)
    with switch[1]() as later:
        assert not later.has_pending_commit()
        assert whole(later) == before


def test_a_commit_takes_the_drain_over_and_the_undrain_comes_before_the_confirmation(leaf: SonicDriver) -> None:
    leaf.traffic.drain([PEERS[0]], revert_in=600)
    change(leaf)
    assert (is_changed(leaf), leaf.traffic.drained()) == (True, (PEERS[0],))
    leaf.traffic.undrain()
    assert (is_changed(leaf), leaf.traffic.drained()) == (True, ())
    assert leaf.has_pending_commit()
    assert not is_changed(leaf, "startup")
    leaf.confirm_commit()
    assert is_changed(leaf, "startup")
    assert not holds_drain(saved(leaf))
    commit = leaf.revert_timer.status().commit_id
    undo = leaf.changes.rollback_document(commit)
    assert undo["PORT"]["Ethernet0"]["mtu"] in ("9100", None)
    leaf.load_merge_candidate(config=json.dumps(undo))
    leaf.commit_config()
    assert not is_changed(leaf)


@pytest.mark.parametrize("way", ["rollback", "timer"])
def test_what_undoes_the_commit_ends_its_drain(leaf: SonicDriver, switch: tuple[Path, Open], way: str) -> None:
    before = whole(leaf)
    leaf.traffic.drain(PEERS, revert_in=600)
    change(leaf)
    assert is_changed(leaf)
    if way == "rollback":
        leaf.rollback()
    else:
        control.pass_time(switch[0], 600)
    leaf.close()
    with switch[1]() as later:
        assert not later.has_pending_commit()
        assert whole(later) == before


def test_a_confirmation_ends_a_drain_that_was_forgotten(leaf: SonicDriver, switch: tuple[Path, Open]) -> None:
    leaf.traffic.drain(None, revert_in=600)
    change(leaf)
    leaf.close()
    with switch[1]() as other:
        other.confirm_commit()
        assert (is_changed(other, "startup"), other.traffic.drained()) == (True, ())
        assert not holds_drain(saved(other))


def test_a_commit_that_is_kept_at_once_ends_its_drain_before_it_is_saved(leaf: SonicDriver) -> None:
    leaf.traffic.drain(None, revert_in=600)
    change(leaf, None)
    assert (is_changed(leaf, "startup"), leaf.traffic.drained(), leaf.has_pending_commit()) == (True, (), False)
    assert not holds_drain(saved(leaf))


@pytest.mark.parametrize("command", ["config apply-patch", "vtysh -f"])
def test_a_refused_commit_ends_its_drain(leaf: SonicDriver, switch: tuple[Path, Open], command: str) -> None:
    before = whole(leaf)
    leaf.traffic.drain(None, revert_in=600)
    control.fault(switch[0], "leaf1", "refuse-commit", command=command)
    with pytest.raises(CommitError, match="earlier configuration is restored"):
        change(leaf)
    assert whole(leaf) == before
    assert not leaf.has_pending_commit()
    if command == "vtysh -f":
        leaf.traffic.drain(None, revert_in=600)
        change(leaf)
        assert (is_changed(leaf), leaf.traffic.drained()) == (True, ("*",))


def test_an_operators_drain_outlives_a_temporary_one_and_its_commit(leaf: SonicDriver) -> None:
    leaf.traffic.drain([PEERS[1]], revert_in=None)
    leaf.traffic.drain([PEERS[0], PEERS[1]], revert_in=600)
    assert leaf.traffic.drained() == PEERS[:2]
    change(leaf)
    leaf.traffic.undrain()
    assert leaf.traffic.drained() == (PEERS[1],)
    leaf.confirm_commit()
    assert holds_drain(saved(leaf))
    leaf.traffic.drain(None, revert_in=600)
    leaf.traffic.undrain()
    assert leaf.traffic.drained() == (PEERS[1],)


def test_what_is_pending_is_named_to_whoever_comes_next(leaf: SonicDriver, switch: tuple[Path, Open]) -> None:
    leaf.traffic.drain(None, revert_in=600)
    with pytest.raises(CommitConfirmException, match=r"only a temporary drain: undrain\(\) ends it"):
        leaf.confirm_commit()
    with switch[1]() as other:
        with pytest.raises(CommitError, match="is armed"):
            other.traffic.drain([PEERS[0]], revert_in=None)
        with pytest.raises(CommitError, match="is armed"):
            change(other)
        other.rollback()
        assert other.traffic.drained() == ()
    with pytest.raises(CommitError, match="drain was over"):
        change(leaf)
    assert not is_changed(leaf)
    with pytest.raises(CommitError, match="whole number of seconds"):
        leaf.traffic.drain(None, revert_in=0)


def test_the_commit_before_a_drain_is_still_the_one_to_roll_back(leaf: SonicDriver) -> None:
    change(leaf, None)
    kept = leaf.revert_timer.status().commit_id
    leaf.traffic.drain(None, revert_in=600)
    leaf.traffic.undrain()
    assert leaf.changes.rollback_document(kept)["PORT"]["Ethernet0"]
    leaf.rollback()
    assert not is_changed(leaf)


def test_a_refused_drain_leaves_nothing_behind(leaf: SonicDriver, switch: tuple[Path, Open]) -> None:
    before = whole(leaf)
    for revert_in in (600, None):
        control.fault(switch[0], "leaf1", "refuse-commit", command="vtysh -f")
        with pytest.raises(CommitError, match="FRR did not drain"):
            leaf.traffic.drain(None, revert_in=revert_in)
        assert whole(leaf) == before
        assert not leaf.has_pending_commit()


def test_a_session_lost_while_draining_is_opened_again(leaf: SonicDriver, switch: tuple[Path, Open]) -> None:
    before = whole(leaf)
    control.fault(switch[0], "leaf1", "drop-session", command="vtysh -f", moment="after")
    leaf.traffic.drain(None, revert_in=600)
    assert leaf.traffic.drained() == ("*",)
    leaf.traffic.undrain()
    assert whole(leaf) == before


def test_a_reload_ends_a_temporary_drain_and_so_does_its_way_back(leaf: SonicDriver) -> None:
    leaf.traffic.drain(None, revert_in=600)
    leaf.load_merge_candidate(config=json.dumps({"DEVICE_METADATA": {"localhost": {"type": "SpineRouter"}}}))
    leaf.commit_config(revert_in=600)
    assert leaf.traffic.drained() == ()
    leaf.rollback()
    assert leaf.traffic.drained() == ()
    assert whole(leaf)["DEVICE_METADATA"]["localhost"]["type"] != "SpineRouter"
    assert not holds_drain(saved(leaf))


def test_a_session_whose_drain_is_over_leaves_the_drain_of_another_one(
    leaf: SonicDriver, switch: tuple[Path, Open]
) -> None:
    """It slept longer than its drain's timer; what drains now is somebody else's, saved or for a change."""
    _, make = switch
    leaf.traffic.drain([PEERS[0]], revert_in=600)
    with make() as other:
        other.revert_timer.revert(commit_id=other.revert_timer.status().commit_id)
        other.traffic.drain([PEERS[1]], revert_in=600)
        with pytest.raises(CommitError, match="waits there; its drain was left as it is"):
            leaf.traffic.undrain()
        assert other.traffic.drained() == (PEERS[1],)
        change(other)
        with pytest.raises(CommitError, match="waits there; its drain was left as it is"):
            leaf.traffic.undrain()
        assert other.traffic.drained() == (PEERS[1],)
        other.confirm_commit()
        other.traffic.drain([PEERS[1]], revert_in=None)
        leaf.traffic.undrain()
        assert other.traffic.drained() == (PEERS[1],)
