"""Sessions that outlive tasks: how many stay open, and what becomes of a lost one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nornir.core import Nornir
from nornir.core.inventory import Defaults, Groups, Host, Hosts, Inventory
from nornir.core.processor import Processors
from nornir.core.task import Task
from nornir.plugins.runners import SerialRunner

from nornir_railweave.device.session import session
from nornir_railweave.target.connect import only
from nornir_railweave.target.inventory import CONNECTION
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
            assert cast("Any", one.napalm_driver).is_alive()["is_alive"]
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


def test_of_hosts_outside_the_run_the_longest_unused_session_is_closed(bench: "Bench", opened: Nornir) -> None:
    use(opened, "lab-leaf1", "lab-leaf2", "lab-leaf1", "lab-spine1")
    assert counts(bench, "close") == [0, 1, 0, 0]
    use(opened, "lab-leaf2")
    assert counts(bench, "open") == [1, 2, 1, 0]
    assert counts(bench, "close") == [1, 1, 0, 0]


class _Session:
    """A connection that counts where it was opened, and how many are open."""

    def __init__(self, opened: list[str], still_open: set[str], host: str) -> None:
        self.connection, self.host, self.still_open = self, host, still_open
        opened.append(host)
        still_open.add(host)

    def is_alive(self) -> dict[str, bool]:
        return {"is_alive": True}

    def close(self) -> None:
        self.still_open.remove(self.host)


@given(
    hosts=st.integers(1, 12),
    most=st.integers(1, 12),
    scans=st.lists(st.booleans(), min_size=1, max_size=4),
    wave=st.integers(1, 12),
)
def test_repeated_runs_log_in_to_no_more_hosts_than_must_be(
    hosts: int, most: int, scans: list[bool], wave: int
) -> None:
    """A scan is of all hosts in order; before some of them each wave has two tasks. The first host of a run may have to
    take the place of one that still waits for its turn, which then logs in again."""
    names = [f"switch{number}" for number in range(hosts)]
    opened: list[str] = []
    still_open: set[str] = set()

    def work(task: Task) -> None:
        connections = cast("dict[str, Any]", task.host.connections)
        if CONNECTION not in connections:
            connections[CONNECTION] = _Session(opened, still_open, task.host.name)
        assert len(still_open) <= most

    inventory = Inventory(hosts=Hosts({name: Host(name) for name in names}), groups=Groups(), defaults=Defaults())
    nr = Nornir(inventory=inventory, runner=SerialRunner(), processors=Processors([OpenSessions(most)]))

    def logins(chosen: list[str]) -> int:
        before = len(opened)
        result = only(nr, chosen).run(work)
        assert not result.failed, result
        return len(opened) - before

    assert logins(names) == hosts
    for waves in scans:
        for first in range(0, hosts if waves else 0, wave):
            together = names[first : first + wave]
            for _ in range(2):
                missing = len({*together} - still_open)
                assert missing <= logins(together) <= missing + (missing > 0)
        missing = hosts - len(still_open)
        assert missing == max(0, hosts - most)
        assert missing <= logins(names) <= missing + (missing > 0)


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
