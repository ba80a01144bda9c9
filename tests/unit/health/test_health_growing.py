"""What `verify` takes from health: errors, lost codewords and PFC storms between two readings, by a clock of the test.

The limits are the rules' own: one frame with errors a second, as 50 a second on one link passed `verify` before.
"""

from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from health_trials import LEAF, NODE_PORT, PORT, RESTORED, STORMS, UPLINKS, HealthTrial

from nornir_railweave.tasks.counters import SwitchCounters
from railweave.api import error_watch
from railweave.api.error_watch import ErrorWatch
from railweave.api.targets.fabric import LiveFabric
from railweave.health.growing import growth_checks, judged_counters
from railweave.health.judge import CounterAnswer
from railweave.health.reading import FLAPS
from railweave.plan.outcome import CheckKind, VerifyCheck

SECONDS = 30.0


def answers(readings: Mapping[str, dict[str, Any]]) -> dict[str, CounterAnswer]:
    return {name: CounterAnswer(judged_counters(reading)) for name, reading in readings.items()}


def failed(trial: HealthTrial) -> tuple[VerifyCheck, ...]:
    return growth_checks(trial.fabric, answers(trial.before), answers(trial.after))[0]


def test_a_quiet_fabric_fails_no_check() -> None:
    assert failed(HealthTrial()) == ()


def test_a_link_with_50_errors_a_second_fails_with_its_port_and_rate() -> None:
    trial = HealthTrial()
    trial.grow(UPLINKS[1], f"{PORT}IF_IN_ERRORS", round(50 * SECONDS))
    checks, fixes = growth_checks(trial.fabric, answers(trial.before), answers(trial.after))
    assert checks == (
        VerifyCheck(
            LEAF,
            CheckKind.ERRORS,
            UPLINKS[1],
            "links carry frames without errors",
            "counts 50.0 frames with errors a second, at most 1",
            ok=False,
        ),
    )
    assert fixes == ("clean or replace the cable and its optics at both ends; `railweave links` grades the cable",)


@pytest.mark.parametrize(("factor", "count"), [(0.9, 0), (1.1, 1)])
def test_errors_fail_from_one_a_second_on(factor: float, count: int) -> None:
    trial = HealthTrial()
    trial.grow(NODE_PORT, f"{PORT}IF_IN_ERRORS", round(SECONDS * factor))
    assert len(failed(trial)) == count


def test_old_errors_that_do_not_grow_are_history() -> None:
    trial = HealthTrial()
    trial.set_both(NODE_PORT, f"{PORT}IF_IN_ERRORS", 5_000_000)
    assert failed(trial) == ()


def test_lost_codewords_fail_as_errors() -> None:
    trial = HealthTrial()
    trial.grow(UPLINKS[0], f"{PORT}IF_IN_FEC_NOT_CORRECTABLE_FRAMES", 40)
    assert [(check.kind, check.subject) for check in failed(trial)] == [(CheckKind.ERRORS, UPLINKS[0])]


def test_a_storm_that_lasts_fails_though_it_began_before_the_first_reading() -> None:
    trial = HealthTrial()
    trial.set_both(f"queues {NODE_PORT}|3", STORMS, 4)
    trial.set_both(f"queues {NODE_PORT}|3", RESTORED, 3)
    assert [(check.kind, check.subject, check.actual) for check in failed(trial)] == [
        (CheckKind.STORMS, NODE_PORT, "is in a PFC storm: gpu1 pauses queue 3 without end")
    ]


def test_counters_that_restarted_between_the_readings_fail_nothing() -> None:
    trial = HealthTrial()
    trial.grow(UPLINKS[1], f"{PORT}IF_IN_ERRORS", 9000)
    trial.after[LEAF]["boot"] = "another"
    assert failed(trial) == ()


def test_a_reading_keeps_what_is_judged_alone() -> None:
    reading = HealthTrial().before[LEAF]
    reading["ports"][NODE_PORT][FLAPS] = 3
    kept = judged_counters(reading)
    assert set(kept["ports"][NODE_PORT]) == {
        f"{PORT}IF_IN_ERRORS",
        f"{PORT}IF_OUT_ERRORS",
        f"{PORT}IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
    } & set(reading["ports"][NODE_PORT])
    assert set(kept["queues"][f"{NODE_PORT}|3"]) == {STORMS, RESTORED}
    assert kept["groups"] == {}
    assert (kept["at"], kept["boot"]) == (reading["at"], reading["boot"])


class _Clock:
    """A clock that stands still but for its sleeps and the work that a test plans."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class _Switches:
    """What switches answer to one reading after the other; ``asked`` are the names of each."""

    def __init__(self, readings: list[dict[str, SwitchCounters]]) -> None:
        self._readings = readings
        self.asked: list[list[str]] = []

    def __call__(self, _: object, names: Collection[str], *, keep: object) -> dict[str, SwitchCounters]:
        self.asked.append(list(names))
        return {name: counters for name, counters in self._readings.pop(0).items() if name in names}


def watch_of(
    trial: HealthTrial, monkeypatch: pytest.MonkeyPatch, unread: str = ""
) -> tuple[ErrorWatch, _Switches, _Clock]:
    first = {name: SwitchCounters(judged_counters(reading)) for name, reading in trial.before.items()}
    last = {name: SwitchCounters(judged_counters(reading)) for name, reading in trial.after.items()}
    if unread:
        first[unread] = SwitchCounters(error="does not answer")
    switches = _Switches([first, last])
    monkeypatch.setattr(error_watch, "read_counters", switches)
    live = SimpleNamespace(nornir=None, designed=SimpleNamespace(fabric=trial.fabric))
    clock = _Clock()
    return ErrorWatch(cast(LiveFabric, live), sorted(trial.before), clock), switches, clock


@pytest.mark.parametrize(("worked_s", "slept_s"), [(0.5, 1.5), (2.0, 0.0), (40.0, 0.0)])
def test_the_second_reading_waits_for_two_seconds_after_the_first_alone(
    monkeypatch: pytest.MonkeyPatch, worked_s: float, slept_s: float
) -> None:
    watch, _, clock = watch_of(HealthTrial(), monkeypatch)
    clock.now += worked_s
    assert watch.checks() == ((), ())
    assert clock.slept == [slept_s]


def test_a_switch_that_did_not_answer_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = HealthTrial()
    trial.grow(UPLINKS[1], f"{PORT}IF_IN_ERRORS", 9000)
    watch, switches, _ = watch_of(trial, monkeypatch, unread="lab-spine1")
    checks, _ = watch.checks()
    assert [(check.device, check.subject) for check in checks] == [(LEAF, UPLINKS[1])]
    assert "lab-spine1" in switches.asked[0]
    assert "lab-spine1" not in switches.asked[1]


def test_without_any_counters_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = HealthTrial()
    trial.before = {LEAF: trial.before[LEAF]}
    watch, switches, clock = watch_of(trial, monkeypatch, unread=LEAF)
    assert watch.checks() == ((), ())
    assert clock.slept == []
    assert len(switches.asked) == 1
