"""FRR's daemons start one after the other and go away: their lines are waited for, and a text without them is none.

vtysh drops the lines of a daemon that is not there with exit status 0, and ``show running-config`` answers without them
(run on FRR 8.4.4 and 10.3).
"""

from typing import Any

import pytest
import switch_cases
from switch_cases import BEFORE, CHANGED_LINE, FRR_BEFORE, is_restored, new_world, run_case, transaction
from virtual_switch import STARTUP_FRR, VirtualHost, World, frr_lines

from railweave_switch import frr
from railweave_switch.steps import equip_bgpd, frr_away

ROUTE = ("ip route 10.1.0.0/24 blackhole 250",)
FRR_AFTER = FRR_BEFORE.replace("timers bgp 3 9", "timers bgp 1 3") + f"{ROUTE[0]}\n"
AMENDED = f"router bgp 65001\n no timers bgp 3 9\n timers bgp 1 3\nexit\n{ROUTE[0]}\n"


def reload(deadline_s: float = 600.0) -> dict[str, Any]:
    """Return a change by a reload, and back by one; the lines of FRR come in an amendment, as a client sends them."""
    there = {"kind": "reload", "config_db": BEFORE, "frr": FRR_AFTER}
    back = {"kind": "reload", "config_db": BEFORE, "frr": FRR_BEFORE}
    return transaction(deadline_s, before={}, after={}, steps=[there], rollback={"steps": [back], "rows": {}})


def amendment(**changes: object) -> dict[str, Any]:
    return transaction(600.0, before={}, after={}, steps=[{"kind": "vtysh", "text": AMENDED}], rollback={}, **changes)


@pytest.mark.parametrize("seconds", [0.5, 5.0, 45.0, 80.0])
@pytest.mark.parametrize("order", [("bgpd",), ("bgpd", "staticd"), ("mgmtd", "bgpd"), ("staticd", "mgmtd", "bgpd")])
def test_after_a_reload_the_daemons_of_the_wanted_lines_are_waited_for(order: tuple[str, ...], seconds: float) -> None:
    world = new_world()
    world.late = {name: seconds * number / len(order) for number, name in enumerate(order, start=1)}
    assert world.send("apply", reload())["outcome"] == "applied"
    assert world.now >= 1000.0 + seconds
    answer = world.send("amend", amendment())
    assert answer["outcome"] == "applied"
    assert {CHANGED_LINE, ROUTE} <= set(world.lines)
    assert world.lacks == set(), "bgpd has the lists that vtysh shows"


