"""A self-test concludes nothing that the switch does not show, and tries only what goes back."""

import dataclasses
from typing import Any

import pytest
from selftest_on_sim import SWITCHES, config_db, intended

from railweave.plan.selftest import (
    LinkState,
    Probe,
    SelftestReport,
    TrialResult,
    TrialVerdict,
    judge,
    nameless,
    untried,
    uses,
)
from railweave.sonic.chosen_words import names_in
from railweave.sonic.delta.change import Delta, Disruption
from railweave.sonic.delta.delta import applied, inverse
from railweave.sonic.delta.rules import RULES
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import FRR_TABLE
from railweave.sonic.trials import Trial, class_trial, trials_of

PORT = "Ethernet0"


def probe(**fields: Any) -> Probe:
    made = Probe(
        at_s=1.0,
        asic={"PORT": ("a", "b"), "WRED": ("w",)},
        ports={PORT: LinkState(False, 0), "Ethernet8": LinkState(True, 2)},
        processes={"orchagent": "12@345"},
        unapplied=frozenset(),
        config_digest="before",
    )
    return dataclasses.replace(made, **fields)


def trial(name: str, switch: str = "pod-leaf1") -> Trial:
    return next(one for one in trials_of(config_db(switch), PORT, has_frr=True) if one.name == name)


CHANGED = {"PORT": ("a", "c"), "WRED": ("other",)}


def test_what_the_asic_takes_and_gives_back_is_confirmed() -> None:
    assert judge(trial("ECN threshold"), probe(), probe(asic=CHANGED), probe()) == (TrialVerdict.CONFIRMED, ())


@pytest.mark.parametrize(
    ("under", "after", "reason"),
    [
        ({}, {}, "the switch shows the same WRED as before"),
        ({"asic": CHANGED, "ports": {PORT: LinkState(False, 1), "Ethernet8": LinkState(True, 2)}}, {},
         "links changed their state: Ethernet0"),
        ({"asic": CHANGED, "ports": {PORT: LinkState(False, 0)}}, {}, "links changed their state: Ethernet8"),
        ({"asic": CHANGED, "processes": {"orchagent": "99@999"}}, {}, "daemons ended or started anew: orchagent"),
        ({"asic": CHANGED, "processes": {}}, {}, "daemons ended or started anew: orchagent"),
        ({"asic": CHANGED}, {"config_digest": "other"}, "CONFIG_DB or FRR did not go back to what they were"),
        ({"asic": CHANGED}, {"asic": CHANGED}, "the ASIC or its counters did not go back: PORT, WRED differ"),
    ],
)  # fmt: skip
def test_what_the_switch_shows_otherwise_contradicts_the_claim(
    under: dict[str, Any], after: dict[str, Any], reason: str
) -> None:
    verdict, reasons = judge(trial("ECN threshold"), probe(), probe(**under), probe(**after))
    assert (verdict, reasons) == (TrialVerdict.CONTRADICTED, (reason,))


@pytest.mark.parametrize("asic", [None, {}, {"WRED": ()}])
def test_an_effect_that_no_database_shows_is_unknown(asic: Any) -> None:
    verdict, reasons = judge(trial("ECN threshold"), probe(asic=asic), probe(asic=asic), probe(asic=asic))
    assert (verdict, reasons) == (
        TrialVerdict.UNKNOWN,
        ("the switch does not show whether its daemons took the change",),
    )


@pytest.mark.parametrize(
    ("unapplied", "verdict"),
    [
        (frozenset(), TrialVerdict.CONFIRMED),
        (frozenset({"PORT"}), TrialVerdict.CONTRADICTED),
        (None, TrialVerdict.UNKNOWN),
    ],
)
def test_where_the_asic_is_silent_the_daemons_tell(unapplied: Any, verdict: TrialVerdict) -> None:
    seen = probe(asic={}, unapplied=unapplied)
    assert judge(trial("MTU raised"), seen, seen, seen)[0] is verdict


@pytest.mark.parametrize("asic", [None, {}])
@pytest.mark.parametrize("switch", SWITCHES)
def test_without_an_asic_only_what_portmgrd_hands_on_is_confirmed(switch: str, asic: Any) -> None:
    seen = probe(asic=asic)
    shown = {
        made.name
        for made in trials_of(config_db(switch), PORT, has_frr=True)
        if made.objects and judge(made, seen, seen, seen)[0] is TrialVerdict.CONFIRMED
    }
    assert shown == {"MTU lowered", "MTU raised"}


def test_a_flap_that_a_port_without_a_link_cannot_show_is_unknown() -> None:
    fec = trial("FEC")
    assert fec.disruption is Disruption.FLAP
    assert judge(fec, probe(), probe(asic=CHANGED), probe())[0] is TrialVerdict.UNKNOWN
    flapped = {PORT: LinkState(False, 0), "Ethernet8": LinkState(True, 4)}
    assert judge(fec, probe(), probe(asic=CHANGED, ports=flapped), probe(ports=flapped))[0] is TrialVerdict.CONFIRMED


