"""The driver against simulated switches: SONiC's own texts, refusals, waits and session losses, over real SSH."""

import json
import re
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest
from napalm.base.exceptions import (
    CommandErrorException,
    CommitConfirmException,
    CommitError,
    ConnectionClosedException,
    ConnectionException,
    LockError,
    MergeConfigException,
)

from napalm_sonic import drain
from napalm_sonic.driver import SonicDriver
from napalm_sonic.reading import Reading
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import DeviceDiff, diff
from railweave.sonic.delta.merge import delta_of, merge_document
from railweave.sonic.document import parse_running
from railweave.sonic.frr import parse_frr
from railweave.sonic.ownership import OWNED
from railweave.sonic.rows import DeviceConfig, Row
from railweave.switch_driver import ObserveRequest
from sonic_sim import control
from sonic_sim.factory import factory_config
from sonic_sim.spec import SimCable, SimDevice, SimSpec

pytestmark = pytest.mark.slow

LEAF_FRR = """ip prefix-list LOOPBACK seq 5 permit 10.255.0.1/32
!
route-map OUT permit 10
 match ip address prefix-list LOOPBACK
exit
!
route-map IN permit 10
exit
!
router bgp 65001
 bgp router-id 10.255.0.1
 neighbor 10.192.0.0 remote-as 65000
 neighbor 10.192.0.0 description spine1
 !
 address-family ipv4 unicast
  network 10.255.0.1/32
  neighbor 10.192.0.0 route-map IN in
  neighbor 10.192.0.0 route-map OUT out
 exit-address-family
exit
"""
SPINE_FRR = (
    LEAF_FRR.replace("65001", "65x")
    .replace("65000", "65001")
    .replace("65x", "65000")
    .replace("10.255.0.1", "10.255.0.2")
    .replace("10.192.0.0", "10.192.0.1")
    .replace("spine1", "leaf1")
)


def device(name: str, number: int) -> SimDevice:
    """Return a switch with four ports."""
    ports = {
        f"Ethernet{4 * n}": {
            "lanes": ",".join(str(4 * n + lane) for lane in range(1, 5)),
            "speed": "40000",
            "alias": f"fortyGigE0/{4 * n}",
            "index": str(n),
        }
        for n in range(4)
    }
    mac = f"52:54:00:00:00:{number:02x}"
    factory = factory_config(ports, hwsku="Force10-S6000", platform="x86_64-kvm_x86_64-r0", mac=mac)
    return SimDevice(name, factory, f"SN{number}", mac)


Open = Callable[..., SonicDriver]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Open]]:
    """A leaf and a spine on one cable, and a maker of drivers for them."""
    folder = tmp_path_factory.mktemp("sim")
    devices = (device("leaf1", 1), device("spine1", 2), device("leaf9", 9))
    spec = SimSpec("drivertest", devices, (), (SimCable("leaf1:Ethernet0", "spine1:Ethernet0"),))
    ends = control.up(folder, spec)

    def make(name: str, **optional_args: Any) -> SonicDriver:
        end = ends.devices[name]
        arguments = {
            "port": end.port,
            "key_file": ends.key_file,
            "allow_agent": False,
            "alt_key_file": ends.known_hosts,
            "system_host_keys": False,
            "reload_poll": 0.05,
            **optional_args,
        }
        return SonicDriver(end.address, ends.username, "", 300, arguments)

    yield folder, make
    control.down(folder)


def whole(driver: SonicDriver, name: str, address: str, loopback: str, frr: str) -> dict[str, Any]:
    """Return the whole wanted configuration of a switch: its own rows, and of the factory what a site has added."""
    document: dict[str, Any] = json.loads(driver.get_config(retrieve="running")["running"])
    document["DEVICE_METADATA"]["localhost"].update(
        {"hostname": name, "type": "ToRRouter", "docker_routing_config_mode": "split-unified"}
    )
    document["LOOPBACK_INTERFACE"] = {"Loopback0": {}, f"Loopback0|{loopback}/32": {}}
    document["INTERFACE"] = {"Ethernet0": {}, f"Ethernet0|{address}/31": {}}
    for table in ("BGP_NEIGHBOR", "DEVICE_NEIGHBOR"):
        document.pop(table, None)
    return {**document, "bgpraw": frr}


@pytest.fixture(scope="module")
def provisioned(fabric: tuple[Path, Open]) -> Open:
    """Both switches with BGP between them, by a whole replace that reloads."""
    _, make = fabric
    for name, address, loopback, frr in (
        ("leaf1", "10.192.0.1", "10.255.0.1", LEAF_FRR),
        ("spine1", "10.192.0.0", "10.255.0.2", SPINE_FRR),
    ):
        with make(name) as driver:
            wanted = json.dumps(whole(driver, name, address, loopback, frr))
            driver.load_replace_candidate(config=wanted)
            assert "hostname: sonic" in driver.compare_config()
            driver.commit_config(message="provision", revert_in=600)
            assert driver.has_pending_commit()
            driver.confirm_commit()
            driver.load_replace_candidate(config=wanted)
            assert driver.compare_config() == ""
    return make


