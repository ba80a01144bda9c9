"""Work that forked processes share: they inherit what they work on without copying it."""

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar, cast

from railweave.errors import RailweaveError

Result = TypeVar("Result")

# More parts than processes: a part that takes long does not keep the other processes waiting.
_PARTS_PER_PROCESS = 4


def processes_for(items: int, shared_above: int) -> int:
    """Return how many processes share the work on ``items``: one for each core, or 1 where a fork is not safe.

    Up to ``shared_above`` items it is 1, because starting processes would take longer than the work.
    """
    if items <= shared_above:
        return 1
    # A fork of a process with threads may inherit a lock that nobody will release.
    can_fork = "fork" in multiprocessing.get_all_start_methods() and threading.active_count() == 1
    if not can_fork:
        return 1
    if hasattr(os, "sched_getaffinity"):
        # What a container or a cpuset grants, not what the machine has.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_work: Callable[[int, int], object] | None = None
"""Set in a forked process only."""


@contextmanager
def forked(work: Callable[[int, int], Result], processes: int) -> Iterator[Iterator[Result]]:
    """Start ``processes`` that call ``work`` with the number of each part and the count of parts.

    The block gets an iterator over the results by part, and may do something else before it takes them. ``work`` may be
    any callable, its results are pickled. Raises what ``work`` raises, and RailweaveError if a process is killed.
    """
    parts = processes * _PARTS_PER_PROCESS
    context = multiprocessing.get_context("fork")
    # Unlike multiprocessing's own pool this one notices when a process is killed, by the memory limit for example.
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_adopt, initargs=(work,)) as pool:
        pending = [pool.submit(_call, part, parts) for part in range(parts)]
        try:
            yield (cast("Result", future.result()) for future in pending)
        except BrokenProcessPool as exc:
            raise RailweaveError("a process that shared the work was killed; is there memory left?") from exc
        except BaseException:
            # Nobody takes the results of parts that have not begun.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _adopt(work: Callable[[int, int], object]) -> None:
    """Keep the work in a new process of the pool."""
    global _work  # noqa: PLW0603  the pool gives its processes no other way to keep a value
    _work = work
    # Inherited values never become garbage here, and to traverse them again and again would take longer than the work.
    gc.freeze()


def _call(part: int, parts: int) -> object:
    """Return the result of a part, in a process of the pool."""
    assert _work is not None, "a part is done by a process of the pool"  # noqa: S101
    return _work(part, parts)


def slice_of(total: int, part: int, parts: int) -> slice:
    """Return the slice of a sequence of ``total`` items that is the part with number ``part`` of ``parts``."""
    return slice(total * part // parts, total * (part + 1) // parts)
