"""A clock on which waiting takes no time."""

import threading


class DrivenClock:
    """Time passes where somebody waits, and only there.

    Every worker thread has a time of its own, which begins with the latest that any thread has come to: threads that
    wait side by side do not wait for each other, and a deadline of one does not pass because others wait. The main
    thread, which waits for its workers, is at the latest time of all.
    """

    def __init__(self) -> None:
        self._latest_s = 1000.0
        self._lock = threading.Lock()
        self._own = threading.local()

    def monotonic(self) -> float:
        with self._lock:
            if threading.current_thread() is threading.main_thread():
                return self._latest_s
            if not hasattr(self._own, "now_s"):
                self._own.now_s = self._latest_s
            return float(self._own.now_s)

    def sleep(self, seconds: float) -> None:
        now_s = self.monotonic() + max(0.0, seconds)
        with self._lock:
            self._own.now_s = now_s
            self._latest_s = max(self._latest_s, now_s)
