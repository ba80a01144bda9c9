"""A session that slept: what another one did meanwhile is neither confirmed nor undone, and an answer is its own."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from driven_clock import DrivenClock
from napalm.base.exceptions import CommitConfirmException, CommitError, ConnectionClosedException

from napalm_sonic.calling import Caller
from napalm_sonic.driver import SonicDriver
from napalm_sonic.options import Options
from napalm_sonic.program import SwitchProgram
from napalm_sonic.quoting import Quotes
from napalm_sonic.session import Completed
from railweave.sonic.delta.merge import delta_of

MTU = {"PORT": {"Ethernet0": {"mtu": "9000"}}}
QOS = {"DSCP_TO_TC_MAP": {"AZURE": {"26": "4"}}}
STATE = "/var/lib/railweave/transaction.json"


def load(driver: SonicDriver, document: dict[str, Any]) -> None:
    driver.load_merge_candidate(config=json.dumps(document))


def timer_strikes(driver: SonicDriver) -> None:
    """Do as the switch does once the time is over."""
    driver.cli([f"sudo -n /usr/local/bin/railweave-switch revert --id {driver.revert_timer.status().commit_id}"])


@pytest.fixture
def overtaken(driver: SonicDriver, switch: Any, served: Any) -> tuple[SonicDriver, dict[str, Any]]:
    """A session whose commit was reverted while it slept, and what the switch ran once another's was confirmed."""
    load(driver, MTU)
    driver.commit_config(revert_in=60)
    with served.driver() as other:
        timer_strikes(other)
        load(other, QOS)
        other.commit_config(message="the successor's")
    return driver, copy.deepcopy(switch.tables)


def test_a_session_that_slept_rolls_back_no_commit_but_its_own(
    overtaken: tuple[SonicDriver, dict[str, Any]], switch: Any
) -> None:
    driver, held = overtaken
    with pytest.raises(CommitError, match=r"commit 2\S+ by \S+ \(process \d+\) came after this session's commit 2\S+"):
        driver.rollback()
    assert switch.tables == held
    assert switch.state()["message"] == "the successor's"


def test_a_session_that_slept_confirms_no_commit_but_its_own(driver: SonicDriver, switch: Any, served: Any) -> None:
    load(driver, MTU)
    driver.commit_config(revert_in=60)
    with served.driver() as other:
        timer_strikes(other)
        load(other, QOS)
        other.commit_config(revert_in=60)
        with pytest.raises(CommitConfirmException, match="nothing was confirmed"):
            driver.confirm_commit()
        assert other.has_pending_commit()
        assert not switch.saved
        other.confirm_commit()


@pytest.mark.parametrize("revert_in", [None, 60])
def test_a_delta_that_was_made_on_an_earlier_reading_is_refused_whatever_it_changes(
    driver: SonicDriver, switch: Any, served: Any, revert_in: int | None
) -> None:
    delta = delta_of(MTU, driver.revert_timer.read().running)
    with served.driver() as other:
        load(other, QOS)
        other.commit_config(message="the successor's")
    held = copy.deepcopy(switch.tables)
    with pytest.raises(CommitError, match=r"\(the successor's\) came since this was planned"):
        driver.changes.apply(delta, revert_in=revert_in)
    assert switch.tables == held


@pytest.mark.parametrize("pending", [True, False])
def test_a_commit_is_reverted_by_its_name_and_no_other(
    overtaken: tuple[SonicDriver, dict[str, Any]], switch: Any, pending: bool
) -> None:
    driver, held = overtaken
    with pytest.raises(CommitError, match=r"the successor's|nothing to revert"):
        driver.changes.revert(driver._own_commit_id, pending=pending)
    assert switch.tables == held


def test_after_an_own_rollback_the_one_before_is_the_last_again(driver: SonicDriver) -> None:
    load(driver, MTU)
    driver.commit_config()
    driver.rollback()
    with pytest.raises(CommitError, match="there is no commit to roll back"):
        driver.rollback()


