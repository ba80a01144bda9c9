"""The journal: whole lines, synchronized, locked while its rollout lives, readable after anything."""

import errno
import json
import os
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_devices import planned

from nornir_railweave.events import Event, Step, silent
from nornir_railweave.rollout.claim import is_alive, refuse_while_running
from nornir_railweave.rollout.control import ABORT, GO_ON, PAUSE, FileControl, ask, control_file
from nornir_railweave.rollout.deploying import deploy
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.rolling_back import roll_back
from nornir_railweave.rollout.rollouts import journals, named_rollout, read_rollout, rollouts
from nornir_railweave.target.policy import Policy
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.plan.model import DeviceState, Plan
from railweave.plan.parsed_rollout import parse_rollout
from railweave.plan.resumption import check_journal_version, check_resume
from railweave.plan.rollout import Rollout, RolloutKind, RolloutMetadata
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op

MTU = Change(Op.UPDATE, "PORT", "Ethernet0", "mtu", "9100", "9000", Disruption.NONE, Method.WRITE, "mtu.fabric")
DELTAS = {name: Delta((MTU,)) for name in ("spine1", "leaf1", "leaf2")}
PLAN = Plan(
    "pod1",
    "production",
    "f" * 64,
    {name: planned(DeviceState.CHANGED, running_sha256=f"before {name}") for name in ("spine1", "leaf1", "leaf2")},
    (("spine1",), ("leaf1", "leaf2")),
).with_deltas(DELTAS)


def opened(folder: Path, **about: object) -> Journal:
    return Journal(folder, "pod1", "production", RolloutMetadata(intent="intent/pod1.yml", **about))  # type: ignore[arg-type]


def one_device(journal: Journal, name: str, *, until: Step = Step.OUTCOME) -> None:
    """Tell a device's way, up to a step."""
    for step, details in (
        (Step.DRAINING, {"peers": ["*"]}),
        (Step.DRAINED, {}),
        (Step.APPLYING, {"held": [["bgp", "10.0.0.1"], ["link", "Ethernet0"]]}),
        (Step.APPLIED, {"commit_id": f"c-{name}"}),
        (Step.VERIFYING, {}),
        (Step.VERIFIED, {"held": [["bgp", "10.0.0.9"]]}),
        (Step.UNDRAINED, {}),
        (Step.CONFIRMED, {"commit_id": f"c-{name}", "after_sha256": f"after {name}"}),
        (Step.OUTCOME, {"outcome": "new"}),
    ):
        journal(Event(step, name, details=details))
        if step is until:
            return


def whole(folder: Path) -> Path:
    """Write a journal of a rollout that came to its end."""
    with opened(folder) as journal:
        journal(journal.opening(PLAN))
        for number, wave in enumerate(PLAN.waves, start=1):
            details = {"wave": number, "of": 2, "devices": list(wave)}
            journal(Event(Step.WAVE, text=f"wave {number} of 2", details=details))
            for name in wave:
                one_device(journal, name)
        journal(Event(Step.ENDED, details={"result": "done", "ok": True}))
        return journal.path


def test_a_rollout_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    rollout = read_rollout(whole(tmp_path))
    assert (rollout.fabric, rollout.target, rollout.metadata.intent, rollout.metadata.kind) == (
        "pod1",
        "production",
        "intent/pod1.yml",
        RolloutKind.DEPLOY,
    )
    assert (rollout.intent_sha256, len(rollout.plan_digest)) == ("f" * 64, 64)
    assert (rollout.state, rollout.finished, rollout.alive, rollout.torn, rollout.unread) == (
        "done",
        True,
        False,
        False,
        0,
    )
    assert rollout.waves == PLAN.waves
    leaf = rollout.devices["leaf1"]
    assert (leaf.wave, leaf.before_sha256, leaf.after_sha256) == (2, "before leaf1", "after leaf1")
    assert (leaf.commit_id, leaf.commit_ids, leaf.outcome) == ("c-leaf1", ("c-leaf1",), "new")
    assert leaf.held == {("bgp", "10.0.0.1"), ("link", "Ethernet0")}, "what held before the change, not after it"
    assert leaf.drained is False
    assert rollout.owns("c-leaf2", "")
    assert rollout.owns("", f"railweave {rollout.name}")
    assert not rollout.owns("", "railweave somebody-else")