@pytest.mark.parametrize("seconds", [20.0, 80.0])
def test_after_a_reload_the_daemons_outside_frr_are_waited_for_too(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def daemons(host: VirtualHost) -> frozenset[str]:
        begun = [at for at, command in world.timed if command.startswith("config reload")]
        starting = begun and host.now_s() < begun[0] + seconds
        return frozenset({"bgpd", "zebra"} if starting else {"bgpd", "zebra", "orchagent", "syncd"})

    world = new_world()
    monkeypatch.setattr(VirtualHost, "daemons", daemons)
    assert world.send("apply", reload())["outcome"] == "applied"
    assert world.now >= 1000.0 + seconds
    assert world.send("amend", amendment())["outcome"] == "applied"
    assert world.call("confirm")["outcome"] == "confirmed"


def test_a_daemon_that_stays_away_is_named_and_the_change_reverted() -> None:
    world = new_world()
    world.late["bgpd"] = 10_000.0
    answer = world.send("apply", reload())
    assert answer["error"] == "not as intended when read back: FRR (its bgpd does not answer)"
    assert answer["outcome"] == "failed"
    assert any("bgpd does not answer" in one for one in answer["missing"])


def test_the_wait_ends_with_the_time_until_the_revert() -> None:
    world = new_world()
    world.late["bgpd"] = 100.0
    answer = world.send("apply", reload(deadline_s=20.0))
    assert answer["outcome"] == "reverted"
    assert answer["error"] == "not as intended when read back: FRR (its bgpd does not answer)"
    assert is_restored(world)
    (looked,) = [at for at, command in world.timed if command.startswith("config reload")][1:]
    assert looked < 1000.0 + 20.0 + 5.0


@pytest.mark.parametrize("seconds", [5.0, 60.0])
def test_a_revert_by_a_reload_waits_for_late_daemons_too(seconds: float) -> None:
    world = new_world()
    world.send("apply", reload())
    world.send("amend", amendment())
    world.late["bgpd"] = seconds
    assert world.call("revert")["outcome"] == "reverted"
    assert is_restored(world)
    assert world.lacks == set()


def test_lines_are_not_sent_while_the_daemon_that_they_are_for_is_away() -> None:
    world = new_world()
    world.send("apply", reload())
    world.stop_daemon("bgpd", 30.0)
    assert world.send("amend", amendment())["outcome"] == "applied"
    assert CHANGED_LINE in world.lines


def test_a_change_that_a_daemon_lost_when_it_started_anew_is_not_confirmed() -> None:
    world = new_world()
    world.send("apply", transaction())
    world.stop_daemon("bgpd", 1.0)
    world.advance(5.0)
    answer = world.call("confirm")
    assert (answer["outcome"], answer["code"]) == ("refused", "moved")
    assert "FRR no longer runs the change: FRR router bgp 65001 / timers bgp 1 3" in answer["error"]
    world.advance(60.0)
    assert world.call("status")["status"]["status"] == "reverted"
    assert is_restored(world)


def test_what_is_saved_while_a_daemon_is_away_has_its_lines() -> None:
    world = new_world()
    world.send("apply", transaction())
    world.at(world.now + 0.01, lambda: world.stop_daemon("bgpd", 30.0))
    world.call("confirm")
    world.advance(100.0)
    world.call("recover")
    assert "router bgp 65001" in world.files[STARTUP_FRR].decode()


def test_a_save_without_a_daemon_that_stays_away_is_refused_by_name() -> None:
    world = new_world()
    world.stop_daemon("bgpd", 10_000.0, loads=False)
    answer = world.call("save")
    assert "it could not be saved: FRR: its bgpd does not answer" in answer["error"]
    assert "router bgp 65001" in world.files[STARTUP_FRR].decode()


def test_a_reading_without_bgpd_has_no_configuration_of_frr() -> None:
    world = new_world()
    world.stop_daemon("bgpd", 30.0)
    assert world.call("read")["frr"] == {"digest": "", "text": None}
    world.advance(40.0)
    assert "router bgp 65001" in world.call("read")["frr"]["text"]


def test_after_a_restart_nothing_is_said_of_a_commit_before_its_daemons_answer() -> None:
    """Armed and saved by somebody, so it boots: while bgpd still starts its lines must not be taken for gone."""
    world = new_world()
    world.send("apply", transaction(600.0))
    world.save()
    world.late["bgpd"] = 60.0
    world.reboot()
    assert world.call("status")["status"]["status"] != "reverted"
    world.advance(100.0)
    assert world.call("status")["status"]["status"] != "reverted"
    assert world.call("revert")["outcome"] == "reverted"
    assert is_restored(world)


def test_seeded_faults_of_daemons_leave_no_unconfirmed_change() -> None:
    for seed in range(60):
        run_case(seed, switch_cases.FRR_KINDS)


def test_daemons_are_asked_only_where_lines_of_one_are_missing() -> None:
    world = new_world()
    host = world.start("worker")
    text = "frr version 10.3\n" + FRR_BEFORE
    assert frr_away(host, frr_lines(FRR_BEFORE), text) == []
    assert world.commands == []
    assert frr_away(host, [("bfd", "profile fast")], text) == ["its bfdd does not answer"]
    assert frr_away(host, [("ip route 10.0.0.0/8 blackhole",)], text) == []
    assert world.commands == ["vtysh -c show daemons"] * 2
    assert frr_away(host, (), None) == ["it does not answer"]


@pytest.mark.parametrize(
    ("line", "version", "daemons"),
    [
        (("router bgp 65001", "neighbor 10.0.0.1 bfd"), 10, {"bgpd"}),
        (("router bgp 65001 vrf Vrf1",), 8, {"bgpd"}),
        (("bgp community-list standard X seq 5 permit 1:1",), 8, {"bgpd"}),
        (("ip route 10.0.0.0/8 blackhole",), 8, {"staticd"}),
        (("ip route 10.0.0.0/8 blackhole",), 10, {"mgmtd", "staticd"}),
        (("vrf mgmt", "ip route 10.0.0.0/8 blackhole"), 8, {"staticd"}),
        (("vrf mgmt", "ip nht resolve-via-default"), 8, {"zebra"}),
        (("no ip forwarding",), 8, {"zebra"}),
        (("bfd", "profile fast", "shutdown"), 8, {"bfdd"}),
        (("segment-routing", "traffic-eng", "policy color 1 endpoint 1.1.1.1"), 8, {"pathd"}),
        (("segment-routing", "srv6", "locators", "locator MAIN"), 10, {"zebra"}),
        (("segment-routing",), 10, {"zebra"}),
        (("router ospf6",), 8, {"ospf6d"}),
        (("router ospf",), 8, {"ospfd"}),
        (("route-map X permit 10", "set src 10.0.0.1"), 8, {"zebra"}),
    ],
)
def test_the_daemon_of_a_line(line: frr.Line, version: int, daemons: set[str]) -> None:
    assert frr.daemons_of([line], version) == daemons


def test_bgpd_gets_the_lists_that_it_missed() -> None:
    world: World = new_world()
    world.lacks = set(frr.shared_lines(FRR_BEFORE))
    assert world.lacks
    equip_bgpd(world.start("worker"))
    assert world.lacks == set()
    assert is_restored(world)
