"""How busy this machine is: the share of the processor that a program gets, however late its first turn comes."""

import os

import pytest

from railweave.acceptance.running import slowness


class SharedProcessor:
    """Stands for the module ``time``: one call takes 10 ms, of which the program gets a share, in turns of a second."""

    def __init__(self, share: float, first_turn_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.share = share
        self.turn_s = self.now_s + first_turn_s

    def monotonic(self) -> float:
        self.now_s += 0.01
        return self.now_s

    def thread_time(self) -> float:
        return max(0.0, self.now_s - self.turn_s) * self.share


@pytest.mark.parametrize(("share", "times"), [(1.0, 1.0), (0.5, 2.0), (0.25, 4.0), (0.01, 10.0), (0.0, 10.0)])
def test_slowness_is_the_share_of_the_processor_up_to_ten_times(
    monkeypatch: pytest.MonkeyPatch, share: float, times: float
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(slowness, "time", SharedProcessor(share))
    assert slowness.measured_slowness() == pytest.approx(times, rel=0.15)


def test_a_first_turn_after_the_usual_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(slowness, "time", SharedProcessor(1.0, first_turn_s=0.5))
    assert slowness.measured_slowness() == pytest.approx(6.0, rel=0.15)


def test_a_processor_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = SharedProcessor(0.0)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(slowness, "time", processor)
    slowness.measured_slowness()
    assert processor.now_s - 100.0 == pytest.approx(4.0, rel=0.05)
