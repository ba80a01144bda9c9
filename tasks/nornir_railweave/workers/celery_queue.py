"""Workers of a site behind a task queue of Celery: each site has its queue, and each worker one of its own.

A request is one task of Celery, named by device and plan digest, and JSON in both directions. What goes on with a
device goes to the queue of the worker that holds it. A task that nobody takes in time expires there and counts as lost
here; a worker that has taken one and does not answer Celery's pings is lost. Redis, as broker and for results, is what
is tested.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from nornir_railweave.workers.channel import WorkerLostError
from nornir_railweave.workers.message import Answer, MessageError, Request, decode_answer, decode_request, encode
from nornir_railweave.workers.serving import Worker
from railweave.errors import RailweaveError

_TASK = "railweave.do"
_POLL_S = 0.05
_BEATS = 3
# Results that nobody fetched, as after the loss of the coordinator, are removed after an hour.
_RESULTS_S = 3600
_LOG = logging.getLogger("nornir_railweave")


def queue_name(site: str) -> str:
    """Return the name of a site's queue."""
    return f"railweave.{site}"


def make_app(url: str, bound_s: float) -> Any:
    """Return the application of Celery with a broker that also keeps the results; a connection to it takes
    ``bound_s`` at most. Raises RailweaveError without Celery."""
    try:
        from celery import Celery
    except ImportError as fault:
        text = "task queues need Celery: install railweave with its extra `queue`, pip install 'railweave[queue]'"
        raise RailweaveError(text) from fault
    sockets = {"socket_timeout": bound_s, "socket_connect_timeout": bound_s}
    # Neither the current application of a program that imports railweave, nor Celery's adaptations to Django.
    app = Celery("railweave", broker=url, backend=url, set_as_current=False, fixups=[])
    app.conf.update(
        task_serializer="json",
        result_serializer="json",
        # No pickle: whoever writes to the broker could run code in a worker.
        accept_content=["json"],
        result_expires=_RESULTS_S,
        # Without it a task that a worker has taken looks like one that still waits.
        task_track_started=True,
        worker_direct=True,
        # A task that is fetched early waits behind a busy worker while others are free.
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=bound_s,
        broker_transport_options=sockets,
        redis_socket_timeout=bound_s,
        redis_socket_connect_timeout=bound_s,
        result_backend_transport_options={"retry_policy": {"timeout": bound_s, "max_retries": 1}},
    )
    return app


@contextmanager
def _reaching(what: str) -> Iterator[None]:
    """Turn what Celery and its transports raise of a broker into WorkerLostError; they share no base of their own."""
    try:
        yield
    except WorkerLostError:
        raise
    except Exception as fault:
        text = " ".join(str(fault).split()) or type(fault).__name__
        raise WorkerLostError(f"{what}: {text}") from fault


@dataclass(slots=True)
class _Asked:
    """A request that waits for its answer; times are seconds of the steady clock."""

    # Until then a worker has to take it.
    taken_by_s: float
    answer: "Future[Answer]" = field(default_factory=Future)
    # The worker that has taken it, and when it last showed that it lives (monotonic seconds): by its start of the task
    # or by an answer to a ping.
    worker: str = ""
    heard_s: float = 0.0


