"""Ctrl-C during a rollout: the first one ends it when the current devices are finished, the second one at once.

Python raises KeyboardInterrupt wherever the program happens to be, which may be between a device's commit and the note
of it. So a rollout takes the first signal as a wish and looks at it where it can be fulfilled.
"""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Within this context a first SIGINT sets ``asked``, and a second one raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.asked = False
        self._earlier: Any = None

    def __enter__(self) -> Self:
        """Begin to take signals; only the main thread ever gets one."""
        if threading.current_thread() is threading.main_thread():
            self._earlier = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave signals to whoever had them before."""
        if self._earlier is not None:
            signal.signal(signal.SIGINT, self._earlier)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
