"""The runner: bounded workers, a failure budget, and an explicit result for every host that was not attempted."""

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from nornir.core.inventory import Host
from nornir.core.task import AggregatedResult, MultiResult, Result, Task

NOT_ATTEMPTED = "not attempted"


class FabricRunner:
    """The runner plug-in ``railweave_runner``.

    At most ``num_workers`` hosts are at work. After ``max_failures`` failures (None: never) no further host is
    started; those at work finish, and the rest get a result that says so. A task fails for the budget when its result
    is marked failed. With ``finish_on_interrupt`` a keyboard interrupt has the same effect once, and ``interrupted``
    tells of it: a switch is never left in the middle.
    """

    def __init__(
        self, num_workers: int = 50, max_failures: int | None = None, *, finish_on_interrupt: bool = False
    ) -> None:
        self.num_workers = num_workers
        self.max_failures = max_failures
        self.finish_on_interrupt = finish_on_interrupt
        self.interrupted = False

    def run(self, task: Task, hosts: list[Host]) -> AggregatedResult:
        """Run ``task`` on ``hosts`` and return a result for each, in their order."""
        results: dict[str, MultiResult] = {}
        waiting = iter(hosts)
        with ThreadPoolExecutor(self.num_workers, thread_name_prefix="railweave") as pool:
            working: dict[Future[MultiResult], Host] = {}
            self._feed(pool, task, waiting, working, failures=0)
            failures = 0
            while working:
                for done in self._finished(working):
                    host = working.pop(done)
                    results[host.name] = done.result()
                    failures += results[host.name].failed
                self._feed(pool, task, waiting, working, failures)
        aggregated = AggregatedResult(task.name)
        for host in hosts:
            aggregated[host.name] = results.get(host.name) or _not_attempted(task, host)
        return aggregated

    def _finished(self, working: dict[Future[MultiResult], Host]) -> set[Future[MultiResult]]:
        """Return the tasks that ended, none where a person interrupted the waiting."""
        try:
            return wait(working, return_when=FIRST_COMPLETED).done
        except KeyboardInterrupt:
            if not self.finish_on_interrupt or self.interrupted:
                raise
            self.interrupted = True
            return set()

    def _feed(
        self,
        pool: ThreadPoolExecutor,
        task: Task,
        waiting: Iterator[Host],
        working: dict[Future[MultiResult], Host],
        failures: int,
    ) -> None:
        """Start hosts until all workers are busy or the budget of failures is spent."""
        budget_left = self.max_failures is None or failures < self.max_failures
        while len(working) < self.num_workers and budget_left and not self.interrupted:
            host = next(waiting, None)
            if host is None:
                return
            working[pool.submit(task.copy().start, host)] = host


def _not_attempted(task: Task, host: Host) -> MultiResult:
    result = MultiResult(task.name)
    # Not a failure of the host: Nornir would leave a failed one out of every later run.
    result.append(Result(host=host, result=None, name=NOT_ATTEMPTED))
    return result