class QueueChannel:
    """The workers of ``site`` that take from its queue of ``app``; one that is silent for ``silent_s`` is lost."""

    def __init__(self, app: Any, site: str, silent_s: float) -> None:
        self._app = app
        self._site = site
        self._silent_s = silent_s
        self._lock = threading.Lock()
        self._asked: dict[str, _Asked] = {}
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []

    def ask(self, request: Request, within_s: float, *, worker: str = "") -> Answer:
        """Return the answer of a worker of the site, or of the named one; raises WorkerLostError."""
        asked = _Asked(time.monotonic() + self._silent_s)
        with self._lock:
            self._asked[request.id] = asked
            self._start()
        try:
            with _reaching(f"the broker of site {self._site} cannot be reached"):
                self._publish(request, worker)
            self._wake.set()
            return asked.answer.result(within_s)
        except TimeoutError:
            self._give_up(request.id)
            if not asked.worker:
                raise self._untaken(within_s) from None
            text = f"worker {asked.worker} of site {self._site} did not answer within {within_s:g} s"
            raise WorkerLostError(text) from None
        finally:
            with self._lock:
                self._asked.pop(request.id, None)

    def close(self) -> None:
        """End the threads that watch the queue, until the next request; workers are nobody's to end here."""
        self._closed.set()
        self._wake.set()
        with self._lock:
            threads = self._threads
            self._threads = []
        # Outside of the lock, which they take.
        for thread in threads:
            thread.join()
        self._closed.clear()
        with suppress(Exception):
            self._app.close()

    def _publish(self, request: Request, worker: str) -> None:
        from celery.utils.nodenames import worker_direct

        amqp = self._app.amqp
        message = amqp.create_task_message(
            request.id, _TASK, [encode(request).decode()], {}, expires=self._silent_s, shadow=request.label
        )
        queue = worker_direct(worker) if worker else queue_name(self._site)
        with self._app.producer_or_acquire() as producer:
            amqp.send_task_message(producer, _TASK, message, queue=queue, retry=False)

    def _start(self) -> None:
        """Start what watches the queue, once."""
        if self._threads:
            return
        for work in (self._collect, self._ping):
            thread = threading.Thread(target=work, name=f"railweave-{self._site}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _collect(self) -> None:
        """Fetch answers as they come; a broker that fails for too long has lost all of them."""
        failing_s = 0.0
        while not self._closed.is_set():
            if not (asked := self._waiting()):
                self._wake.wait()
                self._wake.clear()
                continue
            try:
                with _reaching(f"the broker of site {self._site} cannot be reached"):
                    for name, request in asked.items():
                        self._look(name, request)
                failing_s = 0.0
            except WorkerLostError as fault:
                failing_s = failing_s or time.monotonic()
                if time.monotonic() - failing_s >= self._silent_s:
                    self._fail(asked, fault)
            self._closed.wait(_POLL_S)

    def _waiting(self) -> dict[str, _Asked]:
        with self._lock:
            return {name: request for name, request in self._asked.items() if not request.answer.done()}

    def _look(self, name: str, request: _Asked) -> None:
        """Read from the queue how far a request is."""
        backend = self._app.backend
        meta = backend.get_task_meta(name, cache=False)
        result = meta["result"]
        now_s = time.monotonic()
        if meta["status"] in ("SUCCESS", "FAILURE", "REVOKED"):
            backend.forget(name)
            with self._lock:
                if not request.answer.done():
                    _settle(request.answer, meta["status"], result, self._site)
        elif meta["status"] == "STARTED" and not request.worker:
            request.heard_s = now_s
            request.worker = str(result["hostname"])
        elif not request.worker and now_s > request.taken_by_s:
            self._give_up(name)
            self._fail({name: request}, self._untaken(self._silent_s))
        elif request.worker and now_s - request.heard_s > self._silent_s:
            text = f"worker {request.worker} of site {self._site} was silent for {self._silent_s:g} s"
            self._fail({name: request}, WorkerLostError(text))

    def _untaken(self, seconds: float) -> WorkerLostError:
        return WorkerLostError(f"no worker of site {self._site} took it in {seconds:g} s")

    def _fail(self, asked: dict[str, _Asked], fault: WorkerLostError) -> None:
        with self._lock:
            for request in asked.values():
                if not request.answer.done():
                    request.answer.set_exception(fault)

    def _give_up(self, name: str) -> None:
        """Let nobody begin a request any more; it expires by itself where this cannot be told."""
        with suppress(Exception):
            self._app.control.revoke(name)

    def _ping(self) -> None:
        """Ask the workers that have taken requests whether they are there."""
        beat_s = self._silent_s / _BEATS
        while not self._closed.wait(beat_s):
            workers = {request.worker for request in self._waiting().values() if request.worker}
            if not workers:
                continue
            # Workers that do not answer are missed by `_look`.
            with suppress(Exception):
                self._heard(self._answering(workers, beat_s))

    def _answering(self, workers: Collection[str], within_s: float) -> set[str]:
        replies = self._app.control.broadcast(
            "ping", reply=True, destination=sorted(workers), timeout=within_s, limit=len(workers)
        )
        return {name for reply in replies or () for name in reply}

    def _heard(self, workers: set[str]) -> None:
        now_s = time.monotonic()
        for request in self._waiting().values():
            if request.worker in workers:
                request.heard_s = now_s


def _settle(answer: "Future[Answer]", status: str, result: Any, site: str) -> None:
    if status == "REVOKED":
        answer.set_exception(WorkerLostError(f"no worker of site {site} took it in time"))
        return
    try:
        if status == "FAILURE":
            raise MessageError(f"{type(result).__name__} {result}")
        answer.set_result(decode_answer(result))
    except MessageError as fault:
        answer.set_exception(WorkerLostError(f"a worker of site {site} did not answer as one: {fault}"))


def serve_queue(app: Any, worker_of: Callable[[str], Worker], site: str, threads: int) -> None:
    """Be a worker of ``site`` until a signal ends it; ``worker_of`` makes it by the name under which Celery knows it.

    One process holds the sessions and what was begun on devices, so its tasks run in threads.
    """
    name = f"railweave-{site}-{os.getpid()}@{socket.gethostname()}"
    worker = worker_of(name)

    # Acknowledged before it runs: the broker must not give the change of a lost worker to another one.
    @app.task(name=_TASK, acks_late=False)  # type: ignore[untyped-decorator]
    def do(text: str) -> str:
        return encode(worker.answer(decode_request(text))).decode()

    try:
        app.worker_main([
            "worker", "--queues", queue_name(site), "--hostname", name, "--pool", "threads",
            "--concurrency", str(threads), "--without-gossip", "--without-mingle", "--loglevel", "WARNING",
        ])  # fmt: skip
    finally:
        worker.close()
