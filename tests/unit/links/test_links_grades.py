"""Cables graded by counters, flaps and modules; bad readings are named and raise no alarm."""

import json
from datetime import date

import pytest

from railweave.fabric.fec import RS544
from railweave.fabric.link_limits import link_limits
from railweave.fabric.link_policy import LinkPolicy
from railweave.links.errors import BINS, CORRECTED_BITS, UNCORRECTABLE, LinkErrors, port_errors
from railweave.links.grades import EndReading, Grade, Reason, grade_of, reasons_of
from railweave.links.history import (
    HistoryLine,
    PortMemory,
    TransitionCount,
    flaps_within,
    memory_document,
    merged_history,
    offenders,
    read_history,
    read_memory,
)
from railweave.links.optics import Module, optics_reasons
from railweave.links.trend import Sample

POLICY = LinkPolicy()
LIMITS = link_limits(RS544, 400, POLICY, 1024)
CODEWORDS = 2_205_882_352
BEFORE = {**dict.fromkeys(BINS, 0), BINS[0]: 10**12, UNCORRECTABLE: 3, CORRECTED_BITS: 5000}
AFTER = {**BEFORE, BINS[0]: 10**12 + CODEWORDS, BINS[1]: 24_000, BINS[2]: 1, CORRECTED_BITS: 29_002}


def errors(after: dict[str, int], before: dict[str, int] = BEFORE, seconds: float = 30.0) -> LinkErrors:
    return port_errors(before, after, seconds, LIMITS)


def test_the_rate_comes_from_the_bins_and_clean_codewords_are_no_errors() -> None:
    rate = errors(AFTER).bit_error_rate
    assert rate == pytest.approx(24_002 / CODEWORDS / 5440, rel=1e-3)


def test_without_bins_the_rate_comes_from_corrected_bits() -> None:
    before = {CORRECTED_BITS: 0, UNCORRECTABLE: 0}
    rate = errors({CORRECTED_BITS: 24_000, UNCORRECTABLE: 0}, before).bit_error_rate
    assert rate == pytest.approx(24_000 / 12e12, rel=1e-2)


