"""Counters that are cleared, wrapped, missing, N/A or of another switch: each is named, and none is a finding."""

import pytest
from health_trials import (
    GROUP,
    GROUP_ROW,
    LEAF,
    MARKS,
    NODE_PORT,
    PORT,
    QUEUE,
    QUEUE_ROW,
    STORMS,
    UPLINKS,
    HealthTrial,
)

from railweave.acceptance.counter_names import CounterMeaning
from railweave.health import codes
from railweave.health.reading import FLAPS, CountedRow, compare_readings, with_flaps

ROCE = f"queues {NODE_PORT}|3"


def test_cleared_counters_are_named_and_are_no_growth() -> None:
    trial = HealthTrial()
    cleared = dict.fromkeys(trial.after[LEAF]["ports"][NODE_PORT], 0)
    trial.after[LEAF]["ports"][NODE_PORT] = cleared | {f"{PORT}IF_IN_ERRORS": 5_000}
    assert trial.findings() == ()
    (gap,) = trial.gaps()
    assert (gap.codes, gap.devices) == ((), (LEAF,))
    assert gap.reason == "counters were cleared between the readings: Ethernet0"
    assert gap.fix == "repeat it, and clear no counters meanwhile"


def test_a_counter_that_falls_alone_is_named() -> None:
    trial = HealthTrial()
    trial.grow(NODE_PORT, f"{PORT}IF_IN_OCTETS", -1000)
    assert trial.findings() == ()
    (gap,) = trial.gaps()
    assert gap.reason == "counters went backwards: Ethernet0 SAI_PORT_STAT_IF_IN_OCTETS"


def test_a_counter_that_wraps_grew_by_the_rest() -> None:
    row = CountedRow({f"{PORT}IF_IN_ERRORS": 2**64 - 40}, {f"{PORT}IF_IN_ERRORS": 10})
    assert row.growth(CounterMeaning.ERRORS) == 50


def test_a_wrap_is_growth_that_rules_judge() -> None:
    trial = HealthTrial()
    trial.set_both(UPLINKS[0], f"{PORT}IF_IN_ERRORS", 2**64 - 1000)
    trial.after[LEAF]["ports"][UPLINKS[0]][f"{PORT}IF_IN_ERRORS"] = 500
    (finding,) = trial.findings()
    assert finding.message == (
        "lab-leaf1 Ethernet112 (cable lab-leaf1 Ethernet112, to lab-spine1)"
        " counts 50.0 frames with errors a second, at most 1"
    )


@pytest.mark.parametrize("value", ["N/A", None, -5, True, 2**64 - 1])
def test_a_value_that_is_no_count_is_missing(value: object) -> None:
    trial = HealthTrial()
    trial.after[LEAF]["ports"][NODE_PORT][f"{PORT}IF_IN_ERRORS"] = value
    assert trial.findings() == ()
    assert trial.unread == {}


def test_marks_that_are_off_are_not_judged_and_are_no_finding() -> None:
    trial = HealthTrial()
    trial.drop_counter(MARKS)
    trial.grow(NODE_PORT, f"{PORT}PFC_3_TX_PKTS", 100_000)
    trial.grow(ROCE, f"{QUEUE}PACKETS", 100_000)
    assert trial.findings() == ()
    (gap,) = trial.gaps()
    assert gap.codes == (codes.MARKS_NEVER, codes.MARKED_SHARE, codes.PFC_WITHOUT_ECN)
    assert gap.devices == ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2")
    assert gap.reason == "no counter of ECN marks in queues"
    assert gap.fix == "turn them on: `counterpoll wredqueue enable`, off by default"


def test_marks_that_a_release_cannot_count_name_the_release() -> None:
    trial = HealthTrial(release="202411")
    trial.drop_counter(MARKS)
    (gap,) = trial.gaps()
    assert gap.reason == "no counter of ECN marks in queues: SONiC 202411 has none"
    assert gap.fix == "upgrade to SONiC 202505 or later"


def test_marks_of_one_queue_that_are_missing_keep_its_switch_from_being_judged() -> None:
    trial = HealthTrial()
    trial.grow(NODE_PORT, f"{PORT}PFC_3_TX_PKTS", 100_000)
    del trial.after[LEAF]["queues"]["Ethernet4|3"][MARKS]
    assert trial.findings() == ()