@pytest.mark.parametrize(("version", "told"), [(99, "the newer railweave"), (None, "the older railweave")])
def test_a_journal_of_another_format_version_is_shown_and_never_acted_upon(
    tmp_path: Path, version: int | None, told: str
) -> None:
    path = whole(tmp_path)
    first, *rest = path.read_text().splitlines()
    opening = {name: value for name, value in json.loads(first).items() if name != "version"}
    opening |= {} if version is None else {"version": version}
    path.write_text("\n".join([json.dumps(opening), *rest, ""]))
    rollout = read_rollout(path)
    assert (rollout.fabric, rollout.version) == ("pod1", version or 0)
    (refused,) = check_resume(rollout, "pod1", "production", "f" * 64)
    assert refused.code == "RW531"
    assert f"has format version {version or 0}, this railweave reads version 1" in refused.message
    assert told in str(refused.fix)
    assert "railweave rollback --last" in str(refused.fix)
    assert check_journal_version(rollout) == (refused,)


@pytest.mark.parametrize("until", [Step.DRAINING, Step.DRAINED, Step.APPLYING, Step.APPLIED, Step.CONFIRMED])
def test_a_device_in_the_middle_of_which_the_journal_ends_is_in_doubt(tmp_path: Path, until: Step) -> None:
    with opened(tmp_path) as journal:
        journal(journal.opening(PLAN))
        one_device(journal, "spine1", until=until)
    rollout = read_rollout(journal.path)
    assert (rollout.state, rollout.finished) == ("interrupted", False)
    assert rollout.devices["spine1"].in_doubt
    assert rollout.devices["spine1"].drained is (until is not Step.CONFIRMED)
    assert rollout.devices["leaf1"].outcome == "not-attempted"
    assert rollout.changed


def test_a_resumed_journal_goes_on_with_what_was_told_before(tmp_path: Path) -> None:
    with opened(tmp_path) as first:
        first(first.opening(PLAN))
        one_device(first, "spine1")
        one_device(first, "leaf1", until=Step.APPLIED)
    left = Plan(
        PLAN.fabric,
        PLAN.target,
        PLAN.intent_sha256,
        {name: PLAN.devices[name] for name in ("leaf1", "leaf2")},
        (("leaf1", "leaf2"),),
    )
    with closing(Journal.reopen(first.path, "pod1", "production", RolloutMetadata())) as again:
        again(again.opening(left))
        again(Event(Step.STOPPED, text="aborted", details={"result": "stopped"}))
    rollout = read_rollout(first.path)
    assert [entry.step for entry in rollout.entries].count("resumed") == 1
    assert (rollout.devices["leaf1"].wave, rollout.waves) == (2, PLAN.waves), "waves are those of the whole rollout"
    assert rollout.devices["spine1"].outcome == "new"
    assert (rollout.state, rollout.stopped_by, rollout.finished) == ("stopped", "aborted", False)


