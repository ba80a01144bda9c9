"""SONiC's TSA is a state, not a difference: seen, said, left as it is, and in nobody's way."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_devices import planned

from railweave.plan.model import DeviceState, Plan
from railweave.report.plan import plan_markdown
from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.document import RunningConfig, running_from
from railweave.sonic.frr import frr_difference, parse_frr, render_frr
from railweave.sonic.frr.document import never_compared
from railweave.sonic.frr.drain import drain_text, drained_peers, undrain_text
from railweave.sonic.frr.maintenance import Maintenance
from railweave.sonic.rows import DeviceConfig, Row
from railweave_switch.frr import lines_of
from sonic_sim.bgpcfgd import shift_lines, system_mode
from sonic_sim.frr.running import Frr

METADATA = {"hostname": "leaf1", "docker_routing_config_mode": "split-unified"}
LEAF = """\
router bgp 65001
 no bgp default ipv4-unicast
 neighbor SPINES peer-group
 neighbor 10.192.0.0 remote-as 65100
 neighbor 10.192.0.0 peer-group SPINES
 neighbor 10.192.0.2 remote-as 65100
 neighbor 10.192.0.2 peer-group SPINES
 address-family ipv4 unicast
  neighbor SPINES activate
  neighbor SPINES route-map FROM-SPINES in
  neighbor SPINES route-map TO-SPINES-V4 out
 exit-address-family
exit
ip prefix-list PL_LoopbackV4 seq 5 permit 10.255.0.1/32
ip prefix-list OWN-PREFIXES seq 5 permit 10.32.0.0/26
route-map FROM-SPINES permit 10
exit
route-map TO-SPINES-V4 permit 100
 match ip address prefix-list OWN-PREFIXES
exit
"""


def switch() -> Frr:
    frr = Frr()
    frr.start(LEAF, "leaf1")
    return frr


def shift(frr: Frr, *, away: bool) -> None:
    frr.apply(shift_lines(frr.show(), away=away))


def running(text: str, tsa: str) -> RunningConfig:
    tables = {"DEVICE_METADATA": {"localhost": METADATA}, "BGP_DEVICE_GLOBAL": {"STATE": {"tsa_enabled": tsa}}}
    return running_from({**tables, "bgpraw": text})


WANTED = DeviceConfig("leaf1", (Row("DEVICE_METADATA", "localhost", METADATA, ""),), LEAF)


def test_a_switch_in_maintenance_runs_as_intended_and_says_so() -> None:
    frr = switch()
    normal = running(frr.show(), "false")
    shift(frr, away=True)
    away = running(frr.show(), "true")
    found = diff("leaf1", away, WANTED)
    assert found.delta.changes == ()
    assert found.maintenance is Maintenance.ON
    assert diff("leaf1", normal, WANTED).maintenance is Maintenance.NONE
    assert running_sha256(away, WANTED) == running_sha256(normal, WANTED)


@pytest.mark.parametrize(
    ("lines", "tsa", "state"),
    [(False, "true", Maintenance.NOT_APPLIED), (True, "false", Maintenance.LEFT), (False, "false", Maintenance.NONE)],
)
def test_frr_and_config_db_may_disagree(lines: bool, tsa: str, state: Maintenance) -> None:
    frr = switch()
    if lines:
        shift(frr, away=True)
    assert diff("leaf1", running(frr.show(), tsa), WANTED).maintenance is state


def test_a_part_of_tsa_is_a_difference() -> None:
    frr = switch()
    frr.apply("route-map TO-SPINES-V4 deny 40\nexit\n")
    found = diff("leaf1", running(frr.show(), "false"), WANTED)
    assert [change.field for change in found.delta] == ["route-map TO-SPINES-V4 deny 40"]
    assert found.maintenance is Maintenance.NONE


def test_an_operator_s_route_map_with_these_numbers_is_not_tsa() -> None:
    frr = switch()
    frr.apply("".join(f"route-map OPERATOR-V4 {one}\nexit\n" for one in ("permit 20", "permit 30", "deny 40")))
    document = parse_frr(frr.show())
    assert document.maintenance == ()
    found = diff("leaf1", running(frr.show(), "false"), WANTED)
    assert (found.delta.changes, found.unmanaged) == ((), {"BGP_DEVICE_GLOBAL": 1, "frr": 3})


def test_a_file_for_a_reload_keeps_the_state_but_for_route_maps_that_are_gone() -> None:
    frr = switch()
    shift(frr, away=True)
    document = parse_frr(frr.show())
    assert len(document.maintenance) == 7
    assert set(parse_frr(render_frr(document)).maintenance) == set(document.maintenance)
    without = replace(document, entries=parse_frr(LEAF.replace("TO-SPINES-V4", "TO-SPINES")).entries)
    assert parse_frr(render_frr(without)).maintenance == ()


def test_the_program_on_the_switch_compares_no_line_of_tsa_whether_it_comes_or_goes() -> None:
    frr = switch()
    normal = frr.show()
    ignored = never_compared(parse_frr(normal))
    shift(frr, away=True)
    assert frr.show() != normal
    assert lines_of(frr.show(), ignored) == lines_of(normal, ignored)


STEPS: dict[str, Callable[[Frr], str]] = {
    "TSA": lambda frr: shift_lines(frr.show(), away=True),
    "TSB": lambda frr: shift_lines(frr.show(), away=False),
    "drain a link": lambda frr: drain_text(parse_frr(frr.show()), ["10.192.0.0"]),
    "drain the switch": lambda frr: drain_text(parse_frr(frr.show()), None),
    "undrain": lambda frr: undrain_text(parse_frr(frr.show())),
}


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=8))
def test_tsa_and_drains_do_not_fight_in_any_order(steps: list[str]) -> None:
    frr, base = switch(), switch().show()
    away, drained = False, False
    for step in steps:
        frr.apply(STEPS[step](frr))
        away = step == "TSA" or (away and step != "TSB")
        drained = step.startswith("drain") or (drained and step != "undrain")
        document = parse_frr(frr.show())
        assert frr_difference(document, parse_frr(base)) == ((), ())
        assert system_mode(frr.show()) == ("Maintenance" if away else "Normal")
        assert bool(document.maintenance) == away
        assert bool(drained_peers(document)) == drained
    for step in ("TSB", "undrain"):
        frr.apply(STEPS[step](frr))
    assert frr.show() == base


def test_a_plan_says_which_switches_are_in_maintenance() -> None:
    devices = {
        name: planned(DeviceState.UNCHANGED, "leaf", maintenance=state)
        for name, state in zip(("leaf1", "leaf2", "leaf3"), list(Maintenance)[1:], strict=True)
    }
    text = plan_markdown(Plan("pod1", "production", "", devices, ()))
    assert "in maintenance by TSA: leaf1" in text
    assert "TSA is set in CONFIG_DB, but FRR announces all routes: leaf2" in text
    assert "FRR withholds routes (TSA), but CONFIG_DB says normal: leaf3" in text
