"""`health` on any pair of readings: it raises nothing, believes no counter that fell, and its numbers are differences.

The oracle subtracts counters of the readings itself, by their names in SONiC.
"""

import re
from collections.abc import Mapping
from typing import Any

from damaged_readings import copied, damage
from examples import more
from health_trials import GROUP, LEAF, PORT, QUEUE, RESTORED, SECONDS, STORMS, HealthTrial
from hypothesis import given
from hypothesis import strategies as st

from railweave.health import codes
from railweave.health.case import HealthCase
from railweave.health.growing import growth_checks, judged_counters
from railweave.health.judge import CounterAnswer, compare_switches, health_gaps, judge_health

BASE = HealthTrial()
SWITCHES = tuple(BASE.ports)


@st.composite
def places(draw: st.DrawFn) -> tuple[str, str, str, str]:
    """Return a counter: switch, table, row and name."""
    device = draw(st.sampled_from(SWITCHES))
    table = draw(st.sampled_from(("ports", "queues", "groups")))
    row = draw(st.sampled_from(sorted(BASE.after[device][table])))
    return device, table, row, draw(st.sampled_from(sorted(BASE.after[device][table][row])))


def case_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[HealthCase, dict[str, str]]:
    switches, unread = compare_switches(BASE.ports, answers(before), answers(after))
    return HealthCase(BASE.fabric, BASE.ports, switches), unread


def answers(readings: Mapping[str, Any]) -> dict[str, CounterAnswer]:
    return {name: CounterAnswer(reading) for name, reading in readings.items()}


@more
@given(data=st.data())
def test_any_pair_of_readings_is_judged_or_named(data: st.DataObject) -> None:
    before, after = copied(BASE.before), copied(BASE.after)
    for _ in range(data.draw(st.integers(1, 8))):
        data.draw(damage(data.draw(st.sampled_from((before, after)))))
    case, unread = case_of(before, after)
    assert case.switches.keys() | unread.keys() == set(SWITCHES)
    assert all(unread.values())
    for finding in judge_health(case):
        assert set(finding.devices) <= case.switches.keys()
        assert "nan" not in finding.message
    for gap in health_gaps(case):
        assert gap.reason
    # `verify` keeps less of the same readings.
    less = [answers({name: judged_counters(reading) for name, reading in readings.items()})
            for readings in (before, after)]  # fmt: skip
    checks, _ = growth_checks(BASE.fabric, *less)
    assert {check.device for check in checks} <= case.switches.keys()


@more
@given(
    fallen=st.lists(st.tuples(places(), st.floats(0, 1, exclude_max=True)), min_size=1, max_size=30),
    gone=st.lists(places(), max_size=10),
    unreadable=st.lists(st.tuples(places(), st.sampled_from(["N/A", None, -1, 2**64 - 1])), max_size=10),
)
def test_counters_that_fell_or_are_missing_are_no_finding(
    fallen: list[tuple[tuple[str, str, str, str], float]],
    gone: list[tuple[str, str, str, str]],
    unreadable: list[tuple[tuple[str, str, str, str], Any]],
) -> None:
    after = copied(BASE.after)
    for (device, table, row, name), share in fallen:
        counter = after[device][table][row]
        counter[name] = int(counter[name] * share)
    for (device, table, row, name), value in unreadable:
        after[device][table][row][name] = value
    for device, table, row, name in gone:
        after[device][table][row].pop(name, None)
    case, unread = case_of(BASE.before, after)
    assert (judge_health(case), unread) == ((), {})


# What may grow between two readings, and how the finding of a port gives the number.
ERRORS = f"{PORT}IF_IN_ERRORS"
LOST = f"{PORT}IF_IN_FEC_NOT_CORRECTABLE_FRAMES"
DROPS = f"{QUEUE}DROPPED_PACKETS"
GROUP_DROPS = f"{GROUP}DROPPED_PACKETS"
FLAPS = "flap_count"


@st.composite
def growths(draw: st.DrawFn) -> dict[str, dict[str, int]]:
    """Return how much counters of ports of LEAF grow, by port and counter."""
    grown: dict[str, dict[str, int]] = {}
    ports = draw(st.lists(st.sampled_from([port.port for port in BASE.ports[LEAF]]), min_size=1, unique=True))
    for port in ports:
        names = draw(st.lists(st.sampled_from((ERRORS, LOST, DROPS, GROUP_DROPS, FLAPS, STORMS)), unique=True))
        grown[port] = {name: draw(st.integers(0, 6) | st.integers(0, 100_000)) for name in names}
    return grown


@more
@given(grown=growths(), restored=st.booleans())
def test_the_numbers_of_findings_are_the_differences_of_counters(
    grown: dict[str, dict[str, int]], *, restored: bool
) -> None:
    after = copied(BASE.after)
    for port, counters in grown.items():
        for name, growth in counters.items():
            table, row = place_of(port, name)
            after[LEAF][table][row][name] += growth
        if restored:
            after[LEAF]["queues"][f"{port}|3"][RESTORED] += counters.get(STORMS, 0)
    case, unread = case_of(BASE.before, after)
    found: dict[tuple[str, str], str] = {}
    for finding in judge_health(case):
        (port_name,) = finding.ports
        found[finding.code, port_name.removeprefix(f"{LEAF} ")] = finding.message
    assert unread == {}
    expected = {}
    for port, counters in grown.items():
        for code, number in expected_numbers(counters, restored=restored):
            expected[code, port] = number
    assert found.keys() == expected.keys()
    for key, number in expected.items():
        assert number in re.findall(r"\d[\d,]*(?:\.\d+)?", found[key].partition(") ")[2]), (key, number, found[key])


def place_of(port: str, counter: str) -> tuple[str, str]:
    if counter in (DROPS, STORMS):
        return "queues", f"{port}|3"
    if counter == GROUP_DROPS:
        return "groups", f"{port}|3"
    return "ports", port


def expected_numbers(counters: Mapping[str, int], *, restored: bool) -> list[tuple[str, str]]:
    """Return the codes of a port with the number that its message has."""
    expected = []
    if counters.get(ERRORS, 0) > SECONDS:
        expected.append((codes.LINK_ERRORS, f"{counters[ERRORS] / SECONDS:,.1f}"))
    # 100 Gb/s for 30 s are 5.5e8 codewords, of which 6.2e-11 may be lost. By chance one of the ports loses 3 once in
    # ten thousand readings, and 4 once in a million.
    if counters.get(LOST, 0) > 3:
        expected.append((codes.FEC_UNCORRECTABLE, f"{counters[LOST]:,}"))
    if counters.get(FLAPS, 0) >= 2:
        expected.append((codes.LINK_FLAPS, f"{counters[FLAPS] // 2:,}"))
    storms = counters.get(STORMS, 0)
    if storms:
        # A storm that lasts is named with its queue alone.
        expected.append((codes.PFC_STORM, f"{storms:,}" if restored else "3"))
    elif counters.get(DROPS, 0):
        expected.append((codes.LOSSLESS_QUEUE_DROPS, f"{counters[DROPS]:,}"))
    if counters.get(GROUP_DROPS, 0):
        expected.append((codes.LOSSLESS_GROUP_DROPS, f"{counters[GROUP_DROPS]:,}"))
    return expected