def test_a_rollout_that_was_resumed_is_open_again(tmp_path: Path) -> None:
    path = whole(tmp_path)
    with closing(Journal.reopen(path, "pod1", "production", RolloutMetadata())) as again:
        again(again.opening(PLAN))
    assert read_rollout(path).state == "interrupted"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the journal of a rollout that came to its end, to be read only."""
    return whole(tmp_path_factory.mktemp("journal"))


@given(st.data())
def test_any_beginning_of_a_journal_can_be_read(finished: Path, data: st.DataObject) -> None:
    path, content = finished, finished.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    rollout = parse_rollout(path, content[:cut])
    lines = content[:cut].split(b"\n")
    whole_lines = len(lines) - 1 + (lines[-1] in content.split(b"\n") and bool(lines[-1]))
    assert len(rollout.entries) == whole_lines
    assert rollout.torn is (bool(lines[-1]) and lines[-1] not in content.split(b"\n"))
    assert rollout.unread == 0
    assert rollout.finished is (whole_lines == content.count(b"\n"))
    assert rollout.fabric == "pod1", "the name tells it where no line does"


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.recursive(
                st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
                lambda inner: st.one_of(
                    st.lists(inner, max_size=3),
                    st.dictionaries(
                        st.sampled_from(["step", "device", "at", "text", "devices", "waves", "held", "wave", "leaf1"]),
                        st.one_of(inner, st.sampled_from([step.value for step in Step])),
                        max_size=5,
                    ),
                ),
                max_leaves=12,
            ).map(lambda value: json.dumps(value).encode()),
        ),
        max_size=8,
    )
)
def test_nothing_that_a_file_may_hold_keeps_it_from_being_read(lines: list[bytes]) -> None:
    rollout = parse_rollout(Path("20261121T101500Z-pod1-abcdef.jsonl"), b"\n".join(lines))
    assert isinstance(rollout, Rollout)
    assert rollout.state in {"interrupted", "stopped", "done", "unchanged"} or rollout.finished


def test_an_empty_journal_is_a_rollout_of_which_nothing_is_known(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        pass
    rollout = read_rollout(journal.path)
    assert (rollout.state, dict(rollout.devices), rollout.changed) == ("interrupted", {}, False)


def test_steps_of_a_newer_version_are_named_and_pass_for_nothing(tmp_path: Path) -> None:
    path = whole(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"step": "teleported", "device": "leaf1"}\n')
    rollout = read_rollout(path)
    assert (rollout.unknown, rollout.finished, rollout.devices["leaf1"].outcome) == (("teleported",), True, "new")


def test_a_torn_line_swallows_no_other(tmp_path: Path) -> None:
    path = whole(tmp_path)
    with path.open("ab") as file:
        file.write(b'{"at": "2026-01-01T00:0')
    assert read_rollout(path).torn
    with closing(Journal.reopen(path, "pod1", "production", RolloutMetadata())) as again:
        again(again.opening(PLAN))
    rollout = read_rollout(path)
    assert (rollout.torn, rollout.unread, rollout.entries[-1].step) == (False, 1, "resumed")


def test_every_line_is_synchronized_and_readable_by_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("nornir_railweave.rollout.journal.os.fsync", synced.append)
    path = whole(tmp_path)
    assert len(synced) == path.read_bytes().count(b"\n") + 1, "each line, and the folder once"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_told_and_cuts_no_later_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as journal:
        journal(journal.opening(PLAN))
        real = os.write
        room = iter([10])

        def full(handle: int, data: bytes) -> int:
            left = next(room, 0)
            if not left:
                raise OSError(28, "No space left on device")
            return real(handle, data[:left])

        with monkeypatch.context() as patched:
            patched.setattr("nornir_railweave.rollout.journal.os.write", full)
            journal(Event(Step.APPLYING, "leaf1"))
        assert journal.fault == f"the journal {journal.path} cannot be written: No space left on device"
        journal(Event(Step.OUTCOME, "leaf1", details={"outcome": "old"}))
    rollout = read_rollout(journal.path)
    assert (rollout.unread, rollout.devices["leaf1"].outcome) == (1, "old")


def test_nothing_is_rolled_out_where_the_disk_is_full_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    untouched = cast("Any", None)
    policy = Policy(journal_dir=tmp_path)
    monkeypatch.setattr("nornir_railweave.rollout.journal.os.write", full)
    fabric, planned = cast("Any", SimpleNamespace(name="pod1")), cast("Any", SimpleNamespace(plan=PLAN))
    without = r"cannot be written: No space left on device; no device was changed"
    with pytest.raises(RailweaveError, match=without):
        deploy(untouched, fabric, PLAN.with_deltas({}), untouched, policy=policy)
    with pytest.raises(RailweaveError, match=without):
        roll_back(untouched, untouched, planned, policy=policy, events=silent, journal=opened(tmp_path))


def test_a_folder_that_cannot_be_written_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RailweaveError, match="cannot be written: Not a directory; no device was changed"):
        opened(tmp_path / "file" / "journal")
    whole(tmp_path)
    real = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_CREAT | os.O_RDWR):
            raise OSError(30, "Read-only file system")
        return real(path, flags, mode)

    monkeypatch.setattr("nornir_railweave.rollout.journal.os.open", read_only)
    for what in (lambda: opened(tmp_path), lambda: refuse_while_running(tmp_path, "pod1", "production")):
        with pytest.raises(RailweaveError, match=r"lock cannot be written: Read-only file system"):
            what()


def test_a_disk_that_takes_no_locks_is_refused_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", fails)
    with pytest.raises(RailweaveError, match=r"pod1@sim\.lock cannot be written: No locks available"):
        refuse_while_running(tmp_path, "pod1", "sim")


def test_a_journal_is_locked_exactly_while_its_rollout_lives(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal(journal.opening(PLAN))
        assert is_alive(journal.path)
        assert read_rollout(journal.path).state == "running"
        journal(Event(Step.PAUSED, text="paused after wave 1 of 2"))
        assert read_rollout(journal.path).state == "paused"
    assert not is_alive(journal.path)
    journal.close()


def test_a_second_rollout_is_told_who_is_at_work(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        for attempt in (
            lambda: opened(tmp_path),
            lambda: refuse_while_running(tmp_path, "pod1", "production"),
            lambda: Journal.reopen(journal.path, "pod1", "production", RolloutMetadata()),
        ):
            with pytest.raises(RefusedError) as refused:
                attempt()
            (found,) = refused.value.diagnostics
            assert found.code == "RW530"
            assert found.message.startswith(
                f"another rollout of pod1 on production is running, {journal.name}: process {os.getpid()} of "
            )
            assert found.fix == f"wait for it to end, or abort it: `railweave rollout abort {journal.name}`"
        Journal(tmp_path, "pod1", "sim").close()
        refuse_while_running(tmp_path / "nowhere", "pod1", "production")
    refuse_while_running(tmp_path, "pod1", "production")
    opened(tmp_path).close()


def test_rollouts_are_listed_newest_first_by_fabric_and_target(tmp_path: Path) -> None:
    first = whole(tmp_path)
    second = whole(tmp_path)
    os.utime(first, ns=(1, 1))
    (tmp_path / "notes.jsonl").write_text("{}\n")
    with Journal(tmp_path, "pod2", "production") as other:
        other(other.opening(PLAN))
    assert [path.stem for path in journals(tmp_path, "pod1")] == [second.stem, first.stem]
    assert [one.name for one in rollouts(tmp_path, "pod1", "production")] == [second.stem, first.stem]
    assert list(rollouts(tmp_path, "pod1", "sim")) == []
    assert len(journals(tmp_path)) == 3
    assert journals(tmp_path / "nowhere") == []


def test_a_rollout_is_found_by_a_part_of_its_name(tmp_path: Path) -> None:
    path, other = whole(tmp_path), whole(tmp_path)
    for name in (path.stem, path.stem[-6:], str(path)):
        assert named_rollout(tmp_path, name).name == path.stem
    with pytest.raises(UsageError, match="2 rollouts have 'pod1' in their names"):
        named_rollout(tmp_path, "pod1")
    with pytest.raises(UsageError, match=r"no rollout 'nothing' .*the newest here"):
        named_rollout(tmp_path, "nothing")
    assert other.stem != path.stem


def test_a_wish_lies_beside_the_journal_until_it_is_taken_back(tmp_path: Path) -> None:
    path = whole(tmp_path)
    control = FileControl(control_file(path))
    assert control.asked() == ""
    for word in (PAUSE, ABORT):
        ask(path, word)
        assert control.asked() == word
    ask(path, GO_ON)
    ask(path, GO_ON)
    assert control.asked() == ""
    assert len(journals(tmp_path)) == 1