@pytest.mark.parametrize(
    ("after", "seconds", "why"),
    [
        ({name: value // 1000 for name, value in AFTER.items()}, 30.0, "its counters restarted between the readings"),
        ({**AFTER, UNCORRECTABLE: 1}, 30.0, f"its counter {UNCORRECTABLE} went backwards"),
        (BEFORE, 30.0, "no codewords arrived between the readings"),
        (AFTER, float("nan"), "the answer of its switch has no time"),
        (AFTER, -1.0, "the clock of its switch went backwards between the readings"),
        ({}, 30.0, "its switch reports no errors"),
        (
            {name: AFTER[name] for name in AFTER if name != BINS[7]},
            30.0,
            f"its counter {BINS[7]} is missing in one of two readings",
        ),
    ],
    ids=["cleared", "backwards", "silent", "no-time", "clock", "absent", "lacking"],
)
def test_readings_that_cannot_be_compared_are_named_and_graded_b(
    after: dict[str, int], seconds: float, why: str
) -> None:
    read = errors(after, seconds=seconds)
    assert read.unmeasured == why
    reasons = reasons_of([EndReading("leaf1:Ethernet0", read)], LIMITS, POLICY)
    assert reasons == [Reason(Grade.B, f"leaf1:Ethernet0 is not measured: {why}")]


def test_without_a_count_of_lost_codewords_the_rate_is_graded_and_the_lack_is_named() -> None:
    rows = [{name: value for name, value in row.items() if name != UNCORRECTABLE} for row in (BEFORE, AFTER)]
    read = errors(rows[1], rows[0])
    assert read.bit_error_rate == errors(AFTER).bit_error_rate
    reasons = reasons_of([EndReading("leaf1:Ethernet0", read, [Sample(0, 1e-3)])], LIMITS, POLICY)
    assert [reason.grade for reason in reasons] == [Grade.D, Grade.B]
    assert reasons[1].text == f"leaf1:Ethernet0 is not measured: its switch does not count {UNCORRECTABLE}"


def test_a_wrapped_counter_is_a_count() -> None:
    before = {**BEFORE, BINS[0]: 2**64 - 1000}
    after = {**AFTER, BINS[0]: CODEWORDS - 1000}
    assert errors(after, before).bit_error_rate == errors(AFTER).bit_error_rate


def graded(end: EndReading) -> Grade:
    return grade_of(reasons_of([end], LIMITS, POLICY))


def test_a_healthy_link_has_grade_a() -> None:
    read = errors(AFTER)
    assert graded(EndReading("leaf1:Ethernet0", read, [Sample(0, read.bit_error_rate or 0)])) is Grade.A


def test_an_uncorrectable_codeword_drains_unless_the_link_came_up_meanwhile() -> None:
    read = errors({**AFTER, UNCORRECTABLE: 4})
    assert read.uncorrectable == 1
    assert graded(EndReading("leaf1:Ethernet0", read)) is Grade.D
    assert graded(EndReading("leaf1:Ethernet0", read, flaps=1)) is Grade.C


@pytest.mark.parametrize(("flaps", "grade"), [(0, Grade.A), (1, Grade.C), (2, Grade.C), (3, Grade.D)])
def test_flaps_drain_from_the_limit_on(flaps: int, grade: Grade) -> None:
    assert graded(EndReading("leaf1:Ethernet0", LinkErrors(), flaps=flaps)) is grade


def test_down_and_up_are_one_flap_and_a_boot_none() -> None:
    port = PortMemory()
    assert flaps_within(port, 1000.0, 5, 1) == 0
    assert flaps_within(port, 1060.0, 7, 1) == 1
    assert flaps_within(port, 1120.0, 11, 1) == 3
    assert flaps_within(port, 1120.0 + 3700, 11, 1) == 0
    assert flaps_within(port, 9000.0, 1, 1) == 0


THRESHOLDS = {
    "rxpowerlowalarm": "-10.0",
    "rxpowerlowwarning": "-8.0",
    "rxpowerhighwarning": "4.0",
    "rxpowerhighalarm": "5.0",
}


@pytest.mark.parametrize(
    ("power", "grade"),
    [("-2.0", Grade.A), ("-9.0", Grade.B), ("-inf", Grade.C), ("N/A", Grade.A), ("6.1dBm", Grade.C)],
)
def test_modules_are_judged_by_their_own_thresholds(power: str, grade: Grade) -> None:
    module = Module({}, {"rx1power": "-1.5", "rx3power": power}, THRESHOLDS)
    assert grade_of(optics_reasons("leaf1:Ethernet0", module)) is grade


def test_thresholds_that_are_not_set_judge_nothing() -> None:
    unset = dict.fromkeys(THRESHOLDS, "0.0")
    assert optics_reasons("leaf1:Ethernet0", Module({}, {"rx1power": "-40"}, unset)) == []


def test_a_port_of_a_shared_cage_answers_for_its_own_lanes() -> None:
    module = Module({}, {"rx1power": "-9.0", "rx5power": "-1.0"}, THRESHOLDS)
    assert optics_reasons("leaf1:Ethernet4", module, range(5, 9)) == []


def line(day: int, cable: str, grade: Grade, *serials: str) -> HistoryLine:
    return HistoryLine(f"2026-05-{day:02}", cable, grade, ("reason",), serials)


def test_the_history_has_a_line_a_cable_and_day_with_the_worst_grade() -> None:
    worse = line(2, "gpu1 rail0", Grade.D)
    history = merged_history([line(1, "gpu1 rail0", Grade.B)], [worse])
    history = merged_history(history, [line(2, "gpu1 rail0", Grade.C)])
    assert history == [line(1, "gpu1 rail0", Grade.B), worse]
    assert read_history("".join(f"{entry.text}\n" for entry in history) + '{"day": "2026-0') == history


def test_an_optic_is_a_repeat_offender_wherever_it_is_plugged() -> None:
    history = [line(day, f"gpu{day} rail0", Grade.C, "SN1", f"SN1{day}") for day in (1, 2, 3)]
    (offender,) = offenders(history, date(2026, 5, 10), POLICY)
    assert (offender.kind, offender.name, offender.days) == ("optic", "SN1", 3)
    assert offenders(history, date(2026, 7, 10), POLICY) == []


def test_memory_survives_its_file_and_a_damaged_file_is_none() -> None:
    memory = {
        "leaf1:Ethernet0": PortMemory([Sample(1.0, 2e-6)], [TransitionCount(1.0, 3)]),
        "leaf1:Ethernet4": PortMemory(),
    }
    assert read_memory(json.dumps(memory_document(memory))) == {"leaf1:Ethernet0": memory["leaf1:Ethernet0"]}
    assert read_memory('{"version": 1, "ports": {"x": 3}}') is None
    assert read_memory("") is None
