"""Switches that are read again and again, each in a thread of its own: one that hangs delays no other."""

import threading
from collections.abc import Callable, Collection

from nornir.core import Nornir
from nornir.core.processor import Processor
from nornir.core.task import Result, Task
from nornir.plugins.runners import SerialRunner

from nornir_railweave.target.connect import only
from nornir_railweave.target.sessions import OpenSessions, close_session

# Threads that wait for a switch are not waited for: they end with the process.
_END_S = 2.0

Take = Callable[[str, object], None]
"""Takes the name of a switch and the result of its task."""


class SwitchPolling:
    """Runs a task on every switch at an interval; sessions stay open meanwhile."""

    def __init__(
        self, nr: Nornir, names: Collection[str], task: Callable[[Task], Result], *, interval_s: float, at_once: int = 0
    ) -> None:
        """Prepare for ``names``; at most ``at_once`` of them are read at the same time, 0 for no limit."""
        self._names = tuple(names)
        self._task = task
        self._interval_s = interval_s
        self._turn: threading.Semaphore | None = None
        if at_once:
            self._turn = threading.Semaphore(at_once)
        # It replaces lost sessions, and closes others only if there are too many.
        sessions: list[Processor] = [OpenSessions(at_once or len(self._names))]
        self._nr = nr.with_processors(sessions).with_runner(SerialRunner())
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, begin: Callable[[str], None], take: Take) -> None:
        """Start a thread for each switch that reads it at the interval.

        ``begin`` is called before each reading, and ``take`` with its result, both in that thread. The first readings
        are spread over the interval, so that the load is even.
        """
        for number, name in enumerate(self._names):
            delay_s = self._interval_s * number / len(self._names)
            thread = threading.Thread(
                target=self._poll, args=(name, delay_s, begin, take), name=f"poll {name}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _poll(self, name: str, delay_s: float, begin: Callable[[str], None], take: Take) -> None:
        """Read a switch after ``delay_s`` seconds, and then at the interval, until all readings are ended."""
        switch = only(self._nr, [name])
        wait_s = delay_s
        while not self._stop.wait(wait_s):
            wait_s = self._interval_s
            if self._turn is None:
                self._read(switch, name, begin, take)
                continue
            with self._turn:
                self._read(switch, name, begin, take)
        close_session(switch.inventory.hosts[name])

    def read_once(self, begin: Callable[[str], None], take: Take) -> None:
        """Read every switch once, all at the same time, and return when the last one has answered."""
        readers = [
            threading.Thread(target=self._read, args=(only(self._nr, [name]), name, begin, take), daemon=True)
            for name in self._names
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()

    def _read(self, switch: Nornir, name: str, begin: Callable[[str], None], take: Take) -> None:
        """Read a switch once, and pass its result, or the exception of its task, to ``take``."""
        begin(name)
        result = switch.run(self._task, on_failed=True)[name][0]
        # A mistake of the program in a task is passed on as well: the thread goes on with the next reading.
        take(name, result.exception if result.exception is not None else result.result)

    def stop(self) -> None:
        """End all readings; those that hang are left to the end of the process."""
        self._stop.set()
        for thread in self._threads:
            thread.join(_END_S / len(self._threads))