@pytest.fixture
def leaf(provisioned: Open, fabric: tuple[Path, Open]) -> Iterator[SonicDriver]:
    """A session to the leaf, which ends as it began."""
    folder, _ = fabric
    with provisioned("leaf1") as driver:
        before = driver.get_config(retrieve="running")["running"]
    with provisioned("leaf1") as driver:
        yield driver
    control.clear_fault(folder, "leaf1")
    with provisioned("leaf1") as driver:
        if driver.has_pending_commit():
            driver.rollback()
        driver.load_replace_candidate(config=before)
        driver.commit_config()


def running(driver: SonicDriver) -> dict[str, Any]:
    """Return what runs, FRR as a set of lines."""
    document: dict[str, Any] = json.loads(driver.get_config(retrieve="running")["running"])
    return {**document, "bgpraw": frozenset(parse_frr(document["bgpraw"]).entries)}


def load(driver: SonicDriver, document: dict[str, Any]) -> None:
    driver.load_merge_candidate(config=json.dumps(document))


CHANGE = {
    "PORT": {"Ethernet0": {"mtu": "9000", "description": "to spine1"}},
    "DSCP_TO_TC_MAP": {"ROCE": {"26": "3", "48": "6"}},
    "bgpraw": "router bgp 65001\n neighbor 10.192.0.0 description renamed\nexit\n",
}


def test_the_provisioned_pair_shows_in_every_getter(provisioned: Open) -> None:
    with provisioned("leaf1") as driver:
        facts = driver.get_facts()
        assert (facts["hostname"], facts["vendor"], facts["serial_number"]) == ("leaf1", "SONiC", "SN1")
        assert facts["interface_list"][0] == "Ethernet0"
        port = driver.get_interfaces()["Ethernet0"]
        assert (port["is_up"], port["is_enabled"], port["mtu"], port["speed"]) == (True, True, 9100, 40000.0)
        assert port["mac_address"] == "52:54:00:00:00:01"
        assert driver.get_interfaces_ip()["Ethernet0"]["ipv4"] == {"10.192.0.1": {"prefix_length": 31}}
        assert driver.get_interfaces_counters()["Ethernet0"]["rx_errors"] >= -1
        assert driver.get_lldp_neighbors()["Ethernet0"][0]["hostname"] == "spine1"
        assert driver.get_lldp_neighbors_detail("Ethernet0")["Ethernet0"][0]["remote_port_description"] == "Ethernet0"
        peer = driver.get_bgp_neighbors()["global"]["peers"]["10.192.0.0"]
        assert (peer["is_up"], peer["remote_as"], peer["description"]) == (True, 65000, "spine1")
        assert peer["remote_id"] == "10.255.0.2"
        assert json.loads(driver.get_config(retrieve="startup")["startup"])["DEVICE_METADATA"]


def test_one_answer_shows_state_and_counters_over_a_while(provisioned: Open) -> None:
    with provisioned("leaf1") as driver:
        seen = driver.revert_timer.observe(ObserveRequest(counters=True, over_s=30))
        assert seen.get_interfaces() == driver.get_interfaces()
        assert seen.get_bgp_neighbors()["global"]["peers"]["10.192.0.0"]["is_up"]
        earlier, later = seen.counted
        assert later.at_s - earlier.at_s == pytest.approx(30, abs=1)
        assert later.ports.keys() == driver.get_interfaces_counters().keys()
        assert driver.revert_timer.observe(ObserveRequest(state=False, counters=True)).shown == {}


def test_monitoring_gets_a_state_once_and_again_when_it_changes(leaf: SonicDriver, provisioned: Open) -> None:
    request = ObserveRequest(telemetry=True)
    with provisioned("leaf1") as monitor:
        first = monitor.revert_timer.read(request=request).view
        assert first is not None
        assert first.get_interfaces() == leaf.get_interfaces()
        assert first.get_lldp_neighbors_detail() == leaf.get_lldp_neighbors_detail()
        again = monitor.revert_timer.read(request=request)
        assert again.view is first
        assert again.telemetry is not None
        counted = leaf.revert_timer.all_counters()
        for table in ("ports", "queues", "groups"):
            for name, row in again.telemetry["counters"][table].items():
                assert row.keys() <= counted[table][name].keys()
        load(leaf, {"PORT": {"Ethernet0": {"mtu": "9000"}}})
        leaf.commit_config()
        later = monitor.revert_timer.read(request=request).view
        assert later is not None
        assert later.get_interfaces()["Ethernet0"]["mtu"] == 9000


