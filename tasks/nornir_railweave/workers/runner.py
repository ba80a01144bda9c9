"""The runner that carries out tasks where they belong: here, in processes of this machine, or at sites.

A task that has a form for workers (``spread_task``) is asked of the channel of its device; every other one, and every
device without a channel, is done here as ``FabricRunner`` does it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nornir.core.inventory import Host
from nornir.core.task import AggregatedResult, MultiResult, Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.device.device import WaveOrder
from nornir_railweave.device.jobs import DeployJob
from nornir_railweave.events import Event, Step
from nornir_railweave.target.runner import NOBODY, FabricRunner, StopRequest
from nornir_railweave.tasks.apply_change import ApplyResult, apply_change
from nornir_railweave.workers.channel import Channel, WorkerLostError
from nornir_railweave.workers.message import HELLO, Answer, MessageError, ProjectBinding, Request, decoded
from nornir_railweave.workers.serving import MOST_SKEW_S
from nornir_railweave.workers.spread_task import SpreadTask
from railweave.diagnostics import Blocker, Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.plan.outcome import DeviceOutcome, Outcome

_OURS = "nornir_railweave."


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """How many seconds a request may take."""

    # Until a worker takes it: a site whose workers are all busy, or gone, is noticed.
    take_s: float = 30
    # For a task that reads.
    read_s: float = 600
    # For a task that changes a device: longer than the switch's own timer, which may have to end first.
    change_s: float = 1800


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """Where devices are worked on: a site, or further processes of this machine."""

    name: str
    channel: Channel = field(repr=False)
    # By the name of the task function.
    tasks: Mapping[str, SpreadTask] = field(repr=False)
    # The command that starts a worker, for a message that says that none is there.
    start: str = ""
    # Its workers are of this machine, so this process can do their tasks as well.
    here: bool = False


class TaskSpread:
    """Which device is worked on where. ``place_of`` gives the place of a device, None for this process."""

    def __init__(
        self, binding: ProjectBinding, place_of: Callable[[str], WorkPlace | None], limits: TaskLimits, target_file: str
    ) -> None:
        self.binding = binding
        self.place_of = place_of
        self.limits = limits
        self._target_file = target_file
        # By the name of each place that was asked: why no worker of it can be used, None where one can.
        self._met: dict[str, Blocker | None] = {}
        self._places: dict[str, WorkPlace] = {}
        # By plan digest and device: the worker that holds what was begun there.
        self._holders: dict[tuple[str, str], str] = {}

    def remote_task(self, task: Task, host: Host) -> "_RemoteTask | None":
        """Return a host's task in the form that is sent to the host's place; None if it is done in this process."""
        place = self.place_for(task, host)
        if place is None:
            return None
        # This process does the tasks of its own machine where no worker could be started.
        if place.here and self._met.get(place.name):
            return None
        spread_task = place.tasks[task.task.__name__]
        arguments = spread_task.arguments(host.name, task.params)
        if arguments is None:
            return None
        return _RemoteTask(self, place, spread_task, arguments, task.task)

    def place_for(self, task: Task, host: Host) -> WorkPlace | None:
        """Return the place whose workers do a task for a host; None if it is done in this process.

        Workers do only our own tasks, not others of the same name.
        """
        place = self.place_of(host.name)
        if place is None or task.task.__name__ not in place.tasks:
            return None
        if task.task.__module__.startswith(_OURS):
            return place
        return None

    def meet(self, places: Mapping[str, WorkPlace]) -> None:
        """Ask each place that is new whether a worker with the same project is there.

        Raises RefusedError, before anything is done, if sites have none, naming all of them. If no process of this
        machine can be started, this process does their tasks.
        """
        new = [place for name, place in places.items() if name not in self._met]
        if not new:
            return
        with ThreadPoolExecutor(min(len(new), 64), thread_name_prefix="railweave-sites") as pool:
            refusals = list(pool.map(self._greet, new))
        for place, blocker in zip(new, refusals, strict=True):
            self._met[place.name] = blocker
            self._places[place.name] = place
        self._refuse_missing([place for place in new if self._met[place.name]])

    def _refuse_missing(self, places: Sequence[WorkPlace]) -> None:
        """Raise RefusedError if any of these places, which have no worker, is a site."""
        refused: list[Diagnostic] = []
        for place in places:
            blocker = self._met[place.name]
            if blocker is not None and not place.here:
                where = Where(self._target_file, path=f"sites.{place.name}")
                refused.append(error("RW606", blocker.message, where, fix=blocker.fix))
        if not refused:
            return
        # The next run asks them again: a worker may have been started by then.
        for place in places:
            del self._met[place.name]
        raise RefusedError(refused)

    def _greet(self, place: WorkPlace) -> Blocker | None:
        """Return why no worker of a place can be used, None if one can be."""
        try:
            answer = place.channel.ask(self.request(HELLO, "", self.limits.take_s), self.limits.take_s)
        except WorkerLostError as fault:
            return Blocker(str(fault), f"check that this command starts a worker of the site: `{place.start}`")
        worker = f"site {place.name}: {answer.worker}"
        why = answer.refused or answer.fault
        if why:
            fix = f"bring the project there to the same state, and start a worker: `{place.start}`"
            return Blocker(f"{worker}: {why}", fix)
        # Requests expire by the worker's clock.
        apart_s = abs(decoded(dict[str, Any], answer.result)["at"] - time.time())
        if apart_s > MOST_SKEW_S:
            message = f"{worker}: its clock and the one here are {apart_s:.0f} s apart"
            return Blocker(message, "synchronize both clocks, for example by NTP")
        return None

    def request(
        self, task: str, device: str, within_s: float, plan_digest: str = "", arguments: Mapping[str, Any] | None = None
    ) -> Request:
        """Return the request for a task on a device, which expires after ``within_s`` seconds."""
        return Request(task, device, self.binding, time.time() + within_s, plan_digest, arguments or {})

    def holder(self, plan_digest: str, device: str) -> str:
        """Return the worker that holds what was begun on a device, empty if none does."""
        return self._holders.get((plan_digest, device), "")

    def note_holder(self, plan_digest: str, device: str, worker: str) -> None:
        """Note which worker holds what was begun on a device; empty for none."""
        self._holders[plan_digest, device] = worker

    def close(self) -> None:
        """End what was started for the places that were met."""
        for place in self._places.values():
            place.channel.close()
        self._places.clear()
        self._met.clear()


class SpreadRunner(FabricRunner):
    """The runner of a fabric whose devices are worked on at several places."""

    def __init__(
        self,
        spread: TaskSpread,
        num_workers: int = 50,
        max_failures: int | None = None,
        *,
        stop: StopRequest = NOBODY,
    ) -> None:
        super().__init__(num_workers, max_failures, stop=stop)
        self.spread = spread

    def bounded(self, num_workers: int, max_failures: int | None = None, *, stop: StopRequest = NOBODY) -> FabricRunner:
        """Return a runner of the same places with these bounds."""
        return SpreadRunner(self.spread, num_workers, max_failures, stop=stop)

    def close(self) -> None:
        """End the workers that were started, and the threads that watch queues."""
        self.spread.close()

    def run(self, task: Task, hosts: list[Host]) -> AggregatedResult:
        """Run ``task`` on the hosts after their places were met. Raises RefusedError if a site has no worker."""
        places: dict[str, WorkPlace] = {}
        for host in hosts:
            place = self.spread.place_for(task, host)
            if place is not None:
                places[place.name] = place
        self.spread.meet(places)
        return super().run(task, hosts)

    def start(self, task: Task, host: Host) -> MultiResult:
        """Carry out a task where it belongs; for Nornir and its processors it is the same task."""
        remote_task = self.spread.remote_task(task, host)
        if remote_task is not None:
            task.task = partial(_run_remotely, remote_task)
        return task.start(host)


@dataclass(frozen=True, slots=True)
class _RemoteTask:
    """One task of one device that is sent to a place.

    ``local`` is the task's function. It is called here if a process of this machine is lost: such processes only read.
    """

    spread: TaskSpread
    place: WorkPlace
    task: SpreadTask
    arguments: dict[str, Any]
    local: Callable[..., Any]

    def ask(self, device: str, params: Mapping[str, Any]) -> Result | None:
        """Return the task's result from a worker; None if it is to be done here.

        Raises what ``SpreadTask.lost`` raises, and RuntimeError for a mistake of the program in the worker.
        """
        digest = _plan_digest(device, params)
        # The journal has a change before a worker is asked for it.
        if digest and self.task.name == apply_change.__name__:
            blocked = _announce_change(device, params, self.place)
            if blocked is not None:
                return blocked
        limits = self.spread.limits
        within_s = limits.read_s + float(params.get("timeout_s", 0))
        if self.task.changes:
            within_s = limits.change_s
        request = self.spread.request(self.task.name, device, limits.take_s, digest, self.arguments)
        asked_s = _clock(params).monotonic()
        try:
            answer = self.place.channel.ask(request, within_s, worker=self.spread.holder(digest, device))
        except WorkerLostError as fault:
            # What the lost worker held is gone with it.
            self.spread.note_holder(digest, device, "")
            if self.place.here:
                return None
            return self.task.lost(device, params, fault)
        self.spread.note_holder(digest, device, answer.worker if self.task.changes else "")
        return self._result(device, params, answer, asked_s)

    def _result(self, device: str, params: Mapping[str, Any], answer: Answer, asked_s: float) -> Result:
        """Return the task's result from an answer, after announcing the answer's events."""
        announce = self.task.announce(params)
        for task_event in answer.events:
            announce(task_event.event)
        who = f"worker {answer.worker} of site {self.place.name}"
        if answer.refused:
            return self.task.refused(device, params, f"{who}: {answer.refused}")
        if answer.fault:
            raise RuntimeError(f"{who}: {answer.fault}")
        try:
            return self.task.result(device, params, answer.result, asked_s=asked_s)
        except (MessageError, LookupError, TypeError, ValueError) as fault:
            raise RuntimeError(f"{who} answered with no result of {self.task.name}: {fault}") from fault


def _run_remotely(remote_task: _RemoteTask, task: Task, **params: Any) -> Result:
    """Carry out a task at its place; this is what Nornir calls instead of the task's own function."""
    result: Result | None = remote_task.ask(task.host.name, params)
    if result is None:
        result = remote_task.local(task, **params)
    result.host = task.host
    return result


