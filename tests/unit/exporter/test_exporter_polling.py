"""Background readings of switches: results, faults and notes of each, with one that hangs."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from monitored_switch import LEAF, answered, established, observed, running
from nornir.core import Nornir
from nornir.core.inventory import Defaults, Host, Hosts, Inventory
from nornir.core.task import Result, Task

from nornir_railweave.device.reading import Comparer
from nornir_railweave.polling import SwitchPolling
from nornir_railweave.tasks import telemetry as telemetry_task
from nornir_railweave.tasks.telemetry import SwitchTelemetry, TelemetryReader
from railweave.api.monitoring import exporter as exporting
from railweave.api.monitoring.exporter import Exporter, ExporterOptions
from railweave.api.operator import Operator
from railweave.switch_driver import CommitStatus, ConfigReading, ObserveRequest

NAMES = ("a", "b", "c")


def nornir_of(*names: str) -> Nornir:
    hosts = Hosts({name: Host(name=name, hostname="127.0.0.1", defaults=Defaults()) for name in names})
    return Nornir(inventory=Inventory(hosts=hosts))


def polled(
    task: Callable[[Task], Result], enough: Callable[[dict[str, list[object]]], bool]
) -> dict[str, list[object]]:
    """Poll three switches until there are enough results."""
    taken: dict[str, list[object]] = {name: [] for name in NAMES}
    done = threading.Event()

    def take(name: str, result: object) -> None:
        taken[name].append(result)
        if enough(taken):
            done.set()

    polling = SwitchPolling(nornir_of(*NAMES), NAMES, task, interval_s=0.001)
    polling.start(lambda _: None, take)
    assert done.wait(30)
    polling.stop()
    return taken


def test_a_switch_that_hangs_or_fails_delays_no_other() -> None:
    hanging = threading.Event()

    def task(task: Task) -> Result:
        if task.host.name == "a":
            hanging.wait(30)
        if task.host.name == "b":
            raise ValueError("a mistake")
        return Result(host=task.host, result=task.host.name)

    taken = polled(task, lambda taken: len(taken["c"]) > 3 and len(taken["b"]) > 1)
    hanging.set()
    assert taken["a"] == []
    assert {type(result) for result in taken["b"]} == {ValueError}
    assert set(taken["c"]) == {"c"}


class Notes(Operator):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def tell(self, note: str) -> None:
        self.notes.append(note)


class LiveStandIn:
    """What the exporter uses of a live fabric."""

    def __init__(self) -> None:
        from health_trials import fabric_of

        from railweave.plan.expectation import WHOLE_FABRIC
        from railweave.sonic.render.configure import Configurator, IntendedConfigs
        from railweave.templates import find_templates

        fabric, _ = fabric_of("lab-4", "202511")
        self.designed = SimpleNamespace(fabric=fabric)
        self.nornir = nornir_of(*(switch.name for switch in fabric.switches[:-1]))
        self.target = SimpleNamespace(name="sim", login=SimpleNamespace(jump=None))
        self.scope = WHOLE_FABRIC
        self.intended = IntendedConfigs(Configurator(fabric, find_templates()), 4)
        self.missing_secrets = ()


@pytest.fixture
def exporter() -> Exporter:
    stand_in: Any = LiveStandIn()
    return Exporter(Notes(), stand_in, ExporterOptions(drift_s=300), "d1", lambda: 1000.0)


def told(exporter: Exporter) -> list[str]:
    notes: Any = exporter._operator
    return list(notes.notes)


def good(exporter: Exporter, **answer: Any) -> SwitchTelemetry:
    config = ConfigReading(running(), CommitStatus(pending=False))
    fabric = exporter._live.designed.fabric
    return SwitchTelemetry(config, observed(bgp=established(fabric)), {**answered({}), **answer})


def test_a_fault_is_told_once_and_its_end_as_well(exporter: Exporter) -> None:
    exporter.store.begin(LEAF)
    exporter.take(LEAF, SwitchTelemetry(error="timed out"))
    exporter.take(LEAF, SwitchTelemetry(error="timed out"))
    exporter.take(LEAF, good(exporter, error="COUNTERS_DB has no ports", counters=None))
    exporter.take(LEAF, ValueError("a mistake"))
    assert told(exporter) == [
        f"{LEAF}: timed out",
        f"{LEAF}: COUNTERS_DB has no ports",
        f"{LEAF}: this is a bug in railweave: ValueError: a mistake",
    ]


def test_a_switch_without_an_address_is_down_and_an_unknown_one_has_no_page(exporter: Exporter) -> None:
    page = exporter.page("lab-spine2")
    assert page is not None
    assert 'railweave_up{device="lab-spine2"} 0' in page
    assert exporter.page("lab-spine9") is None


def test_drift_is_unknown_if_the_configuration_cannot_be_compared(exporter: Exporter) -> None:
    config = ConfigReading(running(frr=""), CommitStatus(pending=False))
    exporter.take(LEAF, replace(good(exporter), reading=config))
    page = exporter.page(LEAF)
    assert page is not None
    assert "railweave_drift_rows" not in page


def test_another_state_of_the_intent_is_no_drift(exporter: Exporter) -> None:
    status = CommitStatus(pending=False, generation={"digest": "d2"})
    exporter.take(LEAF, replace(good(exporter), reading=ConfigReading(running(), status)))
    page = exporter.page(LEAF)
    assert page is not None
    assert "railweave_drift_rows" not in page
    note = "runs another state of the intent: its drift is unknown until the exporter is restarted"
    assert told(exporter)[0] == f"{LEAF}: {note}"


def test_drift_counts_the_rows_that_differ(exporter: Exporter) -> None:
    exporter.take(LEAF, good(exporter))
    page = exporter.page(LEAF)
    assert page is not None
    rows = [line for line in page.splitlines() if line.startswith("railweave_drift_rows")]
    # The stand-in has two fields of one row and a line of FRR; everything else of the intent is missing.
    assert len(rows) == 1
    assert int(rows[0].rpartition(" ")[2]) > 50


class OneSwitch:
    """A driver that gives the same view again while its switch shows the same."""

    name = "one"

    def __init__(self) -> None:
        self.view: Any = SimpleNamespace()
        self.requests: list[ObserveRequest] = []

    def read(self, request: ObserveRequest) -> ConfigReading:
        self.requests.append(request)
        return ConfigReading(running(), CommitStatus(pending=False), view=self.view, telemetry={})


def test_a_state_that_did_not_change_is_derived_once(monkeypatch: pytest.MonkeyPatch) -> None:
    derived = []

    def seen_of(view: object) -> Any:
        derived.append(view)
        return SimpleNamespace(observation=observed())

    monkeypatch.setattr(telemetry_task, "seen_of", seen_of)
    switch: Any = OneSwitch()
    reader = TelemetryReader((3,))
    first = reader._read("a", switch)
    assert reader._read("a", switch).observation is first.observation
    # Another switch has a state of its own.
    reader._read("b", switch)
    switch.view = SimpleNamespace()
    reader._read("a", switch)
    assert len(derived) == 3
    assert switch.requests[0].queues == (3,)


def test_an_unchanged_configuration_is_compared_once_and_again_after_a_fault(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    exporter._clock = lambda: now[0]
    compared = []

    def changes(self: Comparer, name: str, running: object) -> int:
        compared.append(running)
        return 2

    monkeypatch.setattr(Comparer, "changes", changes)
    answer = good(exporter)
    for _ in range(3):
        exporter.take(LEAF, answer)
        now[0] += 301
    assert len(compared) == 1
    exporter.take(LEAF, good(exporter))
    assert len(compared) == 2
    exporter.take(LEAF, SwitchTelemetry(error="timed out"))
    assert "railweave_drift_rows" not in str(exporter.page(LEAF))
    exporter.take(LEAF, answer)
    assert len(compared) == 3
    assert "railweave_drift_rows" in str(exporter.page(LEAF))


def test_journals_are_read_again_only_when_one_was_written(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAILWEAVE_JOURNALS", str(tmp_path))
    name = exporter._live.designed.fabric.name
    journal = tmp_path / f"20261101T000000Z-{name}-aaaaaa.jsonl"
    journal.write_text("")
    read: list[Path] = []
    alive: list[bool] = [False]

    def rollouts(folder: Path, *_: str) -> list[Any]:
        read.append(folder)
        return [SimpleNamespace(alive=alive[0], finished=not alive[0], devices=(LEAF,))]

    monkeypatch.setattr(exporting, "rollouts", rollouts)
    assert exporter._rolling_switches() == frozenset()
    assert exporter._rolling_switches() == frozenset()
    assert read == [tmp_path]
    alive[0] = True
    (tmp_path / f"20261101T000100Z-{name}-bbbbbb.jsonl").write_text("")
    # While a rollout runs its journal is read each time.
    assert exporter._rolling_switches() == exporter._rolling_switches() == frozenset({LEAF})
    assert len(read) == 3
    alive[0] = False
    os.utime(journal, ns=(1, 1))
    assert exporter._rolling_switches() == frozenset()
