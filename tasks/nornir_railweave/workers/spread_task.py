"""A task that can be carried out in another process: its arguments as plain values, and its result from an answer."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from nornir.core.task import Result

from nornir_railweave.events import Events
from nornir_railweave.workers.message import Request
from nornir_railweave.workers.workbench import Workbench


class RefusedHereError(Exception):
    """A worker refuses a request, with nothing done. The text says why."""


class LostAsRefused(ABC):
    """A task whose result is the same where a worker refuses it and where a worker is lost."""

    @abstractmethod
    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return the result of a device on which a worker did nothing."""

    def lost(self, device: str, params: Mapping[str, Any], fault: ConnectionError) -> Result:
        """Return that result, with the loss of the worker as the reason."""
        return self.refused(device, params, str(fault))


class SpreadTask(Protocol):
    """One Nornir task as coordinator and worker know it. ``name`` is the task function's."""

    @property
    def name(self) -> str:
        """Return the name of the task function, by which messages name it."""

    @property
    def changes(self) -> bool:
        """Tell whether the task may change a device, or goes on with one that was changed."""

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the task's arguments for a device as plain values; None if they cannot be sent to a worker."""

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return what receives the events of the task's steps."""

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Carry the task out, as the worker does, and return its result as plain values.

        Raises RefusedHereError, with nothing done.
        """

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return the task's result from ``value``, the plain values of an answer.

        ``asked_s`` is when the request was made, in seconds of the steady clock. Raises MessageError if the values are
        not valid.
        """

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return the result of a device on which a worker did nothing."""

    def lost(self, device: str, params: Mapping[str, Any], fault: ConnectionError) -> Result:
        """Return the result of a device whose worker was lost. Raises ``fault`` if the device has to be read first."""