def test_what_a_session_learns_of_its_change_is_what_another_reads(leaf: SonicDriver, provisioned: Open) -> None:
    before = leaf.revert_timer.read()
    assert leaf.revert_timer.read().running is before.running
    delta = delta_of(CHANGE, before.running)
    applied = leaf.changes.apply(delta, revert_in=600, request=ObserveRequest())
    assert isinstance(applied.reading, Reading)
    assert applied.reading.view is not None
    assert applied.reading.status.commit_id == applied.commit_id
    with provisioned("leaf1") as other:
        read = other.revert_timer.read()
    assert applied.reading.running == read.running
    assert (applied.reading.tables_digest, applied.reading.frr_digest) == (read.tables_digest, read.frr_digest)
    assert not leaf.changes.confirm(applied.commit_id, only=before)
    assert leaf.changes.confirm(applied.commit_id, only=read)
    leaf.rollback()


def test_a_closed_session_holds_nothing_that_it_read(provisioned: Open) -> None:
    driver = provisioned("leaf1")
    driver.open()
    held = weakref.ref(driver.revert_timer.read().running)
    driver.close()
    assert held() is None  # at once: no search for garbage is waited for
    with driver:
        assert driver.revert_timer.read().running.port_rows


def test_a_drain_for_a_change_parses_no_text_of_frr_again(leaf: SonicDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    assert leaf.revert_timer.read().running.frr_document is not None
    monkeypatch.setattr(drain, "parse_frr", None)
    leaf.traffic.drain(None, revert_in=600)
    known = leaf.revert_timer.last_reading
    assert known is not None
    assert known.running.frr is not None
    assert known.running.frr_document == parse_frr(known.running.frr)
    monkeypatch.undo()
    leaf.traffic.undrain()
    assert leaf.traffic.drained() == ()


def test_a_drain_made_for_what_runs_no_more_is_made_for_what_runs(leaf: SonicDriver, provisioned: Open) -> None:
    leaf.revert_timer.read()
    with provisioned("leaf1") as other:
        other.traffic.drain(["10.192.0.0"], revert_in=None)
    leaf.traffic.drain(None, revert_in=600)
    assert leaf.traffic.drained() == ("*",)
    leaf.traffic.undrain()
    assert leaf.traffic.drained() == ("10.192.0.0",)
    leaf.traffic.undrain()


def test_rows_of_the_site_survive_the_provisioning(provisioned: Open) -> None:
    with provisioned("leaf1") as driver:
        document = running(driver)
    assert {"MGMT_INTERFACE", "SNMP_COMMUNITY"} <= document.keys()


def test_a_merge_is_applied_saved_and_undone_by_a_later_session(leaf: SonicDriver, provisioned: Open) -> None:
    before = running(leaf)
    load(leaf, CHANGE)
    assert "+  mtu: 9000" in leaf.compare_config()
    leaf.commit_config(message="smaller")
    assert leaf.compare_config() == ""
    after = running(leaf)
    assert after["PORT"]["Ethernet0"]["mtu"] == "9000"
    startup = json.loads(leaf.get_config(retrieve="startup")["startup"])
    assert startup["DSCP_TO_TC_MAP"] == after["DSCP_TO_TC_MAP"]
    assert "renamed" in startup["bgpraw"]
    with provisioned("leaf1") as later:
        later.rollback()
        assert running(later) == before
        with pytest.raises(CommitError, match="no commit to roll back"):
            later.rollback()


def test_what_somebody_changed_by_hand_is_saved_whole_and_only_while_no_commit_waits(leaf: SonicDriver) -> None:
    leaf.cli(["sudo -n sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet4' mtu 1500"])
    leaf.cli(["sudo -n vtysh -c 'configure terminal' -c 'ip prefix-list BY-HAND seq 5 permit any'"])
    last = leaf.revert_timer.status()
    leaf.changes.save()
    startup = json.loads(leaf.get_config(retrieve="startup")["startup"])
    assert (startup["PORT"]["Ethernet4"]["mtu"], "BY-HAND" in startup["bgpraw"]) == ("1500", True)
    assert leaf.revert_timer.status() == last
    load(leaf, CHANGE)
    leaf.commit_config(revert_in=600)
    with pytest.raises(CommitError, match=f"{leaf.hostname}: commit .* is armed"):
        leaf.changes.save()


WATCHDOG = {"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop", "detection_time": "400"}}}
NO_WATCHDOG = {"PFC_WD": {"GLOBAL": None, "Ethernet0": None}}


def ports_up(driver: SonicDriver) -> list[str]:
    return [name for name, port in driver.get_interfaces().items() if port["is_up"]]


