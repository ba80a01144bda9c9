"""A worker: it takes requests, carries out those that fit its own project, and answers."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from nornir_railweave.device.session import error_text
from nornir_railweave.events import Event
from nornir_railweave.target.sessions import close_sessions
from nornir_railweave.tasks.confirm_commit import confirm_commit, rollback_device
from nornir_railweave.workers.deploying_tasks import ApplyChange, AssessDevice, EndChange, SaveConfig, SoakDevice
from nornir_railweave.workers.message import HELLO, Answer, MessageError, Request, TaskEvent
from nornir_railweave.workers.plan_tasks import FindLivePorts, PortsUp, RevertExpired
from nornir_railweave.workers.reading_tasks import (
    HoldDevice,
    ReadDrained,
    ReadPortsTowards,
    ReadRunning,
    VerifyDevice,
)
from nornir_railweave.workers.spread_task import RefusedHereError, SpreadTask
from nornir_railweave.workers.workbench import Workbench
from railweave.errors import RailweaveError

_LOG = logging.getLogger("nornir_railweave")


def _by_name(*tasks: SpreadTask) -> dict[str, SpreadTask]:
    return {task.name: task for task in tasks}


READING: Mapping[str, SpreadTask] = _by_name(ReadRunning(), VerifyDevice())
"""What costs this machine processor time on every device of a fabric, and changes nothing."""

SPREAD: Mapping[str, SpreadTask] = {
    **READING,
    **_by_name(
        PortsUp(),
        FindLivePorts(),
        RevertExpired(),
        ReadDrained(),
        ReadPortsTowards(),
        HoldDevice(),
        ApplyChange(),
        EndChange(confirm_commit),
        EndChange(rollback_device),
        AssessDevice(),
        SoakDevice(),
        SaveConfig(),
    ),
}
"""Everything that can be carried out at a site."""

# How far the clocks of coordinator and worker may be apart: requests expire by them.
MOST_SKEW_S = 5.0


def worker_name() -> str:
    """Return the name of this process among workers."""
    return f"{socket.gethostname()}-{os.getpid()}"


class Worker:
    """One worker. ``load`` reads its project, again when a request is of another state of the project than the last."""

    def __init__(self, load: Callable[[], Workbench], name: str = "", now: Callable[[], float] = time.time) -> None:
        self.name = name or worker_name()
        self._load = load
        self._now = now
        self._loading = threading.Lock()
        self._bench: Workbench | None = None

    def answer(self, request: Request) -> Answer:
        """Carry out a request and return the answer, with the events of its task.

        A refusal, and an exception of the task, are in the answer.
        """
        events: list[TaskEvent] = []

        def announce(event: Event) -> None:
            events.append(TaskEvent(event.step, event.device, event.text, event.details))

        try:
            result = self._performed(request, announce)
        except RefusedHereError as why:
            return Answer(request.id, self.name, events=tuple(events), refused=str(why))
        except MessageError as why:
            return Answer(request.id, self.name, events=tuple(events), fault=f"its request is {why}")
        except Exception as fault:
            _LOG.exception("%s failed", request.label)
            return Answer(request.id, self.name, events=tuple(events), fault=error_text(fault))
        return Answer(request.id, self.name, result, tuple(events))

    def close(self) -> None:
        """Close the sessions of all devices."""
        if self._bench is not None:
            close_sessions(self._bench.nornir)

    def _performed(self, request: Request, announce: Callable[[Event], None]) -> Any:
        """Carry out a request and return the task's result as plain values.

        Raises RefusedHereError, with nothing done, if the request is unknown, too late, or not for this project.
        """
        if request.task == HELLO:
            bench = self._bound(request)
            return {"at": self._now(), "missing_secrets": list(bench.missing_secrets)}
        task = SPREAD.get(request.task)
        if task is None:
            raise RefusedHereError(f"it knows no task {request.task!r}")
        if self._now() > request.expires_at:
            raise RefusedHereError("the request came too late")
        bench = self._bound(request)
        if request.device not in bench.nornir.inventory.hosts:
            raise RefusedHereError(f"its target has no address for {request.device}")
        if task.changes and not request.plan_digest:
            raise RefusedHereError("the request names no plan")
        if task.changes and bench.target.allowed_signers is not None:
            raise RefusedHereError("its target takes signed plans alone, and no request holds what was signed")
        with bench.lock(request.device):
            return task.perform(bench, request, announce)

    def _bound(self, request: Request) -> Workbench:
        """Return the project, which is read again unless it is the request's.

        Raises RefusedHereError if it is not the request's then, or cannot be read.
        """
        with self._loading:
            bench = self._bench
            if bench is None or bench.binding != request.binding:
                bench = self._renewed(bench)
                self._bench = bench
            difference = bench.binding.difference(request.binding)
            if difference:
                raise RefusedHereError(f"it has another project: {difference}")
            return bench

    def _renewed(self, last_bench: Workbench | None) -> Workbench:
        """Read the project again and return it; ``last_bench`` is what was read before.

        That one is returned instead if the project has not changed, or a rollout still needs it.
        """
        if last_bench is not None and last_bench.busy:
            return last_bench
        loaded = self._loaded()
        if last_bench is None:
            return loaded
        if loaded.binding == last_bench.binding:
            return last_bench
        close_sessions(last_bench.nornir)
        return loaded

    def _loaded(self) -> Workbench:
        """Return the project as it is read now. Raises RefusedHereError if it cannot be read."""
        try:
            return self._load()
        except RailweaveError as fault:
            raise RefusedHereError(f"its project cannot be read: {error_text(fault)}") from fault
