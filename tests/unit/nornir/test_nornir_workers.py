"""Plans, deployments and verifications over workers: the same results, no secrets on the way, and what a loss means."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from nornir.core import Nornir

from nornir_railweave.events import Event
from nornir_railweave.rollout import deploying, planning
from nornir_railweave.target.policy import Policy
from nornir_railweave.target.sessions import close_sessions
from nornir_railweave.tasks.verifying import verify
from nornir_railweave.workers.channel import WorkerLostError
from nornir_railweave.workers.message import Answer, ProjectBinding, Request, decode_answer, decode_request, encode
from nornir_railweave.workers.runner import SpreadRunner, TaskLimits, TaskSpread, WorkPlace
from nornir_railweave.workers.serving import READING, SPREAD, Worker
from nornir_railweave.workers.workbench import Workbench
from railweave.errors import RefusedError
from railweave.plan.consent import DeployOptions
from railweave.plan.document import plan_json
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult, Outcome, VerifyResult

BOUND = ProjectBinding("lab", "fake", "a" * 64, "1")
LEAF, SPINE = "lab-leaf1", "lab-spine1"


@dataclass
class Queue:
    """A channel whose worker is in this process: every message goes through its JSON. ``strikes`` are the tasks at
    which the worker is lost: before it does anything, or (``late``) after it has done everything."""

    worker: Worker
    texts: list[bytes] = field(default_factory=list)
    strikes: dict[str, str] = field(default_factory=dict)
    replacement: Worker | None = None
    closed: bool = False

    def ask(self, request: Request, within_s: float, *, worker: str = "") -> Answer:
        strike = self.strikes.pop(request.task, "")
        if strike == "always":
            self.strikes[request.task] = strike
        if strike and strike != "late":
            raise WorkerLostError("worker w1 of site west ended (signal 9)")
        self.texts.append(encode(request))
        answer = self.worker.answer(decode_request(self.texts[-1]))
        self.texts.append(encode(answer))
        if strike == "late":
            self.worker = self.replacement or self.worker
            raise WorkerLostError("worker w1 of site west ended (signal 9)")
        return decode_answer(self.texts[-1])

    def close(self) -> None:
        self.closed = True


@dataclass
class Rig:
    """A bench whose leaves are worked on by a site."""

    bench: Any
    benches: list[Workbench] = field(default_factory=list)
    own: ProjectBinding = BOUND
    events: list[Event] = field(default_factory=list)
    tasks: Any = field(default_factory=lambda: SPREAD)
    here: bool = False

    def __post_init__(self) -> None:
        self.queue = Queue(self.new_worker())

    def new_worker(self) -> Worker:
        return Worker(self._load, f"w{len(self.benches) + 1}")

    def _load(self) -> Workbench:
        nornir = self.bench.nornir()
        target: Any = type("FakeTarget", (), {"allowed_signers": None})()
        self.benches.append(
            Workbench(
                self.own, nornir, self.bench.world.fabric, target, self.bench.world.intended, clock=self.bench.clock
            )
        )
        return self.benches[-1]

    def nornir(self) -> Nornir:
        place = WorkPlace("west", self.queue, self.tasks, "railweave worker", self.here)
        spread = TaskSpread(BOUND, {LEAF: place, "lab-leaf2": place}.get, TaskLimits(5, 5, 5), "inventory/fake.yml")
        spreading: Nornir = self.bench.nornir().with_runner(SpreadRunner(spread, 4))
        return spreading

    def plan(self) -> Plan:
        bench = self.bench
        return planning.plan(
            self.nornir(),
            bench.world.fabric,
            bench.world.intended,
            target="fake",
            intent_sha256="0" * 64,
            clock=bench.clock,
        )

    def deploy(self, **rollout: Any) -> DeployResult:
        bench = self.bench
        policy = Policy(
            consent=DeployOptions(provision=True),
            rollout=replace(bench.rollout, **rollout),
            reconnect_s=0.05,
            journal_dir=bench.folder / "journal",
            clock=bench.clock,
        )
        made = self.plan()
        return deploying.deploy(
            self.nornir(), bench.world.fabric, made, bench.world.intended, policy=policy, events=self.events.append
        )

    def verify(self) -> VerifyResult:
        return verify(self.nornir(), self.bench.world.fabric)

    def told(self, device: str) -> list[str]:
        return [event.step.value for event in self.events if event.device == device]

    def asked(self) -> list[tuple[str, str]]:
        found = [decode_request(text) for text in self.queue.texts if b'"expires_at"' in text]
        return [(one.task, one.device) for one in found]


@pytest.fixture
def rig(bench: Any) -> Iterator[Rig]:
    made = Rig(bench)
    yield made
    for one in made.benches:
        close_sessions(one.nornir)


def test_a_plan_over_workers_is_the_plan_of_one_process(rig: Rig) -> None:
    assert plan_json(rig.plan()) == plan_json(rig.bench.plan())
    assert ("read_running", LEAF) in rig.asked()
    assert not any(device == SPINE for _, device in rig.asked())


def test_a_deployment_over_workers_ends_as_one_from_here(rig: Rig) -> None:
    done = rig.deploy(soak_s=0.05)
    assert done.ok, done
    assert {one.outcome for one in done.devices.values()} == {Outcome.NEW}
    assert {task for task, device in rig.asked() if device == LEAF} == {
        "read_running", "apply_change", "confirm_commit", "soak_check", "verify_device",
    }  # fmt: skip
    assert plan_json(rig.plan())["summary"] == {"add": 0, "update": 0, "remove": 0}
    assert rig.deploy().result.value == "unchanged"
    assert ("save_config", LEAF) in rig.asked()


def test_the_journal_has_what_comes_before_a_worker_is_asked(rig: Rig) -> None:
    rig.deploy()
    told = rig.told(LEAF)
    assert told.index("applying") < told.index("applied") < told.index("confirmed") < told.index("outcome")
    assert told.count("applying") == 2, "what comes, and what the worker tells with what held before"


def test_checks_over_workers_are_those_of_one_process(rig: Rig) -> None:
    rig.deploy()
    rig.bench.world.switches[LEAF].faults["bgp-down"] = True
    found = rig.verify()
    assert found == rig.bench.verify()
    assert not found.ok


def test_no_message_holds_what_a_switch_runs_beyond_its_changes(rig: Rig) -> None:
    switch = rig.bench.world.switches[LEAF]
    tables = {**switch.running.config_db, "TACPLUS": {"global": {"passkey": "s3krit"}}}
    switch.running = switch.running.with_tables(tables)
    assert rig.deploy().ok
    assert not any(b"s3krit" in text for text in rig.queue.texts)


def test_a_worker_with_another_project_is_refused_before_anything_is_read(rig: Rig) -> None:
    rig.own = replace(BOUND, project_sha256="b" * 64)
    with pytest.raises(RefusedError) as refused:
        rig.plan()
    (found,) = refused.value.diagnostics
    assert (found.code, found.where.path) == ("RW606", "sites.west")
    assert found.message == (
        "site west: w1: it has another project: digest of intent, templates and models is bbbbbbbbbbbb here and "
        "aaaaaaaaaaaa there"
    )
    assert "railweave worker" in found.fix
    assert not rig.bench.world.switches[LEAF].calls


def test_a_site_without_a_worker_is_named_before_anything_is_read(rig: Rig) -> None:
    rig.queue.strikes["hello"] = "always"
    with pytest.raises(RefusedError) as refused:
        rig.plan()
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.message == "worker w1 of site west ended (signal 9)"
    assert diagnostic.fix.startswith("check that this command starts a worker of the site: ")


def test_a_worker_that_is_lost_while_it_reads_leaves_its_switch_unread(rig: Rig) -> None:
    rig.queue.strikes["read_running"] = "once"
    made = rig.plan()
    (lost,) = [one for one in made.devices.values() if one.error]
    assert lost.error == "worker w1 of site west ended (signal 9)"


def test_a_lost_process_of_this_machine_is_done_without(rig: Rig) -> None:
    rig.tasks, rig.here = READING, True
    rig.queue.strikes["read_running"] = "always"
    assert not any(one.error for one in rig.plan().devices.values())
    rig.queue.strikes["hello"] = "always"
    assert not any(one.error for one in rig.plan().devices.values())


@pytest.mark.parametrize("strike", ["once", "late"])
def test_a_worker_lost_amid_a_change_stops_the_rollout_which_names_it(rig: Rig, strike: str) -> None:
    rig.queue.strikes["apply_change"] = strike
    rig.queue.replacement = rig.new_worker()
    done = rig.deploy()
    assert done.stopped_by == f"{LEAF}: worker w1 of site west ended (signal 9)"
    assert done.devices[LEAF].outcome is Outcome.OLD, "another worker of the site took the change back"
    assert rig.bench.world.switches[LEAF].pending is False


def test_a_switch_that_nobody_can_examine_is_left_to_its_timer(rig: Rig) -> None:
    rig.queue.strikes |= {"apply_change": "late", "assess_device": "always"}
    done = rig.deploy()
    assert done.devices[LEAF].outcome is Outcome.UNREACHABLE
    assert done.stopped_by == (
        f"{LEAF}: worker w1 of site west ended (signal 9); nobody there can examine it: worker w1 of site west ended "
        "(signal 9). The switch itself reverts a commit that was not confirmed, 60 s after it began"
    )
    assert rig.bench.world.switches[LEAF].pending, "its own timer is all that acts on it"


def test_a_new_worker_confirms_nothing_that_another_has_begun(rig: Rig) -> None:
    """Its predecessor ended between the verification and the confirmation: what it held is gone with it."""
    ask = rig.queue.ask

    def exchanged(request: Request, within_s: float, *, worker: str = "") -> Answer:
        if request.task == "confirm_commit" and request.device == LEAF:
            rig.queue.worker = rig.new_worker()
        return ask(request, within_s, worker=worker)

    rig.queue.ask = exchanged  # type: ignore[method-assign]
    done = rig.deploy()
    assert done.stopped_by.startswith(f"{LEAF}: worker w")
    assert f"it holds nothing of {LEAF} under plan" in done.stopped_by
    assert done.devices[LEAF].outcome is Outcome.OLD


def test_a_switch_that_moved_since_the_plan_is_left_alone(rig: Rig) -> None:
    ask = rig.queue.ask

    def moved(request: Request, within_s: float, *, worker: str = "") -> Answer:
        switch = rig.bench.world.switches[LEAF]
        if request.task == "apply_change":
            rows = {"DEVICE_NEIGHBOR": {"Ethernet0": {"name": "other", "port": "Ethernet0"}}}
            switch.running = switch.running.with_tables({**switch.running.config_db, **rows})
        return ask(request, within_s, worker=worker)

    rig.queue.ask = moved  # type: ignore[method-assign]
    done = rig.deploy()
    assert done.devices[LEAF].outcome is Outcome.OLD
    assert "nothing was done" in done.stopped_by


Change = Callable[[Request], Request]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: replace(one, task="rm_rf"), "it knows no task 'rm_rf'"),
        (lambda one: replace(one, task="apply_change"), "the request names no plan"),
        (lambda one: replace(one, expires_at=time.time() - 1), "the request came too late"),
        (lambda one: replace(one, device="lab-leaf9"), "its target has no address for lab-leaf9"),
        (
            lambda one: replace(one, binding=replace(BOUND, fabric="other")),
            "it has another project: fabric is lab here and other there",
        ),
        (
            lambda one: replace(one, task="confirm_commit", plan_digest="c" * 64),
            f"it holds nothing of {LEAF} under plan cccccccccccc",
        ),
    ],
)  # fmt: skip
def test_a_worker_refuses_what_it_cannot_answer_for(rig: Rig, change: Change, why: str) -> None:
    request = Request("read_running", LEAF, BOUND, time.time() + 60)
    answer = rig.new_worker().answer(change(request))
    assert (answer.refused, answer.fault, answer.result) == (why, "", None)
    assert not rig.bench.world.switches[LEAF].calls


def test_a_request_without_its_arguments_is_a_fault_and_touches_no_switch(rig: Rig) -> None:
    answer = rig.new_worker().answer(
        Request("read_running", LEAF, BOUND, time.time() + 60, arguments={"unresolved": 3})
    )
    assert answer.fault
    assert not rig.bench.world.switches[LEAF].calls


def test_a_worker_reads_its_project_again_where_a_request_is_of_another_state(rig: Rig) -> None:
    worker = rig.new_worker()
    later = replace(BOUND, project_sha256="d" * 64)
    assert worker.answer(Request("hello", "", later, time.time() + 60)).refused
    rig.own = later
    assert not worker.answer(Request("hello", "", later, time.time() + 60)).refused
    assert len(rig.benches) == 2


def test_a_worker_in_the_midst_of_a_rollout_keeps_its_project(rig: Rig) -> None:
    rig.deploy(soak_s=0.05)  # a wave that soaked may still be rolled back, so the worker holds its devices
    worker = rig.queue.worker
    assert any(one.begun for one in rig.benches)
    rig.own = replace(BOUND, project_sha256="d" * 64)
    answer = worker.answer(Request("hello", "", rig.own, time.time() + 60))
    assert "it has another project" in answer.refused
    assert not worker.answer(Request("hello", "", BOUND, time.time() + 60)).refused
    rig.bench.clock.sleep(3600)
    assert not worker.answer(Request("hello", "", rig.own, time.time() + 60)).refused, "nobody goes on with it any more"
