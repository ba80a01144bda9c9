"""The runner, guarded processors, events, journal and progress."""

import io
import json
import signal
import threading
import tomllib
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from nornir.core import Nornir
from nornir.core.inventory import Defaults, Groups, Host, Hosts, Inventory
from nornir.core.processor import Processor, Processors
from nornir.core.task import Result, Task

from nornir_railweave.device.session import error_text
from nornir_railweave.events import Announcer, Event, Step
from nornir_railweave.rollout.control import Interrupts
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.progress import FabricProgress
from nornir_railweave.target.connect import Guarded
from nornir_railweave.target.inventory import FabricInventory
from nornir_railweave.target.runner import NOT_ATTEMPTED, FabricRunner

PYPROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def hosts(count: int, runner: FabricRunner, processors: Sequence[Processor] = ()) -> Nornir:
    names = [f"leaf{number}" for number in range(count)]
    inventory = Inventory(Hosts({name: Host(name) for name in names}), Groups(), Defaults())
    return Nornir(inventory=inventory, runner=runner, processors=Processors([Guarded(one) for one in processors]))


def test_every_host_has_a_result_in_the_order_of_the_inventory() -> None:
    results = hosts(20, FabricRunner(4)).run(lambda task: task.host.name)
    assert list(results) == [f"leaf{number}" for number in range(20)]
    assert [results[name][0].result for name in results] == list(results)


def test_no_more_hosts_are_at_work_than_there_are_workers() -> None:
    lock, now, most, three_at_work = threading.Lock(), [0], [0], threading.Barrier(3)

    def work(task: Task) -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        three_at_work.wait(300)
        with lock:
            now[0] -= 1

    hosts(12, FabricRunner(3)).run(work)
    assert most[0] == 3


def test_after_the_budget_of_failures_the_rest_is_not_attempted() -> None:
    def work(task: Task) -> Result:
        return Result(host=task.host, failed=task.host.name == "leaf2")

    nornir = hosts(10, FabricRunner(1, max_failures=1))
    results = nornir.run(work)
    assert [name for name in results if results[name][0].name == NOT_ATTEMPTED] == [f"leaf{n}" for n in range(3, 10)]
    assert nornir.data.failed_hosts == {"leaf2"}


def test_an_exception_is_one_hosts_result() -> None:
    def work(task: Task) -> None:
        if task.host.name == "leaf1":
            raise ValueError("no")

    results = hosts(3, FabricRunner(2)).run(work)
    assert [name for name in results if results[name].failed] == ["leaf1"]


def test_a_run_that_is_to_end_lets_hosts_at_work_finish_and_starts_no_more() -> None:
    class AfterTwo:
        started = 0

        @property
        def asked(self) -> bool:
            self.started += 1
            return self.started > 2

    results = hosts(6, FabricRunner(2, stop=AfterTwo())).run(lambda task: "done")
    assert [results[name][0].result for name in results] == ["done", "done", None, None, None, None]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_is_a_wish_and_the_second_one_ends_everything(number: signal.Signals) -> None:
    earlier = signal.getsignal(number)
    with Interrupts() as interrupts:
        signal.raise_signal(number)
        assert interrupts.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is earlier


def test_whoever_ends_the_program_at_once_waits_for_no_host() -> None:
    main, ended = threading.main_thread().ident, threading.Event()
    assert main is not None

    def work(task: Task) -> None:
        signal.pthread_kill(main, signal.SIGINT)
        assert ended.wait(300)

    began = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        hosts(1, FabricRunner(2)).run(work)
    assert threading.active_count() == began + 1, "the host is at work still"
    ended.set()


def test_the_plug_ins_are_found_by_their_names() -> None:
    declared = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["entry-points"]
    plug_ins = {"nornir.plugins.inventory": FabricInventory, "nornir.plugins.runners": FabricRunner}
    assert declared.keys() == plug_ins.keys()
    for group, plug_in in plug_ins.items():
        ((name, value),) = declared[group].items()
        assert EntryPoint(name, value, group).load() is plug_in
        assert name in entry_points(group=group).names


def test_a_failing_listener_is_told_no_more_and_others_are() -> None:
    told: list[Event] = []

    def broken(_: object) -> None:
        raise RuntimeError("broken")

    announce = Announcer([broken, told.append])
    announce(Event(Step.READ, "leaf1"))
    announce(Event(Step.READ, "leaf2"))
    assert [event.device for event in told] == ["leaf1", "leaf2"]


def test_the_journal_is_one_object_a_line_for_its_owner_alone(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", "pod1") as journal:
        journal(Event(Step.WAVE, text="wave 1 of 2", details={"wave": 1}))
        journal(Event(Step.OUTCOME, "leaf1", "line\nbreak", {"outcome": "old"}))
    lines = [json.loads(line) for line in journal.path.read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == ["wave", "outcome"]
    assert lines[1]["text"] == "line\nbreak"
    assert journal.path.stat().st_mode & 0o777 == 0o600


def test_two_rollouts_have_two_journals(tmp_path: Path) -> None:
    with Journal(tmp_path, "pod1") as one:
        pass
    with Journal(tmp_path, "pod1") as other:
        assert one.path != other.path


def test_progress_without_a_terminal_is_plain_lines() -> None:
    out = io.StringIO()
    progress = FabricProgress(out)
    nornir = hosts(3, FabricRunner(2), [progress])
    with progress:
        nornir.run(lambda task: None, name="read_running")
        progress(Event(Step.WAVE, text="wave 1 of 1", details={"devices": ["leaf1"]}))
        progress(Event(Step.ROLLING_BACK, "leaf1", "bgp is [down]"))
        progress(Event(Step.OUTCOME, "leaf1", "bgp is [down]", {"outcome": "old"}))
        progress(Event(Step.READ, "leaf1"))
    assert out.getvalue().splitlines() == [
        "wave 1 of 1: leaf1",
        "leaf1: rolling back: bgp is [down]",
        "leaf1: not committed",
    ]


@pytest.mark.parametrize(("terminal", "longest"), [(True, 60), (False, 140)])
def test_lines_of_progress_break_between_words_on_a_terminal_and_stay_whole_in_a_log(
    terminal: bool, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    devices = [f"pod1-leaf{number}" for number in range(1, 11)]
    FabricProgress(out)(Event(Step.WAVE, text="wave 1 of 1", details={"devices": devices}))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= longest
    assert len(lines) == (3 if terminal else 1)
    assert " ".join(lines).replace("  ", " ") == f"wave 1 of 1: {', '.join(devices)}"


def test_waiting_is_told_once() -> None:
    out = io.StringIO()
    progress = FabricProgress(out)
    for _ in range(3):
        progress(Event(Step.WAITING, text="for timers on leaf1"))
    assert out.getvalue() == "waiting for timers on leaf1\n"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (OSError("no\nroute   to host"), "no route to host"),
        (KeyError("x"), "KeyError: 'x'"),
        (TimeoutError(), "TimeoutError"),
        (OSError("127.0.0.1: no answer"), "no answer"),
        (OSError("fd00:12::1: no answer"), "no answer"),
        (OSError("192.0.2.7:22: cannot connect"), "192.0.2.7:22: cannot connect"),
        (OSError("vtysh -f: line 1: 192.0.2.1: no"), "vtysh -f: line 1: 192.0.2.1: no"),
        (OSError("x" * 900), "x" * 399 + "…"),
    ],
)
def test_a_fault_is_told_in_one_short_line(fault: Exception, text: str) -> None:
    assert error_text(fault) == text
