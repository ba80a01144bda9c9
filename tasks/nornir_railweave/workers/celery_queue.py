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
from collections.abc import Callable, Collection, Iterable, Iterator
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
    """Return the application of Celery; the broker at ``url`` also keeps the results.

    Connections time out after ``bound_s`` seconds. Raises RailweaveError if Celery is not installed.
    """
    try:
        from celery import Celery
    except ImportError as fault:
        message = "task queues need Celery: install railweave with its extra `queue`, pip install 'railweave[queue]'"
        raise RailweaveError(message) from fault
    sockets = {"socket_timeout": bound_s, "socket_connect_timeout": bound_s}
    # It must not become the current application of a program that imports railweave; `fixups` would be for Django.
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
    """Raise WorkerLostError, with ``what`` as the beginning of its text, for any exception of the block.

    The exceptions of Celery and its transports have no common base class.
    """
    try:
        yield
    except WorkerLostError:
        raise
    except Exception as fault:
        reason = " ".join(str(fault).split()) or type(fault).__name__
        raise WorkerLostError(f"{what}: {reason}") from fault


@dataclass(slots=True)
class _PendingRequest:
    """A request that waits for its answer; times are seconds of the steady clock."""

    # Until then a worker has to take it.
    take_before_s: float
    answer: "Future[Answer]" = field(default_factory=Future)
    # The worker that has taken it; empty for none yet.
    worker: str = ""
    # When that worker started the task, or last answered a ping.
    heard_s: float = 0.0


