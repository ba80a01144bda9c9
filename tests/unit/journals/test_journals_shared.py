"""The hold of a fabric and target in a store: one runner has it, a lost one loses it, and what it wrote is read."""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from driven_clock import DrivenClock

from nornir_railweave.journals import shared
from nornir_railweave.journals.record import read_record
from nornir_railweave.journals.shared import (
    LEASE_S,
    JournalHeldError,
    Lease,
    SharedJournals,
    held_mark,
    is_held,
)
from nornir_railweave.journals.store import StoreError, later_than
from nornir_railweave.rollout.claim import capacity_held
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.node_log import NodeLog
from railweave.errors import RailweaveError, RefusedError

PLACE = "pod1@sim"
NAME = "20261122T180000Z-pod1-0123ab"
OTHER = "20261122T190000Z-pod1-4567cd"


class Memory:
    """A store in memory; ``fails`` calls are refused before it takes any."""

    def __init__(self, records: dict[str, bytes]) -> None:
        self.records = records
        self.fails = 0
        self.created: list[str] = []

    def names(self, folder: str = "") -> list[str]:
        return sorted(name for name in self.records if not folder or name.startswith(f"{folder}/"))

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        return {name: self.records[name] for name in names if name in self.records}

    def create(self, name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        if self.fails:
            self.fails -= 1
            raise StoreError("no answer")
        self.created.append(name)
        if later_than(name, self.records):
            return False
        if name in self.records:
            return self.records[name] == data
        self.records[name] = data
        for one in removing:
            del self.records[one]
        return True


@pytest.fixture
def records() -> dict[str, bytes]:
    return {}


@pytest.fixture
def runners(tmp_path: Path, records: dict[str, bytes]) -> tuple[SharedJournals, SharedJournals]:
    """Two runners of one store, each with a folder of its own, that know its journals."""
    made = [SharedJournals(Memory(records), tmp_path / name, DrivenClock()) for name in ("one", "other")]
    for one in made:
        one.fetch()
    return made[0], made[1]


def claimed(journals: SharedJournals, name: str = NAME) -> Lease:
    return journals.claim(PLACE, journals.folder / f"{name}.jsonl", "ada@runner")


def keep_renewing(watching: SharedJournals, lease: Lease | None) -> None:
    """Let the holder of a lease live while another runner watches it."""
    assert lease is not None
    sleep = watching.clock.sleep

    def renewing(seconds: float) -> None:
        sleep(seconds)
        lease.renew()

    watching.clock.sleep = renewing  # type: ignore[method-assign]


def text(journals: SharedJournals, name: str = NAME) -> str:
    journals.fetch()
    return (journals.folder / f"{name}.jsonl").read_text()


def test_lines_are_in_the_store_when_flush_returns_and_another_runner_reads_them(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    one, other = runners
    lease = claimed(one)
    lease.add(b"a\n")
    lease.add(b"b\n")
    assert text(other) == ""
    lease.flush()
    assert text(other) == "a\nb\n"
    assert is_held(other.folder / f"{NAME}.jsonl")
    lease.add(b"c\n")
    lease.release()
    assert text(other) == "a\nb\nc\n"
    assert not is_held(other.folder / f"{NAME}.jsonl")
    assert list(one.store.names()) == [f"{PLACE}/00000004"], "one record stands for the whole journal"


def test_threads_that_flush_at_once_share_a_record(runners: tuple[SharedJournals, SharedJournals]) -> None:
    """A wave of many switches must not wait for the store once for each of them."""
    one, other = runners
    lease = claimed(one)
    going, entered = threading.Event(), threading.Event()
    create = one.store.create

    def slowly(name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        entered.set()
        assert going.wait(30)
        return create(name, data, removing)

    one.store.create = slowly  # type: ignore[method-assign]

    def work(number: int) -> None:
        lease.add(f"{number}\n".encode())
        lease.flush()

    threads = [threading.Thread(target=work, args=(0,))]
    threads[0].start()
    assert entered.wait(30)
    threads += [threading.Thread(target=work, args=(number,)) for number in range(1, 20)]
    for thread in threads[1:]:
        thread.start()
    while lease._lines.count(b"\n") < 19:
        time.sleep(0.001)
    going.set()
    for thread in threads:
        thread.join()
    assert sorted(map(int, text(other).split())) == list(range(20))
    assert len(one.store.names()) == 2


def test_while_a_runner_lives_another_one_is_refused_and_told_who(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    one, other = runners
    lease = claimed(one)
    told: list[str] = []
    keep_renewing(other, lease)
    with pytest.raises(JournalHeldError) as held:
        other.refuse_while_held(PLACE, told.append)
    assert (held.value.by, held.value.rollout) == ("ada@runner", NAME)
    assert told == [f"waiting up to 45 s for a sign of life of rollout {NAME} (ada@runner)"]
    with pytest.raises(JournalHeldError):
        claimed(other)


def test_signs_of_life_do_not_pile_up(runners: tuple[SharedJournals, SharedJournals]) -> None:
    one, _ = runners
    lease = claimed(one)
    for _ in range(50):
        lease.renew()
    lease.add(b"a\n")
    lease.flush()
    for _ in range(50):
        lease.renew()
    assert len(one.store.names()) == 2


def test_a_lost_runner_is_waited_for_once_and_fenced_off(runners: tuple[SharedJournals, SharedJournals]) -> None:
    one, other = runners
    lost = claimed(one)
    lost.add(b"a\n")
    lost.flush()
    began_s = other.clock.monotonic()
    other.refuse_while_held(PLACE)
    assert LEASE_S <= other.clock.monotonic() - began_s <= LEASE_S + 2
    assert not is_held(other.folder / f"{NAME}.jsonl")
    began_s = other.clock.monotonic()
    lease = claimed(other)
    assert other.clock.monotonic() == began_s, "it was seen to be lost"
    lease.add(b"b\n")
    lease.flush()
    lost.add(b"from the past\n")
    for _ in range(2):
        with pytest.raises(StoreError, match="another runner has taken the rollout over"):
            lost.flush()
    lost.renew()
    lost.release()
    lease.release()
    assert text(other) == "a\nb\n"
    assert text(one) == "a\nb\n"


def test_a_runner_that_is_lost_in_another_rollout_cannot_go_on_with_its_own(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    """The fence is one for a fabric and target, whichever rollout the next runner begins."""
    one, other = runners
    lost = claimed(one)
    other.refuse_while_held(PLACE)
    claimed(other, OTHER)
    lost.add(b"a\n")
    with pytest.raises(StoreError, match="taken the rollout over"):
        lost.flush()


def test_a_rollout_that_came_since_the_journals_were_fetched_is_a_refusal(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    one, other = runners
    claimed(one).release()
    with pytest.raises(StoreError, match="another rollout of pod1@sim came since this command began"):
        claimed(other, OTHER)
    other.fetch()
    claimed(other, OTHER).release()
    with pytest.raises(StoreError, match="since this command began"):
        claimed(one)


def test_a_runner_goes_on_after_its_own_rollouts(runners: tuple[SharedJournals, SharedJournals]) -> None:
    one, other = runners
    for name in (NAME, OTHER):
        lease = claimed(one, name)
        lease.add(f"{name}\n".encode())
        lease.release()
    assert [text(other, name) for name in (NAME, OTHER)] == [f"{NAME}\n", f"{OTHER}\n"]


def test_lines_that_a_killed_runner_had_not_stored_follow_when_it_resumes(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    one, other = runners
    lease = claimed(one)
    lease.add(b"a\n")
    lease.flush()
    (one.folder / f"{NAME}.jsonl").write_text("a\nb\n")
    one._lost[PLACE] = lease._number - 1
    one.fetch()
    again = claimed(one)
    again.add(b"c\n")
    again.flush()
    assert text(other) == "a\nb\nc\n"


def test_what_the_store_has_replaces_a_copy_that_says_something_else(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    one, other = runners
    other.folder.mkdir(exist_ok=True)
    (other.folder / f"{NAME}.jsonl").write_text("a\nx\n")
    lease = claimed(one)
    lease.add(b"a\nb\n")
    lease.release()
    assert text(other) == "a\nb\n"
    assert (other.folder / f"{NAME}.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_store_that_does_not_answer_for_a_moment_loses_no_line(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    one, other = runners
    lease, store = claimed(one), one.store
    assert isinstance(store, Memory)
    lease.add(b"a\n")
    store.fails = 2
    lease.flush()
    lease.add(b"b\n")
    store.fails = 3
    with pytest.raises(StoreError, match="no answer"):
        lease.flush()
    lease.add(b"c\n")
    lease.flush()
    assert text(other) == "a\nb\nc\n"


def test_a_store_that_replaces_records_is_refused(runners: tuple[SharedJournals, SharedJournals]) -> None:
    one, _ = runners

    def replacing(name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        one.store.read([])
        return True

    one.store.create = replacing  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="keeps no runners apart"):
        claimed(one)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        b"[]\n",
        b'{"token": 1}\n',
        b'{"token": "", "by": "", "rollout": "../20261122T180000Z-p-0123ab", "held": true, "at": "", "replaces": 0}\n',
        b'{"token": "", "by": "", "rollout": "20261122T180000Z-../p-0123ab", "held": true, "at": "", "replaces": 0}\n',
        b'{"token": "", "by": "", "rollout": "20261122T180000Z-p-0123ab", "held": true, "at": "", "replaces": []}\n',
        b"[" * 100_000,
    ],
)
def test_a_record_of_anything_else_is_no_journal(
    runners: tuple[SharedJournals, SharedJournals], records: dict[str, bytes], data: bytes, tmp_path: Path
) -> None:
    one, _ = runners
    records |= {f"{PLACE}/00000001": data, "README.md": b"hello", f"{PLACE}/x": data}
    one.fetch()
    assert os.listdir(one.folder) == []
    assert [path.name for path in tmp_path.rglob("*.jsonl")] == []
    claimed(one).release()


def test_a_mark_of_another_runner_fades(tmp_path: Path) -> None:
    journal = tmp_path / f"{NAME}.jsonl"
    assert not is_held(journal)
    held_mark(journal).write_text("ada")
    assert is_held(journal)
    long_ago = time.time() - LEASE_S - 1
    os.utime(held_mark(journal), (long_ago, long_ago))
    assert not is_held(journal)


def test_a_holder_shows_that_it_lives(
    runners: tuple[SharedJournals, SharedJournals], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread does it, whatever the rollout waits for."""
    one, _ = runners
    monkeypatch.setattr(shared, "RENEW_S", 0.0)
    store = one.store
    assert isinstance(store, Memory)
    lease = claimed(one)
    while len(set(store.created)) < 5:
        time.sleep(0.001)
    lease.release()


def test_audit_lines_follow_each_other(runners: tuple[SharedJournals, SharedJournals]) -> None:
    one, other = runners
    assert one.append_audit(lambda before: before + b"a")
    assert other.append_audit(lambda before: before + b"b")

    def late(before: bytes) -> bytes:
        assert one.append_audit(lambda last: last + b"c")
        return before + b"d"

    assert not other.append_audit(late)
    assert other.audit_lines() == [b"a", b"ab", b"abc"]


def test_a_drain_holds_the_fabric_at_every_runner_and_leaves_no_journal(
    runners: tuple[SharedJournals, SharedJournals],
) -> None:
    one, other = runners
    with capacity_held(one.folder, "pod1", "sim", "drain pod1-spine1", one) as lease:
        keep_renewing(other, lease)
        with pytest.raises(RefusedError, match=r"is running at another runner.*, drain pod1-spine1"):
            hold_as_rollout(other)
        other.fetch()
        assert not [*other.folder.glob("*.jsonl")]
    hold_as_rollout(other).close()


def test_a_drain_holds_the_fabric_on_its_machine(runners: tuple[SharedJournals, SharedJournals]) -> None:
    folder = runners[0].folder
    with capacity_held(folder, "pod1", "sim", "drain pod1-spine1"):
        with pytest.raises(RefusedError, match="`drain pod1-spine1` is running on pod1 on sim: process"):
            Journal(folder, "pod1", "sim")
        with (
            pytest.raises(RefusedError, match="`drain pod1-spine1` is running"),
            capacity_held(folder, "pod1", "sim", "drain pod1-spine2"),
        ):
            pass
        Journal(folder, "pod2", "sim").close()
    journal = Journal(folder, "pod1", "sim")
    with pytest.raises(RefusedError, match="another rollout of"), capacity_held(folder, "pod1", "sim", "drain"):
        pass
    journal.close()


def hold_as_rollout(journals: SharedJournals) -> Journal:
    """Begin a rollout, waiting for no lost runner: what a command asks first is left out."""
    journals.fetch()
    return Journal(journals.folder, "pod1", "sim", shared=journals)


def test_the_log_of_nodes_keeps_what_is_left_drained_and_no_more(
    runners: tuple[SharedJournals, SharedJournals], records: dict[str, bytes], tmp_path: Path
) -> None:
    for number in range(6):
        log = NodeLog(tmp_path / f"runner{number % 2}", "pod1", "sim", runners[number % 2])
        with log.held("hosts apply"):
            assert log.left_drained() == ({"gpu2"} if number else set())
            log.note("draining", [f"gpu{number + 10}", "gpu2"])
            log.note("resumed", [f"gpu{number + 10}"])
    assert len(records) <= 2
    (last,) = (one.lines for data in records.values() if (one := read_record(data)) is not None and one.lines)
    assert last.count(b"\n") == 1 + 2
    assert NodeLog(tmp_path, "pod1", "sim", runners[0]).left_drained() == {"gpu2"}


@pytest.mark.parametrize("fails_from", range(1, 12))
def test_a_run_that_is_lost_while_the_log_of_nodes_is_pruned_loses_no_node(
    runners: tuple[SharedJournals, SharedJournals], records: dict[str, bytes], tmp_path: Path, fails_from: int
) -> None:
    log = NodeLog(tmp_path / "one", "pod1", "sim", runners[0])
    with log.held("hosts apply"):
        log.note("draining", ["gpu1"])
    store = runners[0].store
    assert isinstance(store, Memory)
    names, calls = store.create, [0]

    def create(name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        calls[0] += 1
        if calls[0] >= fails_from:
            raise StoreError("lost")
        return names(name, data, removing)

    store.create = create  # type: ignore[method-assign]
    with suppress(RailweaveError, StoreError), log.held("hosts apply"):
        log.note("draining", ["gpu2"])
    found = NodeLog(tmp_path / "other", "pod1", "sim", runners[1]).left_drained()
    assert "gpu1" in found
