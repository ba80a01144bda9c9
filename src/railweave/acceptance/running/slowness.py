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
    """Return how many times longer programs take now than on an idle machine, 1 to 10.

    It is measured by work on all cores for 0.4 to 4 seconds. The load average is not used, because it still counts the
    preparations of the run, and ignores shares of control groups. Rounds wait in proportion: at 10 times each of them
    19 s and 0.1 s for each NIC (`simulated_pace`). Rounds that an even slower machine does not start or read in time
    are repeated once, and then left to ``--resume``.
    """
    cores = os.cpu_count() or 1
    began = time.monotonic()
    with ThreadPoolExecutor(cores) as pool:
        processor_s = sum(pool.map(_work_from, [began] * cores))
    passed_s = time.monotonic() - began
    slowness = cores * passed_s / max(processor_s, 1e-3)
    return min(_MOST, max(1.0, slowness))


def _work_from(began: float) -> float:
    """Work from ``began`` (of `time.monotonic`) on, and return the processor time in seconds that this thread got."""
    before_s = time.thread_time()
    processor_s = 0.0
    passed_s = 0.0
    while passed_s < _MEASURED_S or (processor_s < _WORKED_S and passed_s < _LONGEST_S):
        hashlib.sha256(_DATA)
        processor_s = time.thread_time() - before_s
        passed_s = time.monotonic() - began
    return processor_s