class QueueChannel:
    """The workers of ``site`` that take from its queue of ``app``; one that is silent for ``silent_s`` is lost."""

    def __init__(self, app: Any, site: str, silent_s: float) -> None:
        self._app = app
        self._site = site
        self._silent_s = silent_s
        self._lock = threading.Lock()
        # By the ids of the requests.
        self._requests: dict[str, _PendingRequest] = {}
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []

    def ask(self, request: Request, within_s: float, *, worker: str = "") -> Answer:
        """Return the answer of a worker of the site, or of the named one.

        Raises WorkerLostError if the broker cannot be reached, or no answer comes within ``within_s`` seconds.
        """
        pending = _PendingRequest(time.monotonic() + self._silent_s)
        with self._lock:
            self._requests[request.id] = pending
            self._start()
        try:
            with _reaching(f"the broker of site {self._site} cannot be reached"):
                self._publish(request, worker)
            self._wake.set()
            return pending.answer.result(within_s)
        except TimeoutError:
            self._give_up(request.id)
            if not pending.worker:
                raise self._untaken(within_s) from None
            message = f"worker {pending.worker} of site {self._site} did not answer within {within_s:g} s"
            raise WorkerLostError(message) from None
        finally:
            with self._lock:
                self._requests.pop(request.id, None)

    def close(self) -> None:
        """End the threads that watch the queue, until the next request; the workers themselves run on."""
        self._closed.set()
        self._wake.set()
        with self._lock:
            threads = self._threads
            self._threads = []
        # Without the lock, which the threads take.
        for thread in threads:
            thread.join()
        self._closed.clear()
        with suppress(Exception):
            self._app.close()

    def _publish(self, request: Request, worker: str) -> None:
        """Put a request into the queue of a worker, or of the site if ``worker`` is empty."""
        from celery.utils.nodenames import worker_direct

        amqp = self._app.amqp
        message = amqp.create_task_message(
            request.id, _TASK, [encode(request).decode()], {}, expires=self._silent_s, shadow=request.label
        )
        queue = worker_direct(worker) if worker else queue_name(self._site)
        with self._app.producer_or_acquire() as producer:
            amqp.send_task_message(producer, _TASK, message, queue=queue, retry=False)

    def _start(self) -> None:
        """Start the threads that watch the queue unless they run."""
        if self._threads:
            return
        for work in (self._collect, self._ping):
            thread = threading.Thread(target=work, name=f"railweave-{self._site}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _collect(self) -> None:
        """Fetch answers as they come, until the channel is closed.

        All requests fail once the broker has failed for ``silent_s`` seconds.
        """
        failing_since_s: float | None = None
        while not self._closed.is_set():
            requests = self._waiting()
            if not requests:
                self._wake.wait()
                self._wake.clear()
                continue
            try:
                with _reaching(f"the broker of site {self._site} cannot be reached"):
                    for request_id, pending in requests.items():
                        self._update(request_id, pending)
                failing_since_s = None
            except WorkerLostError as fault:
                if failing_since_s is None:
                    failing_since_s = time.monotonic()
                if time.monotonic() - failing_since_s >= self._silent_s:
                    self._fail(requests.values(), fault)
            self._closed.wait(_POLL_S)

    def _waiting(self) -> dict[str, _PendingRequest]:
        """Return the requests without an answer, by their ids."""
        with self._lock:
            return {name: pending for name, pending in self._requests.items() if not pending.answer.done()}

    def _update(self, request_id: str, pending: _PendingRequest) -> None:
        """Fetch the state of a request from the broker, and note which worker has taken it.

        Set its answer if the task has ended, or WorkerLostError if no worker takes it or its worker is silent.
        """
        backend = self._app.backend
        meta = backend.get_task_meta(request_id, cache=False)
        result = meta["result"]
        now_s = time.monotonic()
        if meta["status"] in ("SUCCESS", "FAILURE", "REVOKED"):
            backend.forget(request_id)
            with self._lock:
                if not pending.answer.done():
                    _set_answer(pending.answer, meta["status"], result, self._site)
        elif meta["status"] == "STARTED" and not pending.worker:
            # `_note_heard` goes by the worker's name, so the time is set before it.
            pending.heard_s = now_s
            pending.worker = str(result["hostname"])
        elif not pending.worker and now_s > pending.take_before_s:
            self._give_up(request_id)
            self._fail([pending], self._untaken(self._silent_s))
        elif pending.worker and now_s - pending.heard_s > self._silent_s:
            message = f"worker {pending.worker} of site {self._site} was silent for {self._silent_s:g} s"
            self._fail([pending], WorkerLostError(message))

    def _untaken(self, seconds: float) -> WorkerLostError:
        return WorkerLostError(f"no worker of site {self._site} took it in {seconds:g} s")

    def _fail(self, requests: Iterable[_PendingRequest], fault: WorkerLostError) -> None:
        with self._lock:
            for pending in requests:
                if not pending.answer.done():
                    pending.answer.set_exception(fault)

    def _give_up(self, request_id: str) -> None:
        """Revoke a request, so that no worker begins it; without a broker it expires by itself."""
        with suppress(Exception):
            self._app.control.revoke(request_id)

    def _ping(self) -> None:
        """Ping the workers that have taken requests, and note which of them answer."""
        beat_s = self._silent_s / _BEATS
        while not self._closed.wait(beat_s):
            workers = {pending.worker for pending in self._waiting().values() if pending.worker}
            if not workers:
                continue
            # If the broker fails here, `_update` finds that nothing was heard of the workers.
            with suppress(Exception):
                self._note_heard(self._answering(workers, beat_s))

    def _answering(self, workers: Collection[str], within_s: float) -> set[str]:
        """Ping ``workers``; return the names of those that answer within ``within_s`` seconds."""
        replies = self._app.control.broadcast(
            "ping", reply=True, destination=sorted(workers), timeout=within_s, limit=len(workers)
        )
        # Each reply is a mapping by the name of its worker.
        return {name for reply in replies or () for name in reply}

    def _note_heard(self, workers: set[str]) -> None:
        """Note that these workers were heard of now."""
        now_s = time.monotonic()
        for pending in self._waiting().values():
            if pending.worker in workers:
                pending.heard_s = now_s


def _set_answer(answer: "Future[Answer]", status: str, result: Any, site: str) -> None:
    """Set the answer of a task that has ended, by Celery's ``status`` and ``result``.

    A task that expired, or whose result is not an answer, gets WorkerLostError.
    """
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
    """Serve the queue of ``site`` until a signal ends this process; at most ``threads`` tasks run at once.

    ``worker_of`` makes the worker from its Celery name. Tasks run in threads because one process holds the sessions,
    and what was begun on devices.
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