def _clock(params: Mapping[str, Any]) -> Clock:
    """Return the clock of a task's wave, or the system's if the task has no wave."""
    order = params.get("order")
    if isinstance(order, WaveOrder):
        return order.policy.clock
    return SYSTEM_CLOCK


def _plan_digest(device: str, params: Mapping[str, Any]) -> str:
    """Return the digest of the plan that a task deploys, by its ``order`` or ``jobs``; empty for other tasks."""
    order = params.get("order")
    jobs = order.jobs if isinstance(order, WaveOrder) else params.get("jobs", {})
    job = jobs.get(device)
    if isinstance(job, DeployJob):
        return job.plan_digest
    return ""


def _announce_change(device: str, params: Mapping[str, Any], place: WorkPlace) -> Result | None:
    """Note in the journal that a worker applies the change; return the device's result if that cannot be written."""
    order: WaveOrder = params["order"]
    order.announce(Event(Step.APPLYING, device, f"by a worker of site {place.name}"))
    blocker = order.blocker()
    if not blocker:
        return None
    outcome = DeviceOutcome(Outcome.OLD, f"{blocker}; nothing was done")
    order.announce(Event(Step.OUTCOME, device, outcome.error, {"outcome": outcome.outcome.value}))
    return Result(host=None, result=ApplyResult(outcome=outcome), failed=True)
