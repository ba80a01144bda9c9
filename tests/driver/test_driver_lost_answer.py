"""How long the answer to a change is waited for where its session was lost: until the switch's own timer has struck."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from driven_clock import DrivenClock
from napalm.base.exceptions import CommandTimeoutException, ConnectionClosedException

from napalm_sonic.calling import Caller
from napalm_sonic.options import Options
from napalm_sonic.session import Completed


class LostSession:
    """A session that breaks off at its first command; after that ``again`` says what logging in or asking does."""

    hostname = "leaf1"

    def __init__(self, lost_after_s: float, again: Callable[["LostSession", float], None]) -> None:
        self.clock = DrivenClock()
        self.lost_after_s, self.again = lost_after_s, again
        self.opened = 0

    def as_root(self, command: str) -> str:
        return command

    def close(self) -> None:
        """Nothing is there to be closed."""

    def open(self) -> None:
        self.opened += 1

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        assert timeout_s is not None
        if not self.opened:
            self.clock.sleep(self.lost_after_s)
            raise ConnectionClosedException("the session was lost")
        self.again(self, timeout_s)
        raise AssertionError("it always fails")


def silent(session: LostSession, timeout_s: float) -> None:
    session.clock.sleep(timeout_s)
    raise CommandTimeoutException("no answer")


def away(session: LostSession, timeout_s: float) -> None:
    session.clock.sleep(10)
    raise ConnectionClosedException("no route")


@pytest.mark.parametrize("again", [silent, away])
@pytest.mark.parametrize("lost_after_s", [0, 100, 299, 1000])
def test_a_lost_answer_is_waited_for_until_the_timer_has_struck(
    again: Callable[[LostSession, float], None], lost_after_s: float
) -> None:
    session, options = LostSession(lost_after_s, again), Options()
    begun_s = session.clock.monotonic()
    with pytest.raises(ConnectionClosedException, match="restores the earlier configuration by itself within 300 s"):
        Caller(cast("Any", session), options).change(["apply"], b"{}", name="1", deadline_s=300.0)
    took_s = session.clock.monotonic() - begun_s
    assert max(300.0, lost_after_s) <= took_s <= max(300.0, lost_after_s) + options.command_timeout_s + 2
    assert session.opened


@pytest.mark.parametrize("again", [silent, away])
def test_without_a_timer_it_is_waited_for_as_long_as_a_reload_takes(
    again: Callable[[LostSession, float], None],
) -> None:
    session, options = LostSession(50, again), Options()
    begun_s = session.clock.monotonic()
    with pytest.raises(ConnectionClosedException, match="the result of 1 is not known"):
        Caller(cast("Any", session), options).change(["save"], name="1")
    assert session.clock.monotonic() - begun_s <= 50 + options.reload_timeout_s + options.command_timeout_s + 2
