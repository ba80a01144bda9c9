"""The runner: bounded workers, a failure budget, and an explicit result for every host that was not attempted."""

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from nornir.core import Nornir
from nornir.core.inventory import Host
from nornir.core.task import AggregatedResult, MultiResult, Result, Task

NOT_ATTEMPTED = "not attempted"


class StopRequest(Protocol):
    """A person's request to end a run, which may come at any time."""

    @property
    def asked(self) -> bool:
        """Tell whether the run is to end."""


@dataclass(frozen=True, slots=True)
class NeverAsked:
    """Nobody ends the run."""

    asked: bool = False


NOBODY = NeverAsked()


class FabricRunner:
    """The runner plug-in ``railweave_runner``.

    At most ``num_workers`` hosts run at once. After ``max_failures`` failed results (None: never), or once ``stop`` is
    asked, no further host is started: those that run finish, and the others get the result ``NOT_ATTEMPTED``. So no
    switch is left in the middle of a task. KeyboardInterrupt neither interrupts running hosts nor waits for them.
    """

    def __init__(self, num_workers: int = 50, max_failures: int | None = None, *, stop: StopRequest = NOBODY) -> None:
        self.num_workers = num_workers
        self.max_failures = max_failures
        self._stop = stop

    def bounded(
        self, num_workers: int, max_failures: int | None = None, *, stop: StopRequest = NOBODY
    ) -> "FabricRunner":
        """Return a runner of the same kind with these bounds."""
        return FabricRunner(num_workers, max_failures, stop=stop)

    def close(self) -> None:
        """End what the runner started beside this process; a next run starts it again."""

    def start(self, task: Task, host: Host) -> MultiResult:
        """Carry out ``task``, which is a copy for this host alone, and return its result; called in a worker thread."""
        return task.start(host)

    def run(self, task: Task, hosts: list[Host]) -> AggregatedResult:
        """Run ``task`` on ``hosts`` and return a result for each, in their order."""
        results: dict[str, MultiResult] = {}
        waiting = iter(hosts)
        working: dict[Future[MultiResult], Host] = {}
        failures = 0
        pool = ThreadPoolExecutor(self.num_workers, thread_name_prefix="railweave")
        try:
            self._start_hosts(pool, task, waiting, working, failures)
            while working:
                for completed in wait(working, return_when=FIRST_COMPLETED).done:
                    host = working.pop(completed)
                    result = completed.result()
                    results[host.name] = result
                    if result.failed:
                        failures += 1
                self._start_hosts(pool, task, waiting, working, failures)
        finally:
            # After a KeyboardInterrupt hosts are still worked on, and are not waited for.
            pool.shutdown(wait=not working, cancel_futures=True)
        aggregated = AggregatedResult(task.name)
        for host in hosts:
            aggregated[host.name] = results.get(host.name) or _not_attempted(task, host)
        return aggregated

    def _start_hosts(
        self,
        pool: ThreadPoolExecutor,
        task: Task,
        waiting: Iterator[Host],
        working: dict[Future[MultiResult], Host],
        failures: int,
    ) -> None:
        """Start hosts of ``waiting`` in the pool until all workers are busy; add them to ``working``.

        None is started once ``failures`` has reached the most that are allowed, or a person has asked to stop.
        """
        if self.max_failures is not None and failures >= self.max_failures:
            return
        while len(working) < self.num_workers and not self._stop.asked:
            host = next(waiting, None)
            if host is None:
                return
            working[pool.submit(self.start, task.copy(), host)] = host


def bounded(nr: Nornir, num_workers: int, max_failures: int | None = None, *, stop: StopRequest = NOBODY) -> Nornir:
    """Return ``nr`` with a runner of its kind and these bounds."""
    kind = nr.runner if isinstance(nr.runner, FabricRunner) else FabricRunner()
    return nr.with_runner(kind.bounded(num_workers, max_failures, stop=stop))


def end_workers(nr: Nornir) -> None:
    """End what the runner of ``nr`` started beside this process."""
    if isinstance(nr.runner, FabricRunner):
        nr.runner.close()


def _not_attempted(task: Task, host: Host) -> MultiResult:
    result = MultiResult(task.name)
    # Not a failure of the host: Nornir would leave a failed one out of every later run.
    result.append(Result(host=host, result=None, name=NOT_ATTEMPTED))
    return result
