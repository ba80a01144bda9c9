"""What every store does: a name is taken once, also by two runners at once, and a repeated call is no second one."""

import threading
from collections.abc import Callable

import pytest

from nornir_railweave.journals.store import Store

Runner = Callable[[], Store]


def test_a_record_is_created_once_and_read_by_another_runner(runner: Runner) -> None:
    one, other = runner(), runner()
    assert one.names() == []
    assert one.create("pod1@sim/00000001", b"first\nline")
    assert other.names("pod1@sim") == ["pod1@sim/00000001"]
    assert other.read(["pod1@sim/00000001", "pod1@sim/00000009"]) == {"pod1@sim/00000001": b"first\nline"}
    assert not other.create("pod1@sim/00000001", b"second")
    assert one.create("pod1@sim/00000001", b"first\nline"), "the answer to the first call may have been lost"
    assert other.read(["pod1@sim/00000001"]) == {"pod1@sim/00000001": b"first\nline"}


def test_a_runner_that_saw_an_older_state_takes_no_name(runner: Runner) -> None:
    one, other = runner(), runner()
    assert one.create("a/1", b"1")
    assert other.names() == ["a/1"]
    assert one.create("a/2", b"of one")
    assert not other.create("a/2", b"of another")
    assert other.create("b/1", b"elsewhere"), "it is made again on top of what came meanwhile"
    assert sorted(one.names()) == ["a/1", "a/2", "b/1"]
    assert one.names("a") == ["a/1", "a/2"]


def test_what_is_removed_is_gone_for_all(runner: Runner) -> None:
    one, other = runner(), runner()
    for number in range(1, 4):
        one.create(f"a/{number}", b"")
    assert one.create("a/4", b"all", ["a/1", "a/2", "a/3"])
    assert other.names() == ["a/4"]
    assert other.read(["a/1", "a/4"]) == {"a/4": b"all"}


@pytest.mark.slow
def test_a_number_that_was_passed_is_taken_although_its_record_is_gone(runner: Runner) -> None:
    """A runner that was away for long must not write where others went on and cleaned up."""
    one, other, away = runner(), runner(), runner()
    assert one.create("a/1", b"1")
    assert away.names("a") == ["a/1"]
    assert other.create("a/2", b"2")
    assert other.create("a/3", b"3", ["a/1", "a/2"])
    assert not away.create("a/2", b"from the past")
    assert away.create("b/2", b"elsewhere")
    assert runner().names("a") == ["a/3"]


def test_of_several_runners_at_once_one_gets_the_name(runner: Runner) -> None:
    taken: list[int] = []
    runners = [runner() for _ in range(4)]

    def take(number: int) -> None:
        if runners[number].create("a/1", str(number).encode()):
            taken.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(len(runners))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1
    assert runner().names() == ["a/1"]
    reader = runner()
    reader.names()
    assert reader.read(["a/1"]) == {"a/1": str(taken[0]).encode()}
