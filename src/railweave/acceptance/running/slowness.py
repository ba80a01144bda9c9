"""How busy the machine is that simulates all nodes of an acceptance, with whatever else runs on it."""

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor

# Long enough for several turns of every program that competes for a core.
_MEASURED_S = 0.4
# Hashing this much takes about a millisecond, during which other threads run as well.
_DATA = bytes(1 << 20)


def measured_slowness(seconds: float = _MEASURED_S) -> float:
    """Return how many times longer than alone programs take now, at least 1, by work on all cores for ``seconds``.

    The load average would not do: it still counts the preparations of the run, and knows no shares of control groups.
    """
    cores = os.cpu_count() or 1
    began = time.monotonic()
    with ThreadPoolExecutor(cores) as pool:
        worked_s = sum(pool.map(_work_until, [began + seconds] * cores))
    passed_s = time.monotonic() - began
    return max(1.0, cores * passed_s / max(worked_s, 1e-3))


def _work_until(moment: float) -> float:
    """Work until a moment of the steady clock, and return the seconds of the processor that this thread got."""
    before_s = time.thread_time()
    while time.monotonic() < moment:
        hashlib.sha256(_DATA)
    return time.thread_time() - before_s
