"""Nornir processors that cannot hurt: an exception of one would escape ``Nornir.run`` and lose every result."""

import logging
from collections.abc import Callable
from typing import Any

from nornir.core.inventory import Host
from nornir.core.processor import Processor
from nornir.core.task import AggregatedResult, MultiResult, Task

_LOG = logging.getLogger("nornir_railweave")


class Guarded:
    """A processor around another: the first exception of the inner one is logged and ends its part."""

    def __init__(self, inner: Processor) -> None:
        self._inner: Processor | None = inner

    def _tell(self, method: Callable[[Processor], Callable[..., None]], *arguments: Any) -> None:
        if self._inner is None:
            return
        try:
            method(self._inner)(*arguments)
        except Exception:
            _LOG.exception("a processor failed and receives no more events")
            self._inner = None

    def task_started(self, task: Task) -> None:
        """Pass on that a task begins."""
        self._tell(lambda inner: inner.task_started, task)

    def task_completed(self, task: Task, result: AggregatedResult) -> None:
        """Pass on that a task ended on all hosts."""
        self._tell(lambda inner: inner.task_completed, task, result)

    def task_instance_started(self, task: Task, host: Host) -> None:
        """Pass on that a task begins on a host."""
        self._tell(lambda inner: inner.task_instance_started, task, host)

    def task_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Pass on that a task ended on a host."""
        self._tell(lambda inner: inner.task_instance_completed, task, host, result)

    def subtask_instance_started(self, task: Task, host: Host) -> None:
        """Pass on that a subtask begins on a host."""
        self._tell(lambda inner: inner.subtask_instance_started, task, host)

    def subtask_instance_completed(self, task: Task, host: Host, result: MultiResult) -> None:
        """Pass on that a subtask ended on a host."""
        self._tell(lambda inner: inner.subtask_instance_completed, task, host, result)