def test_a_lower_speed_is_tried_where_the_breakout_mode_allows_one() -> None:
    (change,) = trial("speed", "pod-spine1").delta
    assert (change.key, change.before, change.after) == (PORT, "400000", "200000")
    assert change.disruption is Disruption.FLAP


def test_a_speed_is_tried_on_a_port_for_which_sonic_writes_no_profiles() -> None:
    tables = dict(config_db("pod-leaf1"))
    lossless = tables["PORT_QOS_MAP"].keys()
    tables["BREAKOUT_CFG"] = {port: {"brkout_mode": "1x400G(8)[200G, 100G]"} for port in tables["PORT"]}
    (change,) = next(made.delta for made in trials_of(tables, PORT, has_frr=True) if made.name == "speed")
    assert change.key == next(port for port in tables["PORT"] if port not in lossless)
    tables["PORT"] = {PORT: tables["PORT"][PORT]}
    assert "speed" not in {made.name for made in trials_of(tables, PORT, has_frr=True)}


@pytest.mark.parametrize("name", SWITCHES)
def test_every_trial_goes_back_to_the_row_that_was_there(name: str) -> None:
    before = RunningConfig(config_db(name), None)
    for made in trials_of(before.config_db, PORT, has_frr=True):
        rows = Delta(tuple(change for change in made.delta if change.table != FRR_TABLE))
        after = applied(rows, before)
        assert applied(inverse(rows), after).config_db == before.config_db, made.name
        assert made.disruption is not Disruption.RELOAD, made.name


@pytest.mark.parametrize("name", SWITCHES)
def test_every_rule_is_tried_or_named_with_the_reason(name: str) -> None:
    trials = trials_of(config_db(name), PORT, has_frr=True)
    tried = [made.rule for made in trials if made.rule is not None]
    left = list(untried(trials))
    assert len({id(rule) for rule in tried}) + len(left) == len(RULES)
    assert len({id(rule) for rule in tried}) >= 10
    assert all(result.reasons and result.source for result in left)


def test_the_classes_of_a_port_without_any_are_added_without_a_reload() -> None:
    factory = {
        table: dict(rows) for table, rows in config_db("pod-leaf1").items() if table in ("PORT", "DEVICE_METADATA")
    }
    made = class_trial(factory, intended("pod-leaf1").rows, PORT)
    assert made is not None
    assert made.disruption is not Disruption.RELOAD
    assert {change.table for change in made.delta} >= {"PORT_QOS_MAP", "SCHEDULER", "DSCP_TO_TC_MAP"}
    ports = {change.key.partition("|")[0] for change in made.delta if change.key.startswith("Ethernet")}
    assert ports == {PORT}
    before = RunningConfig(factory, None)
    assert applied(inverse(made.delta), applied(made.delta, before)).config_db == factory


def test_a_port_that_has_its_classes_needs_none() -> None:
    assert class_trial(config_db("pod-leaf1"), intended("pod-leaf1").rows, PORT) is None


def test_links_neighbors_and_sessions_are_use() -> None:
    assert uses({PORT: False}, {}, []) == ()
    assert uses({PORT: True, "Ethernet8": True}, {"Ethernet8": "pod-spine1"}, ["10.0.0.1"]) == (
        "Ethernet8 is connected to pod-spine1",
        "Ethernet0 has a link",
        "the BGP session with 10.0.0.1 is established",
    )


@pytest.mark.parametrize(
    ("report", "ok"),
    [
        (SelftestReport(), True),
        (SelftestReport(results=(TrialResult("a", TrialVerdict.UNKNOWN),)), True),
        (SelftestReport(results=(TrialResult("a", TrialVerdict.CONTRADICTED),)), False),
        (SelftestReport(is_back=False), False),
        (SelftestReport(uses=("Ethernet0 has a link",)), False),
        (SelftestReport(error="lost"), False),
    ],
)
def test_a_report_is_good_only_where_nothing_contradicts_and_the_switch_is_back(
    report: SelftestReport, ok: bool
) -> None:
    assert report.ok is ok


def test_a_bundle_has_neither_names_nor_addresses() -> None:
    text = "pod-leaf1: the row of 192.0.2.7 (fe80::1, 02:00:00:00:00:01) is refused on pod-leaf1"
    assert nameless(text, "pod-leaf1") == "SWITCH: the row of ADDRESS (ADDRESS, ADDRESS) is refused on SWITCH"


def test_what_a_switch_refuses_is_said_without_the_words_of_its_configuration() -> None:
    names = names_in(
        {
            "PORT": {"Ethernet0": {"description": "to acme-gpu7", "mtu": "9100"}},
            "SNMP_COMMUNITY": {"s3cret-word$": {"TYPE": "RO"}},
            "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "acme-gpu7"}},
            "BUFFER_PROFILE": {"acme": {"pool": "pool"}, "acme-lossless": {}},
        }
    )
    said = (
        "pod-leaf1: PORT|Ethernet0 mtu 9100: acme-lossless and acme-gpu7.corp, s3cret-word$; orchagent ended "
        "(last in its log: pod-leaf1 other-name failed)"
    )
    assert nameless(said, "pod-leaf1", names) == (
        "SWITCH: PORT|Ethernet0 mtu 9100: NAME and NAME.corp, NAME; orchagent ended"
    )