def test_no_way_back_and_no_replace_deletes_the_row_that_orchagent_crashes_without(
    leaf: SonicDriver, provisioned: Open, fabric: tuple[Path, Open]
) -> None:
    without = leaf.get_config(retrieve="running")["running"]
    up = ports_up(leaf)
    assert "Ethernet0" in up
    load(leaf, WATCHDOG)
    leaf.commit_config(revert_in=600)
    leaf.rollback()
    assert running(leaf)["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "100"}}
    load(leaf, NO_WATCHDOG)
    assert leaf.compare_config() == ""
    load(leaf, WATCHDOG)
    leaf.commit_config()
    leaf.load_replace_candidate(config=without)
    assert "removed" in leaf.compare_config()
    leaf.commit_config()
    assert leaf.compare_config() == ""
    load(leaf, WATCHDOG)
    leaf.commit_config(revert_in=600)
    leaf.close()
    with provisioned("leaf1") as later:
        control.pass_time(fabric[0], 600)
        assert not later.has_pending_commit()
        assert running(later)["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "100"}}
        assert ports_up(later) == up


def planned(driver: SonicDriver, wanted: DeviceConfig) -> DeviceDiff:
    return diff(wanted.device, parse_running(driver.get_config(retrieve="running")["running"]), wanted)


def test_plan_and_driver_agree_on_what_sonics_frr_prints(leaf: SonicDriver, provisioned: Open) -> None:
    """A management VRF, a route in it that is somebody else's, and the defaults that SONiC's FRR prints everywhere."""
    load(leaf, {"MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "true"}}})
    leaf.commit_config()
    load(leaf, {"bgpraw": "vrf mgmt\n ip route 0.0.0.0/0 192.0.2.1\nexit-vrf\n"})
    leaf.commit_config()
    printed = parse_running(leaf.get_config(retrieve="running")["running"])
    assert str(printed.frr).count("ipv6 nht resolve-via-default") == 2
    rows = tuple(
        Row(table, key, fields, "")
        for table, found in printed.config_db.items()
        if table in OWNED
        for key, fields in found.items()
    )
    frr = LEAF_FRR.replace("description spine1", "description renamed") + "ip nht resolve-via-default\n"
    wanted = DeviceConfig("leaf1", rows, frr)
    found = planned(leaf, wanted)
    assert [change.field for change in found.delta] == [
        "neighbor 10.192.0.0 description spine1",
        "neighbor 10.192.0.0 description renamed",
    ]
    load(leaf, merge_document(found.delta))
    leaf.commit_config(revert_in=600)
    leaf.confirm_commit()
    assert planned(leaf, wanted).delta == Delta()
    assert leaf.compare_config() == ""
    with provisioned("leaf1") as later:
        later.rollback()
        assert running(later)["bgpraw"] == frozenset(parse_frr(str(printed.frr)).entries)
        assert "ip route 0.0.0.0/0 192.0.2.1" in later.get_config(retrieve="running")["running"]
        assert planned(later, wanted).delta == found.delta


POLICY = """ip prefix-list PL_LoopbackV4 seq 5 permit 10.255.0.1/32
route-map OUT-V4 permit 100
exit
router bgp 65001
 address-family ipv4 unicast
  neighbor 10.192.0.0 route-map OUT-V4 out
 exit-address-family
exit
"""


def system_mode(driver: SonicDriver) -> str:
    return str(driver.cli(["sudo -n TSC no-stats"])["sudo -n TSC no-stats"]).strip()


@pytest.mark.parametrize("ending", ["confirmed", "reverted", "in time"])
def test_tsa_and_a_change_that_waits_do_not_touch_each_other(
    leaf: SonicDriver, fabric: tuple[Path, Open], ending: str
) -> None:
    load(leaf, {"bgpraw": POLICY})
    leaf.commit_config()
    before = running(leaf)
    leaf.cli(["sudo -n TSA"])
    load(leaf, {"bgpraw": "router bgp 65001\n neighbor 10.192.0.0 description renamed\n"})
    leaf.commit_config(revert_in=600)
    assert system_mode(leaf) == "System Mode: Maintenance"
    leaf.cli(["sudo -n TSB"])
    if ending == "confirmed":
        leaf.cli(["sudo -n TSA"])
        leaf.confirm_commit()
        assert "deny 40" not in leaf.get_config(retrieve="startup")["startup"], "CONFIG_DB alone holds the state"
        leaf.cli(["sudo -n TSB"])
    elif ending == "reverted":
        leaf.rollback()
    else:
        control.pass_time(fabric[0], 600)
        assert not leaf.has_pending_commit()
    assert system_mode(leaf) == "System Mode: Normal"
    if ending != "confirmed":
        assert running(leaf)["bgpraw"] == before["bgpraw"]


def test_a_pending_commit_is_seen_and_confirmed_by_another_session(leaf: SonicDriver, provisioned: Open) -> None:
    load(leaf, CHANGE)
    leaf.commit_config(revert_in=600)
    assert "renamed" not in leaf.get_config(retrieve="startup")["startup"]
    leaf.close()
    with provisioned("leaf1") as other:
        assert other.has_pending_commit()
        load(other, {"PORT": {"Ethernet4": {"mtu": "9000"}}})
        with pytest.raises(CommitError, match="armed"):
            other.commit_config()
        other.confirm_commit()
        assert not other.has_pending_commit()
        assert "renamed" in other.get_config(retrieve="startup")["startup"]
        with pytest.raises(CommitConfirmException):
            other.confirm_commit()


def test_a_transaction_cut_in_its_upload_changes_nothing_and_names_the_switch(
    leaf: SonicDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, sendall = running(leaf), paramiko.Channel.sendall

    def cut(channel: paramiko.Channel, data: bytes) -> None:
        if b'"frr_ignored"' not in data:
            return sendall(channel, data)
        sendall(channel, data[: len(data) // 2])
        channel.get_transport().close()
        raise EOFError

    monkeypatch.setattr(paramiko.Channel, "sendall", cut)
    load(leaf, CHANGE)
    with pytest.raises(ConnectionClosedException, match="nothing was changed: the switch never began it") as caught:
        leaf.commit_config()
    assert str(leaf.hostname) in str(caught.value)
    assert running(leaf) == before
    assert not leaf.has_pending_commit()
    assert leaf.revert_timer.recover().outcome == "healthy"


STATE = "/var/lib/railweave/transaction.json"


def test_a_damaged_state_is_recovered_and_what_was_restored_is_named(leaf: SonicDriver) -> None:
    """Its guard is killed too: it would restore what it remembers within a second."""
    before = running(leaf)
    load(leaf, {**CHANGE, "PORT": {"Ethernet4": {"mtu": "9000"}}})
    leaf.commit_config(revert_in=600)
    leaf.cli([f"sudo -n systemctl kill railweave-switch-{leaf.revert_timer.status().commit_id}"])
    leaf.cli([f"sudo -n sh -c 'echo > {STATE}'"])
    assert leaf.revert_timer.status().state == "damaged"
    found = leaf.revert_timer.recover()
    assert (found.found.state, found.outcome, found.missing, found.error) == ("damaged", "reverted", (), "")
    assert "PORT|Ethernet4" in found.restored
    assert running(leaf) == before
    assert leaf.revert_timer.recover().outcome == "healthy"


TENANTS = "RAILWEAVE_TENANTS"
FILTER: dict[str, dict[str, Any]] = {
    "ACL_TABLE_TYPE": {
        TENANTS: {
            "ACTIONS": ["PACKET_ACTION"],
            "BIND_POINTS": ["PORT"],
            "MATCHES": ["DST_IP", "IN_PORTS", "IP_TYPE", "SRC_IP"],
        }
    },
    "ACL_TABLE": {
        TENANTS: {"policy_desc": "tenants", "ports": ["Ethernet4", "Ethernet8"], "stage": "ingress", "type": TENANTS}
    },
    "ACL_RULE": {
        f"{TENANTS}|allow.a.a.10.32.0.0_31.10.32.0.0_31": {
            "DST_IP": "10.32.0.0/31",
            "IN_PORTS": "Ethernet4",
            "IP_TYPE": "IPV4ANY",
            "PACKET_ACTION": "FORWARD",
            "PRIORITY": "20",
            "SRC_IP": "10.32.0.0/31",
        },
        f"{TENANTS}|deny": {"IP_TYPE": "IP", "PACKET_ACTION": "DROP", "PRIORITY": "1"},
    },
}
"""The filter of tenants on two ports, as it is rendered."""


@pytest.mark.parametrize("ending", ["rolled back", "reverted by its timer", "recovered"])
def test_a_filter_of_tenants_comes_and_goes_back_whole(
    leaf: SonicDriver, fabric: tuple[Path, Open], ending: str
) -> None:
    before = running(leaf)
    load(leaf, FILTER)
    leaf.commit_config(revert_in=600)
    filtered = running(leaf)
    assert filtered["ACL_RULE"].keys() >= FILTER["ACL_RULE"].keys()
    assert filtered["ACL_TABLE"][TENANTS]["type"] == TENANTS
    if ending == "rolled back":
        leaf.rollback()
    elif ending == "reverted by its timer":
        control.pass_time(fabric[0], 600)
    else:
        leaf.cli([f"sudo -n systemctl kill railweave-switch-{leaf.revert_timer.status().commit_id}"])
        leaf.cli([f"sudo -n sh -c 'echo > {STATE}'"])
        assert leaf.revert_timer.recover().outcome == "reverted"
    assert running(leaf) == before


def test_a_commit_that_waits_is_left_alone_by_a_recovery(leaf: SonicDriver) -> None:
    load(leaf, CHANGE)
    leaf.commit_config(revert_in=600)
    assert leaf.revert_timer.recover().outcome == "armed"
    leaf.confirm_commit()


def test_without_a_rollback_document_a_recovery_is_refused_until_what_runs_is_accepted(leaf: SonicDriver) -> None:
    load(leaf, CHANGE)
    leaf.commit_config()
    leaf.cli([f"sudo -n sh -c 'echo > {STATE}'"])
    found = leaf.revert_timer.recover()
    assert (found.outcome, "--accept-running" in found.error) == ("refused", True)
    assert leaf.revert_timer.recover(accept_running=True).outcome == "accepted"
    assert "renamed" in str(running(leaf))
    load(leaf, {"PORT": {"Ethernet4": {"mtu": "9000"}}})
    leaf.commit_config()


def test_a_state_of_a_later_version_is_refused_and_ends_when_what_runs_is_accepted(
    leaf: SonicDriver, fabric: tuple[Path, Open]
) -> None:
    load(leaf, CHANGE)
    leaf.commit_config()
    control.pass_time(fabric[0], 5)  # the guard of the commit ends
    leaf.cli([f"sudo -n sh -c 'echo {{\\\"version\\\": 99}} > {STATE}'"])
    load(leaf, {"PORT": {"Ethernet4": {"mtu": "9000"}}})
    with pytest.raises(CommitError, match=r"is of version 99, this program reads version 1"):
        leaf.commit_config()
    assert leaf.revert_timer.recover().outcome == "refused"
    assert leaf.revert_timer.recover(accept_running=True).outcome == "accepted"
    leaf.commit_config()


def test_a_database_that_is_not_filled_is_named_with_what_fills_it(leaf: SonicDriver) -> None:
    """Every `config` command of SONiC would wait for the key without end."""
    leaf.cli(["sudo -n sonic-db-cli CONFIG_DB DEL CONFIG_DB_INITIALIZED"])
    load(leaf, CHANGE)
    with pytest.raises(CommandErrorException, match=r"CONFIG_DB is not filled, CONFIG_DB_INITIALIZED is n") as caught:
        leaf.commit_config()
    fix = re.search(r"`(sudo sonic-db-cli [^`]*)` and then `sudo config reload -y -f`", str(caught.value))
    assert fix is not None, caught.value
    leaf.cli([fix[1].replace("sudo", "sudo -n", 1)])
    leaf.commit_config()
    assert "renamed" in str(running(leaf))


def test_rollback_of_a_pending_commit_reverts_at_once(leaf: SonicDriver) -> None:
    before = running(leaf)
    load(leaf, CHANGE)
    leaf.commit_config(revert_in=600)
    leaf.rollback()
    assert running(leaf) == before
    assert not leaf.has_pending_commit()


def test_an_unconfirmed_commit_is_reverted_by_the_switch_itself(
    leaf: SonicDriver, provisioned: Open, fabric: tuple[Path, Open]
) -> None:
    before = running(leaf)
    load(leaf, CHANGE)
    leaf.commit_config(revert_in=600)
    leaf.close()
    with provisioned("leaf1") as later:
        assert later.has_pending_commit()
        control.pass_time(fabric[0], 600)
        assert not later.has_pending_commit()
        assert running(later) == before
        with pytest.raises(CommitConfirmException, match="restored the earlier"):
            later.confirm_commit()


@pytest.mark.parametrize("command", ["config load", "config apply-patch", "vtysh -f"])
def test_a_refused_commit_restores_what_ran(leaf: SonicDriver, fabric: tuple[Path, Open], command: str) -> None:
    before = running(leaf)
    control.fault(fabric[0], "leaf1", "refuse-commit", command=command)
    load(leaf, CHANGE)
    with pytest.raises(CommitError, match="earlier configuration is restored"):
        leaf.commit_config()
    assert running(leaf) == before
    assert not leaf.has_pending_commit()


@pytest.mark.parametrize("revert_in", [None, 600])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("command", ["config load", "vtysh -f", "railweave-switch apply"])
def test_a_session_dropped_in_a_commit_is_opened_again_and_the_change_goes_on(
    leaf: SonicDriver, fabric: tuple[Path, Open], command: str, moment: str, revert_in: int | None
) -> None:
    before = running(leaf)
    control.fault(fabric[0], "leaf1", "drop-session", command=command, moment=moment)
    load(leaf, CHANGE)
    if (command, moment) == ("railweave-switch apply", "before"):
        with pytest.raises(ConnectionClosedException, match="nothing was changed"):
            leaf.commit_config(revert_in=revert_in)
        assert running(leaf) == before
        return
    leaf.commit_config(revert_in=revert_in)
    assert running(leaf) != before
    assert leaf.has_pending_commit() == (revert_in is not None)
    leaf.rollback()
    assert running(leaf) == before


def test_a_patch_cut_in_the_middle_ends_on_the_old_configuration(leaf: SonicDriver, fabric: tuple[Path, Open]) -> None:
    before = running(leaf)
    control.fault(fabric[0], "leaf1", "drop-session", command="config apply-patch", moment="during")
    load(leaf, CHANGE)
    with pytest.raises(CommitError, match="restored"):
        leaf.commit_config()
    assert running(leaf) == before


def test_a_switch_that_is_gone_restores_by_itself(
    leaf: SonicDriver, provisioned: Open, fabric: tuple[Path, Open]
) -> None:
    before = running(leaf)
    load(leaf, CHANGE)
    leaf.commit_config(revert_in=600)
    leaf.close()
    with provisioned("leaf1") as later:
        assert later.has_pending_commit()
        control.pass_time(fabric[0], 600)
        assert not later.has_pending_commit()
        assert running(later) == before


def test_two_sessions_cannot_change_one_switch_at_once(leaf: SonicDriver, provisioned: Open) -> None:
    with provisioned("leaf1", config_lock=True):
        load(leaf, CHANGE)
        with pytest.raises(LockError, match=r"locked by .*process"):
            leaf.commit_config()
    leaf.commit_config()


def test_an_unreachable_switch_and_a_wrong_host_key_are_told_apart(
    provisioned: Open, fabric: tuple[Path, Open]
) -> None:
    folder, _ = fabric
    control.fault(folder, "spine1", "unreachable")
    with pytest.raises(ConnectionException):
        provisioned("spine1").open()
    control.clear_fault(folder, "spine1")
    control.fault(folder, "spine1", "wrong-host-key")
    with pytest.raises(ConnectionException, match="host key is not the known one"):
        provisioned("spine1").open()
    control.clear_fault(folder, "spine1")


def test_rollback_of_a_reload_brings_the_factory_back(fabric: tuple[Path, Open]) -> None:
    _, make = fabric
    with make("leaf9") as driver:
        before = running(driver)
        driver.load_replace_candidate(config=json.dumps(whole(driver, "leaf9", "10.192.0.1", "10.255.0.1", LEAF_FRR)))
        driver.commit_config(revert_in=600)
        assert running(driver)["DEVICE_METADATA"]["localhost"]["hostname"] == "leaf9"
        driver.rollback()
        after = running(driver)
        assert after["DEVICE_METADATA"] == before["DEVICE_METADATA"]
        assert after["INTERFACE"] == before["INTERFACE"]
        assert after["bgpraw"] == before["bgpraw"]


def replaced(driver: SonicDriver, frr: str = LEAF_FRR) -> dict[str, Any]:
    """Return the whole configuration that a reload puts on the third switch."""
    return whole(driver, "leaf9", "10.192.0.1", "10.255.0.1", frr)


@pytest.mark.parametrize(
    ("daemon", "seconds"),
    [("bgpd", 1.0), ("bgpd", 30.0), ("bgpd", 120.0), ("staticd", 30.0), ("zebra", 20.0), ("", 60.0)],
)
def test_a_reload_waits_for_daemons_that_start_late(fabric: tuple[Path, Open], daemon: str, seconds: float) -> None:
    """What FRR boots and what is sent before the daemon listens is dropped; its lists come from other daemons alone."""
    folder, make = fabric
    control.fault(folder, "leaf9", "late-daemon", daemon=daemon, seconds=seconds)
    frr = f"ip route 10.9.0.0/24 blackhole 250\n{LEAF_FRR}"
    with make("leaf9") as driver:
        driver.load_replace_candidate(config=json.dumps(replaced(driver, frr)))
        driver.commit_config(revert_in=600)
        there = parse_frr(bgpraw(driver)).entries
        assert set(parse_frr(frr).entries) <= set(there)
        (own,) = driver.cli(["sudo vtysh -c 'show running-config bgpd'"]).values()
        assert {one for one in parse_frr(frr).entries if "ip route" not in one.line} <= set(parse_frr(own).entries)
        driver.rollback()
    control.clear_fault(folder, "leaf9")


def test_what_pathd_prints_by_itself_is_nobodys(fabric: tuple[Path, Open]) -> None:
    """A factory with SONiC's management framework runs pathd; the wanted configuration does not."""
    _, make = fabric
    with make("leaf9") as driver:
        framework = replaced(driver, "")
        framework["DEVICE_METADATA"]["localhost"]["frr_mgmt_framework_config"] = "true"
        driver.load_replace_candidate(config=json.dumps(framework))
        driver.commit_config()
        assert "segment-routing" in bgpraw(driver)
        wanted = replaced(driver)
        del wanted["DEVICE_METADATA"]["localhost"]["frr_mgmt_framework_config"]
        driver.load_replace_candidate(config=json.dumps(wanted))
        assert "segment-routing" not in driver.compare_config()
        driver.commit_config()
        assert "segment-routing" not in bgpraw(driver)


def bgpraw(driver: SonicDriver) -> str:
    """Return FRR's text."""
    return str(json.loads(driver.get_config(retrieve="running")["running"])["bgpraw"])


INVALID: dict[str, dict[str, Any]] = {
    "fec": {"PORT": {"Ethernet8": {"fec": "reedsolomon"}}},
    "autoneg": {"PORT": {"Ethernet8": {"autoneg": "yes"}}},
    "mtu": {"PORT": {"Ethernet8": {"mtu": "99999"}}},
    "watchdog": {"PFC_WD": {"Ethernet0": {"action": "dorp"}}},
    "weight": {"SCHEDULER": {"bulk": {"type": "DWRR", "weight": "500"}}},
    "port": {"QUEUE": {"Ethernet999|3": {}}},
    "priority": {"PORT_QOS_MAP": {"Ethernet8": {"pfc_enable": "9"}}},
    "dscp": {"DSCP_TO_TC_MAP": {"extra": {"99": "3"}}},
    "ecn": {"WRED_PROFILE": {"storage": {"ecn": "on"}}},
    "reference": {"QUEUE": {"Ethernet8|3": {"scheduler": "missing"}}},
    "field": {"SCHEDULER": {"bulk": {"typo": "DWRR"}}},
    "table": {"NO_SUCH_TABLE": {"GLOBAL": {"state": "on"}}},
}
"""Merges that the models of a switch refuse, and of which most are written past `config apply-patch`."""


@pytest.mark.parametrize("what", INVALID)
def test_what_the_switch_s_models_refuse_is_never_written(leaf: SonicDriver, what: str) -> None:
    before = leaf.revert_timer.read()
    leaf.load_merge_candidate(config=json.dumps(INVALID[what]))
    ((table, rows),) = INVALID[what].items()
    ((key, _),) = rows.items()
    place = f"table {table}" if what == "table" else re.escape(f"{table}|{key}")
    with pytest.raises(CommitError, match=rf"YANG models refuse {place}.*; nothing was applied"):
        leaf.commit_config()
    assert leaf.revert_timer.read().running.config_db == before.running.config_db
    assert all(one["is_up"] for port, one in leaf.get_interfaces().items() if port == "Ethernet0")


@pytest.mark.parametrize(
    "rows",
    [
        {"LOGGER": {"orchagent": {"LOGLEVEL": "NOTICE", "LOGOUTPUT": "SYSLOG"}}},
        {"SFLOW": {"global": {"admin_state": "up", "polling_interval": "20"}}},
        {"FEATURE": {"lldp": {"state": "enabled", "auto_restart": "disabled"}}},
        {"VRF": {"Vrf1": {}}},
        {"PASSW_HARDENING": {"POLICIES": {"state": "enabled", "len_min": "10"}}},
        {"PORT": {"Ethernet8": {"alias": "site7"}}},
    ],
    ids=lambda rows: next(iter(rows)),
)
def test_what_a_daemon_follows_and_what_no_daemon_reads_is_changed_without_a_reload(
    provisioned: Open, rows: dict[str, Any]
) -> None:
    with provisioned("leaf1", refuse_reload=True) as driver:
        driver.load_merge_candidate(config=json.dumps(rows))
        assert "@@ " in driver.compare_config()
        driver.commit_config()
        ((table, wanted),) = rows.items()
        ((key, fields),) = wanted.items()
        assert fields.items() <= json.loads(driver.get_config()["running"])[table][key].items()
        driver.rollback()


@pytest.mark.parametrize("key", ["Ethernet8|abc", "Ethernet8|4-3", "Ethernet8|3-", "Ethernet8"])
def test_a_queue_without_a_number_is_never_written_although_the_model_takes_it(leaf: SonicDriver, key: str) -> None:
    leaf.load_merge_candidate(config=json.dumps({"QUEUE": {key: {"scheduler": "bulk"}}}))
    with pytest.raises(MergeConfigException, match=re.escape(f"QUEUE|{key}: its last part is neither")):
        leaf.compare_config()
    with pytest.raises(CommitError, match="orchagent reads no other"):
        leaf.commit_config()


def test_a_fault_of_others_refuses_no_change_and_a_refusal_quotes_no_secret(leaf: SonicDriver) -> None:
    leaf.cli(["sonic-db-cli CONFIG_DB HSET 'VLAN|Vlan300' vlanid 301"])
    leaf.load_merge_candidate(config=json.dumps({"SCHEDULER": {"bulk": {"type": "DWRR", "weight": "50"}}}))
    leaf.commit_config()
    leaf.load_merge_candidate(config=json.dumps({"TACPLUS": {"global": {"passkey": "s3cret word#"}}}))
    with pytest.raises(CommitError, match="TACPLUS") as refused:
        leaf.commit_config()
    assert "s3cret" not in f"{refused.value} {getattr(refused.value, '__notes__', '')}"
    leaf.load_merge_candidate(config=json.dumps({"SCHEDULER": {"bulk": None}, "VLAN": {"Vlan300": None}}))
    leaf.commit_config()
