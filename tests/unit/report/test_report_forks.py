"""Work that forked processes share."""

import os
import signal
import threading

import pytest

from railweave.errors import RailweaveError
from railweave.forks import forked, processes_for, slice_of


def test_results_come_in_the_order_of_their_parts() -> None:
    # A lambda and a local value cannot be pickled: a fork inherits them.
    squares = {number: number**2 for number in range(100)}
    with forked(lambda part, parts: [squares[number] for number in range(100)[slice_of(100, part, parts)]], 2) as work:
        results = list(work)
    assert [value for part in results for value in part] == list(squares.values())


def test_slices_cover_every_item_once() -> None:
    for total in (0, 1, 5, 16):
        assert [item for part in range(8) for item in range(total)[slice_of(total, part, 8)]] == list(range(total))


def test_a_fault_of_the_work_is_raised() -> None:
    def work(part: int, _parts: int) -> int:
        if part == 1:
            raise ValueError(f"part {part}")
        return part

    with pytest.raises(ValueError, match="part 1"), forked(work, 2) as results:
        list(results)


def test_a_process_that_is_killed_is_reported() -> None:
    def work(part: int, _parts: int) -> int:
        if part == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    sentence = "a process that shared the work was killed; is there memory left?"
    with pytest.raises(RailweaveError) as refusal, forked(work, 2) as results:
        list(results)
    assert str(refusal.value) == sentence


def test_a_process_with_threads_shares_no_work() -> None:
    is_over = threading.Event()
    thread = threading.Thread(target=is_over.wait)
    thread.start()
    try:
        assert processes_for(2, 1) == 1
    finally:
        is_over.set()
        thread.join()
