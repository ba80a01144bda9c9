"""Which NAPALM sessions stay open: one login of a host serves all tasks of a rollout, within bounds.

A task opens the session when it needs it (``device.session``) and leaves it open for the next task. ``OpenSessions``
bounds how many stay open. Whoever owns the Nornir closes them at the end (``close_sessions``).
"""

import threading
from contextlib import suppress

from nornir.core import Nornir
from nornir.core.inventory import Host
from nornir.core.task import AggregatedResult, MultiResult, Task

from nornir_railweave.target.inventory import CONNECTION


class OpenSessions:
    """A Nornir processor: at most ``most`` hosts have an open session.

    Where there are too many, sessions are closed in this order:

    1. Those of hosts outside the present run, the longest unused first: they are of the wave before.
    2. Those of hosts that this run has served, the last used first: a run is often repeated in the same order, and then
       logs in to little more hosts than there are too many.
    3. Those of hosts that this run has yet to serve.

    A session that was lost since the last task of its host is closed when the next one begins, which opens a new one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._of_run: frozenset[str] = frozenset()
        self._waiting: set[str] = set()
        self._in_use: set[str] = set()
        self._unused: dict[str, Host] = {}

    def task_started(self, task: Task) -> None:
        """Note the hosts of the run."""
        with self._lock:
            self._of_run = frozenset(task.nornir.inventory.hosts)
            self._waiting = set(self._of_run)

    def task_instance_started(self, task: Task, host: Host) -> None:
        """Close a lost session of this host, and unused ones of other hosts if there are too many."""
        with self._lock:
            self._waiting.discard(host.name)
            self._unused.pop(host.name, None)
            self._in_use.add(host.name)
            surplus = len(self._unused) + len(self._in_use) - self.most
            # Taken under the lock: a task that begins on such a host meanwhile opens a session of its own.
            closed = [self._unused.pop(name).connections.pop(CONNECTION, None) for name in self._dispensable(surplus)]
        for connection in closed:
            if connection is not None:
                with suppress(Exception):
                    connection.close()
        if not _answers(host):
            close_session(host)

    def _dispensable(self, count: int) -> list[str]:
        """Return the hosts of the ``count`` unused sessions that are least needed; none if ``count`` is negative."""
        # `_unused` is in the order in which the sessions were used last.
        outside = [name for name in self._unused if name not in self._of_run]
        served = [name for name in reversed(self._unused) if name in self._of_run and name not in self._waiting]
        waiting = [name for name in self._unused if name in self._waiting]
        least_needed_first = [*outside, *served, *waiting]
        return least_needed_first[: max(0, count)]

    def task_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Note whose session is no longer in use."""
        with self._lock:
            self._in_use.discard(host.name)
            if CONNECTION in host.connections:
                self._unused[host.name] = host

    def task_completed(self, task: Task, result: AggregatedResult) -> None:
        """Do nothing: sessions outlive tasks."""

    def subtask_instance_started(self, task: Task, host: Host) -> None:
        """Do nothing: the task's session is the subtask's."""

    def subtask_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Do nothing: the task goes on."""


def close_sessions(nr: Nornir) -> None:
    """Close the sessions of all hosts of ``nr``."""
    nr.with_processors([]).run(lambda task: close_session(task.host), on_failed=True)


def close_session(host: Host) -> None:
    """End a host's connection, if it has one."""
    # A connection that is lost already may fail to close.
    with suppress(Exception):
        host.close_connection(CONNECTION)


def _answers(host: Host) -> bool:
    """Tell whether a host's session, if it has one, can still be used."""
    if CONNECTION not in host.connections:
        return True
    try:
        return bool(host.connections[CONNECTION].connection.is_alive()["is_alive"])
    except NotImplementedError:
        # The driver cannot tell.
        return True
    except Exception:
        return False
