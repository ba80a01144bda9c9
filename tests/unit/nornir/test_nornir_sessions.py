"""Sessions that outlive tasks: how many stay open, and what becomes of a lost one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from nornir.core import Nornir
from nornir.core.task import Task

from nornir_railweave.device.session import session
from nornir_railweave.target.sessions import OpenSessions, close_sessions

if TYPE_CHECKING:
    from .conftest import Bench

NAMES = ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2")


@pytest.fixture
def opened(bench: "Bench") -> Iterator[Nornir]:
    """The fabric with at most two sessions open at once."""
    nr = bench.nornir()
    yield nr.with_processors([OpenSessions(2)])
    close_sessions(nr)


def use(nr: Nornir, *names: str, fault: type[Exception] | None = None) -> None:
    def work(task: Task) -> None:
        with session(task) as one:
            assert one.driver.is_alive()["is_alive"]
            if fault is not None:
                raise fault

    for name in names:
        nr.filter(filter_func=lambda host, name=name: host.name == name).run(work, on_failed=True)


def counts(bench: "Bench", what: str) -> list[int]:
    return [bench.world.switches[name].calls.count(what) for name in NAMES]


def test_one_login_serves_all_tasks_until_the_end(bench: "Bench", opened: Nornir) -> None:
    use(opened, "lab-leaf1", "lab-leaf2", "lab-leaf1", "lab-leaf2", "lab-leaf1")
    assert counts(bench, "open") == [1, 1, 0, 0]
    assert counts(bench, "close") == [0, 0, 0, 0]
    close_sessions(opened)
    assert counts(bench, "close") == [1, 1, 0, 0]


def test_where_too_many_are_open_the_longest_unused_is_closed(bench: "Bench", opened: Nornir) -> None:
    use(opened, "lab-leaf1", "lab-leaf2", "lab-leaf1", "lab-spine1")
    assert counts(bench, "close") == [0, 1, 0, 0]
    use(opened, "lab-leaf2")
    assert counts(bench, "open") == [1, 2, 1, 0]
    assert counts(bench, "close") == [1, 1, 0, 0]


def test_a_session_that_was_lost_since_its_last_task_is_replaced(bench: "Bench", opened: Nornir) -> None:
    use(opened, "lab-leaf1")
    bench.world.switches["lab-leaf1"].alive += 1
    use(opened, "lab-leaf1")
    assert counts(bench, "open") == [2, 0, 0, 0]
    assert counts(bench, "close") == [1, 0, 0, 0]


@pytest.mark.parametrize("answer", [OSError("the socket is gone"), KeyError("is_alive")])
def test_a_driver_that_fails_to_say_whether_it_is_connected_is_not(
    bench: "Bench", opened: Nornir, answer: Exception
) -> None:
    use(opened, "lab-leaf1")
    driver: Any = opened.inventory.hosts["lab-leaf1"].connections["napalm"].connection
    driver.is_alive = Mock(side_effect=answer)
    use(opened, "lab-leaf1")
    assert counts(bench, "open") == [2, 0, 0, 0]


def test_a_task_that_fails_leaves_no_session(bench: "Bench", opened: Nornir) -> None:
    use(opened, "lab-leaf1", fault=ZeroDivisionError)
    assert counts(bench, "close") == [1, 0, 0, 0]


def test_a_rollout_costs_each_switch_one_login(bench: "Bench") -> None:
    """Another one made the plan: the bench makes a Nornir for each step."""
    assert bench.deploy().ok
    assert counts(bench, "open") == [2, 2, 2, 2]
    assert counts(bench, "close") == [2, 2, 2, 2]
