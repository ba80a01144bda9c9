"""What happens during a run, told as it happens: to a person's screen, to the journal, to a test.

A listener is a function of an event. It is called from worker threads, one call at a time, and what it raises never
disturbs the work on devices.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from railweave.plan.rollout_step import Step

__all__ = ["Announcer", "Event", "Events", "Step", "silent"]

_LOG = logging.getLogger("nornir_railweave")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; ``device`` is empty for the run as a whole, ``details`` are for programs."""

    step: Step
    device: str = ""
    text: str = ""
    details: dict[str, Any] = field(default_factory=dict)


Events = Callable[[Event], None]
"""A listener."""


def silent(_: Event) -> None:
    """Listen to nothing."""


class Announcer:
    """Tells several listeners, one event at a time; a listener that raises is logged and told no more."""

    def __init__(self, listeners: Sequence[Events]) -> None:
        self._listeners = list(listeners)
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Pass ``event`` on."""
        with self._lock:
            for listener in tuple(self._listeners):
                try:
                    listener(event)
                except Exception:
                    # A screen or a file that fails must not stop work on devices.
                    _LOG.exception("a listener of the run failed and receives no more events")
                    self._listeners.remove(listener)
