"""The way to a worker: what every transport of messages offers, whether a pipe, an SSH session or a task queue."""

from typing import Protocol

from nornir_railweave.workers.message import Answer, Request


class WorkerLostError(ConnectionError):
    """No answer came, or none will: the text names worker and site. What was done on the device is not known."""


class Channel(Protocol):
    """The workers of one site, or one process of this machine."""

    def ask(self, request: Request, within_s: float, *, worker: str = "") -> Answer:
        """Send a request and return the answer to it, which must come within ``within_s`` seconds.

        The request goes to the named ``worker`` if that one holds what it goes on with, else to any of them. Raises
        WorkerLostError if no worker takes the request, the one that took it ends, or the time is over.
        """

    def close(self) -> None:
        """End what was started for the channel. Requests that wait for an answer get WorkerLostError."""
