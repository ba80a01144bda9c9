"""Sessions of BGP are opened again one at a time, and only those that keep something else than is configured."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave_switch.host import CommandError, Done, SwitchHost
from railweave_switch.sessions import OPENS_S, open_again


@dataclass
class Bgpd:
    """A host whose FRR opens a cleared session ``opens_after_s`` later, with the timers that are configured then."""

    peers: dict[str, dict[str, Any]]
    opens_after_s: float = 2.0
    now: float = 0.0
    cleared: dict[str, float] = field(default_factory=dict)
    away: int = 0
    """The most sessions that were away at once."""

    def now_s(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def run(self, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
        command = words[2]
        self._open()
        if command.startswith("clear bgp "):
            peer = command.split()[-1]
            self.peers[peer]["bgpState"] = "Idle"
            self.cleared[peer] = self.now
            self.away = max(self.away, len(self.cleared))
            return Done(0, "", "")
        peer = command.split()[-2]
        return Done(0, json.dumps({peer: self.peers[peer]} if peer in self.peers else {"bgpNoSuchNeighbor": True}), "")

    def _open(self) -> None:
        for peer, since in list(self.cleared.items()):
            if self.now >= since + self.opens_after_s:
                del self.cleared[peer]
                shown = self.peers[peer]
                shown["bgpState"] = "Established"
                shown["connectionsEstablished"] += 1
                shown["bgpTimerHoldTimeMsecs"] = shown["bgpTimerConfiguredHoldTimeMsecs"]
                shown["bgpTimerKeepAliveIntervalMsecs"] = shown["bgpTimerConfiguredKeepAliveIntervalMsecs"]


def open_on(host: Bgpd, sessions: Sequence[Sequence[Any]]) -> None:
    open_again(cast(SwitchHost, host), sessions)


def peer(configured: tuple[int, int], used: tuple[int, int], state: str = "Established") -> dict[str, Any]:
    return {
        "bgpState": state,
        "bgpTimerConfiguredKeepAliveIntervalMsecs": configured[0] * 1000,
        "bgpTimerConfiguredHoldTimeMsecs": configured[1] * 1000,
        "bgpTimerKeepAliveIntervalMsecs": used[0] * 1000,
        "bgpTimerHoldTimeMsecs": used[1] * 1000,
        "connectionsEstablished": 1,
        "addressFamilyInfo": {"ipv4Unicast": {"acceptedPrefixCounter": 3}},
    }


TIMERS = st.sampled_from([(1, 3), (1, 9), (3, 9), (10, 30)])


@given(st.lists(st.tuples(TIMERS, TIMERS, st.sampled_from(["Established", "Active", "Idle"])), max_size=8))
def test_each_open_session_with_other_timers_is_cleared_once_and_no_two_are_away_together(
    sessions: list[tuple[tuple[int, int], tuple[int, int], str]],
) -> None:
    host = Bgpd({f"10.0.0.{number}": peer(*one) for number, one in enumerate(sessions)})
    open_on(host, [["default", name, True] for name in host.peers])
    for name, (configured, used, state) in zip(host.peers, sessions, strict=True):
        other = state == "Established" and configured != used
        assert host.peers[name]["connectionsEstablished"] == 1 + other, name
        if state == "Established":
            assert host.peers[name]["bgpTimerHoldTimeMsecs"] == configured[1] * 1000
    assert host.away <= 1


def test_a_capability_is_seen_nowhere_so_its_session_is_always_opened_again() -> None:
    host = Bgpd({"10.0.0.0": peer((3, 9), (3, 9))})
    open_on(host, [["default", "10.0.0.0", False]])
    assert host.peers["10.0.0.0"]["connectionsEstablished"] == 2


def test_once_a_session_stays_away_no_further_one_is_cleared() -> None:
    away = [peer((1, 3), (3, 9)), peer((1, 3), (3, 9))]
    host = Bgpd(dict(zip(("10.0.0.0", "10.0.0.2"), away, strict=True)), opens_after_s=OPENS_S * 5)
    with pytest.raises(CommandError, match=r"clear bgp 10\.0\.0\.0.*did not open again within 60 s \(Idle\)"):
        open_on(host, [["default", "10.0.0.0", True], ["default", "10.0.0.2", True]])
    assert set(host.cleared) == {"10.0.0.0"}
    assert host.now < 2 * OPENS_S


def test_a_neighbor_that_is_gone_is_passed_over() -> None:
    host = Bgpd({})
    open_on(host, [["red", "10.0.0.9", False]])
    assert not host.cleared