@pytest.mark.parametrize("end", ["rollback", "confirm_commit"])
def test_a_commit_whose_answer_was_lost_is_this_sessions_as_well(
    end: str, driver: SonicDriver, switch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(driver, MTU)
    driver.commit_config()
    held, apply = copy.deepcopy(switch.tables), SwitchProgram.apply

    def lose(program: SwitchProgram, *arguments: Any) -> dict[str, Any]:
        apply(program, *arguments)
        raise ConnectionClosedException("the session was lost")

    monkeypatch.setattr(SwitchProgram, "apply", lose)
    load(driver, QOS)
    with pytest.raises(ConnectionClosedException):
        driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    getattr(driver, end)()
    assert not driver.has_pending_commit()
    assert (switch.tables == held) == (end == "rollback")


class Answering:
    """A session that gives answers one after the other; ``lost`` breaks off."""

    hostname = "leaf1"

    def __init__(self, *answers: Any) -> None:
        self.clock = DrivenClock()
        self.quotes = Quotes()
        self.left = list(answers)

    def refuse_noise(self) -> None:
        """Its login prints nothing of its own."""

    def as_root(self, command: str) -> str:
        return command

    def open(self) -> None:
        """It is open again."""

    def close(self) -> None:
        """Nothing is there to be closed."""

    def run(self, command: str, timeout_s: float | None = None, data: bytes = b"") -> Completed:
        answer = self.left.pop(0)
        if answer == "lost":
            raise ConnectionClosedException("the session was lost")
        return Completed(command, 0, json.dumps(answer), "")


def status(name: str, word: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "status": word, "error": "", "by": "bob@two", **more}


def answer(outcome: str, name: str, word: str) -> dict[str, Any]:
    return {"outcome": outcome, "status": status(name, word)}


def told(name: str, word: str, kept: Any = None) -> dict[str, Any]:
    return {"outcome": "status", "status": status(name, word), **({} if kept is None else {"answer": kept})}


def changed(session: Any, verb: str = "apply", last: str | None = "before") -> dict[str, Any]:
    return Caller(session, Options()).change([verb], b"{}", name="mine", deadline_s=60.0, last=last)


@pytest.mark.parametrize("verb", ["apply", "confirm", "revert"])
@pytest.mark.parametrize("outcome", ["applied", "confirmed", "reverted"])
def test_the_answer_to_another_transaction_is_none_to_this_one(verb: str, outcome: str) -> None:
    late = answer(outcome, "other", outcome)
    assert changed(Answering(late, told("mine", "armed")), verb)["outcome"] == "applied"
    assert changed(Answering(late, told("mine", "reverted")), verb)["outcome"] == "reverted"


NOT_THE_LAST: list[tuple[Callable[[], dict[str, Any]], str]] = [
    (lambda: told("before", "confirmed"), "nothing was changed: the switch never began it"),
    (lambda: told("other", "confirmed"), "mine never began or is over: the last transaction of the switch is other"),
]


@pytest.mark.parametrize(("found", "says"), NOT_THE_LAST)
def test_what_became_of_a_transaction_that_is_not_the_last_one_is_not_guessed(
    found: Callable[[], dict[str, Any]], says: str
) -> None:
    with pytest.raises(ConnectionClosedException, match=says):
        changed(Answering("lost", found()))


def test_a_kept_answer_counts_only_as_long_as_the_switch_says_the_same() -> None:
    kept = answer("applied", "mine", "armed")
    assert changed(Answering("lost", told("mine", "armed", kept)))["outcome"] == "applied"
    assert changed(Answering("lost", told("mine", "reverted", kept)))["outcome"] == "reverted"
    refused = {"outcome": "refused", "code": "moved", "error": "moved", "status": status("other", "confirmed")}
    assert changed(Answering("lost", told("other", "confirmed", refused)))["code"] == "moved"