@pytest.mark.parametrize(
    ("counter", "code"),
    [
        (f"{QUEUE}PACKETS", codes.MIXED_TRAFFIC),
        (f"{QUEUE}DROPPED_PACKETS", codes.LOSSLESS_QUEUE_DROPS),
        (f"{GROUP}DROPPED_PACKETS", codes.LOSSLESS_GROUP_DROPS),
        (STORMS, codes.PFC_STORM),
        (f"{PORT}IF_OUT_OCTETS", codes.UPLINK_IMBALANCE),
        (f"{PORT}IF_IN_OCTETS", codes.SLOW_RAIL),
        (f"{PORT}IF_IN_FEC_NOT_CORRECTABLE_FRAMES", codes.FEC_UNCORRECTABLE),
        ("flap_count", codes.LINK_FLAPS),
    ],
)
def test_a_counter_that_is_missing_names_the_rules_that_need_it(counter: str, code: str) -> None:
    trial = HealthTrial()
    trial.drop_counter(counter)
    (gap,) = trial.gaps()
    assert gap.codes == (code,)
    assert trial.findings() == ()


def test_a_port_without_counters_is_named() -> None:
    trial = HealthTrial()
    del trial.before[LEAF]["ports"][NODE_PORT]
    assert [gap.reason for gap in trial.gaps()] == ["does not count Ethernet0"]


def test_a_switch_of_other_ports_is_unread() -> None:
    trial = HealthTrial()
    trial.after[LEAF]["ports"] = {"Ethernet999": {}}
    assert trial.unread == {LEAF: "it has none of the ports of the design: the address may belong to another switch"}


def test_a_switch_that_restarted_is_unread() -> None:
    trial = HealthTrial()
    trial.after[LEAF]["boot"] = "c"
    assert trial.unread == {
        LEAF: "its counters restarted between the readings: a reboot, `config reload` or restart of swss"
    }


@pytest.mark.parametrize("at", ["N/A", None, True, float("nan"), float("inf")])
def test_a_reading_without_a_time_is_unread(at: object) -> None:
    trial = HealthTrial()
    trial.after[LEAF]["at"] = at
    assert trial.unread == {LEAF: "its answer has no counters: expected `at` and `ports`"}


def test_a_clock_that_goes_back_is_unread() -> None:
    trial = HealthTrial()
    trial.after[LEAF]["at"] = 990.0
    assert trial.unread == {LEAF: "its clock went back by 10 s between the readings"}


@pytest.mark.parametrize("answer", [{}, {"at": True, "ports": {}}, {"at": 5.0}, {"at": "5", "ports": {}}])
def test_an_answer_of_another_form_is_unread(answer: dict[str, object]) -> None:
    growth = compare_readings(LEAF, [NODE_PORT], answer, answer)
    assert growth == "its answer has no counters: expected `at` and `ports`"


def test_a_switch_that_does_not_answer_is_unread_with_its_error() -> None:
    trial = HealthTrial()
    trial.errors[LEAF] = "timed out after 10 s"
    assert trial.unread == {LEAF: "timed out after 10 s"}
    assert LEAF not in trial.case.switches


def test_rows_of_another_form_are_left_out() -> None:
    trial = HealthTrial()
    trial.after[LEAF]["queues"][f"{NODE_PORT}|3"] = "N/A"
    trial.after[LEAF]["groups"]["Ethernet0|x"] = dict(GROUP_ROW)
    trial.after[LEAF]["queues"]["Ethernet500|3"] = dict(QUEUE_ROW)
    trial.before[LEAF]["groups"] = None
    assert trial.unread == {}
    assert trial.findings() == ()


def test_flaps_are_read_beside_the_counters_and_judged_with_them() -> None:
    trial = HealthTrial()
    trial.drop_counter(FLAPS)
    assert [gap.codes for gap in trial.gaps()] == [(codes.LINK_FLAPS,)]
    for reading, flaps in ((trial.before, "7"), (trial.after, "11")):
        state = {"ports": {UPLINKS[0]: {"flap_count": flaps, "oper_status": "up"}, "Ethernet1": {"flap_count": "2"}}}
        reading[LEAF] = dict(with_flaps(reading[LEAF], state))
    assert LEAF not in trial.gaps()[0].devices
    (finding,) = trial.findings()
    assert finding.code == codes.LINK_FLAPS
    assert finding.message == (
        "lab-leaf1 Ethernet112 (cable lab-leaf1 Ethernet112, to lab-spine1) went down and up 2 times in 30 s"
    )


@pytest.mark.parametrize(
    "state", [{}, {"ports": None}, {"ports": {NODE_PORT: {}}}, {"ports": {NODE_PORT: {FLAPS: "N/A"}}}]
)
def test_ports_without_flaps_get_no_counter(state: dict[str, object]) -> None:
    reading = {"at": 1.0, "ports": {NODE_PORT: {"SAI_PORT_STAT_IF_IN_ERRORS": 1}}}
    assert with_flaps(reading, state) == reading
