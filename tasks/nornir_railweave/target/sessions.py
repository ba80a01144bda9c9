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
    """A Nornir processor: at most ``most`` hosts have an open session, of which the longest unused one is closed first.

    A session that was lost since the task before is closed when the next one begins, which then opens a new one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._in_use: set[str] = set()
        self._unused: dict[str, Host] = {}

    def task_instance_started(self, task: Task, host: Host) -> None:
        """Close a lost session of this host, and unused ones of others where there are too many."""
        with self._lock:
            self._unused.pop(host.name, None)
            self._in_use.add(host.name)
            room = max(0, self.most - len(self._in_use))
            # Taken under the lock: a task that begins on such a host meanwhile opens a session of its own.
            names = list(self._unused)[: max(0, len(self._unused) - room)]
            surplus = [self._unused.pop(name).connections.pop(CONNECTION, None) for name in names]
        for one in surplus:
            if one is not None:
                with suppress(Exception):
                    one.close()
        if not _answers(host):
            close_session(host)

    def task_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Note whose session is no longer in use."""
        with self._lock:
            self._in_use.discard(host.name)
            if CONNECTION in host.connections:
                self._unused[host.name] = host

    def task_started(self, task: Task) -> None:
        """Do nothing: sessions are of hosts."""

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
    """End a host's connection; one that is lost already may refuse that, which changes nothing."""
    with suppress(Exception):
        host.close_connection(CONNECTION)


def _answers(host: Host) -> bool:
    """Tell whether a host's session can still be used; a driver that cannot tell is believed to be connected."""
    try:
        return CONNECTION not in host.connections or bool(
            host.connections[CONNECTION].connection.is_alive()["is_alive"]
        )
    except NotImplementedError:
        return True
    except Exception:
        return False
