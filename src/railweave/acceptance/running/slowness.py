"""How busy the machine is that simulates all nodes of an acceptance, with whatever else runs on it."""

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor

# Long enough for several turns of every program that competes for a core.
_MEASURED_S = 0.4
# A program of low priority gets its first turn late: what it got until then says nothing.
_WORKED_S = 0.1
_LONGEST_S = 4.0
_MOST = 10.0
# Hashing this much takes about a millisecond, during which other threads run as well.
_DATA = bytes(1 << 20)


def measured_slowness() -> float:
    """Return how many times longer than alone programs take now, 1 to 10, by work on all cores for 0.4 to 4 seconds.

    The load average would not do: it still counts the preparations of the run, and knows no shares of control groups.
    Rounds wait in proportion: at 10 times each of them 19 s and 0.1 s for each NIC (`simulated_pace`). What a machine
    that is slower still does not start or read in time is repeated once, and then left to ``--resume``.
    """
    cores = os.cpu_count() or 1
    began = time.monotonic()
    with ThreadPoolExecutor(cores) as pool:
        worked_s = sum(pool.map(_work_from, [began] * cores))
    passed_s = time.monotonic() - began
    return min(_MOST, max(1.0, cores * passed_s / max(worked_s, 1e-3)))


def _work_from(began: float) -> float:
    """Work from a moment of the steady clock, and return the seconds of the processor that this thread got."""
    before_s = time.thread_time()
    worked_s = 0.0
    passed_s = 0.0
    while passed_s < _MEASURED_S or (worked_s < _WORKED_S and passed_s < _LONGEST_S):
        hashlib.sha256(_DATA)
        worked_s = time.thread_time() - before_s
        passed_s = time.monotonic() - began
    return worked_s
